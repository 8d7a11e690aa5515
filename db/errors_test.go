package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"mishap/crash"
)

func TestKnown(t *testing.T) {
	t.Parallel()
	sent := func(code string) error { return fmt.Errorf("save: %w", &pgconn.PgError{Code: code}) }
	for _, test := range []struct {
		name string
		err  error
		want crash.Kind
	}{
		{"too many connections", sent("53300"), crash.Unavailable},
		{"disk full", sent("53100"), crash.Unavailable},
		{"shut down by its administrator", sent("57P01"), crash.Unavailable},
		{"starting up", sent("57P03"), crash.Unavailable},
		{"standby", sent("25006"), crash.Unavailable},
		{"statement took too long", sent("57014"), crash.Unavailable},
		{"unique violation", sent("23505"), 0},
		{"no code at all", sent(""), 0},
		{"connection broke", fmt.Errorf("receive message: %w", io.ErrUnexpectedEOF), crash.Unavailable},
		{"store closed", puddle.ErrClosedPool, crash.Unavailable},
		{"no free connection in time", fmt.Errorf("acquire: %w", context.DeadlineExceeded), crash.Unavailable},
		{"caller has gone", fmt.Errorf("acquire: %w", context.Canceled), 0},
		{"has a kind", crash.Errorf(crash.NotFound, "none", "None.").Because(puddle.ErrClosedPool), crash.NotFound},
		{"something else", errors.New("bug"), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := Classify(test.err)
			if crash.KindOf(got) != test.want {
				t.Errorf("got kind %v, want %v", crash.KindOf(got), test.want)
			}
			if !errors.Is(got, test.err) {
				t.Errorf("got %v, which has lost the cause", got)
			}
		})
	}
	if Classify(nil) != nil {
		t.Error("got an error for none")
	}
}
