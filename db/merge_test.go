package db_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

// saveProblems stores one report of each of n problems and returns their ids.
func saveProblems(t *testing.T, s *db.Store, n int) []crash.BucketID {
	t.Helper()
	ids := make([]crash.BucketID, n)
	for i := range ids {
		ids[i] = another(t, s, i, 0)
	}
	return ids
}

// another stores a report of problem i by machine m, and returns the bucket of its signature.
func another(t *testing.T, s *db.Store, i, m int) crash.BucketID {
	t.Helper()
	rec := record(t, today, fmt.Sprint("machine ", m), crash.Fields{
		"ProcStatus": fmt.Sprint("Pid:\t", i),
		"Traceback": fmt.Sprintf("Traceback (most recent call last):\n  File \"/usr/bin/harbor-sync\", line 3, in main\n   "+
			" load()\nError%d: no\n", i),
	})
	save(t, s, rec)
	return crash.BucketIDOf(rec.Grouping.Signature)
}

func merge(t *testing.T, s *db.Store, into crash.BucketID, from ...crash.BucketID) crash.BucketID {
	t.Helper()
	head, err := db.NewDecisions(s).Merge(t.Context(), into, from, "ada", "one fault")
	if err != nil {
		t.Fatalf("merge: %v", err)
	}
	return head
}

func bucket(t *testing.T, s *db.Store, id crash.BucketID) crash.Bucket {
	t.Helper()
	b, err := s.Bucket(t.Context(), id)
	if err != nil {
		t.Fatalf("bucket: %v", err)
	}
	return b
}

func decisions(t *testing.T, s *db.Store, id crash.BucketID) []crash.Decision {
	t.Helper()
	all, err := db.NewDecisions(s).Decisions(t.Context(), id, 100)
	if err != nil {
		t.Fatalf("decisions: %v", err)
	}
	return all
}

func undo(t *testing.T, s *db.Store, d crash.Decision) {
	t.Helper()
	if _, err := db.NewDecisions(s).Undo(t.Context(), d.ID, "bob"); err != nil {
		t.Fatalf("undo: %v", err)
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	p := saveProblems(t, s, 4)
	another(t, s, 1, 7)

	// A chain of merges is flattened. Undoing the middle one also separates what was merged into it
	// before.
	merge(t, s, p[1], p[0])
	merge(t, s, p[2], p[1])
	for _, id := range p[:3] {
		if b := bucket(t, s, id); b.ID != p[2] || b.Members != 3 || b.Reports != 4 || b.Systems != 2 {
			t.Errorf("merged: got %s with %d members, %d reports, %d machines, want %s, 3, 4, 2", b.ID, b.Members, b.Reports,
				b.Systems, p[2])
		}
	}
	if _, err := db.NewDecisions(s).Merge(t.Context(), p[0], []crash.BucketID{p[2]}, "ada", ""); !errors.Is(err,
		crash.Conflict) {
		t.Errorf("in a circle: got %v, want a conflict", err)
	}
	if _, err := db.NewDecisions(s).Merge(t.Context(), p[0], []crash.BucketID{{1, 2, 3}}, "ada", ""); !errors.Is(err,
		crash.NotFound) {
		t.Errorf("unknown: got %v, want not found", err)
	}
	history := decisions(t, s, p[0])
	if len(history) != 2 || history[0].Bucket != p[1] || history[0].Other != p[2] || history[1].Person != "ada" ||
		history[1].Reason != "one fault" {
		t.Fatalf("history: got %+v", history)
	}

	// New reports of any bucket count for the merged problem.
	another(t, s, 0, 9)
	if b := bucket(t, s, p[2]); b.Reports != 5 || b.Systems != 3 {
		t.Errorf("after another report: got %d reports, %d machines, want 5, 3", b.Reports, b.Systems)
	}
	merge(t, s, p[3], p[0]) // any bucket stands for its problem
	if b := bucket(t, s, p[1]); b.ID != p[3] || b.Members != 4 {
		t.Errorf("the whole merged: got %s, %d members, want %s, 4", b.ID, b.Members, p[3])
	}
	undo(t, s, history[0]) // the merge of p[1] into p[2], which was merged further since
	for id, want := range map[crash.BucketID]crash.BucketID{p[0]: p[1], p[1]: p[1], p[2]: p[3], p[3]: p[3]} {
		if got := bucket(t, s, id).ID; got != want {
			t.Errorf("undone: head of %s: got %s, want %s", id, got, want)
		}
	}
	if _, err := db.NewDecisions(s).Undo(t.Context(), history[0].ID, "bob"); !errors.Is(err, crash.Conflict) {
		t.Errorf("undone twice: got %v, want a conflict", err)
	}
	if d := decisions(t, s, p[3]); len(d) != 2 || d[1].Stands() || d[1].UndoneBy != "bob" {
		t.Errorf("history after undoing: got %+v, want that it was undone by bob", d)
	}
	checkCounts(t, url)
}

func TestMergeCrosswise(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	stores := []*db.Store{dbtest.Open(t, url), dbtest.Open(t, url)}
	p := saveProblems(t, stores[0], 6)
	var people sync.WaitGroup
	for i := range 24 {
		people.Go(func() {
			_, err := db.NewDecisions(stores[i%2]).Merge(t.Context(), p[i%6], []crash.BucketID{p[(i+1+i/6)%6]}, "ada", "")
			if err != nil && !errors.Is(err, crash.Conflict) {
				t.Errorf("merge: %v", err)
			}
		})
	}
	people.Wait()
	head := bucket(t, stores[0], p[0])
	for _, id := range p {
		if got := bucket(t, stores[1], id).ID; got != head.ID {
			t.Errorf("head of %s: got %s, want %s", id, got, head.ID)
		}
	}
	if head.Members != 6 || head.Reports != 6 {
		t.Errorf("got %d members with %d reports, want 6 and 6", head.Members, head.Reports)
	}
	checkCounts(t, url)
}

func TestRename(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	p := saveProblems(t, s, 2)
	ctx := t.Context()
	for _, name := range []string{"The old one", "  The \t new one "} {
		if err := db.NewDecisions(s).Rename(ctx, p[0], name, "ada", ""); err != nil {
			t.Fatalf("rename: %v", err)
		}
	}
	if got := bucket(t, s, p[0]).Name; got != "The new one" {
		t.Errorf("got %q, want it on one line", got)
	}
	for name, want := range map[string]crash.Kind{"The new one": crash.Conflict, "a\x00b": crash.Invalid,
		fmt.Sprintf("%0201d", 1): crash.Invalid} {
		if err := db.NewDecisions(s).Rename(ctx, p[0], name, "ada", ""); !errors.Is(err, want) {
			t.Errorf("%.20q: got %v, want %v", name, err, want)
		}
	}
	history := decisions(t, s, p[0])
	if _, err := db.NewDecisions(s).Undo(ctx, history[1].ID, "bob"); !errors.Is(err, crash.Conflict) {
		t.Errorf("undo of the first name: got %v, want a conflict", err)
	}
	undo(t, s, history[0])
	if got := bucket(t, s, p[0]).Name; got != "The old one" {
		t.Errorf("undone: got %q, want the name before", got)
	}
	merge(t, s, p[1], p[0]) // the name is that of the head, which has none
	checktest.NoError(t, db.NewDecisions(s).Rename(ctx, p[0], "The whole", "ada", ""))
	if got := bucket(t, s, p[1]); got.Name != "The whole" || got.ID != p[1] {
		t.Errorf("got %q of %s, want the whole to have the name", got.Name, got.ID)
	}
}

func ask(t *testing.T, s *db.Store, bucket crash.BucketID, seen crash.Filing) crash.Filing {
	t.Helper()
	f, _, err := bugs.New(s).RequestFiling(t.Context(), crash.Intent{Bucket: bucket, Person: "ada", Target: "/ubuntu",
		Title: "t", Description: "d", Marker: "m"}, seen)
	if err != nil {
		t.Fatalf("ask: %v", err)
	}
	return f
}

func claim(t *testing.T, s *db.Store, f crash.Filing) crash.FilingClaim {
	t.Helper()
	c, err := bugs.New(s).ClaimFiling(t.Context(), f.ID, crash.OwnAccount{}, crash.FilingTerms{})
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return c
}

func finish(t *testing.T, s *db.Store, c crash.FilingClaim, state crash.FilingState, number int64) crash.Filing {
	t.Helper()
	f, err := bugs.New(s).FinishFiling(t.Context(), crash.FilingResult{Claim: c, State: state,
		Bug: crash.Bug{Number: number, How: crash.Filed}}, crash.FilingTerms{})
	if err != nil {
		t.Fatalf("finish: %v", err)
	}
	return f
}

// TestOneBugForMergedProblems merges problems while filings for both are queued. Only one is sent,
// and its bug belongs to the merged problem.
func TestOneBugForMergedProblems(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	p := saveProblems(t, s, 3)
	first, second := ask(t, s, p[0], crash.Filing{}), ask(t, s, p[1], crash.Filing{})
	merge(t, s, p[1], p[0])

	// Anyone who clicks now, on the page of either bucket, gets the existing filing.
	for _, id := range p[:2] {
		if b := bucket(t, s, id); b.Filing.ID != first.ID && b.Filing.ID != second.ID {
			t.Errorf("filing of the whole: got %d, want one of the two", b.Filing.ID)
		}
	}
	sent := claim(t, s, first)
	if sent.Step != crash.StepCreate {
		t.Fatalf("the first in line: got step %q, want that it is sent", sent.Step)
	}
	if b := bucket(t, s, p[1]); b.Filing.ID != first.ID || b.Filing.State != crash.FilingSending {
		t.Errorf("while it is sent: got %+v, want filing %d", b.Filing, first.ID)
	}
	finish(t, s, sent, crash.FilingFiled, 2100001)
	if c := claim(t, s, second); c.Step != crash.StepNone || c.State != crash.FilingFiled || c.Bug != 2100001 {
		t.Errorf("the second: got step %q, %s, bug %d, want nothing sent and the bug of the first", c.Step, c.State, c.Bug)
	}
	for _, id := range p[:2] {
		if b := bucket(t, s, id); b.Bug.Number != 2100001 {
			t.Errorf("bug of %s: got %d, want that of the whole", id, b.Bug.Number)
		}
	}
	// A third filing whose problem is merged while it is queued is not sent either.
	third := ask(t, s, p[2], crash.Filing{})
	merge(t, s, p[2], p[1])
	if c := claim(t, s, third); c.Step != crash.StepNone || c.Bug != 2100001 {
		t.Errorf("the third: got step %q, bug %d, want nothing sent", c.Step, c.Bug)
	}
	if bugs, err := bugs.New(s).BucketBugs(t.Context(), p[0]); err != nil || len(bugs) != 1 {
		t.Errorf("bugs of the whole: got %d, %v, want the one", len(bugs), err)
	}
	if buckets, err := bugs.New(s).BucketsOfBug(t.Context(), 2100001); err != nil || len(buckets) != 1 ||
		buckets[0].ID != p[2] {
		t.Errorf("problems with the bug: got %d, %v, want the whole", len(buckets), err)
	}
}

// TestUncertainBugOfMergedProblems merges while the outcome of a filing is unknown. Nothing is sent
// for the other bucket before it is known.
func TestUncertainBugOfMergedProblems(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	p := saveProblems(t, s, 2)
	first := ask(t, s, p[0], crash.Filing{})
	finish(t, s, claim(t, s, first), crash.FilingUncertain, 0)
	second := ask(t, s, p[1], crash.Filing{})
	merge(t, s, p[1], p[0])
	c := claim(t, s, second)
	if c.Step != crash.StepNone || c.State != crash.FilingAbandoned || c.Problem != "merged" {
		t.Fatalf("the second: got step %q, %s (%s), want that it cedes", c.Step, c.State, c.Problem)
	}
	b := bucket(t, s, p[1])
	if b.Filing.ID != first.ID || b.Filing.State != crash.FilingUncertain {
		t.Errorf("filing of the whole: got %d, %s, want the uncertain one", b.Filing.ID, b.Filing.State)
	}
	// Another click on the head continues that filing, and starts no other one.
	if f := ask(t, s, p[1], b.Filing); f.ID != first.ID {
		t.Errorf("asked again: got filing %d, want %d", f.ID, first.ID)
	}
}

// TestBugsOfMembers links, unlinks and relinks bugs through any bucket of a problem.
func TestBugsOfMembers(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	p := saveProblems(t, s, 2)
	ctx := t.Context()
	for i, id := range p {
		dbtest.Must(bugs.New(s).LinkBug(ctx, id, crash.Bug{Number: int64(11 + i), By: "ada"}))(t)
	}
	merge(t, s, p[1], p[0])
	if isNew, err := bugs.New(s).LinkBug(ctx, p[1], crash.Bug{Number: 11, By: "ada"}); err != nil || isNew {
		t.Errorf("a bug of a member: got %v, %v, want that it is there", isNew, err)
	}
	if err := bugs.New(s).UnlinkBug(ctx, p[1], 11, "ada"); err != nil {
		t.Fatalf("unlink: %v", err)
	}
	if bugs, err := bugs.New(s).BucketBugs(ctx, p[0]); err != nil || len(bugs) != 1 || bugs[0].Number != 12 {
		t.Errorf("after unlinking: got %v, %v, want 12", bugs, err)
	}
	if err := bugs.New(s).RelinkBug(ctx, p[1], 11, "ada"); err != nil {
		t.Fatalf("relink: %v", err)
	}
	undo(t, s, decisions(t, s, p[0])[0])
	if b := bucket(t, s, p[0]); b.Bug.Number != 11 {
		t.Errorf("after undoing the merge: got bug %d, want its own", b.Bug.Number)
	}
}

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

func TestLinks(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	ids := fill(t, s)
	ctx := t.Context()
	link := func(name string, number int64, person string) bool {
		t.Helper()
		isNew, err := bugs.New(s).LinkBug(ctx, ids[name], crash.Bug{Number: number, Title: "t", URL: "u", By: person})
		if err != nil {
			t.Fatalf("link %d to %s: %v", number, name, err)
		}
		return isNew
	}
	if !link("alpha", 7, "ada") || link("alpha", 7, "bob") || !link("alpha", 8, "bob") || !link("beta", 7, "ada") {
		t.Error("linking: want true for what is new, and only for that")
	}
	numbers := func(name string) []int64 {
		t.Helper()
		bugs := dbtest.Must(bugs.New(s).BucketBugs(ctx, ids[name]))(t)
		var out []int64
		for _, b := range bugs {
			out = append(out, b.Number)
		}
		return out
	}
	if diff := cmp.Diff([]int64{8, 7}, numbers("alpha")); diff != "" {
		t.Errorf("bugs of alpha, the one linked last first (-want +got):\n%s", diff)
	}
	if got, err := bugs.New(s).SignaturesOfBug(ctx, 7, 0); err != nil || cmp.Diff([]string{"alpha", "beta"}, got) != "" {
		t.Errorf("signatures of bug 7: got %q, %v; want alpha and beta", got, err)
	}
	if got, err := bugs.New(s).BucketsOfBug(ctx, 7); err != nil || len(got) != 2 {
		t.Errorf("buckets of bug 7: got %d, %v; want 2", len(got), err)
	}
	if _, err := bugs.New(s).LinkBug(ctx, crash.BucketIDOf("no such"), crash.Bug{Number: 9, URL: "u"}); crash.KindOf(
		err) != crash.NotFound {
		t.Errorf("unknown bucket: got %v, want NotFound", err)
	}

	before := dbtest.Must(s.Bucket(ctx, ids["alpha"]))(t)
	checktest.NoError(t, bugs.New(s).UnlinkBug(ctx, ids["alpha"], 8, "eve"))
	if diff := cmp.Diff([]int64{7}, numbers("alpha")); diff != "" {
		t.Errorf("after unlinking (-want +got):\n%s", diff)
	}
	for _, number := range []int64{8, 9} {
		if err := bugs.New(s).UnlinkBug(ctx, ids["alpha"], number, "eve"); crash.KindOf(err) != crash.NotFound {
			t.Errorf("unlinking %d, which is not linked: got %v, want NotFound", number, err)
		}
	}
	checktest.NoError(t, bugs.New(s).RelinkBug(ctx, ids["alpha"], 8, "ada"))
	after, err := s.Bucket(ctx, ids["alpha"])
	if err != nil || cmp.Diff(before.Bug, after.Bug) != "" {
		t.Errorf("after putting it back: %v\n%s", err, cmp.Diff(before.Bug, after.Bug))
	}
	if err := bugs.New(s).RelinkBug(ctx, ids["alpha"], 8, "ada"); crash.KindOf(err) != crash.NotFound {
		t.Errorf("putting it back twice: got %v, want NotFound", err)
	}
	got := dbtest.Lines(t, url,
		`select id::text, concat_ws(' ', person, action, coalesce(after ->> 'bug', before ->> 'bug'))
			from audit_events where subject = '`+
			ids["alpha"].String()+`'`)
	counts := map[string]int{}
	for _, event := range got {
		counts[event]++
	}
	if diff := cmp.Diff(map[string]int{"ada bug.link 7": 1, "bob bug.link 8": 1, "eve bug.unlink 8": 1,
		"ada bug.relink 8": 1}, counts); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestLinkingAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	id := fill(t, s)["alpha"]
	var isNew atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			first, err := bugs.New(s).LinkBug(t.Context(), id, crash.Bug{Number: 7, URL: "u", By: "ada"})
			if err != nil {
				t.Errorf("link: %v", err)
			}
			if first {
				isNew.Add(1)
			}
		})
	}
	group.Wait()
	if bugs, err := bugs.New(s).BucketBugs(t.Context(), id); err != nil || len(bugs) != 1 || isNew.Load() != 1 {
		t.Errorf("got %d bugs, %d new, %v; want one of each", len(bugs), isNew.Load(), err)
	}
}

// Linking a bug by hand ends a waiting filing, so that no second bug is filed.
func TestLinkEndsAnOpenFiling(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	id := fill(t, s)["alpha"]
	filing, _, err := bugs.New(s).RequestFiling(t.Context(), crash.Intent{Bucket: id, Person: "ada", Target: "/ubuntu",
		Title: "t", Description: "d", Marker: "m"}, crash.Filing{})
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Must(bugs.New(s).LinkBug(t.Context(), id, crash.Bug{Number: 7, URL: "u", By: "bob"}))(t)
	claim, err := bugs.New(s).ClaimFiling(t.Context(), filing.ID, crash.OwnAccount{}, crash.FilingTerms{})
	if err != nil ||
		claim.Step != crash.StepNone {
		t.Errorf("after linking: got the step %q, %v; want none", claim.Step, err)
	}
	if b, err := s.Bucket(t.Context(), id); err != nil || b.Filing.State != crash.FilingFiled || b.Filing.Bug != 7 {
		t.Errorf("after linking: got %+v, %v; want it filed as 7", b.Filing, err)
	}
}
