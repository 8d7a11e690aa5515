// Package pytext implements Python's definitions of lines, blanks and word characters, on which
// apport's signature rules depend.
package pytext

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lines yields the lines of s, without line ends, like Python's str.splitlines. Line ends are LF,
// CR, CR LF, VT, FF, FS, GS, RS, NEL, LS and PS. A line end at the end of s does not start another
// line.
func Lines(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s != "" {
			var line string
			if line, s = CutLine(s); !yield(line) {
				return
			}
		}
	}
}

// CutLine splits s after its first line, whose line end it removes.
func CutLine(s string) (line, rest string) {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\r' && strings.HasPrefix(s[i:], "\r\n"):
			return s[:i], s[i+2:]
		case '\n' <= c && c <= '\r', 0x1c <= c && c <= 0x1e:
			return s[:i], s[i+1:]
		case c == 0xc2 && strings.HasPrefix(s[i:], "\u0085"):
			return s[:i], s[i+2:]
		case c == 0xe2 && (strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029")):
			return s[:i], s[i+3:]
		}
	}
	return s, ""
}

// IsSpace is Python's str.isspace and \s: white space, and the separators FS, GS, RS and US.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// IsNoSpace reports whether r is not white space.
func IsNoSpace(r rune) bool { return !IsSpace(r) }

// IsWord is Python's \w: letters and numerals of any script, and the underscore.
func IsWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// Run returns the longest prefix of s whose runes all satisfy ok.
func Run(s string, ok func(rune) bool) string {
	if i := strings.IndexFunc(s, func(r rune) bool { return !ok(r) }); i >= 0 {
		return s[:i]
	}
	return s
}

// FirstWord is Python's s.split()[0]. It returns "" if s is blank.
func FirstWord(s string) string {
	return Run(strings.TrimLeftFunc(s, IsSpace), IsNoSpace)
}

// LastRune returns the last rune of s, or RuneError if s is empty.
func LastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// IsDigit reports whether r is an ASCII digit.
func IsDigit(r rune) bool { return '0' <= r && r <= '9' }
