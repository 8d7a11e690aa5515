package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mishap/crash/stats"
)

// hourSince is a Monday.
var hourSince = time.Date(2026, 9, 7, 0, 0, 0, 0, time.UTC)

const (
	hourlyDays = stats.SpikeDays + stats.HealthDays
	judgedFrom = stats.SpikeDays * 24
)

// hourlyFleet sends reports by hour, with daily and weekly rhythm.
type hourlyFleet struct {
	level    float64 // mean of an hour
	growth   float64 // of a week
	spread   float64 // variance of the rate of an hour, relative to the square of its mean
	days     float64 // the same of a day
	repeated float64 // share of the crashes that repeat up to five times within the hour
	spike    int     // hour with five times as many; 0: none
}

func anyHourlyFleet(r *rand.Rand) hourlyFleet {
	of := func(values ...float64) float64 { return values[r.IntN(len(values))] }
	return hourlyFleet{level: of(.3, 2, 10, 60, 300), growth: of(1, 1, 1.05, 1.2), spread: of(0, .02, .1), days: of(0,
		0, .03),
		repeated: of(0, 0, .05)}
}

func (f hourlyFleet) hours(r *rand.Rand) stats.Hours {
	h := stats.Hours{Since: hourSince}
	for i := range hourlyDays * 24 {
		if i%24 == 0 {
			f.level *= math.Pow(f.growth, 1./7)
		}
		day := gammaAround(rand.New(rand.NewPCG(uint64(i/24), uint64(1000*f.level))), 1, f.days)
		rhythm := 1 + .8*math.Sin(float64(i%24-8)/24*2*math.Pi)
		if weekday := i / 24 % 7; weekday > 4 {
			rhythm *= .6
		}
		if f.spike > 0 && i == f.spike {
			rhythm *= 5
		}
		n := poissonOf(r, gammaAround(r, f.level*day*rhythm, f.spread))
		for range n {
			if r.Float64() < f.repeated {
				n += int64(r.IntN(5))
			}
		}
		h.Reports = append(h.Reports, n)
	}
	return h
}

// gammaAround returns a number with the given mean, and a variance of spread times its square.
func gammaAround(r *rand.Rand, mean, spread float64) float64 {
	if spread == 0 {
		return mean
	}
	shape := 1 / spread // the method of Marsaglia and Tsang
	d := shape - 1./3
	for {
		x := r.NormFloat64()
		v := math.Pow(1+x/math.Sqrt(9*d), 3)
		if v > 0 && math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return mean * d * v / shape
		}
	}
}

// poissonOf also works for large means.
func poissonOf(r *rand.Rand, mean float64) (n int64) {
	for ; mean > 500; mean -= 500 {
		n += int64(poisson(r, 500))
	}
	return n + int64(poisson(r, mean))
}

func judge(h stats.Hours) stats.Spikes {
	return stats.FindSpikes(h, h.Since, h.At(judgedFrom), h.At(len(h.Reports)))
}

// TestFalseSpikes simulates 200 fleets in which nothing happens. At most 5% may have a spike in two weeks.
func TestFalseSpikes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(42, 1))
	wrong, judged := 0, 0
	for range 200 {
		f := anyHourlyFleet(r)
		s := judge(f.hours(r))
		if s.Hours != 24*stats.HealthDays || s.Judged+s.Changed != s.Hours {
			t.Fatalf("%+v: got %+v, want that each hour is judged unless the reports of a week have doubled", f, s)
		}
		judged += s.Judged
		if len(s.Found) > 0 {
			t.Logf("%+v: %v", f, s.Found)
			wrong++
		}
	}
	t.Logf("%d of 200 fleets have a spike by chance, of %d hours", wrong, judged)
	if wrong > 10 || judged < 200*24*stats.HealthDays*19/20 {
		t.Errorf("got %d of 200 fleets with a spike by chance in %d hours, want at most 10, in nearly all", wrong,
			judged)
	}
}

// TestRealSpikes simulates 50 fleets with an hour of five times as many reports, when at least 15 are usual. At least
// 80% must be found.
func TestRealSpikes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(42, 2))
	found := 0
	for range 50 {
		f := anyHourlyFleet(r)
		f.level = max(f.level, 10)
		f.spike = judgedFrom + 24*r.IntN(5) + 14 // a weekday, 14:00, when there are most
		h := f.hours(r)
		spikes := judge(h)
		if slices.ContainsFunc(spikes.Found, func(s stats.Spike) bool { return s.Hour.Equal(h.At(f.spike)) }) {
			found++
			continue
		}
		t.Logf("%+v: %d reports are not found: %+v", f, h.Reports[f.spike], spikes)
	}
	t.Logf("%d of 50 spikes were found", found)
	if found < 40 {
		t.Errorf("found %d of 50 spikes, want at least 40", found)
	}
}

// steady returns five weeks and two days with n reports an hour.
func steady(n int64) stats.Hours {
	h := stats.Hours{Since: hourSince}
	for range (stats.SpikeDays + 2) * 24 {
		h.Reports = append(h.Reports, n)
	}
	return h
}

// TestSpikeOfKnownSize compares 40 reports of an hour with 10 each of the four weeks before.
func TestSpikeOfKnownSize(t *testing.T) {
	t.Parallel()
	h := steady(10)
	at := judgedFrom + 14
	h.Reports[at] = 40
	s := judge(h)
	if s.Hours != 48 || s.Judged != 48 || len(s.Found) != 1 {
		t.Fatalf("got %+v, want one spike in 48 hours", s)
	}
	// Fisher's and Clopper and Pearson's values for 40 of 80, if a fifth are expected (R: binom.test(40, 80, .2)).
	near(t, "ratio", s.Found[0].Ratio.Value, 4)
	near(t, "low", s.Found[0].Ratio.Low, 4*.38602/(1-.38602))
	near(t, "high", s.Found[0].Ratio.High, 4*.61398/(1-.61398))
	want := "Monday 12 October, 14:00 to 15:00: 40 reports. The same hour of the four Mondays before had 10, 10, 10 " +
		"and " +
		"10. Relative to the seven days before each, that is 4.00 times as many (95% interval 2.52 to 6.36)."
	if got := s.Found[0].Text(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := s.Text(), "All 48 hours were compared with the same hour of the four weeks before: 1 spike: at "+
		"least twice as many reports, beyond chance."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestNoHistory checks that nothing is judged without five comparable weeks, nor while the reports of a week
// double, as after a release has come out.
func TestNoHistory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		known           time.Time
		judged, changed int
		times           int64 // reports of the last week
	}{
		"all weeks": {hourSince, 48, 0, 1}, "one hour too few": {hourSince.Add(time.Minute), 47, 0, 1},
		"one day too few": {hourSince.AddDate(0, 0, 1), 24, 0, 1}, "just out": {hourSince.AddDate(0, 0, 35), 0, 0, 30},
		"growing": {hourSince, 0, 48, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := steady(2)
			for i := judgedFrom - 7*24; i < len(h.Reports); i++ {
				h.Reports[i] *= test.times
			}
			s := stats.FindSpikes(h, test.known, h.At(judgedFrom), h.At(len(h.Reports)))
			if s.Judged != test.judged || s.Changed != test.changed || len(s.Found) > 0 {
				t.Errorf("got %+v, want %d judged and %d changed hours, and no spike", s, test.judged, test.changed)
			}
		})
	}
}
