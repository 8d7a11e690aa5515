package stats

import (
	"slices"
	"testing"
)

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
	if got := c.dispersion(); got != 3 {
		t.Errorf("got %v, want 3", got)
	}
	if got := c.within(.5); got != 2 {
		t.Errorf("half the time: got %v, want 2", got)
	}
	even := make([]GateDay, 7)
	for i := range even {
		even[i] = GateDay{Machines: 10, Reports: 5}
	}
	if got := dayDispersion(even); got != 1 {
		t.Errorf("even days: got %v, want 1", got)
	}
	even[0].Reports, even[1].Reports = 0, 10
	if got := dayDispersion(even); got <= 1.6 || got >= 1.7 { // 50 / 5 / 6
		t.Errorf("uneven days: got %v, want 1.67", got)
	}
	if got := dayDispersion(even[:6]); got != 1 {
		t.Errorf("six days: got %v, want 1", got)
	}
}
