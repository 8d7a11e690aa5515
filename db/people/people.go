// Package people stores who takes care of problems, and the tags that people and rules give them.
package people

import "mishap/db"

// Store stores assignments and tags. It is safe for concurrent use.
type Store struct{ *db.Store }

// New returns the Store of a database.
func New(s *db.Store) *Store { return &Store{s} }
