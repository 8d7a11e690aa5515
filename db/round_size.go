package db

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// roundSize is how many reports one round of counting takes. A round that fails is tried again with half as many, down to
// one, so that what takes too long together is counted in the end, and one report that cannot be counted stands alone.
type roundSize struct {
	mu     sync.Mutex
	most   int // never more
	limit  int
	streak int // rounds in a row that went well at this limit
}

// growAfter is how many rounds must go well before a lowered limit is doubled.
const growAfter = 8

func newRoundSize(most int) *roundSize { return &roundSize{most: most, limit: most} }

func (s *roundSize) get() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit
}

// result notes how a round of n reports ended. Trouble that has nothing to do with the size leaves the limit as it is.
func (s *roundSize) result(n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		if s.streak++; s.streak >= growAfter && s.limit < s.most {
			s.limit, s.streak = min(2*s.limit, s.most), 0
		}
	case timedOut(err) || !away(err):
		s.limit, s.streak = max(1, min(n, s.limit)/2), 0
	}
}

// timedOut reports whether the database took too long.
func timedOut(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code == "57014" // cancelled: by statement_timeout, or because the client's time was over
	}
	return errors.Is(err, context.DeadlineExceeded)
}
