package crashtest

import (
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"time"

	"mishap/crash"
)

// history is the number of days that a fleet's reports cover, including today.
const history = 56

// Fleet yields n reports of a fleet of machines in the eight weeks before now, oldest first. A few
// problems cause most reports, updates introduce and fix problems, machines upgrade to newer
// releases, and there are fewer reports on weekends. Fleet uses only releases that are supported on
// the day of now. The ids contain times of arrival, at most some hours after the crash; names of
// machines have 128 hex digits. The same arguments always give the same reports.
func Fleet(seed uint64, n int, now time.Time) iter.Seq[crash.Report] {
	return func(yield func(crash.Report) bool) {
		f := newFleet(seed, n, now)
		for day, count := range f.counts(n) {
			for i := range count {
				if !yield(f.report(day, i, count)) {
					return
				}
			}
		}
	}
}

type fleet struct {
	r        *rand.Rand
	now      time.Time
	start    time.Time // midnight of the first day
	releases []crash.Release
	shares   []float64 // cumulative shares of the releases
	problems []problem
	sums     []float64 // cumulative weights of the problems
	machines int
}

func newFleet(seed uint64, n int, now time.Time) *fleet {
	now = now.UTC()
	f := &fleet{
		r:        rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // invented data, the same each time
		now:      now,
		start:    now.Truncate(24*time.Hour).AddDate(0, 0, 1-history),
		problems: catalogue(n),
		machines: n/4 + 40,
	}
	sum := 0.0
	for _, r := range fleetReleases {
		if !r.release.EndOfLifeOn(now) {
			sum += r.part
			f.releases, f.shares = append(f.releases, r.release), append(f.shares, sum)
		}
	}
	sum = 0
	for _, p := range f.problems {
		sum += p.weight
		f.sums = append(f.sums, sum)
	}
	return f
}

// fleetReleases lists releases and their shares of the fleet. They are oldest first, in the order
// of upgrades. The last one does not end.
var fleetReleases = []struct {
	release crash.Release
	part    float64
}{{"Ubuntu 22.04", 0.28}, {"Ubuntu 24.04", 0.46}, {"Ubuntu 26.04", 0.20}, {"Debian 13", 0.05}, {"Debian sid", 0.01}}

// counts distributes n reports over the days.
func (f *fleet) counts(n int) []int {
	weights := make([]float64, history)
	total := 0.0
	for day := range weights {
		w := 0.7 + 0.6*float64(day)/history
		if d := f.start.AddDate(0, 0, day).Weekday(); d == time.Saturday || d == time.Sunday {
			w *= 0.6
		}
		if day == history-1 { // today is not complete
			w *= f.now.Sub(f.now.Truncate(24*time.Hour)).Hours() / 24
		}
		weights[day] = w
		total += w
	}
	counts := make([]int, history)
	sum, given := 0.0, 0
	for day, w := range weights {
		sum += w
		counts[day] = int(math.Round(sum/total*float64(n))) - given
		given += counts[day]
	}
	return counts
}

// report returns the i-th report of a day.
func (f *fleet) report(day, i, count int) crash.Report {
	begin := f.start.AddDate(0, 0, day)
	length := min(24*time.Hour, f.now.Sub(begin))
	occurred := begin.Add(time.Duration((float64(i) + f.r.Float64()) / float64(count) * float64(length)))
	delay := time.Duration(f.r.ExpFloat64() * float64(20*time.Minute))
	arrived := occurred.Add(min(delay, 6*time.Hour, f.now.Sub(occurred)))

	u := f.r.Float64()
	machine := int(u * u * float64(f.machines)) // some machines crash often
	name := sha512.Sum512(fmt.Append(nil, "machine ", machine))
	release := f.releaseOf(float64(binary.BigEndian.Uint32(name[:]))/(1<<32), day)
	p, version := f.problem(release, day)

	fields := maps.Clone(p.template)
	On(f.releases[release])(fields)
	At(occurred)(fields)
	Version(version)(fields)
	if _, ok := fields["ProcStatus"]; ok {
		Process(1000 + f.r.IntN(4_000_000))(fields)
	}
	if name[4] < 24 && fields["PackageArchitecture"] != "all" && p.anywhere {
		fields["Architecture"], fields["PackageArchitecture"] = "arm64", "arm64"
	}
	if name[5] < 12 {
		fields["Tags"] += " package-from-proposed"
	}
	return crash.Report{ID: f.id(arrived), System: crash.SystemID(hex.EncodeToString(name[:])),
		Fields: crash.Fields(fields)}
}

// releaseOf returns the release of a machine at a position in the fleet, from 0 to 1. The shares of
// older releases decrease daily, so machines upgrade.
func (f *fleet) releaseOf(place float64, day int) int {
	last := len(f.releases) - 1
	for i, share := range f.shares[:last] {
		if place < math.Pow(share/f.shares[last], 1+0.6*float64(day)/history) {
			return i
		}
	}
	return last
}

// problem selects a random problem of the version that is installed on a day, and that version.
func (f *fleet) problem(release, day int) (problem, string) {
	var p problem
	var version string
	for range 20 {
		u := f.r.Float64() * f.sums[len(f.sums)-1]
		low, high := 0, len(f.sums)-1
		for low < high {
			if mid := (low + high) / 2; f.sums[mid] < u {
				low = mid + 1
			} else {
				high = mid
			}
		}
		p = f.problems[low]
		update := p.update(day - int(f.r.ExpFloat64()*4)) // machines update with a delay
		version = p.version(f.releases[release], release, update)
		if p.from <= update && update < p.until {
			break
		}
	}
	return p, version
}

// id works like crash.NewOopsID, but is deterministic.
func (f *fleet) id(at time.Time) crash.OopsID {
	var id crash.OopsID
	binary.BigEndian.PutUint64(id[:], uint64(at.UnixMilli())<<16|f.r.Uint64()>>48)
	binary.BigEndian.PutUint64(id[8:], f.r.Uint64())
	id[6] = 0x70 | id[6]&0x0f
	id[8] = 0x80 | id[8]&0x3f
	return id
}
