package index_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/index"
)

var (
	benchProblems = flag.Int("problems", 5000, "number of problems in benchmarks")
	benchCells    = flag.Int("cells", 100_000, "approximate number of daily counts in benchmarks")
)

const (
	benchDays  = 400
	benchToday = index.Day(9800)
)

// fleet is an index with a Zipf distribution of reports over problems, as [crashtest.Volume] has it: a few problems
// have most reports, most have few. Half of the problems exist all the time, the others for a quarter of it.
type fleet struct {
	*index.Index
	bytes int64 // in memory
}

var benchFleet = sync.OnceValue(func() fleet {
	before := heap()
	b := index.New()
	b.Update(func(u *index.Updater) {
		const combinations = 6 // usual ones of release, version and architecture on a day
		const slots = benchDays * combinations
		cellsOf := func(k int, reports float64) (n, all float64) {
			all = max(reports*math.Pow(float64(k+12), -1.15), 1)
			return -slots * math.Expm1(-all/slots), all
		}
		reports := 1.0
		for step := 1e12; step > 1; step /= 2 {
			sum := 0.0
			for k := range *benchProblems {
				n, _ := cellsOf(k, reports+step)
				sum += n
			}
			if sum < float64(*benchCells) {
				reports += step
			}
		}
		r := rand.New(rand.NewPCG(1, 2))
		for k := range *benchProblems {
			n, all := cellsOf(k, reports)
			addSample(u, r, k, max(int(n), 1), int64(all))
		}
	})
	return fleet{b, heap() - before}
})

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func addSample(u *index.Updater, r *rand.Rand, k, cells int, reports int64) {
	name := fmt.Sprintf("%s-%c%c%c", []string{"harbour", "lantern", "quay", "tern", "drift", "mooring"}[k%6], 'a'+k%26,
		'a'+k/26%26, 'a'+k/676%26)
	l := index.Bucket{Type: "Crash", Package: name, Source: strings.TrimRight(name, "aeiou"),
		Executable: "/usr/bin/" + name, Reports: reports, Systems: reports/2 + 1}
	for i := range l.ID {
		l.ID[i] = byte(r.IntN(256))
	}
	l.Head = l.ID
	switch {
	case k%10 == 3:
		l.Rule = crash.RuleTraceback
		l.Signature = fmt.Sprintf("%[1]s:ValueError:%[1]s@%d:/usr/lib/python3/dist-packages/%s/core.py@%d", l.Executable,
			k%90, name, k%700)
		l.Title = fmt.Sprintf("%s crashed with ValueError in step_%d(): item %d", name, k, k%17)
	case k%12 == 5:
		l.Rule, l.Provisional = crash.RuleAddress, true
		l.Signature = fmt.Sprintf("%[1]s:11:%[1]s+%x:/usr/lib/x86_64-linux-gnu/libc.so.6+2a1ca:%[1]s+%x", l.Executable,
			4096+k*16, 8192+k)
	default:
		l.Rule = crash.RuleStacktrace
		l.Signature = fmt.Sprintf("%s:11:%[2]s_step_%d:%[2]s_load:on_open:g_closure_invoke:main", l.Executable, name[:4], k)
		l.Title = fmt.Sprintf("%s crashed with SIGSEGV in %s_step_%d()", name, name[:4], k)
	}
	life, begin := benchDays, 0
	if k%2 == 1 && k > 20 {
		life = benchDays / 4
		begin = k * 7919 % (benchDays - life)
	}
	spans := map[crash.Release]*crash.SeenSpan{}
	set := make([]func(), cells)
	for i := range set {
		age := benchDays - 1 - begin - r.IntN(life)
		day := benchToday - index.Day(age)
		release, arch := crash.Release("Ubuntu 24.04"), "amd64"
		switch part := r.Float64(); {
		case part > 0.97:
			release = "Debian 13"
		case part > 0.80:
			release = "Ubuntu 22.04"
		case part > 0.52:
			release = "Ubuntu 26.04"
		}
		if r.IntN(10) == 0 {
			arch = "arm64"
		}
		version := fmt.Sprintf("1.%d.%d-%dubuntu1", (benchDays-age+k)/45-max(0, 1-r.IntN(4)), k%9, 1+k%3)
		if spans[release] == nil {
			spans[release] = new(crash.SeenSpan)
		}
		spans[release].Add(crash.Occurrence{At: day.Time().Add(time.Hour), Release: release, Version: version})
		set[i] = func() {
			u.SetCell(l.ID, day, []byte(release), []byte(version), []byte(arch), []byte(arch),
				1+(reports-1)/int64(cells))
		}
	}
	var seen []crash.SeenSpan
	for _, span := range spans {
		seen = append(seen, *span)
	}
	u.SetBucket(l, seen...)
	for _, one := range set {
		one()
	}
}

// BenchmarkList makes lists that are not cached, with their first page, and for searches with facets. Run it with
// -problems 1000000 -cells 10000000 for a large installation.
func BenchmarkList(b *testing.B) {
	ix := benchFleet()
	last := func(days int) index.Filter {
		return index.Filter{Since: benchToday + 1 - index.Day(days), Until: benchToday, Muted: index.MutedHidden}
	}
	for _, of := range []struct {
		name, query string
		filter      func(i int) index.Filter
	}{
		{"day", "", func(int) index.Filter { return last(1) }},
		{"week", "", func(int) index.Filter { return last(7) }},
		{"month", "", func(int) index.Filter { return last(30) }},
		{"year", "", func(int) index.Filter { return last(365) }},
		{"release", `release:"Ubuntu 26.04"`, func(int) index.Filter { return last(7) }},
		{"release-year", `release:"Ubuntu 26.04"`, func(int) index.Filter { return last(365) }},
		{"search", "step_7", func(int) index.Filter { return last(7) }},
		{"search-common", "step", func(int) index.Filter { return last(7) }},
		{"search-year", "step_77", func(int) index.Filter { return last(365) }},
		{"search-year-common", "step", func(int) index.Filter { return last(365) }},
		{"search-package", "package:drift-eaa", func(int) index.Filter { return last(365) }},
		{"sort-last", "", func(int) index.Filter {
			f := last(365)
			f.Sort = index.ByLast
			return f
		}},
		{"custom", "", func(i int) index.Filter {
			f := last(1)
			f.Until -= index.Day(i * 7 % 200)
			f.Since = f.Until - index.Day(i*13%200)
			return f
		}},
	} {
		b.Run(of.name, func(b *testing.B) {
			q, err := index.ParseQuery(of.query)
			if err != nil {
				b.Fatal(err)
			}
			for i := range b.N {
				b.StopTimer()
				ix.Update(func(*index.Updater) {}) // empties the cache
				b.StartTimer()
				f := q.Narrow(of.filter(i))
				f.Query = of.query
				page := ix.List(f, q.Matcher(), nil, 100)
				if of.query != "" && !strings.HasPrefix(of.name, "release") {
					ix.Facets(f, q.Matcher())
				}
				if len(page.Rows) == 0 {
					b.Fatalf("nothing found: %+v", f)
				}
			}
		})
	}
}

// BenchmarkMemory reports the memory of the index, with all texts and counts, but without cached lists.
func BenchmarkMemory(b *testing.B) {
	ix := benchFleet()
	for b.Loop() {
		_ = ix.Len()
	}
	b.ReportMetric(float64(ix.bytes)/float64(ix.Len()), "B/problem")
}
