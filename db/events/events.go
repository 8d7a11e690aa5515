// Package events stores what people and other programs are told about events: inboxes, mails, and
// deliveries to endpoints. It stores rules, evaluates them after counting, and stores what they have
// seen, so that a restart or another instance does not repeat anything; it stores the problems that
// rules propose for filing, and rehearses rules on stored reports. [db.Handle.Publish] stores the events,
// and package notify/rules has the conditions.
package events

import (
	"context"

	"mishap/crash"
	"mishap/db"
	"mishap/db/people"
	"mishap/db/reader"
)

// Store gives access to notices, mails, endpoints and rules. It is safe for concurrent use.
type Store struct {
	*db.Store
	accounts *people.Store
}

// New returns the Store of a database.
func New(s *db.Store) *Store { return &Store{s, people.New(s)} }

// as returns a context that reads what a person may see. It hides all embargoed problems if the
// account cannot be read.
func (s *Store) as(ctx context.Context, user int64) context.Context {
	u, err := s.accounts.ByID(ctx, user)
	if err != nil {
		return reader.AsVisitor(ctx)
	}
	return reader.With(ctx, reader.New(func() crash.Packages { return u.Embargoed }))
}
