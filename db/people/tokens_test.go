package people_test

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/people"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	accounts := people.New(dbtest.New(t))
	ada := dbtest.Must(accounts.Add(t.Context(), "", "ada", crash.RoleTriager, "correct horse battery"))(t)
	bob := dbtest.Must(accounts.Add(t.Context(), "", "bob", crash.RoleViewer, "correct horse battery"))(t)
	tomorrow := time.Now().AddDate(0, 0, 1)
	token, kept, err := accounts.AddToken(t.Context(), "", ada, " phasing ", []crash.Scope{crash.ScopeRead}, tomorrow)
	if err != nil || !strings.HasSuffix(token, kept.Hint) || len(token) != 54 || kept.Name != "phasing" {
		t.Fatalf("AddToken: got %q, %+v, %v", token, kept, err)
	}
	u, used, err := accounts.ByToken(t.Context(), token, client)
	if err != nil || u.Name != "ada" || !used.Allows(crash.ScopeRead) || used.Allows(crash.ScopeFile) {
		t.Errorf("ByToken: got %+v, %+v, %v, want ada's, for reading", u, used, err)
	}
	list, err := accounts.Tokens(t.Context(), ada)
	if err != nil || len(list) != 1 || list[0].LastUsed.IsZero() {
		t.Fatalf("Tokens: got %+v, %v, want one that was used", list, err)
	}
	if strings.Contains(cmp.Diff(list, nil), token) {
		t.Error("the token can be read again")
	}
	if _, err := accounts.RevokeTokenOf(t.Context(), bob.Name, bob.ID, kept.ID); crash.KindOf(err) != crash.NotFound {
		t.Errorf("bob revokes ada's: got %v, want not found", err)
	}
	if _, err := accounts.RevokeTokenOf(t.Context(), ada.Name, ada.ID, kept.ID); err != nil {
		t.Error(err)
	}
	if _, _, err := accounts.ByToken(t.Context(), token, client); crash.KindOf(err) != crash.Unauthenticated {
		t.Errorf("revoked: got %v, want unauthenticated", err)
	}
	if list, err := accounts.Tokens(t.Context(), ada); err != nil || len(list) != 0 {
		t.Errorf("after revoking: got %v, %v, want none", list, err)
	}
}

func TestTokensEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 18, 12, 0, 0, 0, time.UTC)
	store := dbtest.Must(db.Open(t.Context(), db.Config{URL: dbtest.URL(t), Log: dbtest.Log(t),
		Now: func() time.Time { return now }}))(t)
	t.Cleanup(store.Close)
	accounts := people.New(store)
	ada := dbtest.Must(accounts.Add(t.Context(), "", "ada", crash.RoleTriager, "correct horse battery"))(t)
	both := []crash.Scope{crash.ScopeRead, crash.ScopeFile}
	token, _, err := accounts.AddToken(t.Context(), "", ada, "x", both, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if _, _, err := accounts.ByToken(t.Context(), token, client); crash.KindOf(err) != crash.Unauthenticated {
		t.Errorf("expired: got %v, want unauthenticated", err)
	}
	if token, _, err = accounts.AddToken(t.Context(), "", ada, "y", both, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	checktest.NoError(t, accounts.Disable(t.Context(), "", "ada"))
	if _, _, err := accounts.ByToken(t.Context(), token, client); crash.KindOf(err) != crash.Unauthenticated {
		t.Errorf("disabled: got %v, want unauthenticated", err)
	}
	for name, try := range map[string]func() error{
		"no name": func() error {
			_, _, err := accounts.AddToken(t.Context(), "", ada, " ", both, now.Add(time.Hour))
			return err
		},
		"no scope": func() error {
			_, _, err := accounts.AddToken(t.Context(), "", ada, "z", nil, now.Add(time.Hour))
			return err
		},
		"past": func() error {
			_, _, err := accounts.AddToken(t.Context(), "", ada, "z", both, now.Add(999*time.Nanosecond))
			return err
		},
		"very long": func() error {
			_, _, err := accounts.AddToken(t.Context(), "", ada, "z", both, now.AddDate(9, 0, 0))
			return err
		},
	} {
		if err := try(); crash.KindOf(err) != crash.Invalid {
			t.Errorf("%s: got %v, want invalid", name, err)
		}
	}
	for _, text := range []string{"", "mishap_", "mishap_nobody", "Bearer x", strings.Repeat("mishap_", 50)} {
		if _, _, err := accounts.ByToken(t.Context(), text, client); crash.KindOf(err) != crash.Unauthenticated {
			t.Errorf("%q: got %v, want unauthenticated", text, err)
		}
	}
}

// client is the address of a program that uses tokens.
var client = netip.MustParseAddr("192.0.2.7")

// TestOldTokens checks that tokens of the form before mshp_ work, with what their scopes meant then.
func TestOldTokens(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	store := dbtest.Must(db.Open(t.Context(), db.Config{URL: url, Log: dbtest.Log(t)}))(t)
	t.Cleanup(store.Close)
	accounts := people.New(store)
	ada := dbtest.Must(accounts.Add(t.Context(), "", "ada", crash.RoleAdmin, "correct horse battery"))(t)
	const token = "mishap_k3x2qv7hd5tnw4jzmgy6rbalpcose3x2qv7hd5tnw4jzmgy6rbalp"
	hash := sha256.Sum256([]byte(token))
	dbtest.Exec(t, url, `insert into api_tokens (user_id, hash, name, hint, scopes, created, expires)
		values ($1, $2, 'watcher', 'mishap_k3x2', '{read}', now(), now() + interval '1 day')`, ada.ID, hash[:])
	u, got, err := accounts.ByToken(t.Context(), token, client)
	if err != nil || u.Name != "ada" || !u.Private.All || !got.Allows(crash.ScopeReadPrivate) ||
		got.Allows(crash.ScopeTriage) || got.Label() != "mishap_k3x2…" {
		t.Errorf("got %+v, %+v, %v, want ada's token, with all that read meant", u, got, err)
	}
	if _, _, err := accounts.ByToken(t.Context(), token+"a", client); crash.KindOf(err) != crash.Unauthenticated {
		t.Errorf("another text: got %v, want unauthenticated", err)
	}
}

// TestTokenUse checks that the last use is recorded with its address, at most once a minute, and that
// revoking works at once for all instances.
func TestTokenUse(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 18, 12, 0, 0, 0, time.UTC)
	url := dbtest.URL(t)
	open := func() *people.Store {
		store := dbtest.Must(db.Open(t.Context(), db.Config{URL: url, Log: dbtest.Log(t),
			Now: func() time.Time { return now }}))(t)
		t.Cleanup(store.Close)
		return people.New(store)
	}
	one, other := open(), open()
	ada := dbtest.Must(one.Add(t.Context(), "", "ada", crash.RoleAdmin, "correct horse battery"))(t)
	token, made, err := one.AddToken(t.Context(), "", ada, "x", []crash.Scope{crash.ScopeRead}, now.AddDate(0, 0, 90))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		after         time.Duration
		from          string
		used, address string
	}{
		{0, "192.0.2.7", "12:00:00", "192.0.2.7"},
		{59 * time.Second, "192.0.2.8", "12:00:00", "192.0.2.7"},
		{2 * time.Second, "2001:db8::1", "12:01:01", "2001:db8::1"},
	} {
		now = now.Add(tt.after)
		u, _, err := other.ByToken(t.Context(), token, netip.MustParseAddr(tt.from))
		if err != nil || u.Private.All {
			t.Fatalf("got %+v, %v, want ada without private rights", u, err)
		}
		all, err := one.Tokens(t.Context(), ada)
		if err != nil || len(all) != 1 || all[0].LastUsed.UTC().Format(time.TimeOnly) != tt.used ||
			all[0].LastAddress != tt.address {
			t.Errorf("used from %s: got %+v, %v, want %s from %s", tt.from, all, err, tt.used, tt.address)
		}
	}
	_, err = one.RevokeTokenOf(t.Context(), ada.Name, ada.ID, made.ID)
	checktest.NoError(t, err)
	if _, _, err := other.ByToken(t.Context(), token, client); crash.KindOf(err) != crash.Unauthenticated {
		t.Errorf("revoked elsewhere: got %v, want unauthenticated", err)
	}
}

// TestWarnOfExpiry checks that the owner is told once, a week before a token expires, also when two
// instances look at the same time.
func TestWarnOfExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 18, 12, 0, 0, 0, time.UTC)
	url := dbtest.URL(t)
	store := dbtest.Must(db.Open(t.Context(), db.Config{URL: url, Log: dbtest.Log(t),
		Now: func() time.Time { return now }}))(t)
	t.Cleanup(store.Close)
	a := people.New(store)
	user := func(name string) crash.User {
		return dbtest.Must(a.Add(t.Context(), "", name, crash.RoleAdmin, "correct horse battery"))(t)
	}
	ada, gone := user("ada"), user("gone")
	for u, days := range map[*crash.User][]int{&ada: {8, 30, 7}, &gone: {8}} {
		for _, d := range days {
			_, _, err := a.AddToken(t.Context(), "", *u, fmt.Sprintf("for %d days", d), crash.Scopes[:1], now.AddDate(0, 0, d))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	checktest.NoError(t, a.Disable(t.Context(), "", "gone"))
	notices := func() map[int64]string {
		got := map[int64]string{}
		rows := dbtest.Must(store.Pool.Query(t.Context(),
			`select n.user_id, string_agg(e.title, '; ' order by e.title) from notices as n join events as e
				on e.id = n.event_id where e.kind = 'token' group by n.user_id`))(t)
		var id int64
		var titles string
		dbtest.Must(pgx.ForEachRow(rows, []any{&id, &titles}, func() error { got[id] = titles; return nil }))(t)
		return got
	}
	warn := func() {
		t.Helper()
		results := make(chan error, 2)
		for range cap(results) {
			go func() { results <- people.New(store).WarnOfTokenExpiry(t.Context()) }()
		}
		for range cap(results) {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
	}
	warn()
	if diff := cmp.Diff(map[int64]string{}, notices()); diff != "" {
		t.Errorf("8 days before (-want +got):\n%s", diff)
	}
	now = now.AddDate(0, 0, 1)
	warn()
	warn()
	want := map[int64]string{ada.ID: "The API token “for 8 days” expires soon"}
	if diff := cmp.Diff(want, notices()); diff != "" {
		t.Errorf("a week before (-want +got):\n%s", diff)
	}

	// The team of a service account is told, or administrators if nobody is in it.
	kim := dbtest.Must(people.New(store).SignInIdentity(t.Context(), crash.Identity{Source: crash.SourceOIDC,
		Issuer:  "https://id.example",
		Subject: "1", Name: "kim", Groups: []string{"release"}}))(t)
	for name, team := range map[string]string{"bot": "release", "orphan": "nobody"} {
		u, err := a.AddService(t.Context(), "", name, crash.RoleViewer, crash.Team{Source: crash.SourceOIDC, Name: team})
		if err == nil {
			_, _, err = a.AddToken(t.Context(), "", u, "of "+name, crash.Scopes[:1], now.AddDate(0, 0, 8))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	now = now.AddDate(0, 0, 1)
	warn()
	want[ada.ID] += "; The API token “of orphan” expires soon"
	want[kim.UserID] = "The API token “of bot” expires soon"
	if diff := cmp.Diff(want, notices()); diff != "" {
		t.Errorf("tokens of service accounts (-want +got):\n%s", diff)
	}
}
