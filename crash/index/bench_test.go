package index_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
	"mishap/crash/index"
)

// large returns an index with 100,000 problems and about four million cells, most of them in a few
// problems.
func large() (*index.Index, index.Day) {
	r := rand.New(rand.NewPCG(1, 2))
	today := index.DayOf(time.Date(2026, 5, 20, 0, 0, 0, 0, time.UTC))
	b := index.New()
	b.Update(func(u *index.Updater) {
		for i := range 100_000 {
			key := crash.BucketIDOf(fmt.Sprint(i))
			u.SetBucket(index.Bucket{
				ID: key, Head: key, Type: "Crash", Signature: fmt.Sprintf("/usr/bin/reef-%d:11:reef_step_%d:reef_load:on_open:main",
					i%9000, r.IntN(1_000_000)),
				Package: fmt.Sprintf("reef-%d", i%9000), Source: "reef", Reports: int64(2_000_000 / (i + 10)),
				Systems: int64(r.IntN(100_000)),
			}, spans(r, today)...)
			for range min(500_000/(i+10), 4000) + 1 + r.IntN(60) {
				u.SetCell(key, today-index.Day(r.IntN(400)), fmt.Appendf(nil, "Ubuntu %d.04", 20+2*r.IntN(4)),
					fmt.Appendf(nil, "1.%d", r.IntN(20)), []byte("amd64"), []byte("amd64"), 2)
			}
		}
	})
	return b, today
}

// spans returns reports from one to four releases.
func spans(r *rand.Rand, today index.Day) []crash.SeenSpan {
	all := make([]crash.SeenSpan, 1+r.IntN(4))
	for i := range all {
		release, version := crash.Release(fmt.Sprintf("Ubuntu %d.04", 26-2*i)), fmt.Sprintf("1.%d", r.IntN(20))
		all[i] = crash.SeenSpan{
			First: crash.Occurrence{At: today.Time().Add(-time.Duration(r.IntN(400*86400)) * time.Second),
				Version: version, Release: release},
			Last:     crash.Occurrence{At: today.Time(), Version: version, Release: release},
			Versions: dpkg.Range{Lowest: version, Highest: version},
		}
	}
	return all
}

// BenchmarkCollect measures a garbage collection while an index is in memory. Its cost delays
// requests on a fully loaded server.
func BenchmarkCollect(b *testing.B) {
	all, _ := large()
	for b.Loop() {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB")
	runtime.KeepAlive(all)
}

// BenchmarkList measures lists that are not cached, as for the first visitor after a change.
func BenchmarkList(b *testing.B) {
	all, today := large()
	for name, f := range map[string]index.Filter{
		"week":    {Since: today - 6},
		"year":    {Since: today - 365},
		"release": {Since: today - 365, Release: "Ubuntu 24.04"},
		"version": {Since: today - 365, Version: "1.7"},
		"package": {Since: today - 365, Package: "reef-17"},
		"first":   {Since: today - 365, Sort: index.ByFirst},
		"problem": {Since: today - 365, Sort: index.ByProblem},
	} {
		f.Until = today
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				all.Update(func(u *index.Updater) {}) // clears the cache
				b.StartTimer()
				all.List(f, nil, nil, 50)
			}
		})
	}
	b.Run("days", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			all.Update(func(u *index.Updater) {})
			b.StartTimer()
			all.ProblemDays(today-365, today)
		}
	})
	b.Run("traced", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			all.Update(func(u *index.Updater) {})
			b.StartTimer()
			all.TracedDays(today-365, today, []crash.Rule{""})
		}
	})
}

// BenchmarkSetStates changes the state of every problem, as happens at midnight. Lists wait until
// it is done.
func BenchmarkSetStates(b *testing.B) {
	all, _ := large()
	problems := all.Select(func(*index.Problem) bool { return true })
	n := int64(0)
	for b.Loop() {
		n++
		states := make(map[crash.BucketID]index.State, len(problems))
		for _, p := range problems {
			states[p.ID] = index.State{Word: crash.StateOpen, Bug: n}
		}
		all.SetStates(states)
	}
}
