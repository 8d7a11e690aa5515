package sender

import (
	"sync"
	"time"
)

// Limits of the reports of one program that crashes again and again.
const (
	maxPerHour = 5
	maxPerDay  = 20
)

// maxPrograms limits the memory of repeats.
const maxPrograms = 1000

// repeats limits how many crashes of one program are reported.
type repeats struct {
	mu       sync.Mutex
	programs map[string]*programCrashes
}

type programCrashes struct {
	times   []time.Time // of the reports of the last day
	leftOut int         // crashes since the last report
}

// allow reports whether a crash at that time is reported. leftOut is the number of crashes before it that were
// not. Times are compared in both directions, because clocks jump, and old crashes come late.
func (r *repeats) allow(program string, at time.Time) (ok bool, leftOut int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.programs[program]
	if p == nil {
		if r.programs == nil || len(r.programs) >= maxPrograms {
			r.programs = map[string]*programCrashes{}
		}
		p = &programCrashes{}
		r.programs[program] = p
	}
	day, hour := p.times[:0], 0
	for _, t := range p.times {
		distance := at.Sub(t).Abs()
		if distance < 24*time.Hour {
			day = append(day, t)
		}
		if distance < time.Hour {
			hour++
		}
	}
	p.times = day
	leftOut = p.leftOut
	if hour >= maxPerHour || len(day) >= maxPerDay {
		p.leftOut++
		return false, leftOut
	}
	p.times, p.leftOut = append(p.times, at), 0
	return true, leftOut
}
