package version

import "strings"

// evr is [epoch:]version[-release], as rpm and pacman split it: at the first colon, if only digits
// precede it, and at the last hyphen.
type evr struct {
	epoch, version, release string
	released                bool // there is a release, perhaps an empty one
}

func splitEVR(s string) evr {
	var v evr
	if epoch, rest, found := strings.Cut(s, ":"); found && strings.Trim(epoch, "0123456789") == "" {
		v.epoch, s = epoch, rest
	}
	v.version = s
	if i := strings.LastIndexByte(s, '-'); i >= 0 {
		v.version, v.release, v.released = s[:i], s[i+1:], true
	}
	return v
}

func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// wellFormed reports whether a version begins with a letter or a digit and contains a digit. Package
// managers accept others, but they are nothing that people would compare: "(none)", "unknown".
func wellFormed(s string) bool {
	return s != "" && (isDigit(s[0]) || isAlpha(s[0])) && strings.ContainsAny(s, "0123456789")
}

// run returns the number of bytes at the start of s that are of a kind.
func run(s string, is func(byte) bool) int {
	n := 0
	for n < len(s) && is(s[n]) {
		n++
	}
	return n
}

// The ranks of what can follow in a version of rpm. Letters are higher.
const (
	rpmTilde  = 1 // before the end
	rpmEnd    = 2
	rpmCaret  = 3 // after the end
	rpmText   = 4 // followed by letters
	rpmNumber = 5 // followed by the count of digits and the digits
)

// appendRPM appends the key of a version, as rpm compares: epoch, version and release. A missing epoch
// is 0.
func appendRPM(key []byte, s string) []byte {
	v := splitEVR(s)
	key = appendDigits(key, v.epoch)
	key = appendRPMPart(key, v.version)
	if v.released {
		key = appendRPMPart(key, v.release)
	}
	return key
}

// appendRPMPart appends the runs of letters and of digits, and the signs ~ and ^. All other bytes
// only separate.
func appendRPMPart(key []byte, s string) []byte {
	for s != "" {
		n := 1
		switch c := s[0]; {
		case c == '~':
			key = append(key, rpmTilde)
		case c == '^':
			key = append(key, rpmCaret)
		case isDigit(c):
			n = run(s, isDigit)
			key = appendDigits(append(key, rpmNumber), s[:n])
		case isAlpha(c):
			n = run(s, isAlpha)
			key = append(append(key, rpmText), s[:n]...)
		}
		s = s[n:]
	}
	return append(key, rpmEnd)
}

const maxRPMEpoch = "4294967295"

// validRPM reports whether rpm accepts v: an epoch of 32 bits, and a version and a release of letters,
// digits and some punctuation.
func validRPM(v string) bool {
	p := splitEVR(v)
	if strings.HasPrefix(v, ":") || compareDigits(p.epoch, maxRPMEpoch) > 0 || !wellFormed(p.version) ||
		!only(p.version, "._+~^") {
		return false
	}
	return !p.released || p.release != "" && only(p.release, "._+~^")
}

// The ranks of what can follow in a version of pacman. Letters are higher.
const (
	pacmanText      = 1 // letters without a separator before them: a pre-release
	pacmanEnd       = 2
	pacmanNumber    = 3 // digits without a separator before them
	pacmanSeparated = 4 // followed by the length of the separator, and one of the above
)

// appendPacman appends the key of a version, as pacman compares: epoch, version and release. A missing
// epoch is 0.
func appendPacman(key []byte, s string) []byte {
	v := splitEVR(s)
	key = appendDigits(key, v.epoch)
	key = appendPacmanPart(key, v.version)
	if v.released {
		key = appendPacmanPart(key, v.release)
	}
	return key
}

func appendPacmanPart(key []byte, s string) []byte {
	for s != "" {
		n := run(s, func(c byte) bool { return !isDigit(c) && !isAlpha(c) })
		if n > 0 {
			key = appendCount(append(key, pacmanSeparated), n)
			s = s[n:]
		}
		switch n = run(s, isDigit); {
		case n > 0:
			key = appendDigits(append(key, pacmanNumber), s[:n])
		case s != "":
			n = run(s, isAlpha)
			key = append(append(key, pacmanText), s[:n]...)
		}
		s = s[n:]
	}
	return append(key, pacmanEnd)
}

// validPacman reports whether makepkg accepts v: an epoch, a version of graphic ASCII characters without
// colons, slashes and hyphens, and a release such as 1 or 1.2.
func validPacman(v string) bool {
	p := splitEVR(v)
	good := func(c byte) bool { return ' ' < c && c < 0x7f && c != ':' && c != '/' && c != '-' }
	if strings.HasPrefix(v, ":") || !wellFormed(p.version) || run(p.version, good) < len(p.version) {
		return false
	}
	if !p.released {
		return true
	}
	whole, part, dotted := strings.Cut(p.release, ".")
	return whole != "" && run(whole, isDigit) == len(whole) && run(part, isDigit) == len(part) && dotted == (part != "")
}
