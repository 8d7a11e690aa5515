package accounts_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mishap/crash"
	"mishap/db"
	"mishap/db/accounts"
	"mishap/db/dbtest"
)

func TestFollow(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	ctx := t.Context()
	people := accounts.New(s)
	ada, err := people.Add(ctx, "", "ada", crash.RoleViewer, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	bob, err := people.Add(ctx, "", "bob", crash.RoleViewer, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	zsh, team := crash.Follow{Kind: crash.FollowPackage, Name: "zsh"}, crash.Follow{Kind: crash.FollowPerson, Name: "zsh"}
	for _, f := range []crash.Follow{zsh, zsh, team} { // following twice has no further effect
		if err := accounts.New(s).Follow(ctx, ada.ID, f); err != nil {
			t.Fatal(err)
		}
	}
	want := []crash.Follow{zsh, team}
	got, err := accounts.New(s).Followed(ctx, ada.ID)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(crash.Follow{}, "Since")); diff != "" || err != nil {
		t.Errorf("followed: %v (-want +got):\n%s", err, diff)
	}
	if got, err := accounts.New(s).Followed(ctx, bob.ID); err != nil || len(got) != 0 {
		t.Errorf("another person follows %v, %v, want nothing", got, err)
	}
	if err := accounts.New(s).Unfollow(ctx, ada.ID, zsh); err != nil {
		t.Fatal(err)
	}
	for f, want := range map[crash.Follow]bool{zsh: false, team: true} {
		if got, err := accounts.New(s).Follows(ctx, ada.ID, f); got != want || err != nil {
			t.Errorf("follows %v: got %t, %v, want %t", f, got, err, want)
		}
	}
}

func TestFollowTooMuch(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	ada, err := accounts.New(s).Add(t.Context(), "", "ada", crash.RoleViewer, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, url,
		`insert into followed (user_id, kind, name, since)
		select $1, 'package', 'p' || n, now() from generate_series(1, 500) as n`, ada.ID)
	if err := accounts.New(s).Follow(t.Context(), ada.ID, crash.Follow{Kind: crash.FollowPackage,
		Name: "p7"}); err != nil {
		t.Errorf("what is followed already: got %v, want no error", err)
	}
	if err := accounts.New(s).Follow(t.Context(), ada.ID, crash.Follow{Kind: crash.FollowPackage,
		Name: "q"}); crash.KindOf(err) != crash.Conflict {
		t.Errorf("one more: got %v, want a conflict", err)
	}
}

// TestVisit looks several times. Looks close together are one visit, and its new problems stay new
// until it ends.
func TestVisit(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	now := start
	s, err := db.Open(t.Context(), db.Config{
		URL: dbtest.URL(t), Log: dbtest.Log(t), Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	ada, err := accounts.New(s).Add(t.Context(), "", "ada", crash.RoleViewer, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	for _, look := range []struct {
		after time.Duration
		want  time.Duration // time from which problems are new; negative if none are
	}{
		{0, -1}, {20 * time.Minute, -1}, {45 * time.Minute, -1}, {2 * time.Hour, 45 * time.Minute},
		{2*time.Hour + 29*time.Minute, 45 * time.Minute},
		{26 * time.Hour, 2*time.Hour + 29*time.Minute},
	} {
		now = start.Add(look.after)
		v, err := accounts.New(s).Visit(t.Context(), ada.ID)
		want := start.Add(look.want)
		if look.want < 0 {
			want = time.Time{}
		}
		if err != nil || !v.Seen.Equal(want) || !v.Last.Equal(now) {
			t.Errorf("after %v: got %v, %v, want %v", look.after, v, err, want)
		}
	}
	before, err := accounts.New(s).SetSeen(t.Context(), ada.ID, now)
	if want := start.Add(2*time.Hour + 29*time.Minute); err != nil || !before.Equal(want) {
		t.Errorf("seen before: got %v, %v, want %v", before, err, want)
	}
	if v, err := accounts.New(s).Visit(t.Context(), ada.ID); err != nil || !v.Seen.Equal(now) {
		t.Errorf("seen: got %v, %v, want %v", v, err, now)
	}
}
