package stats_test

import (
	"math"
	"testing"
	"time"

	"mishap/crash"
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
	if double != half {
		t.Errorf("got %v, want %v", double, half)
	}
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
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}
