package index_test

import (
	"slices"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
	"mishap/crash/index"
)

func TestPeople(t *testing.T) {
	t.Parallel()
	is := func(name, tags string) *index.Problem {
		return problem(t, seenOn, func(p *index.Problem) {
			p.People = &index.People{Assigned: crash.Assigned{Name: name}, TagList: tags}
		})
	}
	anna, team, nobody := is("anna", "sru c++"), is("~desktop-packages", ""), problem(t, seenOn, nil)
	for text, want := range map[string][3]bool{ // results for anna, team and nobody
		"assignee:anna":                {true, false, false},
		"assignee:ANNA":                {true, false, false},
		"assignee:ann":                 {false, false, false},
		"assignee:an*":                 {true, false, false},
		"assignee:desktop-packages":    {false, true, false},
		"assignee:~desktop-packages":   {false, true, false},
		"assignee:~anna":               {false, false, false},
		"assignee:none":                {false, false, true},
		"assignee:any":                 {true, true, false},
		"-assignee:any":                {false, false, true},
		"assignee:me":                  {true, false, false},
		"-assignee:me":                 {false, true, true},
		"tidewatch (assignee:me OR x)": {true, false, false},
		"tag:sru":                      {true, false, false},
		"tag:s*":                       {true, false, false},
		"tag:none":                     {false, true, true},
		"tag:any":                      {true, false, false},
		"tag:c++ tag:sru":              {true, false, false},
		"tag:sr":                       {false, false, false},
	} {
		q, err := index.ParseQuery(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		mine := q.For([]string{"Anna", "~anna-lp"})
		for i, p := range []*index.Problem{anna, team, nobody} {
			if got := mine.Match(p); got != want[i] {
				t.Errorf("%s, problem %d: got %t, want %t", text, i, got, want[i])
			}
		}
		if q.String() != mine.String() {
			t.Errorf("%s: the query of a person is %q", text, mine)
		}
	}
	// Visitors see no assignees and no tags.
	for _, text := range []string{"assignee:any", "tag:any", "assignee:anna"} {
		if q, err := index.ParseQuery(text); err != nil || q.Match(anna.Public()) {
			t.Errorf("%s matches for a visitor (%v)", text, err)
		}
	}
}

// TestMeIsAPerson checks that two people do not share a cached list.
func TestMeIsAPerson(t *testing.T) {
	t.Parallel()
	q, err := index.ParseQuery("assignee:me")
	if err != nil {
		t.Fatal(err)
	}
	anna, bob := q.For([]string{"anna"}).Narrow(index.Filter{}), q.For([]string{"bob"}).Narrow(index.Filter{})
	if !q.Personal() || anna.Query == bob.Query {
		t.Errorf("both lists have the key %q", anna.Query)
	}
	if q, err = index.ParseQuery("tidewatch"); err != nil {
		t.Fatal(err)
	}
	if q.Personal() || q.For([]string{"anna"}).Narrow(index.Filter{}) != q.Narrow(index.Filter{}) {
		t.Error("a list that is the same for everyone depends on the person")
	}
}

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

// TestSetTriage checks that lists follow the manual status, and that it stays when counts change.
func TestSetTriage(t *testing.T) {
	t.Parallel()
	b := index.New()
	count := func(n byte, reports int64) {
		b.Update(func(u *index.Updater) {
			u.SetBucket(index.Bucket{ID: id(n), Head: id(n), Package: "reef", Reports: reports})
			u.SetCell(id(n), 9000, []byte("24.04"), []byte("1"), []byte("amd64"), []byte("amd64"), reports)
		})
	}
	for n := range byte(4) {
		count(n, int64(n)+1)
	}
	count(4, 0) // not in the list
	want := func(when string, muted index.MutedChoice, problems, hidden int64) {
		t.Helper()
		f := index.Filter{Since: 9000, Until: 9000, Muted: muted}
		for _, f.Package = range []string{"", "reef"} { // with and without a look at each problem
			rows, totals := b.All(f, nil)
			if totals.Problems != problems || totals.Hidden != hidden || int64(len(rows)) != problems {
				t.Errorf("%s, %q: got %d rows, %+v; want %d problems and %d hidden", when, muted, len(rows), totals, problems,
					hidden)
			}
		}
	}
	want("at first", index.MutedHidden, 4, 0)
	muted, marked := &index.Triage{Muted: true}, &index.Triage{WontFix: true}
	b.SetTriage(map[crash.BucketID]*index.Triage{id(1): muted, id(2): muted, id(3): marked, id(4): muted, id(99): muted})
	want("muted", index.MutedHidden, 2, 2)
	want("muted", index.MutedShown, 4, 0)
	want("muted", index.MutedOnly, 2, 0)
	count(1, 7)
	count(5, 1)
	want("after counting", index.MutedHidden, 3, 2)
	rows, _ := b.All(index.Filter{Since: 9000, Until: 9000, Muted: index.MutedOnly}, nil)
	b.SetTriage(map[crash.BucketID]*index.Triage{id(2): muted})
	want("unmuted", index.MutedHidden, 4, 1)
	if len(rows) != 2 || !rows[0].Muted() || !rows[1].Muted() {
		t.Errorf("rows returned earlier have changed: %v", rows)
	}
}

// TestPublicFacts checks that visitors see no address in versions and releases: neither in the facts
// of a problem nor in those of one release.
func TestPublicFacts(t *testing.T) {
	t.Parallel()
	const private = "1.0@joe@example.org"
	day := time.Date(2026, 5, 8, 0, 0, 0, 0, time.UTC)
	b := index.New()
	b.Update(func(u *index.Updater) {
		u.SetBucket(index.Bucket{ID: id(1), Head: id(1)}, seen("Ubuntu 24.04", private, day, day),
			seen("Ubuntu 22.04", "1.0", day, day.Add(time.Hour)))
		u.SetBucket(index.Bucket{ID: id(2), Head: id(2)}, seen("Ubuntu 24.04", "1.0", day, day))
	})
	for n, changes := range map[byte]bool{1: true, 2: false} {
		p, _ := b.Problem(id(n))
		public := p.Public()
		if (public != p) != changes {
			t.Errorf("problem %d: got another problem for visitors: %t, want %t", n, public != p, changes)
		}
		for _, release := range []crash.Release{"", "Ubuntu 24.04"} {
			own, seen := p.In(release), public.In(release)
			if changed := seen.First().Version != own.First().Version; changed != changes {
				t.Errorf("problem %d, %q: got first version %q of %q", n, release, seen.First().Version, own.First().Version)
			}
			for _, version := range []string{seen.First().Version, seen.Last().Version, seen.LowestVersion(),
				seen.HighestVersion()} {
				if version == private {
					t.Errorf("problem %d, %q: visitors see %q", n, release, version)
				}
			}
			if !seen.First().At.Equal(own.First().At) || seen.First().Release != own.First().Release {
				t.Errorf("problem %d, %q: got %+v of %+v, want the same time and release", n, release, seen.First(), own.First())
			}
		}
	}
}

// TestRising checks which days and problems are compared, and that everyone gets the same answer.
func TestRising(t *testing.T) {
	t.Parallel()
	const today = index.Day(9000)
	ix := index.New()
	id := func(name string) crash.BucketID { return crash.BucketIDOf(name) }
	ix.Update(func(u *index.Updater) {
		for name, days := range map[string]map[index.Day]int64{
			"rises":           {today: 20, today - 6: 20, today - 7: 5, today - 13: 5, today - 14: 900},
			"rose last week":  {today - 7: 20, today - 13: 20, today - 14: 10},
			"new":             {today: 20, today - 6: 20},
			"steady":          {today: 20, today - 7: 20},
			"merged, rises":   {today - 7: 5},
			"and its member":  {today: 30},
			"seen a year ago": {today - 300: 1, today: 40},
		} {
			b := index.Bucket{ID: id(name), Head: id(name), Reports: 100}
			if name == "and its member" {
				b.Head = id("merged, rises")
			}
			u.SetBucket(b)
			for day, n := range days {
				u.SetCell(b.ID, day, []byte("Ubuntu 24.04"), []byte("1"), nil, nil, n)
			}
		}
	})
	for _, ix := range []*index.Index{ix, ix.Without([]crash.BucketID{id("steady"), id("rises")})} {
		rising := ix.Rising(today)
		for name, week := range map[string]int64{"rises": 40, "merged, rises": 30, "seen a year ago": 40} {
			if rising[id(name)].Week != week {
				t.Errorf("%s: got %+v, want %d this week", name, rising[id(name)], week)
			}
		}
		if len(rising) != 3 {
			t.Errorf("got %d rising problems, want 3: %v", len(rising), rising)
		}
		if before := ix.Rising(today - 7); len(before) != 1 || before[id("rose last week")].Week != 40 {
			t.Errorf("a week ago: got %v", before)
		}
	}
}
