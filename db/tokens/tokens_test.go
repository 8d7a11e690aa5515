package tokens_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/access"
	"mishap/db/accounts"
	"mishap/db/dbtest"
	"mishap/db/tokens"
)

// TestWarnOfExpiry checks that the owner is told once, a week before a token expires, also when two
// instances look at the same time.
func TestWarnOfExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 18, 12, 0, 0, 0, time.UTC)
	url := dbtest.URL(t)
	store, err := db.Open(t.Context(), db.Config{URL: url, Log: dbtest.Log(t), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	a := accounts.New(store)
	user := func(name string) crash.User {
		u, err := a.Add(t.Context(), "", name, crash.RoleAdmin, "correct horse battery")
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	ada, gone := user("ada"), user("gone")
	for u, days := range map[*crash.User][]int{&ada: {8, 30, 7}, &gone: {8}} {
		for _, d := range days {
			_, _, err := a.AddToken(t.Context(), *u, fmt.Sprintf("for %d days", d), crash.Scopes[:1], now.AddDate(0, 0, d))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := a.Disable(t.Context(), "", "gone"); err != nil {
		t.Fatal(err)
	}
	notices := func() map[int64]string {
		got := map[int64]string{}
		rows, err := store.Pool.Query(t.Context(),
			`select n.user_id, string_agg(e.title, '; ' order by e.title) from notices as n join events as e
				on e.id = n.event_id where e.kind = 'token' group by n.user_id`)
		if err != nil {
			t.Fatal(err)
		}
		var id int64
		var titles string
		if _, err := pgx.ForEachRow(rows, []any{&id, &titles}, func() error { got[id] = titles; return nil }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	warn := func() {
		t.Helper()
		results := make(chan error, 2)
		for range cap(results) {
			go func() { results <- tokens.New(store, a).WarnOfExpiry(t.Context()) }()
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
	kim, err := access.New(store).SignIn(t.Context(), crash.Identity{Source: crash.SourceOIDC,
		Issuer:  "https://id.example",
		Subject: "1", Name: "kim", Groups: []string{"release"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, team := range map[string]string{"bot": "release", "orphan": "nobody"} {
		u, err := a.AddService(t.Context(), "", name, crash.RoleViewer, crash.Team{Source: crash.SourceOIDC, Name: team})
		if err == nil {
			_, _, err = a.AddTokenFor(t.Context(), "", u, "of "+name, crash.Scopes[:1], now.AddDate(0, 0, 8))
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
