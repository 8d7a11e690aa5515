// Package dpkg orders Debian package versions as dpkg does (deb-version(7)), and turns a version into bytes that sort in
// that order, so that a database can do the sorting. It runs no program and knows nothing of packages.
package dpkg

import (
	"cmp"
	"strings"
)

// Compare returns -1, 0 or 1 as dpkg orders a before, with or after b. It is defined for all texts, also for those that
// dpkg refuses (see [Valid]): what is no epoch is then a part of the version proper.
func Compare(a, b string) int {
	av, bv := split(a), split(b)
	if c := compareDigits(av.epoch, bv.epoch); c != 0 {
		return c
	}
	if c := comparePart(av.upstream, bv.upstream); c != 0 {
		return c
	}
	return comparePart(av.revision, bv.revision)
}

// version is [epoch:]upstream[-revision]; a missing part is empty and compares as 0.
type version struct{ epoch, upstream, revision string }

// split cuts at the first colon, if only digits stand before it, and at the last hyphen.
func split(s string) version {
	var v version
	if epoch, rest, found := strings.Cut(s, ":"); found {
		if n := strings.TrimPrefix(epoch, "+"); n != "" && strings.Trim(n, "0123456789") == "" {
			v.epoch, s = n, rest
		}
	}
	v.upstream = s
	if i := strings.LastIndexByte(s, '-'); i >= 0 {
		v.upstream, v.revision = s[:i], s[i+1:]
	}
	return v
}

// comparePart compares upstream with upstream or revision with revision: runs of non-digits and runs of digits in turn.
func comparePart(a, b string) int {
	for a != "" || b != "" {
		for leadsText(a) || leadsText(b) {
			if c := cmp.Compare(rankFirst(a), rankFirst(b)); c != 0 {
				return c
			}
			a, b = a[1:], b[1:] // equal ranks below that of a text byte only when both have one
		}
		var an, bn string
		an, a = cutDigits(a)
		bn, b = cutDigits(b)
		if c := compareDigits(an, bn); c != 0 {
			return c
		}
	}
	return 0
}

func leadsText(s string) bool { return s != "" && !isDigit(s[0]) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func cutDigits(s string) (digits, rest string) {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return s[:n], s[n:]
}

// compareDigits compares two runs of digits by value, however long they are.
func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// The ranks of bytes in text: a tilde sorts before the end of the text, then letters, then all else by byte value.
const (
	rankTilde  = 1
	rankEnd    = 2 // the text ends, or a number follows
	rankLetter = 3 // 'A'; the letters take 52 ranks
	rankOther  = rankLetter + 52
)

// ranks holds the rank of every byte; digits have that of the end.
var ranks = func() (r [256]byte) {
	other := byte(rankOther)
	for i := range r {
		switch c := byte(i); {
		case c == '~':
			r[i] = rankTilde
		case isDigit(c):
			r[i] = rankEnd
		case 'A' <= c && c <= 'Z':
			r[i] = rankLetter + c - 'A'
		case 'a' <= c && c <= 'z':
			r[i] = rankLetter + 26 + c - 'a'
		default:
			r[i] = other
			other++
		}
	}
	return r
}()

func rankFirst(s string) byte {
	if s == "" {
		return rankEnd
	}
	return ranks[s[0]]
}
