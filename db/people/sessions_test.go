package people_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/db/people"
)

var _ scs.CtxStore = (*people.Sessions)(nil)

func TestSessions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	store := storeAt(t, dbtest.URL(t), func() time.Time { return now })
	s := people.NewSessions(store)
	find := func(token string) string {
		t.Helper()
		data, found, err := s.FindCtx(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if found != (data != nil) {
			t.Fatalf("find %q: got %q, %v", token, data, found)
		}
		return string(data)
	}
	if got := find("a"); got != "" {
		t.Errorf("unknown: got %q, want nothing", got)
	}
	if got := find(strings.Repeat("x", 5000) + "\x00"); got != "" {
		t.Errorf("made up: got %q, want nothing", got)
	}
	for token, expiry := range map[string]time.Time{"a": now.Add(time.Hour), "b": now.Add(time.Minute)} {
		if err := s.CommitCtx(t.Context(), token, []byte("first"), expiry); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.CommitCtx(t.Context(), "a", []byte("second"), now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := find("a"); got != "second" {
		t.Errorf("got %q, want second", got)
	}
	now = now.Add(time.Minute)
	if got := find("b"); got != "" {
		t.Errorf("ended session: got %q, want nothing", got)
	}
	if err := people.NewSessions(store).DeleteExpired(t.Context()); err != nil {
		t.Fatal(err)
	}
	now = now.Add(-time.Minute)
	if got := find("b"); got != "" {
		t.Errorf("removed session: got %q, want nothing", got)
	}
	if got := find("a"); got != "second" {
		t.Errorf("session that goes on: got %q, want second", got)
	}
	for range 2 {
		if err := s.DeleteCtx(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if got := find("a"); got != "" {
		t.Errorf("deleted session: got %q, want nothing", got)
	}
}

func TestSessionsEndWithTheirAccount(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	a, s := people.New(store), people.NewSessions(store)
	ada, err := a.Add(t.Context(), "", "ada", crash.RoleViewer, goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Hour)
	encode := func(values map[string]any) []byte {
		t.Helper()
		b, err := people.SessionCodec{}.Encode(end, values)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	hers, nobodys := encode(map[string]any{people.SessionUser: strconv.FormatInt(ada.ID, 10), "flash": "x"}), encode(nil)
	for _, change := range []func() error{
		func() error { return a.SetPassword(t.Context(), "", "ada", "another password") },
		func() error { return a.Disable(t.Context(), "", "ada") },
	} {
		for token, data := range map[string][]byte{"1": hers, "2": hers, "3": nobodys} {
			if err := s.CommitCtx(t.Context(), token, data, end); err != nil {
				t.Fatal(err)
			}
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, token := range []string{"1", "2", "3"} {
			if _, got[token], err = s.FindCtx(t.Context(), token); err != nil {
				t.Fatal(err)
			}
		}
		if want := map[string]bool{"1": false, "2": false, "3": true}; !cmp.Equal(got, want) {
			t.Errorf("sessions: got %v, want %v", got, want)
		}
	}
}

func TestSessionCodec(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 12, 1, 0, 0, 0, 5, time.UTC)
	values := map[string]any{"user": "7", "flash": "“é”\x00"}
	b, err := people.SessionCodec{}.Encode(end, values)
	if err != nil {
		t.Fatal(err)
	}
	gotEnd, got, err := people.SessionCodec{}.Decode(b)
	if err != nil || !gotEnd.Equal(end) || !cmp.Equal(got, values) {
		t.Errorf("got %v, %v, %v, want %v, %v", gotEnd, got, err, end, values)
	}
	if _, err := (people.SessionCodec{}).Encode(end, map[string]any{"n": 7}); err == nil {
		t.Error("a number was taken, want an error")
	}
	if _, _, err := (people.SessionCodec{}).Decode(bytes.Repeat([]byte("x"), 9)); err == nil {
		t.Error("rubbish was read, want an error")
	}
}

func TestAudit(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	a := people.New(store)
	if _, err := a.Add(t.Context(), "root", "ada", crash.RoleViewer, goodPassword); err != nil {
		t.Fatal(err)
	}
	if err := a.SetPassword(t.Context(), "ada", "ADA", "another password"); err != nil {
		t.Fatal(err)
	}
	if err := a.Disable(t.Context(), "root", "ada"); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(),
		`select concat_ws('|', person, action, subject, before::text, after::text) from audit_events order by id`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	want := []string{
		`root|user.add|ada|{"role": "viewer"}`, `ada|user.password|ada|{"password": "changed"}`,
		`root|user.disable|ada|{"disabled": false}|{"disabled": true}`,
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
