// Package migrations holds the database schema as numbered SQL files, applied in order. A file that was committed is
// never edited again: databases remember the checksum of each file that was applied, and checksums.txt lists them for a
// test. Each file is a text/template for tern, so a literal "{{" must not occur; there are no down parts.
package migrations

import "embed"

// Files are the migrations, 001_….sql and up.
//
//go:embed *.sql
var Files embed.FS
