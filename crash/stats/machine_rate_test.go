package stats

import (
	"math"
	"testing"
)

func TestMachineRate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reports   int64
		low, high float64 // the exact interval of the count
	}{{0, 0, 3.689}, {1, 0.0253, 5.572}, {10, 4.795, 18.390}, {100, 81.364, 121.627}} {
		r := NewMachineRate(tt.reports, 1000)
		if r.Per1000 != float64(tt.reports) || math.Abs(r.Low-tt.low) > .04*(1+tt.low) ||
			math.Abs(r.High-tt.high) > .02*(1+tt.high) {
			t.Errorf("%d: got %+v, want %v to %v", tt.reports, r, tt.low, tt.high)
		}
	}
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
