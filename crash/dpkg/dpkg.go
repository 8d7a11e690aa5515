// Package dpkg compares Debian package versions like dpkg (see deb-version(7)). It also converts a
// version to bytes that sort in the same order, so that a database can sort versions.
package dpkg

import (
	"bytes"
	"cmp"
	"strings"
)

// Compare returns -1, 0 or 1, as dpkg orders a and b. It accepts any text, including versions that
// dpkg rejects (see [Valid]). In those, an invalid epoch is part of the upstream version.
func Compare(a, b string) int {
	var first, second [64]byte // most keys fit
	return bytes.Compare(appendKey(first[:0], a), appendKey(second[:0], b))
}

// version is [epoch:]upstream[-revision]. A missing part is empty and compares as 0.
type version struct{ epoch, upstream, revision string }

// split splits s at the first colon, if only digits precede it, and at the last hyphen.
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

func leadsText(s string) bool { return s != "" && !isDigit(s[0]) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// compareDigits compares two runs of digits by value, whatever their length.
func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// The ranks of bytes in text. A tilde sorts before the end of the text; letters sort before all
// other bytes.
const (
	rankTilde  = 1
	rankEnd    = 2 // end of the text, or beginning of a number
	rankLetter = 3 // 'A'; letters use 52 ranks
	rankOther  = rankLetter + 52
)

// ranks contains the rank of every byte; digits have rankEnd.
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

// Max returns the highest of some versions, the first of equal ones. It ignores empty texts.
func Max(versions ...string) string {
	highest := ""
	for _, v := range versions {
		if highest == "" || v != "" && Compare(v, highest) > 0 {
			highest = v
		}
	}
	return highest
}

const maxEpoch = "2147483647"

// Valid reports whether `dpkg --validate-version` accepts v without a warning. The upstream version
// must begin with a digit, a hyphen must precede a revision, and a colon must follow an epoch of at
// most 2147483647. Only letters, digits and some punctuation are allowed. Leading and trailing
// blanks are not ignored.
func Valid(v string) bool {
	p := split(v)
	if p.epoch != "" && compareDigits(p.epoch, maxEpoch) > 0 {
		return false
	}
	if p.epoch == "" && strings.Contains(v, ":") {
		return false
	}
	if p.upstream == "" || !isDigit(p.upstream[0]) || !only(p.upstream, ".-+~:") {
		return false
	}
	if p.revision == "" {
		return !strings.HasSuffix(v, "-")
	}
	return only(p.revision, ".+~")
}

func only(s, signs string) bool {
	for i := range len(s) {
		c := s[i]
		if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && strings.IndexByte(signs, c) < 0 {
			return false
		}
	}
	return true
}

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

// Key returns bytes that sort in the order of [Compare]. A key is a little longer than its version: 12
// bytes for "1.0-1".
//
// A number is encoded as its count of digits followed by the digits, without leading zeros. A part
// (upstream, revision) is encoded as pairs of text and number, where a text is the ranks of its
// bytes followed by rankEnd. The end of a part compares like more empty text, so it is also a
// rankEnd.
func Key(v string) []byte { return appendKey(make([]byte, 0, 2*len(v)+16), v) }

func appendKey(key []byte, v string) []byte {
	p := split(v)
	key = appendDigits(key, p.epoch)
	key = appendPart(key, p.upstream)
	return appendPart(key, p.revision)
}

func appendPart(key []byte, s string) []byte {
	for first := true; first || s != ""; first = false {
		for leadsText(s) {
			key = append(key, ranks[s[0]])
			s = s[1:]
		}
		n := 0
		for n < len(s) && isDigit(s[n]) {
			n++
		}
		key = appendDigits(append(key, rankEnd), s[:n])
		s = s[n:]
	}
	return append(key, rankEnd)
}

func appendDigits(key []byte, digits string) []byte {
	for digits != "" && digits[0] == '0' {
		digits = digits[1:]
	}
	n := len(digits)
	for ; n >= 255; n -= 255 {
		key = append(key, 255)
	}
	key = append(key, byte(n)) //nolint:gosec // below 255
	return append(key, digits...)
}
