package layout

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"mishap/crash"
)

// The colours of releases, by group. css/12-releases.css defines them. A group repeats its colours
// only for releases that are never supported at the same time.
const (
	colourLTS         = 0  // four colours: Ubuntu's releases of April in even years
	colourInterim     = 4  // three: Ubuntu's other releases
	colourDebian      = 7  // three: Debian's numbered releases
	colourSid         = 10 // one: Debian's releases without a number
	colourDerivative  = 11 // three: all other releases
	colourNone        = 14 // one: no release, or several together
	releaseColours    = 15
	derivativeColours = colourNone - colourDerivative
)

// ReleaseClass returns the CSS class with the colour of a release. It depends on nothing but the
// name, so a release has the same colour in every chart, on every page and in every year.
func ReleaseClass(r crash.Release) string { return fmt.Sprintf("release-%d", releaseColour(r)) }

func releaseColour(r crash.Release) int {
	if r == "" || r == crash.OtherReleases {
		return colourNone
	}
	name := strings.TrimSuffix(strings.Replace(string(r), "Debian GNU/Linux ", "Debian ", 1), " LTS")
	distribution, version, _ := strings.Cut(name, " ")
	first, second, _ := strings.Cut(version, ".")
	major, err := strconv.Atoi(first)
	switch {
	case distribution == "Ubuntu" && err == nil && major > 0 && (second == "04" || second == "10"):
		if major%2 == 0 && second == "04" {
			return colourLTS + major/2%4
		}
		return colourInterim + interimNumber(major, second)%3
	case distribution == "Debian" && err == nil && major > 0:
		return colourDebian + major%3
	case distribution == "Debian" && !strings.ContainsAny(version, " 0123456789"):
		return colourSid
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(r)) // never fails
	return colourDerivative + int(hash.Sum32()%derivativeColours)
}

// interimNumber numbers Ubuntu's releases between two of long support: 24.10, 25.04 and 25.10 are
// consecutive.
func interimNumber(year int, month string) int {
	n := year / 2 * 3
	if year%2 == 1 {
		n++
		if month == "10" {
			n++
		}
	}
	return n
}
