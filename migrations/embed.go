// Package migrations holds the database schema as numbered SQL files, applied in order and never edited once released.
// Each file is a text/template for tern, so a literal "{{" must not occur; there are no down parts.
package migrations

import "embed"

// Files are the migrations, 001_….sql and up.
//
//go:embed *.sql
var Files embed.FS
