package dpkg

import "strings"

// maxEpoch is the largest epoch that dpkg accepts.
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
