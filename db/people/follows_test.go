package people_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/people"
)

func TestFollow(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	ctx := t.Context()
	persons := people.New(s)
	ada := dbtest.Must(persons.Add(ctx, "", "ada", crash.RoleViewer, "correct horse battery"))(t)
	bob := dbtest.Must(persons.Add(ctx, "", "bob", crash.RoleViewer, "correct horse battery"))(t)
	zsh, team := crash.Follow{Kind: crash.FollowPackage, Name: "zsh"}, crash.Follow{Kind: crash.FollowPerson, Name: "zsh"}
	for _, f := range []crash.Follow{zsh, zsh, team} { // following twice has no further effect
		checktest.NoError(t, people.New(s).Follow(ctx, ada.ID, f))
	}
	want := []crash.Follow{zsh, team}
	got, err := people.New(s).Followed(ctx, ada.ID)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(crash.Follow{}, "Since")); diff != "" || err != nil {
		t.Errorf("followed: %v (-want +got):\n%s", err, diff)
	}
	if got, err := people.New(s).Followed(ctx, bob.ID); err != nil || len(got) != 0 {
		t.Errorf("another person follows %v, %v, want nothing", got, err)
	}
	checktest.NoError(t, people.New(s).Unfollow(ctx, ada.ID, zsh))
	for f, want := range map[crash.Follow]bool{zsh: false, team: true} {
		if got, err := people.New(s).Follows(ctx, ada.ID, f); got != want || err != nil {
			t.Errorf("follows %v: got %t, %v, want %t", f, got, err, want)
		}
	}
}

// TestFollowMerged checks that who follows a problem follows the one that it was merged into, once.
func TestFollowMerged(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	people := people.New(s)
	ada := dbtest.Must(people.Add(t.Context(), "", "ada", crash.RoleViewer, "correct horse battery"))(t)
	follow := func(id crash.BucketID) crash.Follow {
		return crash.Follow{Kind: crash.FollowProblem, Name: id.String()}
	}
	var ids []crash.BucketID
	for i, signature := range []string{"one", "two"} {
		receipt := dbtest.Must(intake.New(intake.Config{MaxAgeDays: 366}, s).Accept(t.Context(), crash.Report{System: "m",
			Fields: crashtest.Native(crashtest.Process(i), crashtest.Set("DuplicateSignature", signature)).Fields()}))(t)
		dbtest.Counted(t, s)
		report := dbtest.Must(s.Report(t.Context(), receipt.ID))(t)
		ids = append(ids, *report.Bucket)
	}
	checktest.NoError(t, people.Follow(t.Context(), ada.ID, follow(ids[1])))
	for i, want := range []bool{false, true} {
		if got, err := people.Follows(t.Context(), ada.ID, follow(ids[0])); got != want || err != nil {
			t.Errorf("merged %d: got %t, %v, want %t", i, got, err, want)
		}
		if _, err := db.NewDecisions(s).Merge(t.Context(), ids[0], ids[1:], "ada", ""); i == 0 && err != nil {
			t.Fatal(err)
		}
	}
	checktest.NoError(t, people.Follow(t.Context(), ada.ID, follow(ids[0])))
	if got, err := people.Followed(t.Context(), ada.ID); len(got) != 1 || err != nil {
		t.Errorf("followed: got %v, %v, want one", got, err)
	}
	checktest.NoError(t, people.Unfollow(t.Context(), ada.ID, follow(ids[0])))
	if got, err := people.Followed(t.Context(), ada.ID); len(got) != 0 || err != nil {
		t.Errorf("after unfollowing: got %v, %v", got, err)
	}
}

// TestMarks checks that marks end with their follow.
func TestMarks(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	people := people.New(s)
	ada := dbtest.Must(people.Add(t.Context(), "", "ada", crash.RoleViewer, "correct horse battery"))(t)
	id := crash.BucketIDOf("one")
	f := crash.Follow{Kind: crash.FollowProblem, Name: id.String()}
	mark := crash.FollowMark{Kind: f.Kind, Name: f.Name, Bucket: id, Mark: "{}", News: "now fixed",
		At: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
	want := func(marks ...crash.FollowMark) {
		t.Helper()
		got, err := people.Marks(t.Context(), ada.ID)
		if diff := cmp.Diff(marks, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("marks: %v (-want +got):\n%s", err, diff)
		}
	}
	save := func(save, drop []crash.FollowMark) {
		t.Helper()
		checktest.NoError(t, people.SaveMarks(t.Context(), ada.ID, save, drop))
	}
	save([]crash.FollowMark{mark}, nil) // ada does not follow it
	want()
	checktest.NoError(t, people.Follow(t.Context(), ada.ID, f))
	first := mark
	first.At, first.News = time.Time{}, ""
	save([]crash.FollowMark{first}, nil)
	want(first)
	save([]crash.FollowMark{mark}, nil)
	want(mark)
	moved := mark
	moved.Bucket = crash.BucketIDOf("two")
	save([]crash.FollowMark{moved}, []crash.FollowMark{mark})
	want(moved)
	checktest.NoError(t, people.Unfollow(t.Context(), ada.ID, f))
	want()
}

func TestFollowTooMuch(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	ada := dbtest.Must(people.New(s).Add(t.Context(), "", "ada", crash.RoleViewer, "correct horse battery"))(t)
	dbtest.Exec(t, url,
		`insert into followed (user_id, kind, name, since)
		select $1, 'package', 'p' || n, now() from generate_series(1, 500) as n`, ada.ID)
	if err := people.New(s).Follow(t.Context(), ada.ID, crash.Follow{Kind: crash.FollowPackage,
		Name: "p7"}); err != nil {
		t.Errorf("what is followed already: got %v, want no error", err)
	}
	if err := people.New(s).Follow(t.Context(), ada.ID, crash.Follow{Kind: crash.FollowPackage,
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
	s := dbtest.Must(db.Open(t.Context(), db.Config{
		URL: dbtest.URL(t), Log: dbtest.Log(t), Now: func() time.Time { return now },
	}))(t)
	t.Cleanup(s.Close)
	ada := dbtest.Must(people.New(s).Add(t.Context(), "", "ada", crash.RoleViewer, "correct horse battery"))(t)
	for _, look := range []struct {
		after time.Duration
		want  time.Duration // time from which problems are new; negative if none are
	}{
		{0, -1}, {20 * time.Minute, -1}, {45 * time.Minute, -1}, {2 * time.Hour, 45 * time.Minute},
		{2*time.Hour + 29*time.Minute, 45 * time.Minute},
		{26 * time.Hour, 2*time.Hour + 29*time.Minute},
	} {
		now = start.Add(look.after)
		v, err := people.New(s).Visit(t.Context(), ada.ID)
		want := start.Add(look.want)
		if look.want < 0 {
			want = time.Time{}
		}
		if err != nil || !v.Seen.Equal(want) || !v.Last.Equal(now) {
			t.Errorf("after %v: got %v, %v, want %v", look.after, v, err, want)
		}
	}
	before, err := people.New(s).SetSeen(t.Context(), ada.ID, now)
	if want := start.Add(2*time.Hour + 29*time.Minute); err != nil || !before.Equal(want) {
		t.Errorf("seen before: got %v, %v, want %v", before, err, want)
	}
	if v, err := people.New(s).Visit(t.Context(), ada.ID); err != nil || !v.Seen.Equal(now) {
		t.Errorf("seen: got %v, %v, want %v", v, err, now)
	}
}

// TestMentionEvents checks that a note publishes one event to each account that it names.
func TestMentionEvents(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	people := people.New(s)
	for _, name := range []string{"Anna", "bob", "carla", "former"} {
		dbtest.AddUser(t, s, name, crash.RoleViewer, "correct horse battery")
	}
	checktest.NoError(t, people.Disable(t.Context(), "", "former"))
	receipt := dbtest.Must(intake.New(intake.Config{MaxAgeDays: 366}, s).Accept(t.Context(), crash.Report{System: "m",
		Fields: crashtest.Native(crashtest.Set("DuplicateSignature", "tide:/home/wendeline/x")).Fields()}))(t)
	dbtest.Counted(t, s)
	report := dbtest.Must(s.Report(t.Context(), receipt.ID))(t)
	told := func(want string) {
		t.Helper()
		var got string
		if err := s.Pool.QueryRow(t.Context(), `
			select coalesce(string_agg(u.name || ': ' || e.text, ' ' order by u.name), '')
			from notices as n join events as e on e.id = n.event_id join users as u on u.id = n.user_id
			where e.kind = 'mentioned'`).Scan(&got); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	id := dbtest.Must(people.AddNote(t.Context(), *report.Bucket, "@ANNA and @bob: ask anna@example.org, @carlo or "+
		"@former. @anna!", "bob"))(t)
	const anna = "Anna: bob mentioned you in a note about tide:[removed]."
	told(anna)
	change := func(text string) {
		t.Helper()
		checktest.NoError(t, people.ChangeNote(t.Context(), *report.Bucket, id, text, "Anna"))
	}
	change("@anna @bob @Carla")
	told(anna + " carla: Anna mentioned you in a note about tide:[removed].")
	change("")
	change("@carla")
	told(anna + " carla: Anna mentioned you in a note about tide:[removed].")
	known, err := people.Named(t.Context(), []string{"ANNA", "carlo", "former"})
	if err != nil || len(known) != 2 || known["ANNA"] != "Anna" {
		t.Errorf("names of accounts: got %v, %v", known, err)
	}
}
