package db_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/db/dbtest"
)

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
		bugs, err := bugs.New(s).BucketBugs(ctx, ids[name])
		if err != nil {
			t.Fatal(err)
		}
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

	before, err := s.Bucket(ctx, ids["alpha"])
	if err != nil {
		t.Fatal(err)
	}
	if err := bugs.New(s).UnlinkBug(ctx, ids["alpha"], 8, "eve"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{7}, numbers("alpha")); diff != "" {
		t.Errorf("after unlinking (-want +got):\n%s", diff)
	}
	for _, number := range []int64{8, 9} {
		if err := bugs.New(s).UnlinkBug(ctx, ids["alpha"], number, "eve"); crash.KindOf(err) != crash.NotFound {
			t.Errorf("unlinking %d, which is not linked: got %v, want NotFound", number, err)
		}
	}
	if err := bugs.New(s).RelinkBug(ctx, ids["alpha"], 8, "ada"); err != nil {
		t.Fatal(err)
	}
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
	if _, err := bugs.New(s).LinkBug(t.Context(), id, crash.Bug{Number: 7, URL: "u", By: "bob"}); err != nil {
		t.Fatal(err)
	}
	if claim, err := bugs.New(s).ClaimFiling(t.Context(), filing.ID, crash.OwnAccount{}); err != nil ||
		claim.Step != crash.StepNone {
		t.Errorf("after linking: got the step %q, %v; want none", claim.Step, err)
	}
	if b, err := s.Bucket(t.Context(), id); err != nil || b.Filing.State != crash.FilingFiled || b.Filing.Bug != 7 {
		t.Errorf("after linking: got %+v, %v; want it filed as 7", b.Filing, err)
	}
}
