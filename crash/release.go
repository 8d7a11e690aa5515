package crash

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"mishap/crash/pytext"
)

// maxReleaseKey is the number of characters of a release's name that its key depends on.
const maxReleaseKey = 64

// Key returns a text that sorts in release order, byte by byte or in any usual collation. The order
// is by distribution, then by version as numbers ("Ubuntu 9.10" before "Ubuntu 24.04"), with names
// ("Debian sid") after numbers. "LTS" makes no difference. The key of the empty release is empty;
// others consist of lower-case letters, digits and single blanks.
func (r Release) Key() string {
	var key []byte
	for rest := strings.ToLower(Truncate(string(r), maxReleaseKey)); rest != ""; {
		token := pytext.Run(rest, pytext.IsDigit)
		isNumber := token != ""
		if !isNumber {
			token = pytext.Run(rest, unicode.IsLetter)
		}
		if token == "" {
			rest = strings.TrimLeftFunc(rest, func(r rune) bool { return !pytext.IsDigit(r) && !unicode.IsLetter(r) })
			continue
		}
		rest = rest[len(token):]
		if token == "lts" {
			continue
		}
		if len(key) > 0 {
			key = append(key, ' ')
		}
		if isNumber {
			token = strings.TrimLeft(token, "0")
			const digits = "0123456789" // at most maxReleaseKey characters have two
			key = append(key, digits[len(token)/10], digits[len(token)%10])
		}
		key = append(key, token...)
	}
	return string(key)
}

// Compare orders releases by Key, and those with the same key by name.
func (r Release) Compare(other Release) int {
	return cmp.Or(cmp.Compare(r.Key(), other.Key()), cmp.Compare(r, other))
}

// EndOfLifeOn reports whether support of the release has ended on that UTC day, according to
// [BuiltInReleases]. It returns false for derivatives and unknown releases.
func (r Release) EndOfLifeOn(day time.Time) bool { return BuiltInReleases().EndOfLife(r, day) }

// Codename returns the codename in [BuiltInReleases], "noble" for "Ubuntu 24.04", or "" for an
// unknown release.
func (r Release) Codename() string { return BuiltInReleases().Codename(r) }
