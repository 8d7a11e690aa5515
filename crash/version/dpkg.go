package version

import (
	"cmp"
	"strings"
)

// debian is [epoch:]upstream[-revision]. A missing part is empty and compares as 0.
type debian struct{ epoch, upstream, revision string }

// splitDebian splits s at the first colon, if only digits precede it, and at the last hyphen. In
// versions that dpkg rejects, an invalid epoch is part of the upstream version.
func splitDebian(s string) debian {
	var v debian
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

const maxEpoch = "2147483647"

// validDebian reports whether `dpkg --validate-version` accepts v without a warning. The upstream version
// must begin with a digit, a hyphen must precede a revision, and a colon must follow an epoch of at
// most 2147483647. Only letters, digits and some punctuation are allowed. Leading and trailing
// blanks are not ignored.
func validDebian(v string) bool {
	p := splitDebian(v)
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

// appendDebian appends the key of a version. A number is encoded as its count of digits followed by
// the digits, without leading zeros. A part (upstream, revision) is encoded as pairs of text and
// number, where a text is the ranks of its bytes followed by rankEnd. The end of a part compares like
// more empty text, so it is also a rankEnd.
func appendDebian(key []byte, v string) []byte {
	p := splitDebian(v)
	key = appendDigits(key, p.epoch)
	key = appendDebianPart(key, p.upstream)
	return appendDebianPart(key, p.revision)
}

func appendDebianPart(key []byte, s string) []byte {
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
	return append(appendCount(key, len(digits)), digits...)
}

// appendCount appends a number that is not negative, as bytes that sort like numbers.
func appendCount(key []byte, n int) []byte {
	for ; n >= 255; n -= 255 {
		key = append(key, 255)
	}
	return append(key, byte(n)) //nolint:gosec // below 255
}
