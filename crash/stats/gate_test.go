package stats_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/stats"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 5e-4*max(1, math.Abs(want)) {
		t.Errorf("%s: got %.5f, want %.5f", what, got, want)
	}
}

// TestKnownValues compares with published tables of exact intervals, and with the binomial
// distribution.
func TestKnownValues(t *testing.T) {
	t.Parallel()
	r := stats.Sample{Reports: 10, MachineDays: 1000}.Rate(1)
	near(t, "rate", r.Value, 10)
	near(t, "low end", r.Low, 4.79539)
	near(t, "high end", r.High, 18.39036)
	if (stats.Sample{}).Rate(1).Known() {
		t.Error("got a rate without machine-days")
	}
	// Twice the dispersion is half the number of reports.
	double := stats.Sample{Reports: 20, MachineDays: 1000}.Rate(2)
	half := stats.Sample{Reports: 10, MachineDays: 500}.Rate(1)
	checktest.Equal(t, "double", double, half)
	before, after := stats.Sample{Reports: 10, MachineDays: 500}, stats.Sample{Reports: 15, MachineDays: 500}
	ratio := stats.Ratio(before, after, 1)
	near(t, "ratio", ratio.Value, 1.5)
	near(t, "low end of the ratio", ratio.Low, .38667/(1-.38667))
	near(t, "high end of the ratio", ratio.High, .78874/(1-.78874))
	before.Reports = 5
	near(t, "probability", stats.Increase(before, after, 1), 21700./(1<<20))
	before.Reports = 0
	if r := stats.Ratio(before, after, 1); r.Known() || !math.IsInf(r.High, 1) || r.Low <= 1 {
		t.Errorf("got %v, want an unknown ratio above 1", r)
	}
	after.Reports = 0
	if r := stats.Ratio(before, after, 1); r.Known() || r.Low != 0 || stats.Increase(before, after, 1) != 1 {
		t.Errorf("got %v, want nothing to be known", r)
	}
}

// day returns the n-th day of the history of a package.
func day(n int) time.Time { return begin.AddDate(0, 0, n) }

func known(release crash.Release, versions map[string]int) []stats.VersionKnown {
	var all []stats.VersionKnown
	for v, first := range versions {
		all = append(all, stats.VersionKnown{Release: release, Version: v, Since: day(first)})
	}
	return all
}

func TestPlan(t *testing.T) {
	t.Parallel()
	hundred := func(time.Time) int64 { return 100 }
	for _, tt := range []struct {
		name             string
		versions         map[string]int // and the days on which they arrived
		version, against string
		want             stats.GatePlan
		missing          bool
	}{
		{name: "previous", versions: map[string]int{"1": 0, "2": 30, "3": 60}, version: "3", want: stats.GatePlan{
			Against: "2", Choice: stats.ChoicePrevious, Before: stats.Window{Since: day(30), Until: day(59)},
			After: stats.Window{Since: day(60), Until: day(80)}, History: stats.Window{Since: day(0), Until: day(59)},
			BeforeIn: 51, AfterIn: 21}},
		{name: "previous too short", versions: map[string]int{"1": 0, "2": 58, "3": 60}, version: "3", want: stats.GatePlan{
			Against: "1", Choice: stats.ChoiceEarlier, Before: stats.Window{Since: day(2), Until: day(57)},
			After: stats.Window{Since: day(60), Until: day(80)}, History: stats.Window{Since: day(0), Until: day(59)},
			BeforeIn: 81, AfterIn: 21}},
		{name: "named", versions: map[string]int{"1": 0, "2": 58, "3": 60}, version: "3", against: "2", want: stats.GatePlan{
			Against: "2", Choice: stats.ChoiceNamed, Before: stats.Window{Since: day(58), Until: day(59)},
			After: stats.Window{Since: day(60), Until: day(80)}, History: stats.Window{Since: day(0), Until: day(59)},
			BeforeIn: 23, AfterIn: 21}},
		{name: "replaced", versions: map[string]int{"1": 0, "2": 30, "10": 60}, version: "2", want: stats.GatePlan{
			Against: "1", Choice: stats.ChoicePrevious, Before: stats.Window{Since: day(0), Until: day(29)}, Replaced: "10",
			After: stats.Window{Since: day(30), Until: day(59)}, History: stats.Window{Since: day(0), Until: day(29)},
			BeforeIn: 81, AfterIn: 51}},
		{name: "higher version first", versions: map[string]int{"1": 0, "2": 60, "3": 50}, version: "2", want: stats.GatePlan{
			Against: "1", Choice: stats.ChoicePrevious, Before: stats.Window{Since: day(0), Until: day(49)},
			After: stats.Window{Since: day(60), Until: day(80)}, History: stats.Window{Since: day(0), Until: day(59)},
			BeforeIn: 81, AfterIn: 21}},
		{name: "thin", versions: map[string]int{"1": 55, "2": 60}, version: "2", want: stats.GatePlan{
			Against: "1", Choice: stats.ChoiceThin, Before: stats.Window{Since: day(55), Until: day(59)},
			After: stats.Window{Since: day(60), Until: day(80)}, History: stats.Window{Since: day(55), Until: day(59)},
			BeforeIn: 26, AfterIn: 21}},
		{name: "first", versions: map[string]int{"1": 60}, version: "1", want: stats.GatePlan{
			Choice: stats.ChoiceNone, After: stats.Window{Since: day(60), Until: day(80)},
			History: stats.Window{Since: day(60), Until: day(59)}, AfterIn: 21}},
		{name: "unknown version", versions: map[string]int{"1": 60}, version: "2", missing: true},
		{name: "unknown other version", versions: map[string]int{"1": 60}, version: "1", against: "2", missing: true},
		{name: "higher other version", versions: map[string]int{"1": 0, "2": 60}, version: "1", against: "2", missing: true},
	} {
		all := append(known("R", tt.versions), known("Other", map[string]int{"1.5": 1, "9": 2})...)
		got, ok := stats.NewGatePlan(all, "R", tt.version, tt.against, day(80), hundred)
		if tt.want.Release, tt.want.Version = "R", tt.version; tt.missing {
			tt.want = stats.GatePlan{}
		}
		if ok == tt.missing || got != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v", tt.name, got, ok, tt.want)
		}
	}
}

// given returns the counts of an update that arrived after 60 days, on 1,000 machines: reports a
// day before and after.
func given(before, after int64, daysAfter int, problems ...stats.GateProblem) stats.GateInput {
	in := stats.GateInput{Problems: problems, New: stats.Clusters{Machines: 50, Reports: 50, Squares: 50}}
	all := known("R", map[string]int{"1": 0, "2": 60})
	in.GatePlan, _ = stats.NewGatePlan(all, "R", "2", "", day(59+daysAfter), func(time.Time) int64 { return 1000 })
	for n := range 60 + daysAfter {
		d := stats.GateDay{Day: day(n), Machines: 1000, Reports: before, Old: before}
		if n >= 60 {
			d.Reports, d.New, d.Old = after, after, 0
		}
		in.Days = append(in.Days, d)
	}
	return in
}

func TestAssess(t *testing.T) {
	t.Parallel()
	fresh := func(machines int64) stats.GateProblem {
		return stats.GateProblem{ID: crash.BucketID{1}, After: machines, Machines: machines,
			Clusters: stats.Clusters{Machines: machines, Reports: machines, Squares: machines}}
	}
	storm := fresh(2)
	storm.After, storm.Clusters = 300, stats.Clusters{Machines: 2, Reports: 300, Squares: 299*299 + 1}
	nameless := fresh(30)
	nameless.Nameless = true
	grown := stats.GateProblem{ID: crash.BucketID{2}, Lower: true, Before: 30, After: 40, History: 40, Machines: 40,
		Clusters: stats.Clusters{Machines: 70, Reports: 70, Squares: 70}}
	usual := grown
	usual.After = 6
	for _, tt := range []struct {
		name                string
		in                  stats.GateInput
		want                stats.Verdict
		increased           bool
		appeared, increases int
	}{
		{name: "same", in: given(4, 4, 14), want: stats.GatePass},
		{name: "fewer", in: given(4, 1, 14), want: stats.GatePass},
		{name: "never crashed", in: given(0, 0, 14), want: stats.GatePass},
		{name: "twice as many", in: given(4, 8, 14), want: stats.GateWorse, increased: true},
		{name: "after three days", in: given(4, 4, 3), want: stats.GateNotEnough},
		{name: "clearly worse after three days", in: given(4, 20, 3), want: stats.GateWorse, increased: true},
		{name: "new problem", in: given(4, 4, 14, fresh(5)), want: stats.GateWorse, appeared: 1},
		{name: "new problem of two machines", in: given(4, 4, 14, fresh(2)), want: stats.GatePass, appeared: 1},
		{name: "new problem of one bad machine", in: given(4, 4, 14, storm), want: stats.GatePass, appeared: 1},
		{name: "problem without names", in: given(4, 4, 14, nameless), want: stats.GatePass},
		{name: "grown problem", in: given(4, 4, 14, grown), want: stats.GateWorse, increases: 1},
		{name: "usual problem", in: given(4, 4, 14, usual), want: stats.GatePass},
	} {
		got := stats.AssessGate(tt.in)
		if got.Verdict != tt.want || got.Increased != tt.increased || len(got.Appeared) != tt.appeared ||
			len(got.Increases) != tt.increases {
			t.Errorf("%s: got %s, increased %v, %d new, %d increased problems; p %.5f, share %.2f", tt.name,
				got.Verdict, got.Increased, len(got.Appeared), len(got.Increases), got.P, got.Share)
		}
		if needed, _ := got.Needed(); (needed == 0) != got.Enough {
			t.Errorf("%s: got %v machine-days needed, enough: %v", tt.name, needed, got.Enough)
		}
	}
}

// TestNeeded checks that the update passes after as many days as the gate says.
func TestNeeded(t *testing.T) {
	t.Parallel()
	for _, perDay := range []int64{0, 1, 4} {
		_, needed := stats.AssessGate(given(perDay, perDay, 2)).Needed()
		days := 2 + int(math.Ceil(needed))
		if got := stats.AssessGate(given(perDay, perDay, days)).Verdict; got != stats.GatePass {
			t.Errorf("%d reports a day: got %s after %d days, want a pass", perDay, got, days)
		}
		if got := stats.AssessGate(given(perDay, perDay, days-2)).Verdict; got != stats.GateNotEnough {
			t.Errorf("%d reports a day: got %s after %d days, want too few data", perDay, got, days-2)
		}
	}
	late := given(4, 4, 3)
	late.Days, late.Before.Since = late.Days[57:], day(57)
	if needed, _ := stats.AssessGate(late).Needed(); !math.IsInf(needed, 1) {
		t.Errorf("got %v machine-days needed after three days before the update, want infinity", needed)
	}
	replaced := given(4, 4, 3)
	replaced.Replaced = "3"
	if machineDays, needed := stats.AssessGate(replaced).Needed(); math.IsInf(machineDays, 1) || !math.IsInf(needed, 1) {
		t.Errorf("got %v machine-days and %v days needed for a replaced version, want no number of days", machineDays, needed)
	}
}

func TestOverall(t *testing.T) {
	t.Parallel()
	of := func(verdicts ...stats.Verdict) stats.Verdict {
		var results []stats.GateResult
		for _, v := range verdicts {
			results = append(results, stats.GateResult{Verdict: v})
		}
		return stats.OverallVerdict(results)
	}
	for _, tt := range []struct{ got, want stats.Verdict }{
		{of(), stats.GateNotEnough}, {of(stats.GatePass, stats.GatePass), stats.GatePass},
		{of(stats.GatePass, stats.GateNotEnough), stats.GateNotEnough},
		{of(stats.GateNotEnough, stats.GateWorse, stats.GatePass), stats.GateWorse},
	} {
		checktest.Equal(t, "value", tt.got, tt.want)
	}
}

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
	staged   bool    // updates reach 10, 30, 60 and 100% of the machines after a week each
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

// TestFalseAlarms simulates updates that change nothing. At most 5% may be called worse on any of
// 56 days, and at most 1% on one day.
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
			t.Errorf("%s: %d of %d updates were called worse, want at most 5%%", name, o.alarmed, *runs)
		}
		once += o.alarmedOnce
	}
	if once*100 > *runs*len(fleets) {
		t.Errorf("on one day %d of %d updates were called worse, want at most 1%%", once, *runs*len(fleets))
	}
}

// TestPower simulates updates that made things worse. At most 20% may pass before they are called
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
			t.Errorf("%s: %d of %d updates passed first, want at most 20%%", name, o.passedFirst, *runs)
		}
	}
}
