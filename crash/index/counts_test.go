package index

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
)

// testDay is the day of the tests.
const testDay = Day(9000)

// countedIndex returns an index of three buckets, two of which form one problem.
func countedIndex() *Index {
	b := New()
	b.Update(func(u *Updater) {
		for i, l := range []Bucket{
			{Type: "Crash", Rule: crash.RuleStacktrace}, {Type: "Crash", Rule: crash.RuleAddress, Provisional: true},
			{Type: "Crash", Rule: crash.RuleTraceback},
		} {
			l.ID = crash.BucketID{byte(i + 1)}
			l.Head = l.ID
			if i == 1 {
				l.Head = crash.BucketID{1}
			}
			u.SetBucket(l)
		}
		cell := func(bucket byte, day Day, release, arch string, n int64) {
			u.SetCell(crash.BucketID{bucket}, day, []byte(release), []byte("1"), []byte(arch), []byte(arch), n)
		}
		cell(1, testDay, "Ubuntu 24.04", "amd64", 3)
		cell(1, testDay, "Ubuntu 24.04", "arm64", 1)
		cell(2, testDay, "Ubuntu 24.04", "amd64", 2)
		cell(3, testDay, "Debian 13", "amd64", 5)
		cell(3, testDay-1, "Debian 13", "amd64", 5)
		cell(2, testDay-3, "Ubuntu 26.04", "amd64", 7)
	})
	return b
}

func TestProblemDays(t *testing.T) {
	t.Parallel()
	b := countedIndex()
	checktest.Diff(t, "result", b.ProblemDays(testDay-3, testDay), []int64{1, 0, 1, 2})
	if got := b.ProblemDays(testDay+1, testDay); got != nil {
		t.Errorf("reversed: got %v, want none", got)
	}
}

func TestReleaseDays(t *testing.T) {
	t.Parallel()
	b := countedIndex()
	want := map[crash.Release][]int64{"Ubuntu 24.04": {0, 0, 0, 6}, "Ubuntu 26.04": {7, 0, 0, 0}}
	checktest.Diff(t, "result", b.ReleaseDays(crash.BucketID{1}, testDay-3, testDay), want)
	if got := b.ReleaseDays(crash.BucketID{9}, testDay-3, testDay); len(got) != 0 {
		t.Errorf("unknown: got %v, want none", got)
	}
}

func TestTracedDays(t *testing.T) {
	t.Parallel()
	b := countedIndex()
	want := []Traced{ // buckets merged into a named problem count as named
		{Day: testDay, Release: "Ubuntu 24.04", Architecture: "amd64", Named: 5},
		{Day: testDay, Release: "Ubuntu 24.04", Architecture: "arm64", Named: 1},
		{Day: testDay - 3, Release: "Ubuntu 26.04", Architecture: "amd64", Named: 7},
	}
	if diff := cmp.Diff(want,
		b.TracedDays(testDay-3, testDay, []crash.GroupingRule{crash.RuleStacktrace, crash.RuleAddress})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSourceSpans(t *testing.T) {
	t.Parallel()
	b := New()
	b.Update(func(u *Updater) {
		for n, source := range []string{"reef", "reef", "gull"} {
			u.SetBucket(Bucket{ID: crash.BucketID{byte(n)}, Head: crash.BucketID{}, Source: source, Package: "reef"})
		}
		for n, day := range []Day{100, 105, 90} {
			u.SetCell(crash.BucketID{byte(n)}, day, []byte("Ubuntu 24.04"), []byte("2"), []byte("amd64"), []byte("amd64"), 3)
			u.SetCell(crash.BucketID{byte(n)}, day+1, []byte("Ubuntu 24.04"), []byte("2"), []byte("arm64"), []byte("arm64"), 1)
			u.SetCell(crash.BucketID{byte(n)}, day, []byte("Ubuntu 24.04"), []byte("3"), []byte("amd64"), []byte("amd64"), 1)
		}
	})
	got := b.SourceSpans("reef", "2", "1")
	want := []crash.VersionSeen{{Release: "Ubuntu 24.04", Version: "2", First: Day(100).Time(), Last: Day(106).Time(),
		Reports: 8}}
	checktest.Diff(t, "result", got, want)
	if got := b.SourceSpans("", "2"); len(got) != 0 {
		t.Errorf("unknown source: got %v, want none", got)
	}
}
