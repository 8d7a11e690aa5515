package problems_test

import (
	"fmt"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/db/people"
	"mishap/db/problems"
)

func TestSavedSearches(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	a, searches := people.New(store), problems.New(store)
	ctx := t.Context()
	add := func(name string) crash.User {
		u, err := a.Add(ctx, "", name, crash.RoleViewer, "correct horse battery")
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	ada, bob := add("ada"), add("bob")
	save := func(u crash.User, name string, shared bool) int64 {
		t.Helper()
		id, err := searches.SaveSearch(ctx, crash.SavedSearch{Name: name, Path: "/?period=week", Shared: shared,
			OwnerID: u.ID})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	personal, shared := save(ada, "Mine", false), save(ada, "Ours", true)
	save(bob, "mine", false) // names are unique per person
	wantNames := func(u crash.User, want ...string) {
		t.Helper()
		all, err := searches.SavedSearches(ctx, u.ID)
		var got []string
		for _, s := range all {
			got = append(got, s.Name+" of "+s.Owner)
			if s.Path != "/?period=week" || time.Since(s.Created) > time.Hour {
				t.Errorf("got %+v", s)
			}
		}
		if err != nil || len(got) != len(want) {
			t.Fatalf("searches of %s: got %q, %v, want %q", u.Name, got, err, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("searches of %s: got %q, want %q", u.Name, got, want)
			}
		}
	}
	wantNames(ada, "Mine of ada", "Ours of ada")
	wantNames(bob, "mine of bob", "Ours of ada")
	wantKind := func(what string, err error, want crash.Kind) {
		t.Helper()
		if crash.KindOf(err) != want {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	_, err := searches.SavedSearch(ctx, bob.ID, personal, false)
	wantKind("a personal search of another", err, crash.NotFound)
	if s, err := searches.SavedSearch(ctx, bob.ID, shared, false); err != nil || s.MayChange(bob) || !s.MayChange(ada) ||
		!s.MayChange(crash.User{ID: 99, Role: crash.RoleAdmin}) {
		t.Errorf("a shared search: got %+v, %v", s, err)
	}
	_, err = searches.SaveSearch(ctx, crash.SavedSearch{Name: "MINE", Path: "/?period=day", OwnerID: ada.ID})
	wantKind("a name in use", err, crash.Conflict)
	wantKind("renaming to a name in use", searches.ChangeSearch(ctx, crash.SavedSearch{ID: shared, Name: "mine"}),
		crash.Conflict)
	if err := searches.ChangeSearch(ctx, crash.SavedSearch{ID: shared, Name: "Not ours"}); err != nil {
		t.Fatal(err)
	}
	wantNames(bob, "mine of bob")

	if err := searches.DeleteSearch(ctx, personal); err != nil {
		t.Fatal(err)
	}
	wantNames(ada, "Not ours of ada")
	wantKind("deleting twice", searches.DeleteSearch(ctx, personal), crash.NotFound)
	again := save(ada, "Mine", false)
	wantKind("restoring a name in use", searches.RestoreSearch(ctx, personal), crash.Conflict)
	if err := searches.DeleteSearch(ctx, again); err != nil {
		t.Fatal(err)
	}
	if err := searches.RestoreSearch(ctx, personal); err != nil {
		t.Fatal(err)
	}
	wantNames(ada, "Mine of ada", "Not ours of ada")
	for n := range 98 {
		save(ada, fmt.Sprintf("search %d", n), false)
	}
	_, err = searches.SaveSearch(ctx, crash.SavedSearch{Name: "one more", Path: "/?period=day", OwnerID: ada.ID})
	wantKind("too many", err, crash.Conflict)
}

func TestSearchName(t *testing.T) {
	t.Parallel()
	if got, err := crash.SearchName("  SRU watch "); got != "SRU watch" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, name := range []string{"", "  ", "a\nb", "\xff", string(make([]byte, 61))} {
		if _, err := crash.SearchName(name); crash.KindOf(err) != crash.Invalid {
			t.Errorf("%q: got %v, want Invalid", name, err)
		}
	}
}
