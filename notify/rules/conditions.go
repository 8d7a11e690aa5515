package rules

import (
	"slices"
	"time"
)

const (
	// RisingPause is how many UTC days a problem must not have been rising before it rises anew.
	RisingPause = 7
	// StormProblems is the number of new problems of one package within StormTime above which they are
	// one incident.
	StormProblems = 10
	// StormTime is the period in which new problems are counted.
	StormTime = 10 * time.Minute
)

// Storm is a period in which many problems of one package were new.
type Storm struct {
	From, Until time.Time // arrival of the first and of the last problem
	Known       time.Time // arrival of the problem that made it a storm
	Problems    int
}

// Storms finds the storms among arrivals, which it sorts. A storm begins when more than
// StormProblems problems arrive within StormTime, and ends when none has arrived for StormTime.
func Storms(arrivals []time.Time) []Storm {
	slices.SortFunc(arrivals, time.Time.Compare)
	var storms []Storm
	for i := 0; i < len(arrivals); i++ {
		n := i + StormProblems
		if n >= len(arrivals) || arrivals[n].Sub(arrivals[i]) > StormTime {
			continue
		}
		s := Storm{From: arrivals[i], Until: arrivals[n], Known: arrivals[n], Problems: StormProblems + 1}
		for n+1 < len(arrivals) && arrivals[n+1].Sub(s.Until) <= StormTime {
			n++
			s.Until = arrivals[n]
			s.Problems++
		}
		storms = append(storms, s)
		i = n
	}
	return storms
}
