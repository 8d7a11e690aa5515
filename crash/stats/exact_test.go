package stats

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
)

// near reports whether two numbers differ by at most a relative error.
func near(got, want, relative float64) bool { return math.Abs(got-want) <= relative*math.Abs(want) }

// TestExactKnownValues compares with values of gonum and of published tables,
// also for numbers that are not whole.
func TestExactKnownValues(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ x, a, b, want float64 }{
		{.5, 3, 13, 0.996307373047}, {.25, 1.5, 2.25, 0.299869573104}, {.001, .4, 900.7, 0.862686958181},
		{.9, 120.5, 11, 0.233766607105}, {.5, 5000.5, 4900, 0.156226401799}, {.3, 3e5, 7e5, 0.500116074189},
		{.0001, 2, 30000, 0.800881598527}, {.5, 1e6, 1e6, .5}, {0, 2, 3, 0}, {1, 2, 3, 1},
	} {
		if got := betaShare(v.a, v.b, v.x); !near(got, v.want, 1e-8) {
			t.Errorf("I_%g(%g, %g): got %.12g, want %.12g", v.x, v.a, v.b, got, v.want)
		}
	}
	for _, v := range []struct{ a, x, want float64 }{
		{1, .5, 0.393469340287}, {2.5, 7, 0.9843905839}, {10, 3, 0.00110248813012}, {.3, .01, 0.279240996359},
		{150.5, 140, 0.197852961678}, {5000, 5100, 0.920671118922}, {20, 60, 0.999999999365}, {3, 0, 0},
	} {
		if got := gammaShare(v.a, v.x); !near(got, v.want, 1e-9) {
			t.Errorf("P(%g, %g): got %.12g, want %.12g", v.a, v.x, got, v.want)
		}
	}
	for _, v := range []struct{ n, low, high float64 }{
		{0, 0, 3.688879}, {1, .0253178, 5.571643}, {10, 4.795389, 18.390356}, {100, 81.36403, 121.6274},
	} {
		if low, high := CountInterval(v.n); !near(low, v.low, 1e-5) || !near(high, v.high, 1e-5) {
			t.Errorf("interval of %g: got %.7g to %.7g, want %.7g to %.7g", v.n, low, high, v.low, v.high)
		}
	}
	for _, v := range []struct{ a, b, low, high float64 }{
		{0, 0, 0, 1}, {0, 10, 0, .3084971}, {10, 0, .6915029, 1}, {1, 9, .0025286, .4450161}, {15, 10, .3866535, .7887452},
	} {
		if low, high := ShareInterval(v.a, v.b); math.Abs(low-v.low) > 1e-6 || math.Abs(high-v.high) > 1e-6 {
			t.Errorf("share of %g and %g: got %.7f to %.7f, want %.7f to %.7f", v.a, v.b, low, high, v.low, v.high)
		}
	}
}

// TestExactSums compares the tests with sums of exact fractions, for all small numbers.
func TestExactSums(t *testing.T) {
	t.Parallel()
	binomial := func(n, k int64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).Binomial(n, k)) }
	for n := range int64(13) {
		for m := range int64(11) {
			for a := range n + 1 {
				// One of three trials succeeds.
				tail := new(big.Rat)
				for i := a; i <= n; i++ {
					power := new(big.Int).Exp(big.NewInt(2), big.NewInt(n-i), nil)
					tail.Add(tail, new(big.Rat).Mul(binomial(n, i), new(big.Rat).SetInt(power)))
				}
				tail.Quo(tail, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(3), big.NewInt(n), nil)))
				want, _ := tail.Float64()
				if got := BinomialTail(float64(a), float64(n-a), 1./3); !near(got, want, 1e-12) {
					t.Fatalf("at least %d of %d: got %.15g, want %.15g", a, n, got, want)
				}
				for b := range m + 1 {
					sum := new(big.Rat)
					for i := a; i <= min(n, a+b); i++ {
						sum.Add(sum, new(big.Rat).Mul(binomial(n, i), binomial(m, a+b-i)))
					}
					want, _ := sum.Quo(sum, binomial(n+m, a+b)).Float64()
					if got := MoreFrequent(float64(a), float64(n), float64(b), float64(m)); !near(got, want, 1e-11) {
						t.Fatalf("%d of %d against %d of %d: got %.15g, want %.15g", a, n, b, m, got, want)
					}
				}
			}
		}
	}
}

func TestSignificant(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		p           float64
		comparisons int
		want        bool
	}{{.049, 0, true}, {.049, 1, true}, {.051, 1, false}, {.049, 2, false}, {.0049, 10, true}} {
		checktest.Equal(t, fmt.Sprintf("p %g, %d comparisons", v.p, v.comparisons), Significant(v.p, v.comparisons),
			v.want)
	}
	// The judgements of too few reports that version 0.1.0 made.
	if p := MoreFrequent(3, 36, 0, 12); Significant(p, 1) || !near(p, .41281, 1e-4) {
		t.Errorf("3 of 36 and none of 12: got p %.5f", p)
	}
	if p := MoreFrequent(5, 8, 3, 15); Significant(p, 2) || !near(p, .05821, 1e-3) {
		t.Errorf("5 of 8 and 3 of 15: got p %.5f", p)
	}
}

// TestBetaShareEverywhere checks the symmetry of the distribution at and around the place where its
// computation changes, which rounding must not move.
func TestBetaShareEverywhere(t *testing.T) {
	t.Parallel()
	if got := betaShare(.2, 7.4, .125); got <= 0 || got >= 1 {
		t.Errorf("I_0.125(0.2, 7.4): got %g", got)
	}
	for i := range 2000 {
		a, b := .05+float64(i%83)*1.7, .03+float64(i%71)*2.3
		x := (a + 1) / (a + b + 2)
		for _, x := range []float64{x, math.Nextafter(x, 1), math.Nextafter(x, 0), 1 - (b+1)/(a+b+2), x / 2} {
			if sum := betaShare(a, b, x) + betaShare(b, a, 1-x); math.Abs(sum-1) > 1e-10 {
				t.Fatalf("I_%g(%g, %g) and its complement: got the sum %.15g", x, a, b, sum)
			}
		}
	}
}

func TestMachineRate(t *testing.T) {
	t.Parallel()
	if r := NewMachineRate(5, 0); r.Known() || r.Times(NewMachineRate(5, 10)).Known() {
		t.Errorf("without machines: got %+v, want an unknown rate", r)
	}
	few, many := NewMachineRate(10, 1000), NewMachineRate(100, 1000)
	if x := many.Times(few); !x.Worse() || x.Better() || x.Ratio < 9 || x.Ratio > 11 {
		t.Errorf("ten times the rate: got %+v", x)
	}
	if x := few.Times(many); !x.Better() || x.Worse() {
		t.Errorf("a tenth of the rate: got %+v", x)
	}
	if x := few.Times(NewMachineRate(11, 1000)); x.Worse() || x.Better() {
		t.Errorf("about the same rate: got %+v", x)
	}
}

// TestDiscoveries checks the procedure of Benjamini and Hochberg at the level of 5 %.
func TestDiscoveries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		tests []test
		want  []bool
	}{
		{"none", nil, []bool{}},
		{"the example of the authors", ps(.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344, .0459, .3240, .4262, .5719,
			.6528, .7590, 1), []bool{true, true, true, true, false, false, false, false, false, false, false, false, false,
			false, false}},
		{"a later one saves earlier ones", ps(.04, .03, .045), []bool{true, true, true}},
		{"too few reports do not count", append(ps(.04), test{1, .06}, test{1, .5}), []bool{true, false, false}},
	} {
		if got := discoveries(tt.tests, .05); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func ps(values ...float64) []test {
	var all []test
	for _, p := range values {
		all = append(all, test{p: p})
	}
	return all
}

func TestDispersion(t *testing.T) {
	t.Parallel()
	c := Clusters{Machines: 3, Reports: 6, Squares: 18} // 4, 1 and 1
	checktest.Equal(t, "dispersion", c.dispersion(), 3)
	checktest.Equal(t, "half the time", c.within(.5), 2)
	even := make([]GateDay, 7)
	for i := range even {
		even[i] = GateDay{Machines: 10, Reports: 5}
	}
	checktest.Equal(t, "even days", dayDispersion(even), 1)
	even[0].Reports, even[1].Reports = 0, 10
	if got := dayDispersion(even); got <= 1.6 || got >= 1.7 { // 50 / 5 / 6
		t.Errorf("uneven days: got %v, want 1.67", got)
	}
	checktest.Equal(t, "six days", dayDispersion(even[:6]), 1)
}

func TestRateVersions(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return since.AddDate(0, 0, n) }
	spans := []VersionSpan{
		{Release: "Ubuntu 24.04", Version: "1.10-1", First: day(5), Last: day(9), Reports: 500},
		{Release: "Ubuntu 24.04", Version: "1.9-1", First: day(0), Last: day(4), Reports: 50},
		{Release: "Ubuntu 26.04", Version: "1.9-1", First: day(8), Last: day(20), Reports: 3},
		{Release: "Debian 13", Version: "1.9-1", First: day(1), Last: day(2), Reports: 3},
	}
	active := map[crash.Release][]int64{"Ubuntu 24.04": make([]int64, 10), "Ubuntu 26.04": make([]int64, 10)}
	for i := range 10 {
		active["Ubuntu 24.04"][i], active["Ubuntu 26.04"][i] = 100, 10
	}
	got := RateVersions(spans, active, since)
	if len(got) != 4 || got[0].Release != "Ubuntu 26.04" || got[1].Version != "1.10-1" || got[2].Version != "1.9-1" ||
		got[3].Release != "Debian 13" {
		t.Fatalf("got %+v", got)
	}
	if got[1].Rate.Per1000 != 1000 || got[2].Rate.Per1000 != 100 || !got[1].Previous.Worse() || got[2].Previous.Known() {
		t.Errorf("24.04: got %+v, want a significant ratio of about ten", got[1:3])
	}
	if got[0].Rate.MachineDays != 20 || got[0].Previous.Known() { // only the days with known machines
		t.Errorf("26.04: got %+v", got[0])
	}
	if got[3].Rate.Known() {
		t.Errorf("Debian: got %+v, want an unknown rate", got[3])
	}
}
