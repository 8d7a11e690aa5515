package crash

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"

	"mishap/crash/pytext"
)

// maxReleaseKey is the most characters of a release that its key depends on.
const maxReleaseKey = 64

// Key is a text that sorts as releases do, byte by byte or in any usual collation: by distribution, then by version as
// numbers, "Ubuntu 9.10" before "Ubuntu 24.04", and names ("Debian sid") after numbers. "LTS" makes no difference. It
// is empty for the empty release, and made of lower-case letters, digits and single blanks otherwise.
func (r Release) Key() string {
	var tokens []string
	for rest := strings.ToLower(Truncate(string(r), maxReleaseKey)); rest != ""; {
		token := pytext.Run(rest, pytext.IsDigit)
		if token != "" {
			rest = rest[len(token):]
			token = strings.TrimLeft(token, "0")
			token = fmt.Sprintf("%02d%s", len(token), token)
		} else if token = pytext.Run(rest, unicode.IsLetter); token != "" {
			rest = rest[len(token):]
		} else {
			rest = strings.TrimLeftFunc(rest, func(r rune) bool { return !pytext.IsDigit(r) && !unicode.IsLetter(r) })
			continue
		}
		if token != "lts" {
			tokens = append(tokens, token)
		}
	}
	return strings.Join(tokens, " ")
}

// Compare orders releases as Key does, and those of one key by their names.
func (r Release) Compare(other Release) int {
	return cmp.Or(cmp.Compare(r.Key(), other.Key()), cmp.Compare(r, other))
}

// EndOfLifeOn reports whether the release is no longer supported on that UTC day, by the release data built in (see
// [BuiltInReleases]). Derivatives and unknown releases never are.
func (r Release) EndOfLifeOn(day time.Time) bool { return BuiltInReleases().EndOfLife(r, day) }

// Codename is "noble" for "Ubuntu 24.04", by the release data built in; empty when the release is not known.
func (r Release) Codename() string { return BuiltInReleases().Codename(r) }
