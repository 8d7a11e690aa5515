package similar

import (
	"math"
	"slices"
	"time"
)

// Judged is what people decided about problems: which belong together, and which do not.
type Judged struct {
	Stacks
	Problems []int    // by number of a stack: its problem
	Together [][2]int // stacks that people merged, the newest decision first
	Apart    [][2]int // stacks that people separated after a merge, or that a split has made
}

// Add adds a stack of a problem, and returns its number.
func (j *Judged) Add(problem int, functions []string) int {
	j.Stacks.Add(functions)
	j.Problems = append(j.Problems, problem)
	return len(j.Problems) - 1
}

// Quality says how well weights find what people decided.
type Quality struct {
	First float64 // share of merged problems whose most similar problem is the one that they were merged with
	Area  float64 // share of pairs in which merged problems score higher than others; half of it from those kept apart
}

func (q Quality) sum() float64 { return q.First + q.Area }

// Learned are weights, and what they were learned from.
type Learned struct {
	Weights
	At            time.Time // zero: these are the built-in ones
	Merges, Apart int
}

// Lesson is the result of learning.
type Lesson struct {
	Learned
	Before, After Quality // of the old and the new weights on decisions that were not learned from
	Better        bool    // otherwise the old weights stay
}

const (
	// MinMerges is the smallest number of merges from which weights are learned.
	MinMerges   = 30
	maxExamples = 400   // merges that are learned from, the newest
	otherPairs  = 20    // pairs of different problems for each merge
	passes      = 3     // over all parameters
	gain        = 0.002 // in Quality, below which a change is not worth it
)

// parameters are those that are learned, with the values that are tried.
var parameters = []struct {
	of     func(*Weights) *float64
	values []float64
}{
	{func(w *Weights) *float64 { return &w.Position }, []float64{0, 0.25, 0.5, 1, 2}},
	{func(w *Weights) *float64 { return &w.Share }, []float64{0, 2, 5, 10, 20, 40}},
	{func(w *Weights) *float64 { return &w.Distance }, []float64{0, 0.05, 0.1, 0.3, 1}},
	{func(w *Weights) *float64 { return &w.Missing }, []float64{0, 0.25, 0.5, 0.75, 1}},
}

// Learn looks for better weights than w. Half of the problems are held back, to measure the result on.
func (j *Judged) Learn(w Weights) Lesson {
	learn, test := j.half(0), j.half(1)
	lesson := Lesson{Learned: Learned{Weights: w, Merges: len(j.Together), Apart: len(j.Apart)}, Before: test.quality(w)}
	best := learn.quality(w).sum()
	for range passes {
		old := lesson.Weights
		for _, p := range parameters {
			for _, value := range p.values {
				other := lesson.Weights
				*p.of(&other) = value
				if sum := learn.quality(other).sum(); sum > best+gain {
					best, lesson.Weights = sum, other
				}
			}
		}
		if lesson.Weights == old {
			break
		}
	}
	lesson.Weights = j.calibrate(w, lesson.Weights)
	lesson.After = test.quality(lesson.Weights)
	if lesson.Better = lesson.After.sum() > lesson.Before.sum(); !lesson.Better {
		lesson.Weights, lesson.After = w, lesson.Before
	}
	return lesson
}

// examples are the decisions of some problems.
type examples struct {
	*Judged
	together, apart [][2]int
}

// half returns the decisions about every second problem.
func (j *Judged) half(which int) examples {
	e := examples{Judged: j}
	for _, pair := range j.Together {
		if j.Problems[pair[1]]%2 == which && len(e.together) < maxExamples {
			e.together = append(e.together, pair)
		}
	}
	for _, pair := range j.Apart {
		if j.Problems[pair[1]]%2 == which && len(e.apart) < maxExamples {
			e.apart = append(e.apart, pair)
		}
	}
	return e
}

// scores returns the scores of stacks of other problems with a stack, and the best one of its own problem.
func (j *Judged) scores(number int, w Weights) (others []float64, own float64) {
	own = math.Inf(-1)
	for _, m := range j.like(number, w) {
		switch {
		case j.Problems[m.Number] != j.Problems[number]:
			others = append(others, m.Score)
		case m.Number != number:
			own = max(own, m.Score)
		}
	}
	return others, own
}

func (j *Judged) like(number int, w Weights) []Match {
	return j.matches(j.comparisonOf(j.stack(number), w), math.Inf(-1))
}

// quality measures weights on examples. Stacks without a telling function in common count as less similar than all.
func (e examples) quality(w Weights) Quality {
	if len(e.together) == 0 {
		return Quality{}
	}
	var q Quality
	apart := make([]float64, len(e.apart))
	for i, pair := range e.apart {
		apart[i] = e.score(pair, w)
	}
	for n, pair := range e.together {
		others, own := e.scores(pair[0], w)
		if len(others) == 0 || own > slices.Max(others) {
			if !math.IsInf(own, -1) {
				q.First++
			}
		}
		score, area := e.score(pair, w), 0.0
		for i := range otherPairs {
			other := (n*otherPairs + i) * len(e.Problems) / (len(e.together) * otherPairs)
			area += above(score, e.score([2]int{pair[0], other}, w), e.Problems[other] == e.Problems[pair[0]]) / otherPairs
		}
		if len(apart) > 0 {
			area /= 2
			for _, other := range apart {
				area += above(score, other, false) / float64(2*len(apart))
			}
		}
		q.Area += area
	}
	n := float64(len(e.together))
	return Quality{q.First / n, q.Area / n}
}

// above returns 1 if a score is higher than another, and half of that if they are equal or may not be compared.
func above(score, other float64, same bool) float64 {
	switch {
	case same || score == other:
		return 0.5
	case score > other:
		return 1
	}
	return 0
}

// score returns the score of a pair, or -1 if it shares no telling function.
func (e examples) score(pair [2]int, w Weights) float64 {
	score, ok := e.comparisonOf(e.stack(pair[0]), w).score(e.stack(pair[1]))
	if !ok {
		return -1
	}
	return score
}

// calibrate sets the scores that matter of new weights so that as many problems as under the old ones have a wrong one
// above them.
func (j *Judged) calibrate(old, w Weights) Weights {
	var before, after []float64 // best wrong scores
	for i := 0; i < len(j.Problems); i += 1 + len(j.Problems)/(2*maxExamples) {
		for _, of := range []struct {
			w    Weights
			best *[]float64
		}{{old, &before}, {w, &after}} {
			best := -1.0
			if others, _ := j.scores(i, of.w); len(others) > 0 {
				best = slices.Max(others)
			}
			*of.best = append(*of.best, best)
		}
	}
	slices.Sort(before)
	slices.Sort(after)
	for _, at := range []*float64{&w.Least, &w.Likely} {
		n, _ := slices.BinarySearch(before, *at) // so many are below
		if n < len(after) {
			*at = max(after[n], minScore)
		} else if len(after) > 0 {
			*at = max(after[len(after)-1], minScore)
		}
	}
	w.Likely = max(w.Likely, w.Least)
	return w
}

const minScore = 0.1 // of problems that are shown
