// Package version compares versions of packages like dpkg (deb-version(7)), rpm (rpm-version(7)) and
// pacman (vercmp(8)). It also converts a version to bytes that sort in the same order, so that a
// database can sort versions.
package version

import (
	"bytes"
	"cmp"
	"strings"
)

// Order is the order of versions of a package manager. The zero value is dpkg's. Versions of two
// distributions are not comparable, even if both have the same order.
type Order uint8

// The orders.
const (
	Dpkg Order = iota
	RPM
	Pacman
	Orders // number of orders
)

// The first bytes of keys of rpm and pacman, which set them apart from those of dpkg. A key of a valid
// version of dpkg begins with the number of digits of the epoch, at most 10.
const (
	markRPM    = 0x80
	markPacman = 0x81
)

// Compare returns -1, 0 or 1, as the package manager orders a and b. It accepts any text, including
// versions that the package manager rejects (see [Order.Valid]). A missing release of rpm or pacman
// sorts before every other one.
func (o Order) Compare(a, b string) int {
	var first, second [64]byte // most keys fit
	return bytes.Compare(o.appendKey(first[:0], a), o.appendKey(second[:0], b))
}

// Key returns bytes that sort in the order of [Order.Compare]. Keys of different orders differ. A key
// is a little longer than its version: 12 bytes for "1.0-1".
func (o Order) Key(v string) []byte { return o.appendKey(make([]byte, 0, 2*len(v)+16), v) }

func (o Order) appendKey(key []byte, v string) []byte {
	switch o {
	case RPM:
		return appendRPM(append(key, markRPM), v)
	case Pacman:
		return appendPacman(append(key, markPacman), v)
	case Dpkg, Orders:
	}
	return appendDebian(key, v)
}

// Span returns the keys of the lowest and the highest version that v stands for. Without a release, a
// version of rpm or pacman stands for all its releases, as in dependencies of packages.
func (o Order) Span(v string) (lowest, highest []byte) {
	lowest = o.Key(v)
	if o == Dpkg || strings.Contains(v, "-") {
		return lowest, lowest
	}
	return lowest, append(bytes.Clone(lowest), 0xff)
}

// Valid reports whether the package manager accepts v as a version.
func (o Order) Valid(v string) bool {
	switch o {
	case RPM:
		return validRPM(v)
	case Pacman:
		return validPacman(v)
	case Dpkg, Orders:
	}
	return validDebian(v)
}

// Valid reports whether some package manager accepts v as a version.
func Valid(v string) bool { return Dpkg.Valid(v) || RPM.Valid(v) || Pacman.Valid(v) }

// Max returns the highest of some versions, the first of equal ones. It ignores empty texts.
func (o Order) Max(versions ...string) string {
	highest := ""
	for _, v := range versions {
		if highest == "" || v != "" && o.Compare(v, highest) > 0 {
			highest = v
		}
	}
	return highest
}

// Total is a total order of all texts. Those that the package manager rejects come first. It orders
// the others like [Order.Compare], and versions that compare equal by their text.
func (o Order) Total(a, b string) int { return Total(o, a, o, b) }

// Total is a total order of the versions of all package managers, as keys sort: first the texts that
// their package manager rejects, then the versions of dpkg, those of rpm, and those of pacman.
func Total(x Order, a string, y Order, b string) int {
	if x == y && a == b {
		return 0
	}
	switch validA, validB := x.Valid(a), y.Valid(b); {
	case validA && validB && x == y:
		return cmp.Or(x.Compare(a, b), strings.Compare(a, b))
	case validA && validB:
		return cmp.Compare(x, y)
	case validA:
		return 1
	case validB:
		return -1
	}
	return strings.Compare(a, b)
}

// Range is the lowest and the highest of a set of versions with one order, by [Order.Total]. Both are
// empty if the set is empty.
type Range struct{ Lowest, Highest string }

// Add extends the range by a version. It ignores versions that the package manager rejects.
func (r *Range) Add(o Order, version string) {
	if !o.Valid(version) {
		return
	}
	if r.Lowest == "" || o.Total(version, r.Lowest) < 0 {
		r.Lowest = version
	}
	if o.Total(version, r.Highest) > 0 {
		r.Highest = version
	}
}
