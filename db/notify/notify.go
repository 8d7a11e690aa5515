// Package notify stores what people were told about events, in their inboxes and by mail.
// [db.Handle.Publish] stores the events.
package notify

import "mishap/db"

// Store gives access to notices and mails. It is safe for concurrent use.
type Store struct{ *db.Store }

// New returns the Store of a database.
func New(s *db.Store) *Store { return &Store{s} }
