package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"mishap/crash"
	"mishap/crash/crashtest"
)

func TestBodies(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]crash.Fields{
		"none":  {},
		"usual": crashtest.Native().Fields(),
		"long":  crashtest.Long().Fields(),
		"odd":   {"": "no name", "Empty": "", "NUL": "a\x00b", "Text": "ż\u2028"},
		"large": {"Large": strings.Repeat("All work and no play. ", 1<<18)},
	} {
		body := Compress(f)
		got, err := Decompress(body)
		if err != nil || !maps.Equal(got, f) {
			t.Errorf("%s: got %d fields, %v; want the %d that were packed", name, len(got), err, len(f))
		}
	}
}

func TestDamagedBodies(t *testing.T) {
	t.Parallel()
	body := Compress(crashtest.Native().Fields())
	for end := range body {
		if f, err := Decompress(body[:end]); err == nil {
			t.Fatalf("cut after %d bytes: got %d fields, want an error", end, len(f))
		}
	}
	huge := []byte{bodyFormat, 0xff, 0xff, 0xff, 0xff, 0x0f}
	if _, err := Decompress(huge); err == nil {
		t.Error("a body that says to be 4 GB: got no error")
	}
	if _, err := Decompress(slices.Concat([]byte{bodyFormat + 1}, body[1:])); err == nil {
		t.Error("a body of another form: got no error")
	}
}

// TestReadBudget checks that readers of large reports wait until the requests of others are
// answered.
func TestReadBudget(t *testing.T) {
	t.Parallel()
	large := Compress(crash.Fields{"ProcMaps": strings.Repeat("x", 30<<20)})
	small := Compress(crash.Fields{"ProcMaps": strings.Repeat("x", 30<<10)})
	synctest.Test(t, func(t *testing.T) {
		b := newReadBudget()
		var answered []context.CancelFunc
		var err error
		for err == nil && len(answered) < 100 {
			ctx, done := context.WithCancel(t.Context())
			answered = append(answered, done)
			err = b.reserve(ctx, large)
		}
		if !errors.Is(err, errReading) || len(answered) < 3 {
			t.Errorf("got %v for the reader after %d others, want %v after some", err, len(answered)-1, errReading)
		}
		if err := b.reserve(t.Context(), small); err != nil {
			t.Errorf("a small report meanwhile: %v", err)
		}
		waiting := make(chan error)
		go func() { waiting <- b.reserve(context.WithoutCancel(t.Context()), large) }()
		synctest.Wait()
		for _, done := range answered {
			done()
		}
		if err := <-waiting; err != nil {
			t.Errorf("a reader that waits until the others are done: %v", err)
		}
		synctest.Wait()
		if !b.bytes.TryAcquire(readTotal) {
			t.Error("some memory is still reserved, want all of it free")
		}
	})
}

func TestSeal(t *testing.T) {
	t.Parallel()
	const secret, context = crash.Secret("the secret"), "tracker\x00consumer\x00token"
	with := func(password string) []byte {
		t.Helper()
		sealed, err := sealer{password}.Seal(secret, context)
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	sealed, open := with("pass"), with("")
	spoilt := bytes.Clone(sealed)
	spoilt[len(spoilt)-1] ^= 1
	tests := []struct {
		name, password string
		sealed         []byte
		context        string
		ok             bool
	}{
		{"same password", "pass", sealed, context, true},
		{"another password", "word", sealed, context, false},
		{"no password", "", sealed, context, false},
		{"sealed without one", "pass", open, context, true},
		{"neither has one", "", open, context, true},
		{"another row", "pass", sealed, context + "x", false},
		{"tampered with", "pass", spoilt, context, false},
		{"cut off", "pass", sealed[:20], context, false},
		{"empty", "pass", nil, context, false},
		{"another form", "pass", append([]byte{9}, sealed[1:]...), context, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := sealer{tt.password}.Open(tt.sealed, tt.context)
			if (err == nil) != tt.ok || tt.ok && got != secret {
				t.Errorf("got %q, %v, want it to open: %v", string(got), err, tt.ok)
			}
		})
	}
	if bytes.Contains(sealed, []byte(secret)) || bytes.Equal(sealed, with("pass")) {
		t.Error("the sealed secret shows the secret, or is the same each time")
	}
}

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

// SetMaxUncounted sets the number of uncounted reports above which storing waits.
func (s *Store) SetMaxUncounted(most int) {
	s.counter.mu.Lock()
	defer s.counter.mu.Unlock()
	s.counter.maxReports = most
}

// SetRoundTimeout sets the time-out of a counting round.
func (s *Store) SetRoundTimeout(d time.Duration) {
	s.counter.mu.Lock()
	defer s.counter.mu.Unlock()
	s.counter.timeout = d
}

// SetAnswerDelay sets how long the answer for a stored report waits until the report is counted.
func (s *Store) SetAnswerDelay(d time.Duration) { s.answerDelay = d }

// MigrateFiles applies migrations other than those of this program.
var MigrateFiles = migrateFiles

// Limited reports whether the store limits bodies.
func (s *Store) Limited() bool { return s.bodies.limit > 0 }
