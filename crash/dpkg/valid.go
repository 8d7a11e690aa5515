package dpkg

import "strings"

// maxEpoch is the largest epoch that dpkg takes.
const maxEpoch = "2147483647"

// Valid reports whether dpkg finds nothing to complain about in v, as `dpkg --validate-version` does: an upstream
// version that begins with a digit is there, a hyphen is followed by a revision, a colon follows an epoch of at most
// 2147483647, and only the letters, digits and signs that versions may hold occur. Blanks around v are not taken away.
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
