package db_test

import (
	"testing"

	"mishap/crash"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
)

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
	c, err := bugs.New(s).ClaimFiling(t.Context(), f.ID, crash.OwnAccount{})
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
		if _, err := bugs.New(s).LinkBug(ctx, id, crash.Bug{Number: int64(11 + i), By: "ada"}); err != nil {
			t.Fatal(err)
		}
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
