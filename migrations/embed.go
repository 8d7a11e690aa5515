// Package migrations contains the database schema as numbered SQL files, which are applied in
// order. Never edit a committed file: databases store the checksum of each file that was applied,
// and a test compares the files with checksums.txt. tern parses each file as a text/template, so
// "{{" must not occur. There are no down migrations.
package migrations

import "embed"

// Files contains the migrations, 001_….sql and up.
//
//go:embed *.sql
var Files embed.FS
