package db_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

func split(t *testing.T, s *db.Store, id crash.BucketID, c crash.Condition) crash.Decision {
	t.Helper()
	d, err := db.NewDecisions(s).Split(t.Context(), id, c, "ada", "they are different")
	if err != nil {
		t.Fatalf("split: %v", err)
	}
	return finished(t, s, d.ID)
}

func finished(t *testing.T, s *db.Store, id int64) crash.Decision {
	t.Helper()
	if err := db.NewDecisions(s).FinishSplit(t.Context(), id); err != nil {
		t.Fatalf("finish split: %v", err)
	}
	d, err := db.NewDecisions(s).Decision(t.Context(), id)
	if err != nil || !d.Finished {
		t.Fatalf("decision: got %+v, %v, want it finished", d, err)
	}
	return d
}

var arm = crash.Condition{Terms: []crash.Term{{Field: crash.TermArchitecture, Value: "arm64"}}}

func TestSplit(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	var id crash.BucketID
	for m := range 9 {
		id = crashed(t, s, m, "aa", "parse:load", crash.Fields{"Architecture": []string{"amd64", "arm64"}[m%2]})
	}
	preview, err := db.NewDecisions(s).PreviewSplit(t.Context(), id, arm)
	if err != nil || preview.LookedAt != 9 || preview.Goes != 4 || preview.Stays != 5 || preview.More ||
		len(preview.GoesExamples) != 4 {
		t.Errorf("preview: got %+v, %v, want 4 of 9 to go", preview, err)
	}
	d := split(t, s, id, arm)
	if d.Moved != 4 || d.Bucket != id {
		t.Errorf("got %d moved out of %s, want 4", d.Moved, d.Bucket)
	}
	out := bucket(t, s, d.Other)
	if out.Signature != "/usr/bin/tide:11:parse:load [architecture arm64]" || out.Reports != 4 || out.Systems != 4 {
		t.Errorf("taken out: got %q with %d reports, %d machines, want 4, 4", out.Signature, out.Reports, out.Systems)
	}
	crashed(t, s, 20, "aa", "parse:load", crash.Fields{"Architecture": "arm64"})
	crashed(t, s, 21, "aa", "parse:load", crash.Fields{"Architecture": "amd64"})
	if rest, out := bucket(t, s, id), bucket(t, s, d.Other); rest.Reports != 6 || out.Reports != 5 {
		t.Errorf("new reports: got %d and %d, want 6 and 5", rest.Reports, out.Reports)
	}
	checkCounts(t, url)
	if _, err := db.NewDecisions(s).Split(t.Context(), id, arm, "ada", ""); !errors.Is(err, crash.Conflict) {
		t.Errorf("the same again: got %v, want a conflict", err)
	}

	// Split the new problem in turn. The first split then cannot be undone before the second.
	further := split(t, s, d.Other,
		crash.Condition{Terms: []crash.Term{{Field: crash.TermRelease, Value: "Ubuntu 24.04"}}})
	if _, err := db.NewDecisions(s).Undo(t.Context(), d.ID, "bob"); !errors.Is(err, crash.Conflict) {
		t.Errorf("undone below: got %v, want a conflict", err)
	}
	crashed(t, s, 22, "aa", "parse:load", crash.Fields{"Architecture": "arm64"})
	if b := bucket(t, s, further.Other); b.Reports != 6 {
		t.Errorf("taken out twice: got %d, want 6", b.Reports)
	}
	for _, d := range []crash.Decision{further, d} {
		undo(t, s, d)
		finished(t, s, d.ID)
	}
	for _, at := range []crash.BucketID{id, d.Other, further.Other} { // old addresses lead to the problem
		if b := bucket(t, s, at); b.ID != id || b.Reports != 12 {
			t.Errorf("undone: got %s with %d reports at %s, want %s with 12", b.ID, b.Reports, at, id)
		}
	}
	checkCounts(t, url)

	// Make the same split again.
	again := split(t, s, id, arm)
	if b := bucket(t, s, again.Other); again.Other != d.Other || b.ID != again.Other || b.Reports != 6 {
		t.Errorf("again: got %s with %d, want %s with 6", b.ID, b.Reports, d.Other)
	}
	checkCounts(t, url)
}

func TestSplitChosen(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	p := saveProblems(t, s, 2)
	var all []crash.OopsID
	for m := range 4 {
		another(t, s, 0, m+10)
	}
	rows, err := problems.New(s).BucketReports(t.Context(), p[0], crash.OopsID{}, 10)
	if err != nil || len(rows) != 5 {
		t.Fatalf("reports: got %d, %v, want 5", len(rows), err)
	}
	for _, row := range rows[:3] {
		all = append(all, row.ID)
	}
	merge(t, s, p[1], p[0])
	d := split(t, s, p[1], crash.Condition{Reports: all})
	if b := bucket(t, s, d.Other); d.Moved != 3 || b.Reports != 3 {
		t.Errorf("got %d moved, %d reports, want 3", d.Moved, b.Reports)
	}
	checkCounts(t, url)
	undo(t, s, d)
	finished(t, s, d.ID)
	undo(t, s, decisions(t, s, p[1])[len(decisions(t, s, p[1]))-1]) // the merge
	if b := bucket(t, s, p[0]); b.Reports != 5 {
		t.Errorf("undone: got %d reports, want them in the bucket of their own signature, 5", b.Reports)
	}
	checkCounts(t, url)
}

// TestSplitByFrame splits by the fields of reports, both stored and new ones.
func TestSplitByFrame(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	stack := func(m int, function string) crash.BucketID {
		return crashed(t, s, m, "aa", "parse:load", crash.Fields{"Stacktrace": fmt.Sprintf("#0  0x01 in parse () from "+
			"/lib/a.so\n#1  0x02 in %s () from /lib/a.so", function)})
	}
	stack(1, "gtk_draw")
	id := stack(2, "qt_draw")
	d := split(t, s, id, crash.Condition{Terms: []crash.Term{{Field: crash.TermFrame, Value: "gtk_draw"}}})
	stack(3, "gtk_draw")
	stack(4, "qt_draw")
	if out, rest := bucket(t, s, d.Other), bucket(t, s, id); out.Reports != 2 || rest.Reports != 2 {
		t.Errorf("got %d and %d, want 2 and 2", out.Reports, rest.Reports)
	}
	checkCounts(t, url)
}

// TestSplitOfDroppedReports splits a problem whose oldest reports were dropped. Their counts and
// the first occurrence stay.
func TestSplitOfDroppedReports(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	old := record(t, today.AddDate(0, -3, 0), "old", crash.Fields{"Architecture": "arm64", "Package": "harbor 2.0-1"})
	save(t, s, old)
	id := crash.BucketIDOf(old.Grouping.Signature)
	save(t, s, record(t, today, "new", crash.Fields{"Architecture": "arm64"}))
	dbtest.Counted(t, s)
	before := bucket(t, s, id)
	dbtest.Exec(t, url, `delete from reports where received < $1`, today.AddDate(0, -1, 0))
	d := split(t, s, id, arm)
	rest, out := bucket(t, s, id), bucket(t, s, d.Other)
	if rest.Reports != 1 || out.Reports != 1 || !rest.FirstSeen.Equal(before.FirstSeen) ||
		!out.FirstSeen.Equal(today.Truncate(time.Second)) {
		t.Errorf("got %d since %v and %d since %v, want 1 since %v and 1 since %v", rest.Reports, rest.FirstSeen, out.Reports,
			out.FirstSeen, before.FirstSeen, today)
	}
	if rest.First() != before.First() || rest.Last() != before.First() || rest.FirstSeenVersion != "2.0-1" {
		t.Errorf("got %+v – %+v, want the dropped report %+v for both", rest.First(), rest.Last(), before.First())
	}
	if out.First() != before.Last() || out.Last() != before.Last() || out.FirstSeenVersion != "1.0-1" {
		t.Errorf("got %+v – %+v, want the stored report %+v for both", out.First(), out.Last(), before.Last())
	}
}
