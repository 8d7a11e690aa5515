package stats

import (
	"slices"
	"time"

	"mishap/crash"
)

// Sampled is a report that may stand for its machine in a comparison.
type Sampled struct {
	ID      crash.OopsID
	Machine int64 // 0: unknown
	Problem crash.BucketID
}

// Sampling chooses machines elsewhere that reported in the same periods as those here. Otherwise
// everything that spreads with time, such as a new kernel, would stand out in a problem that rises.
type Sampling struct {
	starts []time.Time // of the periods, oldest first
	Until  time.Time
}

const (
	// SampledHere is the largest number of machines here.
	SampledHere = 120
	// sampledThere is the largest number of machines elsewhere, in all periods together.
	sampledThere = 240
	// SampledOfEach is the largest number of reports of one other problem in one period. So none has most.
	SampledOfEach = 16
	maxPeriods    = 4
	periodHere    = 12                 // least number of machines here in a period, if there are several
	leastPeriod   = 24 * time.Hour     // of a period after another one
	aroundPeriods = 3 * 24 * time.Hour // extends the first and the last period
)

// Machines returns the newest report of each machine, at most SampledHere. The reports are sorted,
// newest first.
func Machines(reports []Sampled) (machines []Sampled) {
	known := map[int64]bool{}
	for _, r := range reports {
		if len(machines) == SampledHere {
			break
		}
		if r.Machine == 0 || !known[r.Machine] {
			known[r.Machine] = true
			machines = append(machines, r)
		}
	}
	return machines
}

// NewSampling divides the time of the reports here, which are sorted, newest first, into periods of at least
// a day, with about equally many machines.
func NewSampling(here []Sampled) Sampling {
	if len(here) == 0 {
		return Sampling{}
	}
	n := min(max(len(here)/periodHere, 1), maxPeriods)
	last := here[len(here)-1].ID.Received()
	s := Sampling{starts: []time.Time{last.Add(-aroundPeriods)}, Until: here[0].ID.Received().Add(aroundPeriods)}
	for i := 1; i < n; i++ {
		if start := here[len(here)-1-i*len(here)/n].ID.Received(); start.Sub(last) >= leastPeriod {
			s.starts, last = append(s.starts, start), start
		}
	}
	return s
}

// Windows returns the beginnings and ends of the periods, oldest first.
func (s Sampling) Windows() (from, until []time.Time) {
	if len(s.starts) == 0 {
		return nil, nil
	}
	return s.starts, append(slices.Clone(s.starts[1:]), s.Until)
}

// Since returns when the first period begins.
func (s Sampling) Since() time.Time {
	if len(s.starts) == 0 {
		return time.Time{}
	}
	return s.starts[0]
}

// Period returns the number of the period in which a report arrived.
func (s Sampling) Period(id crash.OopsID) int {
	at, found := slices.BinarySearchFunc(s.starts, id.Received(), time.Time.Compare)
	if !found {
		at--
	}
	return max(at, 0)
}

// Choose returns one report of each machine elsewhere: in each period equally many, and of each problem
// as many as of the others, as far as there are enough. The reports are sorted, newest first, and contain
// none of machines here.
func (s Sampling) Choose(reports []Sampled) (chosen []Sampled) {
	if len(s.starts) == 0 {
		return nil
	}
	known := map[int64]bool{}
	queues := make([]map[crash.BucketID][]Sampled, len(s.starts))
	orders := make([][]crash.BucketID, len(s.starts))
	for _, r := range reports {
		if r.Machine != 0 && known[r.Machine] {
			continue
		}
		known[r.Machine] = r.Machine != 0
		p := s.Period(r.ID)
		if queues[p] == nil {
			queues[p] = map[crash.BucketID][]Sampled{}
		}
		if queues[p][r.Problem] == nil {
			orders[p] = append(orders[p], r.Problem)
		}
		queues[p][r.Problem] = append(queues[p][r.Problem], r)
	}
	for p, queue := range queues {
		left := sampledThere / len(s.starts)
		for round := range SampledOfEach {
			for _, problem := range orders[p] {
				if of := queue[problem]; round < len(of) && left > 0 {
					chosen = append(chosen, of[round])
					left--
				}
			}
		}
	}
	return chosen
}
