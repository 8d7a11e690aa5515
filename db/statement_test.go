package db

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// TestStatement: whatever the order of names in the text, each argument arrives under its own number, large ones last.
func TestStatement(t *testing.T) {
	t.Parallel()
	s := newStatement(`select @first_of::text, @bodies, array['@@'], @b, @first_of`, "bodies")
	if want := `select $1::text, $3, array['@@'], $2, $1`; s.sql != want {
		t.Errorf("got %s, want %s", s.sql, want)
	}
	got := s.args(pgx.NamedArgs{"b": 2, "bodies": "large", "first_of": 1, "other": 0})
	if diff := cmp.Diff([]any{1, 2, "large"}, got); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}
