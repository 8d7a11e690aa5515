package stats_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
)

// The days of a simulation: version 1 is in use from the beginning, version 2 for some weeks, and
// version 3, the one under test, arrives on day arrival. The gate is asked on each of the 56 days
// from then on.
const (
	arrival = 120
	days    = arrival + stats.GateWindowDays
)

// runs is the number of simulated updates of each kind. docs/gate.md has the results of 2,000.
var runs = flag.Int("runs", 20, "number of simulated updates of each kind")

// fleet describes a simulated release.
type fleet struct {
	machines int
	rate     float64 // reports per machine and day
	chronic  float64 // share of the machines that crash 50 times as often
	burst    float64 // probability that a crash is followed by another one on the same day
	weekly   float64 // amplitude of the difference between the days of a week
	problems int     // with frequencies like 1, 1/2, 1/3 …
	previous int     // days that version 2 is in use
	staged   bool    // updates reach 10, 30, 60 and 100 % of the machines after a week each
	times    float64 // how many times as often machines with version 3 crash
	fresh    float64 // rate of a problem that only version 3 has, per machine and day
}

var begin = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// event is one simulated report.
type event struct{ day, machine, version, problem int }

// share returns the share of the machines that have installed an update some days after it arrived.
func (f fleet) share(days int) float64 {
	switch {
	case days < 0:
		return 0
	case f.staged:
		return []float64{.1, .3, .6, 1}[min(days/7, 3)]
	}
	return min(1, float64(days+1)/5) // machines update within five days
}

// events returns the reports of a fleet, sorted by day.
func (f fleet) events(r *rand.Rand) []event {
	until := make([]float64, f.problems) // sums of the frequencies
	for i := range until {
		until[i] = 1 / float64(i+1)
		if i > 0 {
			until[i] += until[i-1]
		}
	}
	var all []event
	report := func(machine, day, problem int) {
		// Machines are numbered in the order in which they install updates.
		place, version := (float64(machine)+.5)/float64(f.machines), 1
		if place < f.share(day-arrival+f.previous) {
			version = 2
		}
		if place < f.share(day-arrival) {
			version = 3
		}
		if problem == f.problems && version != 3 || problem < f.problems && version != 3 && r.Float64() > 1/f.times ||
			r.Float64() > (1+f.weekly*float64(day%7-3)/3)/(1+f.weekly) {
			return
		}
		all = append(all, event{day, machine, version, problem})
		for r.Float64() < f.burst {
			all = append(all, event{day, machine, version, problem})
		}
	}
	crashes := func(machine int, rate float64, problem func() int) {
		// The times between crashes have an exponential distribution.
		for at := r.ExpFloat64(); at < rate*days; at += r.ExpFloat64() {
			m := machine
			if m < 0 {
				m = r.IntN(f.machines)
			}
			report(m, r.IntN(days), problem())
		}
	}
	usual := func() int {
		i, _ := slices.BinarySearch(until, r.Float64()*until[len(until)-1])
		return i
	}
	crashes(-1, float64(f.machines)*f.rate*f.times, usual)
	for range int(f.chronic * float64(f.machines)) {
		own := usual() // such a machine has one problem
		crashes(r.IntN(f.machines), 50*f.rate*f.times, func() int { return own })
	}
	if f.fresh > 0 {
		crashes(-1, float64(f.machines)*f.fresh, func() int { return f.problems })
	}
	slices.SortFunc(all, func(a, b event) int { return a.day - b.day })
	return all
}

// watch shows the gate the events day by day and calls look at the end of each day on which the
// version under test is known, until look returns false.
func (f fleet) watch(events []event, look func(day int, r stats.GateResult) bool) {
	var in stats.GateInput
	var known []stats.VersionKnown
	problems := make([]stats.GateProblem, f.problems+1)
	byProblem, byMachine := map[[3]int]int64{}, map[[2]int]int64{}
	before := []event{}
	for day := range days {
		today := stats.GateDay{Day: begin.AddDate(0, 0, day), Machines: int64(f.machines)}
		for ; len(events) > 0 && events[0].day == day; events = events[1:] {
			e, p := events[0], &problems[events[0].problem]
			if version := string(rune('0' + e.version)); !slices.ContainsFunc(known,
				func(k stats.VersionKnown) bool { return k.Version == version }) {
				known = append(known, stats.VersionKnown{Release: "R", Version: version, Since: today.Day})
			}
			p.ID, p.Lower = crash.BucketID{byte(e.problem)}, p.Lower || e.version < 3
			today.Reports++
			clusters := &in.Old
			switch e.version {
			case 1:
				clusters = &stats.Clusters{}
			case 2:
				today.Old++
			case 3:
				today.New++
				clusters = &in.New
			}
			if e.version > 1 {
				if e.version == 3 && byProblem[[3]int{e.problem, e.version, e.machine}] == 0 {
					p.Machines++
				}
				count(&p.Clusters, byProblem, [3]int{e.problem, e.version, e.machine})
				count(clusters, byMachine, [2]int{e.version, e.machine})
			}
			if day < arrival {
				before = append(before, e)
			} else {
				p.After++
			}
		}
		in.Days = append(in.Days, today)
		plan, ok := stats.NewGatePlan(known, "R", "3", "", today.Day, func(time.Time) int64 { return int64(f.machines) })
		if !ok {
			continue
		}
		if in.GatePlan, in.Problems = plan, problems; before != nil {
			for _, e := range before {
				at := begin.AddDate(0, 0, e.day)
				if plan.Before.Contains(at) {
					problems[e.problem].Before++
				}
				if plan.History.Contains(at) {
					problems[e.problem].History++
				}
			}
			before = nil
		}
		if !look(day-arrival, stats.AssessGate(in)) {
			return
		}
	}
}

// count adds one report of a machine to the clusters.
func count[K comparable](c *stats.Clusters, of map[K]int64, key K) {
	n := of[key]
	of[key]++
	*c = c.Plus(stats.Clusters{Reports: 1, Squares: 2*n + 1})
	if n == 0 {
		c.Machines++
	}
}

// outcomes counts how simulated updates ended.
type outcomes struct{ alarmed, alarmedOnce, passedFirst, undecided int }

// simulate runs updates of a fleet. Each is asked about every day: alarmed counts those that were
// called worse on any day, alarmedOnce those on the 14th day, and passedFirst those that passed
// before they were called worse.
func (f fleet) simulate(seed uint64) (o outcomes) {
	for i := range *runs {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		var alarmed, passed bool
		f.watch(f.events(random), func(day int, r stats.GateResult) bool {
			if day == 13 && r.Verdict == stats.GateWorse {
				o.alarmedOnce++
			}
			if !alarmed && !passed && r.Verdict == stats.GatePass {
				passed = true
				o.passedFirst++
			}
			if !alarmed && r.Verdict == stats.GateWorse {
				alarmed = true
				o.alarmed++
			}
			return !alarmed || day < 13
		})
		if !alarmed && !passed {
			o.undecided++
		}
	}
	return o
}

// plain is a fleet in which machines crash independently of each other.
var plain = fleet{machines: 2000, rate: .002, problems: 40, previous: 60, times: 1}

func (f fleet) with(change func(*fleet)) fleet { change(&f); return f }

// TestFalseAlarms simulates updates that change nothing. At most 5 % may be called worse on any of
// 56 days, and at most 1 % on one day.
func TestFalseAlarms(t *testing.T) {
	t.Parallel()
	once := 0
	fleets := map[string]fleet{
		"plain":   plain,
		"staged":  plain.with(func(f *fleet) { f.staged = true }),
		"hurried": plain.with(func(f *fleet) { f.previous, f.staged = 10, true }),
		"chronic": plain.with(func(f *fleet) { f.chronic = .01 }),
		"bursts":  plain.with(func(f *fleet) { f.burst = .6 }),
		"weekly":  plain.with(func(f *fleet) { f.weekly = .4 }),
		"rare":    plain.with(func(f *fleet) { f.rate = .0002 }),
		"all": plain.with(func(f *fleet) {
			f.staged, f.chronic, f.burst, f.weekly, f.problems = true, .01, .3, .3, 120
		}),
	}
	for name, f := range fleets {
		o := f.simulate(17)
		t.Logf("%s: %+v of %d", name, o, *runs)
		if o.alarmed*20 > *runs {
			t.Errorf("%s: %d of %d updates were called worse, want at most 5 %%", name, o.alarmed, *runs)
		}
		once += o.alarmedOnce
	}
	if once*100 > *runs*len(fleets) {
		t.Errorf("on one day %d of %d updates were called worse, want at most 1 %%", once, *runs*len(fleets))
	}
}

// TestPower simulates updates that made things worse. At most 20 % may pass before they are called
// worse.
func TestPower(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fleet{
		"doubled":             plain.with(func(f *fleet) { f.times = 2 }),
		"doubled, staged":     plain.with(func(f *fleet) { f.times, f.staged = 2, true }),
		"doubled, bursts":     plain.with(func(f *fleet) { f.times, f.burst = 2, .6 }),
		"tripled, chronic":    plain.with(func(f *fleet) { f.times, f.chronic = 3, .01 }),
		"rare, one per 1,000": plain.with(func(f *fleet) { f.times, f.rate = 11, .0001 }),
		"new problem":         plain.with(func(f *fleet) { f.fresh = .0005 }),
	} {
		o := f.simulate(18)
		t.Logf("%s: %+v of %d", name, o, *runs)
		if o.passedFirst*5 > *runs {
			t.Errorf("%s: %d of %d updates passed first, want at most 20 %%", name, o.passedFirst, *runs)
		}
	}
}
