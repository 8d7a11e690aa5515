package index_test

import (
	"slices"
	"testing"

	"mishap/crash"
	"mishap/crash/dpkg"
	"mishap/crash/index"
)

// TestOfPackages checks that problems are found by the present names of their packages.
func TestOfPackages(t *testing.T) {
	t.Parallel()
	b := index.New()
	b.Update(func(u *index.Updater) {
		for i, names := range [][2]string{{"reef", "reef-src"}, {"reef", "reef"}, {"gull", "reef"}, {"gull", "gull-src"},
			{"", ""}} {
			u.SetBucket(index.Bucket{ID: id(byte(i)), Head: id(byte(i)), Package: names[0], Source: names[1], Reports: int64(i)})
		}
	})
	check := func(limit int, names []string, want ...byte) {
		t.Helper()
		var got []byte
		for _, p := range b.OfPackages(names, limit, func(p *index.Problem) bool { return p.ID != id(9) }) {
			got = append(got, p.ID[19])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v, at most %d: got %v, want %v", names, limit, got, want)
		}
	}
	check(9, []string{"reef"}, 2, 1, 0)
	check(9, []string{"reef", "reef"}, 2, 1, 0)
	check(9, []string{"reef-src", "gull"}, 3, 2, 0)
	check(1, []string{"reef-src", "gull"}, 3)
	check(9, []string{"", "unknown"})
	b.Update(func(u *index.Updater) {
		u.SetBucket(index.Bucket{ID: id(2), Head: id(1), Package: "gull", Source: "reef"}) // merged
		u.SetBucket(index.Bucket{ID: id(0), Head: id(0), Package: "gull", Source: "gull"}) // now in another package
		u.SetBucket(index.Bucket{ID: id(9), Head: id(9), Package: "reef", Source: "reef"}) // not wanted
		// The source of this problem is no longer known.
		u.SetBucket(index.Bucket{ID: id(1), Head: id(1), Package: "reef", Rule: crash.Rule("x")})
	})
	check(9, []string{"reef"}, 1)
	check(9, []string{"gull"}, 3, 0)
	b.Update(func(u *index.Updater) {
		u.SetBucket(index.Bucket{ID: id(0), Head: id(0), Package: "reef", Source: "reef-src", Reports: 7})
		for n := byte(20); n < 60; n++ {
			u.SetBucket(index.Bucket{ID: id(n), Head: id(n), Package: "many", Reports: int64(n % 7)})
		}
	})
	check(9, []string{"reef"}, 0, 1)
	check(4, []string{"many"}, 20, 27, 34, 41)
}

func TestFolded(t *testing.T) {
	t.Parallel()
	b := index.New()
	l := index.Bucket{ID: id(1), Head: id(1), Signature: "/Bin/Ä:11:Main", Title: "Crash", Name: "Given", Package: "Pkg",
		Source: "src", Executable: "/Bin/Ä"}
	b.Update(func(u *index.Updater) {
		u.SetBucket(l, crash.SeenSpan{Versions: dpkg.Range{Lowest: "1A", Highest: "2"}})
	})
	p, _ := b.Problem(id(1))
	for name, c := range map[string]struct {
		problem  *index.Problem
		versions string
	}{"of the index": {p, "1a\x002"}, "of its own, never seen": {&index.Problem{Bucket: &l}, "\x00"}} {
		want := "/bin/ä:11:main\x00given\x00pkg\x00src\x00/bin/ä\x00" + c.versions + "\x00crash"
		if c.problem.Folded() != want || c.problem.FoldedSignature() != "/bin/ä:11:main" {
			t.Errorf("%s: got %q and %q", name, c.problem.Folded(), c.problem.FoldedSignature())
		}
	}
}
