package dpkg

import (
	"cmp"
	"strings"
)

// Order is a total order of all texts. Texts that dpkg rejects (see [Valid]) come first. It orders
// the others like [Compare], and versions that compare equal by their text.
func Order(a, b string) int {
	if a == b {
		return 0
	}
	switch validA, validB := Valid(a), Valid(b); {
	case validA && validB:
		return cmp.Or(Compare(a, b), strings.Compare(a, b))
	case validA:
		return 1
	case validB:
		return -1
	}
	return strings.Compare(a, b)
}

// Range is the lowest and the highest of a set of versions, by [Order]. Both are empty if the set
// is empty.
type Range struct{ Lowest, Highest string }

// Add extends the range by a version. It ignores versions that dpkg rejects.
func (r *Range) Add(version string) {
	if !Valid(version) {
		return
	}
	if r.Lowest == "" || Order(version, r.Lowest) < 0 {
		r.Lowest = version
	}
	if Order(version, r.Highest) > 0 {
		r.Highest = version
	}
}
