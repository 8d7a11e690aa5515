package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/index"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/people"
	"mishap/db/problems"
)

// The revision changes with every change that is visible, in whatever order transactions begin,
// write and commit. It does not change without one.
func TestRevision(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	last := ""
	check := func(what string, changed bool) {
		t.Helper()
		word := dbtest.Must(s.Revision(t.Context()))(t)
		if (word != last) != changed {
			t.Errorf("%s: got %q after %q, want another word: %t", what, word, last, changed)
		}
		last = word
	}
	const add, forget = "insert into bugs (number, url) values ($1, '')", "delete from bugs where number = $1"
	early, late := begin(t, url), begin(t, url)
	exec := func(tx pgx.Tx, sql string, number int64) {
		t.Helper()
		dbtest.Must(tx.Exec(t.Context(), sql, number))(t)
	}
	check("nothing", true)
	exec(early, add, 1)
	exec(early, add, 2)
	exec(late, add, 3)
	check("not committed", false)
	commit(t, late)
	check("late committed", true)
	check("nothing since", false)
	commit(t, early)
	check("early committed", true)
	none := begin(t, url)
	exec(none, forget, 4)
	commit(t, none)
	check("no row changed", false)
	gone := begin(t, url)
	exec(gone, forget, 3)
	commit(t, gone)
	check("a row less", true)
	back := begin(t, url)
	exec(back, add, 5)
	checktest.NoError(t, back.Rollback(t.Context()))
	check("rolled back", false)
	checktest.NoError(t, people.NewSessions(s).DeleteExpired(t.Context()))
	check("new rows stay", false)
}

func begin(t *testing.T, url string) pgx.Tx {
	t.Helper()
	return dbtest.Must(dbtest.Connect(t, url).Begin(t.Context()))(t)
}

func commit(t *testing.T, tx pgx.Tx) {
	t.Helper()
	checktest.NoError(t, tx.Commit(t.Context()))
}

// TestRevisionOfPolls checks that the revision does not change if the tracker says nothing new.
func TestRevisionOfPolls(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	ctx := t.Context()
	id := saveProblems(t, s, 1)[0]
	dbtest.Must(bugs.New(s).LinkBug(ctx, id, crash.Bug{Number: 7, Title: "It fell over", URL: "https://bugs.example/7",
		By: "ada"}))(t)
	checktest.NoError(t, s.WaitCounted(ctx))
	reading := crash.BugReading{Number: 7, Title: "It fell over", InformationType: "Public",
		Tasks: []crash.BugTask{{Target: "tide", Status: "New"}}}
	duplicate := reading
	duplicate.DuplicateOf = 8
	want := crash.ArchiveWant{Kind: crash.ArchiveSource, Key: "tide"}
	known := crash.ArchiveFact{ArchiveWant: want, Exists: true, Names: []string{"tide"}}
	// wait makes the stored facts look old, so that they are read again.
	wait := func() error {
		_, err := dbtest.Connect(t, url).Exec(ctx,
			`update bug_states set read = read - interval '1 hour', next_read = now() + interval '1 hour';
			update archive_facts set asked = asked - interval '3 days'`)
		return err
	}
	last := dbtest.Must(s.Revision(ctx))(t)
	for i, step := range []struct {
		what    string
		changed bool
		do      func() error
	}{
		{"the first reading", true, func() error { return bugs.New(s).SaveBugReading(ctx, reading, "", time.Minute) }},
		{"the same again", false, func() error { return bugs.New(s).SaveBugReading(ctx, reading, "", time.Minute) }},
		{"time", false, wait},
		{"someone looks at it", false, func() error { return bugs.New(s).RefreshBugs(ctx, []int64{7}, time.Minute) }},
		{"someone has it read", false, func() error { return bugs.New(s).ReadBugsNow(ctx, []int64{7}) }},
		{"the tracker lists it as changed", false, func() error {
			return bugs.New(s).SaveChanges(ctx, 0, []int64{7}, today)
		}},
		{"the tracker is away", true, func() error { return bugs.New(s).FailBugReading(ctx, 7, "away", time.Minute) }},
		{"it still is", false, func() error { return bugs.New(s).FailBugReading(ctx, 7, "away", time.Minute) }},
		{"it is back", true, func() error { return bugs.New(s).SaveBugReading(ctx, reading, "", time.Minute) }},
		{"a duplicate", true, func() error {
			return bugs.New(s).SaveBugReading(ctx, duplicate, "https://bugs.example/8", time.Minute)
		}},
		{"the duplicate again", false, func() error {
			return bugs.New(s).SaveBugReading(ctx, duplicate, "https://bugs.example/8", time.Minute)
		}},
		{"a fact is wanted", false,
			func() error { _, err := bugs.New(s).ArchiveFacts(ctx, []crash.ArchiveWant{want}); return err }},
		{"the archive is away", false, func() error { return bugs.New(s).FailArchiveFact(ctx, want, "away", time.Minute) }},
		{"a fact becomes known", true, func() error { return bugs.New(s).SaveArchiveFact(ctx, known, time.Minute) }},
		{"the same fact", false, func() error { return bugs.New(s).SaveArchiveFact(ctx, known, time.Minute) }},
		{"days", false, wait},
		{"it is wanted again", false,
			func() error { _, err := bugs.New(s).ArchiveFacts(ctx, []crash.ArchiveWant{want}); return err }},
		{"there is no such thing", true, func() error {
			return bugs.New(s).SaveArchiveFact(ctx, crash.ArchiveFact{ArchiveWant: want}, time.Minute)
		}},
		{"the same title", false, func() error {
			_, err := dbtest.Connect(t, url).Exec(ctx, `update bugs set title = title`)
			return err
		}},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("step %d, %s: %v", i, step.what, err)
		}
		now := dbtest.Must(s.Revision(ctx))(t)
		if (now != last) != step.changed {
			t.Errorf("step %d, %s: got revision %s after %s, want a change: %t", i, step.what, now, last, step.changed)
		}
		last = now
	}
}

// TestOneRevision checks that a request that only reads keeps the revision it began with, and gets
// the index that others have brought up to date meanwhile, not a new one.
func TestOneRevision(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	crashed(t, s, 1, "aa", "old:load", nil)
	ctx := db.OneRevision(t.Context())
	revisions := func() (request, present string) {
		t.Helper()
		request = dbtest.Must(s.Revision(ctx))(t)
		present = dbtest.Must(s.Revision(t.Context()))(t)
		return request, present
	}
	if request, present := revisions(); request != present {
		t.Errorf("got revision %s at first, want %s", request, present)
	}
	id := crashed(t, s, 2, "bb", "new:load", nil)
	if request, present := revisions(); request == present {
		t.Errorf("got revision %s again after another report was counted", present)
	}

	newer := dbtest.Must(s.Index(t.Context()))(t)
	for _, read := range []func(context.Context) (*index.Index, error){s.Index, s.IndexWithStates} {
		ix := dbtest.Must(read(ctx))(t)
		if _, found := ix.Problem(id); ix != newer || !found {
			t.Errorf("got index %p with the problem: %t, want %p, which has it", ix, found, newer)
		}
	}
	if other := db.SameRevision(t.Context(), ctx); other == t.Context() {
		t.Error("SameRevision forgets the revision")
	}
}

// TestOneRevisionHides checks that a reader never sees an embargoed problem, whoever read the revision
// of the request first.
func TestOneRevisionHides(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	id := crashed(t, s, 1, "aa", "old:load", nil)
	embargo := crash.Mark{Kind: crash.MarkEmbargo, Bucket: id, Person: "ada", Reason: "r"}
	dbtest.Must(problems.New(s).Set(t.Context(), embargo))(t)
	ctx := db.OneRevision(t.Context())
	if ix, err := s.Index(ctx); err != nil {
		t.Fatal(err)
	} else if _, found := ix.Problem(id); !found {
		t.Error("without a reader, the index lacks the embargoed problem")
	}
	visitor := db.ReadFor(ctx, db.NewReader(func() crash.Packages { return crash.Packages{} }))
	if ix, err := s.Index(visitor); err != nil {
		t.Fatal(err)
	} else if _, found := ix.Problem(id); found {
		t.Error("a visitor sees the embargoed problem")
	}
}
