// Package people stores who takes care of problems, the tags that people and rules give them, and saved
// searches.
package people

import "mishap/db"

// Store stores assignments, tags and saved searches. It is safe for concurrent use.
type Store struct{ *db.Store }

// New returns the Store of a database.
func New(s *db.Store) *Store { return &Store{s} }
