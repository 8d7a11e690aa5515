// Package notify stores the rules by which people and endpoints are told about events, and what was
// sent to them. [db.Handle.Publish] stores the events.
package notify

import "mishap/db"

// Store gives access to rules, notices and deliveries. It is safe for concurrent use.
type Store struct{ *db.Store }

// New returns the Store of a database.
func New(s *db.Store) *Store { return &Store{s} }
