// Package endpoints stores the addresses of other programs that are told about events, the deliveries
// to them, and the switch that stops all notifications.
package endpoints

import "mishap/db"

// Store gives access to endpoints and deliveries. It is safe for concurrent use.
type Store struct{ *db.Store }

// New returns the Store of a database.
func New(s *db.Store) *Store { return &Store{s} }
