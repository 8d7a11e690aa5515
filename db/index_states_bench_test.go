package db

import (
	"fmt"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
)

// BenchmarkJudgeAll judges 100,000 problems with 30 days each, as at the start and after midnight.
func BenchmarkJudgeAll(b *testing.B) {
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	all, versions := manyProblems(100_000, 30, now)
	for b.Loop() {
		st := &statuses{ix: all, public: all, inUse: versions, day: utcDay(now)}
		st.judge(nil, now)
	}
}

// manyProblems returns an index of problems with a number of days each, and the versions in use of
// their packages.
func manyProblems(problems, cells int, now time.Time) (*index.Index, *versionsInUse) {
	b, today := index.New(), index.DayOf(now)
	inUse := newVersionsInUse()
	b.Update(func(u *index.Updater) {
		for i := range problems {
			id, pkg := crash.BucketIDOf(fmt.Sprint(i)), fmt.Sprintf("reef-%d", i%9000)
			u.SetBucket(index.Bucket{ID: id, Head: id, Type: "Crash", Signature: fmt.Sprint(i), Package: pkg, Source: pkg,
				Reports: 30})
			for n := range cells {
				release, version := fmt.Sprintf("Ubuntu %d.04", 20+2*(n%4)), fmt.Sprintf("1.%d", n%6)
				u.SetCell(id, today-index.Day(n*7), []byte(release), []byte(version), []byte("amd64"), []byte("amd64"), 1)
				if i < 9000 && n < 12 {
					inUse.add(pkg, stats.VersionKnown{Release: crash.Release(release), Version: version,
						Arrived: now.AddDate(0, 0, -60+n)})
				}
			}
		}
	})
	return b, inUse
}
