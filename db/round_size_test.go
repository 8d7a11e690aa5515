package db

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestRoundSize(t *testing.T) {
	t.Parallel()
	s := newRoundSize(1024)
	late := fmt.Errorf("count: %w", context.DeadlineExceeded)
	for _, c := range []struct {
		n    int
		err  error
		want int
	}{
		{1000, nil, 1024},
		{1000, &pgconn.PgError{Code: "57P01"}, 1024}, // stopping: no fault of the size
		{1000, late, 500},
		{500, &pgconn.PgError{Code: "57014"}, 250},
		{3, errors.New("one of them cannot be counted"), 1},
		{1, late, 1},
	} {
		if s.result(c.n, c.err); s.get() != c.want {
			t.Errorf("%d reports, %v: got %d next, want %d", c.n, c.err, s.get(), c.want)
		}
	}
	for range 10*growAfter - 1 {
		s.result(1, nil)
	}
	if s.get() != 512 {
		t.Errorf("after many good rounds: got %d, want 512", s.get())
	}
	for range 10 * growAfter {
		s.result(1, nil)
	}
	if s.get() != 1024 {
		t.Errorf("after more of them: got %d, want no more than 1024", s.get())
	}
}
