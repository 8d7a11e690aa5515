package index_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/index"
	"mishap/crash/version"
)

// model is a simple reference implementation, which counts everything for each request.
type model struct {
	buckets map[byte]index.Bucket
	cells   map[cellKey]int64
}

type cellKey struct {
	id                             byte
	day                            index.Day
	release, version, architecture string
}

func id(n byte) crash.BucketID { return crash.BucketID{19: n} }

// count returns the number of reports of a problem that a filter counts on days from since to
// until.
func (m model) count(head byte, f index.Filter, since, until index.Day) int64 {
	var sum int64
	for k, n := range m.cells {
		if m.buckets[k.id].Head == id(head) && k.day >= since && k.day <= until &&
			(f.Release == "" || string(f.Release) == k.release) &&
			(f.Version == "" || f.Version == k.version) && (f.Architecture == "" || f.Architecture == k.architecture) {
			sum += n
		}
	}
	return sum
}

// list returns the list of a filter by counting.
func (m model) list(f index.Filter) []string {
	type row struct {
		id            byte
		count, before int64
	}
	var rows []row
	length := f.Until - f.Since + 1
	for n, l := range m.buckets {
		if l.Head != id(n) || f.Package != "" && l.Package != f.Package && l.Source != f.Package || f.Type != "" &&
			l.Type != f.Type {
			continue
		}
		if r := (row{n, m.count(n, f, f.Since, f.Until), m.count(n, f, f.Since-length, f.Since-1)}); r.count > 0 {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.id, b.id)) })
	var texts []string
	for i, r := range rows {
		texts = append(texts, fmt.Sprint(i+1, " ", id(r.id), " ", r.count, " ", r.before > 0))
	}
	return texts
}

// TestIndexIsTheModel checks that an index that is updated in random order agrees with the model.
func TestIndexIsTheModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		pick := func(words ...string) string { return words[r.IntN(len(words))] }
		m := model{map[byte]index.Bucket{}, map[cellKey]int64{}}
		b := index.New()
		for range 30 {
			b.Update(func(u *index.Updater) {
				for range 1 + r.IntN(4) {
					n := byte(1 + r.IntN(12))
					l := index.Bucket{ID: id(n), Head: id(n), Package: pick("reef", "gull"), Source: pick("reef-src", "gull-src"),
						Type: pick("Crash", "Hang"), Reports: 1}
					if old, ok := m.buckets[n]; ok {
						l.Head = old.Head
					}
					m.buckets[n] = l
					u.SetBucket(l)
				}
				if r.IntN(3) == 0 { // merge a bucket into another, or separate it again
					n, into := byte(1+r.IntN(12)), byte(1+r.IntN(12))
					l, ok := m.buckets[n]
					target, there := m.buckets[into]
					own := true
					for k, other := range m.buckets {
						own = own && (k == n || other.Head != id(n))
					}
					if ok && there && own && (target.Head == id(into)) {
						l.Head = id(into)
						m.buckets[n] = l
						u.SetBucket(l)
					}
				}
				for range r.IntN(20) {
					k := cellKey{byte(1 + r.IntN(12)), index.Day(9000 + r.IntN(60)), pick("22.04", "24.04"), pick("1", "2", "3"),
						pick("amd64", "arm64")}
					if _, ok := m.buckets[k.id]; !ok {
						continue
					}
					n := int64(1 + r.IntN(5))
					m.cells[k] = n
					u.SetCell(id(k.id), k.day, []byte(k.release), []byte(k.version), []byte(k.architecture), []byte(k.architecture), n)
				}
				if r.IntN(8) == 0 {
					n := byte(1 + r.IntN(12))
					u.ClearDays(id(n))
					for k := range m.cells {
						if k.id == n {
							delete(m.cells, k)
						}
					}
				}
			})
			since := index.Day(9000 + r.IntN(50))
			f := index.Filter{
				Since: since, Until: since + index.Day(r.IntN(20)), Release: crash.Release(pick("", "22.04", "24.04", "none")),
				Version:      pick("", "", "2"),
				Architecture: pick("", "", "arm64"), Package: pick("", "reef", "gull-src"), Type: pick("", "", "Hang"),
			}
			var got []string
			page := b.List(f, nil, nil, 100)
			for _, row := range page.Rows {
				got = append(got, fmt.Sprint(row.Rank, " ", row.ID, " ", row.Count, " ", row.Past > 0))
			}
			if want := m.list(f); !slices.Equal(got, want) {
				t.Fatalf("seed %d: %+v\n got %q\nwant %q", seed, f, got, want)
			}
			for _, row := range page.Rows {
				var sum int64
				for _, n := range b.Days(row.Problem, f, f.Since, f.Until) {
					sum += n
				}
				if sum != row.Count {
					t.Fatalf("seed %d: days of %v sum up to %d, want %d", seed, row.ID, sum, row.Count)
				}
			}
		}
	}
}

// seen returns reports of one version from a release.
func seen(release crash.Release, text string, first, last time.Time) crash.SeenSpan {
	at := func(t time.Time) crash.Occurrence {
		return crash.Occurrence{At: t, Version: text, Release: release}
	}
	return crash.SeenSpan{First: at(first), Last: at(last), Versions: version.Range{Lowest: text, Highest: text}}
}

func sample() *index.Index {
	b := index.New()
	at := func(day int) time.Time { return time.Date(2026, 5, day, 9, 0, 0, 0, time.UTC) }
	b.Update(func(u *index.Updater) {
		for n, c := range map[byte]struct {
			bucket      index.Bucket
			version     string
			first, last int
		}{
			1: {index.Bucket{Package: "c", Signature: "z"}, "1", 1, 9},
			2: {index.Bucket{Package: "b", Signature: "y"}, "1", 3, 8},
			3: {index.Bucket{Package: "a", Signature: "x"}, "2", 8, 10},
		} {
			c.bucket.ID, c.bucket.Head = id(n), id(n)
			u.SetBucket(c.bucket, seen("Ubuntu 24.04", c.version, at(c.first), at(c.last)))
			u.SetCell(id(n), index.DayOf(at(8)), []byte("Ubuntu 24.04"), []byte("1"), []byte("amd64"), []byte("amd64"),
				int64(10*n))
		}
		u.SetCell(id(1), index.DayOf(at(1)), []byte("Ubuntu 24.04"), []byte("1"), []byte("amd64"), []byte("amd64"), 100)
	})
	b.SetStates(map[crash.BucketID]index.State{id(1): {Word: crash.StateFixed, Bug: 7},
		id(2): {Word: crash.StateRegression, Bug: 8}})
	return b
}

var week = index.Filter{Since: index.DayOf(time.Date(2026, 5, 6, 0, 0, 0, 0, time.UTC)),
	Until: index.DayOf(time.Date(2026, 5, 12, 0, 0, 0, 0, time.UTC))}

func TestSorting(t *testing.T) {
	t.Parallel()
	b := sample()
	for by, want := range map[index.Column][]byte{
		"": {3, 2, 1}, index.ByCount: {3, 2, 1}, index.ByPackage: {3, 2, 1}, index.ByFirst: {3, 2, 1},
		index.ByLast:    {3, 1, 2},
		index.ByProblem: {3, 2, 1}, index.ByBug: {2, 1, 3},
	} {
		f := week
		for _, f.Ascending = range []bool{false, true} {
			f.Sort = by
			var got []byte
			for _, row := range b.List(f, nil, nil, 10).Rows {
				got = append(got, row.ID[19])
			}
			if f.Ascending {
				slices.Reverse(got)
			}
			if !slices.Equal(got, want) {
				t.Errorf("by %q, ascending %v: got %v, want %v", by, f.Ascending, got, want)
			}
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	b := sample()
	for name, c := range map[string]struct {
		change func(*index.Filter)
		want   []byte
	}{
		"without a bug": {func(f *index.Filter) { f.State = "none" }, []byte{3}},
		"with a bug":    {func(f *index.Filter) { f.State = "bug" }, []byte{2, 1}},
		"regression":    {func(f *index.Filter) { f.State = "regression" }, []byte{2}},
		"new":           {func(f *index.Filter) { f.New = true }, []byte{3}},
		// Problem 2 has version 2 first, but counts with version 1.
		"new in 2":       {func(f *index.Filter) { f.New, f.Version = true, "2" }, nil},
		"a set":          {func(f *index.Filter) { f.ByPackages, f.Packages = true, "a c" }, []byte{3, 1}},
		"an empty set":   {func(f *index.Filter) { f.ByPackages = true }, nil},
		"no such word":   {func(f *index.Filter) { f.Architecture = "s390x" }, nil},
		"complete":       {func(f *index.Filter) { f.Complete = true }, nil}, // the index does not know
		"another period": {func(f *index.Filter) { f.Since, f.Until = f.Since-6, f.Since-1 }, []byte{1}},
	} {
		f := week
		c.change(&f)
		var got []byte
		for _, row := range b.List(f, nil, nil, 10).Rows {
			got = append(got, row.ID[19])
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	match := func(p *index.Problem) bool { return p.Package == "b" }
	if rows, totals := b.All(week, match); len(rows) != 1 || totals.Reports != 20 || rows[0].Rank != 1 {
		t.Errorf("with a match: got %v and %+v", rows, totals)
	}
}

// TestPast checks the counts of the preceding period: only one problem was seen in it.
func TestPast(t *testing.T) {
	t.Parallel()
	rows := sample().List(week, nil, nil, 10).Rows
	if rows[2].ID != id(1) || rows[2].Past == 0 || rows[0].Past != 0 {
		t.Errorf("got %+v", rows)
	}
}

// TestPaging checks that pages follow each other without gaps, even if the row between them is
// removed.
func TestPaging(t *testing.T) {
	t.Parallel()
	b := sample()
	first := b.List(week, nil, nil, 2)
	if len(first.Rows) != 2 || !first.More || first.First != 1 || first.Totals.Problems != 3 {
		t.Errorf("got %+v", first)
	}
	for name, at := range map[string]index.Cursor{"the row": {Position: 9, ID: first.Rows[1].ID},
		"its place": {Position: 2, ID: id(77)}} {
		next := b.List(week, nil, &at, 2)
		if len(next.Rows) != 1 || next.More || next.First != 3 || next.Rows[0].ID != id(1) {
			t.Errorf("after %s: got %+v", name, next)
		}
	}
	if beyond := b.List(week, nil, &index.Cursor{Position: 1 << 30}, 2); len(beyond.Rows) != 0 || beyond.More {
		t.Errorf("beyond the end: got %+v", beyond)
	}
}

// TestChangedList checks that a cached list is computed again once the index changes.
func TestChangedList(t *testing.T) {
	t.Parallel()
	b := sample()
	one, _ := b.All(week, nil)
	b.Update(func(u *index.Updater) { u.SetCell(id(1), week.Until, nil, nil, nil, nil, 500) })
	if three, _ := b.All(week, nil); three[0].ID != id(1) || one[0].ID != id(3) {
		t.Errorf("got %v, then %v", one[0].ID, three[0].ID)
	}
}

// TestMatchesAreCached checks that a list with a match is cached if the filter has a query, and
// only then.
func TestMatchesAreCached(t *testing.T) {
	t.Parallel()
	b, asked := sample(), 0
	match := func(p *index.Problem) bool { asked++; return p.Package == "b" }
	named := week
	named.Query = "package:b"
	for _, c := range []struct {
		filter index.Filter
		asked  int
	}{{week, 3}, {week, 6}, {named, 9}, {named, 9}} {
		if rows, _ := b.All(c.filter, match); len(rows) != 1 || rows[0].Package != "b" || asked != c.asked {
			t.Errorf("query %q: got %d rows and %d calls of match so far, want 1 and %d",
				c.filter.Query, len(rows), asked, c.asked)
		}
	}
	if rows, _ := b.All(week, nil); len(rows) != 3 {
		t.Errorf("without a match: got %d rows, want 3", len(rows))
	}
	b.SetStates(map[crash.BucketID]index.State{id(1): {}})
	if _, _ = b.All(named, match); asked != 12 {
		t.Errorf("after a change: got %d calls of match, want 12", asked)
	}
}

// TestListsWhileChanging reads lists while the index changes; each list must be consistent.
func TestListsWhileChanging(t *testing.T) {
	t.Parallel()
	b := sample()
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 200 {
				f := week
				f.Ascending = i%2 == n%2
				rows, totals := b.All(f, nil)
				var sum int64
				for _, row := range rows {
					sum += row.Count
				}
				page := b.List(f, nil, nil, 2)
				if sum != totals.Reports || len(page.Rows) != 2 {
					t.Errorf("got %d reports in rows, %d in all", sum, totals.Reports)
				}
			}
		})
	}
	for i := range 200 {
		b.Update(func(u *index.Updater) {
			u.SetBucket(index.Bucket{ID: id(1), Head: id(byte(1 + i%2)), Package: "c"})
			u.SetCell(id(1), week.Since, nil, nil, nil, nil, int64(i))
		})
	}
	all.Wait()
}

// TestReleaseFacts checks that with a release, rows, filters, sorting and matches use the facts of
// that release, of all merged buckets.
func TestReleaseFacts(t *testing.T) {
	t.Parallel()
	at := func(day int) time.Time { return time.Date(2026, 5, day, 9, 0, 0, 0, time.UTC) }
	in := func(release crash.Release, version string, first, last int) crash.SeenSpan {
		return seen(release, version, at(first), at(last))
	}
	b := index.New()
	b.Update(func(u *index.Updater) {
		u.SetBucket(index.Bucket{ID: id(1), Head: id(1)}, in("Ubuntu 22.04", "2", 1, 7), in("Ubuntu 24.04", "4", 7, 8))
		u.SetBucket(index.Bucket{ID: id(2), Head: id(1)}, in("Ubuntu 24.04", "3", 6, 6), in("Kubuntu 24.04", "1", 2, 12))
		u.SetBucket(index.Bucket{ID: id(3), Head: id(3)}, in("Ubuntu 24.04", "5", 7, 7))
		for n, release := range map[byte]string{1: "Ubuntu 24.04", 2: "Ubuntu 24.04", 3: "Ubuntu 24.04"} {
			u.SetCell(id(n), index.DayOf(at(7)), []byte(release), []byte("4"), []byte("amd64"), []byte("amd64"), 1)
		}
	})
	for _, c := range []struct {
		name   string
		change func(*index.Filter)
		want   string
	}{
		{"all", func(*index.Filter) {}, "1: 1 2 – 12 1, 1 4; 3: 7 5 – 7 5, 5 5"},
		{"a release", func(f *index.Filter) { f.Release = "Ubuntu 24.04" }, "1: 6 3 – 8 4, 3 4; 3: 7 5 – 7 5, 5 5"},
		{"sorted", func(f *index.Filter) { f.Release, f.Sort = "Ubuntu 24.04", index.ByFirst }, "3: 7 5 – 7 5, 5 5; 1: 6 " +
			"3 – 8 4, 3 4"},
		{"new", func(f *index.Filter) { f.New = true }, "3: 7 5 – 7 5, 5 5"},
		{"new in a release", func(f *index.Filter) { f.Release, f.New = "Ubuntu 24.04", true }, "1: 6 3 – 8 4, 3 4; 3: 7 " +
			"5 – 7 5, 5 5"},
		{"new in another version", func(f *index.Filter) { f.Release, f.New, f.Version = "Ubuntu 24.04", true, "4" }, ""},
		{"matched", func(f *index.Filter) { f.Release, f.Query = "Ubuntu 24.04", "lowest:3" }, "1: 6 3 – 8 4, 3 4"},
	} {
		f := week
		c.change(&f)
		var match func(*index.Problem) bool
		if f.Query != "" {
			match = func(p *index.Problem) bool { return p.LowestVersion() == "3" }
		}
		var rows []string
		for _, r := range b.List(f, match, nil, 10).Rows {
			first, last, release := r.First(), r.Last(), r.In(f.Release).First().Release
			checktest.Equal(t, c.name+": row of", first.Release, release)
			rows = append(rows, fmt.Sprintf("%d: %d %s – %d %s, %s %s", r.ID[19], first.At.Day(), first.Version,
				last.At.Day(), last.Version, r.LowestVersion(), r.HighestVersion()))
		}
		if f.Sort == "" { // by count, which is equal for some
			slices.Sort(rows)
		}
		if got := strings.Join(rows, "; "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestOccurrences checks that architectures of one release are added, that versions of merged buckets of
// other packages are not compared, and that days whose reports were all moved away do not count.
func TestOccurrences(t *testing.T) {
	t.Parallel()
	head, other := crash.BucketIDOf("head"), crash.BucketIDOf("other")
	today := index.DayOf(time.Date(2026, 5, 20, 0, 0, 0, 0, time.UTC))
	ix := index.New()
	ix.Update(func(u *index.Updater) {
		u.SetBucket(index.Bucket{ID: head, Head: head, Package: "reef"})
		u.SetBucket(index.Bucket{ID: other, Head: head, Package: "tide"})
		set := func(id crash.BucketID, ago index.Day, version, machine string, reports int64) {
			u.SetCell(id, today-ago, []byte("Ubuntu 24.04"), []byte(version), []byte(machine), []byte(machine), reports)
		}
		set(head, 30, "1.0", "amd64", 0)
		set(head, 20, "1.0", "amd64", 2)
		set(head, 1, "1.0", "arm64", 3)
		set(head, 2, "0.9", "arm64", 0)
		set(other, 1, "7.0", "amd64", 4)
		set(other, 9, "6.0", "arm64", 5)
	})
	p, _ := ix.Problem(head)
	got := ix.Occurrences(p, today)
	slices.SortFunc(got, func(a, b crash.VersionSeen) int { return cmp.Compare(a.Version, b.Version) })
	day := func(ago index.Day) time.Time { return (today - ago).Time() }
	want := []crash.VersionSeen{
		{Release: "Ubuntu 24.04", Reports: 9, Week: 4, First: day(9), Last: day(1)},
		{Release: "Ubuntu 24.04", Version: "1.0", Reports: 5, Week: 3, First: day(20), Last: day(1)},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
