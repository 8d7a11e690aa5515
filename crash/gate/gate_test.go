package gate_test

import (
	"math"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/gate"
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
	r := gate.Sample{Reports: 10, MachineDays: 1000}.Rate(1)
	near(t, "rate", r.Value, 10)
	near(t, "low end", r.Low, 4.79539)
	near(t, "high end", r.High, 18.39036)
	none := gate.Sample{MachineDays: 1000}.Rate(1)
	near(t, "high end of none", none.High, 3.68888)
	if none.Low != 0 || none.Value != 0 {
		t.Errorf("got %v, want 0 from 0", none)
	}
	if (gate.Sample{}).Rate(1).Known() {
		t.Error("got a rate without machine-days")
	}
	// Twice the dispersion is half the number of reports.
	double, half := gate.Sample{Reports: 20, MachineDays: 1000}.Rate(2), gate.Sample{Reports: 10, MachineDays: 500}.Rate(1)
	if double != half {
		t.Errorf("got %v, want %v", double, half)
	}
	before, after := gate.Sample{Reports: 10, MachineDays: 500}, gate.Sample{Reports: 15, MachineDays: 500}
	ratio := gate.Ratio(before, after, 1)
	near(t, "ratio", ratio.Value, 1.5)
	near(t, "low end of the ratio", ratio.Low, .38667/(1-.38667))
	near(t, "high end of the ratio", ratio.High, .78874/(1-.78874))
	before.Reports = 5
	near(t, "probability", gate.Increase(before, after, 1), 21700./(1<<20))
	before.Reports = 0
	if r := gate.Ratio(before, after, 1); r.Known() || !math.IsInf(r.High, 1) || r.Low <= 1 {
		t.Errorf("got %v, want an unknown ratio above 1", r)
	}
	after.Reports = 0
	if r := gate.Ratio(before, after, 1); r.Known() || r.Low != 0 || gate.Increase(before, after, 1) != 1 {
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
		want             gate.Plan
		missing          bool
	}{
		{name: "previous", versions: map[string]int{"1": 0, "2": 30, "3": 60}, version: "3", want: gate.Plan{
			Against: "2", Choice: gate.ChoicePrevious, Before: gate.Window{Since: day(30), Until: day(59)},
			After: gate.Window{Since: day(60), Until: day(80)}, History: gate.Window{Since: day(0), Until: day(59)},
			BeforeIn: 51, AfterIn: 21}},
		{name: "previous too short", versions: map[string]int{"1": 0, "2": 58, "3": 60}, version: "3", want: gate.Plan{
			Against: "1", Choice: gate.ChoiceEarlier, Before: gate.Window{Since: day(2), Until: day(57)},
			After: gate.Window{Since: day(60), Until: day(80)}, History: gate.Window{Since: day(0), Until: day(59)},
			BeforeIn: 81, AfterIn: 21}},
		{name: "named", versions: map[string]int{"1": 0, "2": 58, "3": 60}, version: "3", against: "2", want: gate.Plan{
			Against: "2", Choice: gate.ChoiceNamed, Before: gate.Window{Since: day(58), Until: day(59)},
			After: gate.Window{Since: day(60), Until: day(80)}, History: gate.Window{Since: day(0), Until: day(59)},
			BeforeIn: 23, AfterIn: 21}},
		{name: "replaced", versions: map[string]int{"1": 0, "2": 30, "10": 60}, version: "2", want: gate.Plan{
			Against: "1", Choice: gate.ChoicePrevious, Before: gate.Window{Since: day(0), Until: day(29)}, Replaced: "10",
			After: gate.Window{Since: day(30), Until: day(59)}, History: gate.Window{Since: day(0), Until: day(29)},
			BeforeIn: 81, AfterIn: 51}},
		{name: "higher version first", versions: map[string]int{"1": 0, "2": 60, "3": 50}, version: "2", want: gate.Plan{
			Against: "1", Choice: gate.ChoicePrevious, Before: gate.Window{Since: day(0), Until: day(49)},
			After: gate.Window{Since: day(60), Until: day(80)}, History: gate.Window{Since: day(0), Until: day(59)},
			BeforeIn: 81, AfterIn: 21}},
		{name: "thin", versions: map[string]int{"1": 55, "2": 60}, version: "2", want: gate.Plan{
			Against: "1", Choice: gate.ChoiceThin, Before: gate.Window{Since: day(55), Until: day(59)},
			After: gate.Window{Since: day(60), Until: day(80)}, History: gate.Window{Since: day(55), Until: day(59)},
			BeforeIn: 26, AfterIn: 21}},
		{name: "first", versions: map[string]int{"1": 60}, version: "1", want: gate.Plan{
			Choice: gate.ChoiceNone, After: gate.Window{Since: day(60), Until: day(80)},
			History: gate.Window{Since: day(60), Until: day(59)}, AfterIn: 21}},
		{name: "unknown version", versions: map[string]int{"1": 60}, version: "2", missing: true},
		{name: "unknown other version", versions: map[string]int{"1": 60}, version: "1", against: "2", missing: true},
		{name: "higher other version", versions: map[string]int{"1": 0, "2": 60}, version: "1", against: "2", missing: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all := append(known("R", tt.versions), known("Other", map[string]int{"1.5": 1, "9": 2})...)
			got, ok := gate.NewPlan(all, "R", tt.version, tt.against, day(80), hundred)
			if tt.want.Release, tt.want.Version = "R", tt.version; tt.missing {
				tt.want = gate.Plan{}
			}
			if ok == tt.missing || got != tt.want {
				t.Errorf("got %+v, %v, want %+v", got, ok, tt.want)
			}
		})
	}
}

// given returns the counts of an update that arrived after 60 days, on 1,000 machines: reports a
// day before and after.
func given(before, after int64, daysAfter int, problems ...gate.Problem) gate.Input {
	in := gate.Input{Problems: problems, New: gate.Clusters{Machines: 50, Reports: 50, Squares: 50}}
	all := known("R", map[string]int{"1": 0, "2": 60})
	in.Plan, _ = gate.NewPlan(all, "R", "2", "", day(59+daysAfter), func(time.Time) int64 { return 1000 })
	for n := range 60 + daysAfter {
		d := gate.Day{Day: day(n), Machines: 1000, Reports: before, Old: before}
		if n >= 60 {
			d.Reports, d.New, d.Old = after, after, 0
		}
		in.Days = append(in.Days, d)
	}
	return in
}

func TestAssess(t *testing.T) {
	t.Parallel()
	fresh := func(machines int64) gate.Problem {
		return gate.Problem{ID: crash.BucketID{1}, After: machines, Machines: machines,
			Clusters: gate.Clusters{Machines: machines, Reports: machines, Squares: machines}}
	}
	storm := fresh(2)
	storm.After, storm.Clusters = 300, gate.Clusters{Machines: 2, Reports: 300, Squares: 299*299 + 1}
	nameless := fresh(30)
	nameless.Nameless = true
	grown := gate.Problem{ID: crash.BucketID{2}, Lower: true, Before: 30, After: 40, History: 40, Machines: 40,
		Clusters: gate.Clusters{Machines: 70, Reports: 70, Squares: 70}}
	usual := grown
	usual.After = 6
	for _, tt := range []struct {
		name                string
		in                  gate.Input
		want                gate.Verdict
		increased           bool
		appeared, increases int
	}{
		{name: "same", in: given(4, 4, 14), want: gate.Pass},
		{name: "fewer", in: given(4, 1, 14), want: gate.Pass},
		{name: "never crashed", in: given(0, 0, 14), want: gate.Pass},
		{name: "twice as many", in: given(4, 8, 14), want: gate.Worse, increased: true},
		{name: "after three days", in: given(4, 4, 3), want: gate.NotEnough},
		{name: "clearly worse after three days", in: given(4, 20, 3), want: gate.Worse, increased: true},
		{name: "new problem", in: given(4, 4, 14, fresh(5)), want: gate.Worse, appeared: 1},
		{name: "new problem of two machines", in: given(4, 4, 14, fresh(2)), want: gate.Pass, appeared: 1},
		{name: "new problem of one bad machine", in: given(4, 4, 14, storm), want: gate.Pass, appeared: 1},
		{name: "problem without names", in: given(4, 4, 14, nameless), want: gate.Pass},
		{name: "grown problem", in: given(4, 4, 14, grown), want: gate.Worse, increases: 1},
		{name: "usual problem", in: given(4, 4, 14, usual), want: gate.Pass},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := gate.Assess(tt.in)
			if got.Verdict != tt.want || got.Increased != tt.increased || len(got.Appeared) != tt.appeared ||
				len(got.Increases) != tt.increases {
				t.Errorf("got %s, increased %v, %d new, %d increased problems; p %.5f, share %.2f", got.Verdict, got.Increased,
					len(got.Appeared), len(got.Increases), got.P, got.Share)
			}
			if needed := got.Needed(); (needed == gate.Needed{}) != got.Enough {
				t.Errorf("got %+v needed, enough: %v", needed, got.Enough)
			}
		})
	}
}

// TestNeeded checks that the update passes after as many days as the gate says.
func TestNeeded(t *testing.T) {
	t.Parallel()
	for _, perDay := range []int64{0, 1, 4} {
		needed := gate.Assess(given(perDay, perDay, 2)).Needed()
		days := 2 + int(math.Ceil(needed.Days))
		if got := gate.Assess(given(perDay, perDay, days)).Verdict; got != gate.Pass {
			t.Errorf("%d reports a day: got %s after %d days, want a pass", perDay, got, days)
		}
		if got := gate.Assess(given(perDay, perDay, days-2)).Verdict; got != gate.NotEnough {
			t.Errorf("%d reports a day: got %s after %d days, want too few data", perDay, got, days-2)
		}
	}
	late := given(4, 4, 3)
	late.Days, late.Before.Since = late.Days[57:], day(57)
	if needed := gate.Assess(late).Needed(); !math.IsInf(needed.MachineDays, 1) {
		t.Errorf("got %+v needed after three days before the update, want infinity", needed)
	}
	replaced := given(4, 4, 3)
	replaced.Replaced = "3"
	if needed := gate.Assess(replaced).Needed(); math.IsInf(needed.MachineDays, 1) || !math.IsInf(needed.Days, 1) {
		t.Errorf("got %+v needed for a replaced version, want no number of days", needed)
	}
}

func TestOverall(t *testing.T) {
	t.Parallel()
	of := func(verdicts ...gate.Verdict) gate.Verdict {
		var results []gate.Result
		for _, v := range verdicts {
			results = append(results, gate.Result{Verdict: v})
		}
		return gate.Overall(results)
	}
	for _, tt := range []struct{ got, want gate.Verdict }{
		{of(), gate.NotEnough}, {of(gate.Pass, gate.Pass), gate.Pass}, {of(gate.Pass, gate.NotEnough), gate.NotEnough},
		{of(gate.NotEnough, gate.Worse, gate.Pass), gate.Worse},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}
