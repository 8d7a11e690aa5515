// Package notify stores what people were told about events, in their inboxes and by mail.
// [db.Handle.Publish] stores the events.
package notify

import (
	"context"

	"mishap/crash"
	"mishap/db"
	"mishap/db/accounts"
	"mishap/db/reader"
)

// Store gives access to notices and mails. It is safe for concurrent use.
type Store struct {
	*db.Store
	accounts *accounts.Store
}

// New returns the Store of a database.
func New(s *db.Store) *Store { return &Store{s, accounts.New(s)} }

// as returns a context that reads what a person may see. It hides all embargoed problems if the
// account cannot be read.
func (s *Store) as(ctx context.Context, user int64) context.Context {
	u, err := s.accounts.ByID(ctx, user)
	if err != nil {
		return reader.AsVisitor(ctx)
	}
	return reader.With(ctx, reader.New(func() crash.Packages { return u.Embargoed }))
}
