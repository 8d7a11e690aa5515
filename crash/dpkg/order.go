package dpkg

import (
	"cmp"
	"strings"
)

// Order is a total order of all texts, the order of a list in which every version has its place. It
// puts those that dpkg refuses (see [Valid]) first, orders the others as [Compare] does, and then
// by their text.
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

// Range holds the lowest and the highest of some versions by [Order]. Both are empty as long as it
// holds none.
type Range struct{ Lowest, Highest string }

// Add widens the range by a version. It ignores a version that dpkg refuses.
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
