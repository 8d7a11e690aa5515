package db_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

// TestNewBucketsOfMerged checks that a machine counts once if it reported several merged buckets,
// or from several releases. It also checks this after reports have moved.
func TestNewBucketsOfMerged(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	const pkg = "harbor"
	ids := map[string]crash.BucketID{}
	report := func(signature, release, version string, machine int) {
		t.Helper()
		rec := record(t, today, fmt.Sprint("machine ", machine), crash.Fields{
			"DuplicateSignature": signature, "Package": pkg + " " + version, "SourcePackage": pkg, "DistroRelease": release,
			"ProcStatus": fmt.Sprint(signature, release, version, machine),
		})
		save(t, s, rec)
		ids[signature] = crash.BucketIDOf(rec.Grouping.Signature)
	}
	for _, machine := range []int{1, 2} {
		report("one", "Ubuntu 24.04", "2-1", machine)
		report("one", "Ubuntu 26.04", "2-1", machine)
		report("one", "Ubuntu 26.04", "2-2", machine)
		report("two", "Ubuntu 24.04", "2-1", machine+1)
	}
	report("old", "Debian 13", "2-1", 1)
	report("old", "Debian 13", "1-1", 9)
	list := func(previous, newer string, few int) map[string][2]int64 {
		t.Helper()
		found, err := problems.New(s).NewBuckets(t.Context(), pkg, previous, newer, few)
		if err != nil {
			t.Fatalf("new buckets: %v", err)
		}
		got := map[string][2]int64{}
		for _, b := range found {
			got[b.Signature] = [2]int64{b.Reports, b.Systems}
		}
		return got
	}
	expect := func(when string, got, want map[string][2]int64) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	expect("apart", list("1-1", "2-1", 1), map[string][2]int64{"one": {4, 2}, "two": {2, 2}})
	expect("on more than two", list("1-1", "2-1", 2), map[string][2]int64{})
	expect("against itself", list("2-1", "2-1", 0), map[string][2]int64{})
	checkCounts(t, url)

	merge(t, s, ids["one"], ids["two"])
	expect("merged", list("1-1", "2-1", 2), map[string][2]int64{"one": {6, 3}})
	merge(t, s, ids["one"], ids["old"])
	expect("merged with an old one", list("1-1", "2-1", 0), map[string][2]int64{})
	undo(t, s, decisions(t, s, ids["one"])[0])
	expect("undone", list("1-1", "2-1", 2), map[string][2]int64{"one": {6, 3}})

	// When the reports of one release have moved away, no machine of the rest has changed its release.
	split(t, s, ids["one"], crash.Condition{Terms: []crash.Term{{Field: crash.TermRelease, Value: "Ubuntu 26.04"}}})
	expect("split", list("1-1", "2-1", 2), map[string][2]int64{"one": {4, 3}})
	checkCounts(t, url)
}
