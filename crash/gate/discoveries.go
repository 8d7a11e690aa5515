package gate

import (
	"cmp"
	"slices"
)

// test is the outcome of one of several tests.
type test struct {
	p     float64
	least float64 // the lowest p that the number of reports could have led to
}

// discoveries returns which tests are significant if the false discovery rate is at most level. It
// is the procedure of Benjamini and Hochberg. As Tarone and Gilbert proposed, tests with too few
// reports to ever be significant do not count, which their outcome has no influence on.
func discoveries(tests []test, level float64) []bool {
	found := make([]bool, len(tests))
	var order []int
	for i, t := range tests {
		if t.least <= level {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(tests[a].p, tests[b].p) })
	for k := len(order) - 1; k >= 0; k-- {
		if tests[order[k]].p <= level*float64(k+1)/float64(len(order)) {
			for _, i := range order[:k+1] {
				found[i] = true
			}
			break
		}
	}
	return found
}
