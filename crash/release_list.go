package crash

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
)

// ReleaseKind says how much the name of a release is to be trusted: anybody can send any name.
type ReleaseKind int

// The kinds, the most trusted first.
const (
	OfficialRelease   ReleaseKind = iota // in the release data of Ubuntu and Debian, or not given
	DerivativeRelease                    // a distribution derived from these, with a short version number
	UnknownRelease                       // anything else
)

// derivativeForm matches the names of derivatives as their machines report them. The rule is bounded: so many names, and
// versions such as 9, 22.04 or 2026.3, or none for a distribution without releases.
var derivativeForm = regexp.MustCompile(`^(Ubuntu (Kylin|Core|Touch|RTM)|Linux ?[Mm]int|LMDE|[Ee]lementary( OS)?|Pop(!_OS)?|Zorin( OS)?|(KDE )?[Nn]eon|` +
	`TUXEDO( OS)?|Raspbian( GNU/Linux)?|Raspberry Pi OS|Kali( GNU/Linux)?|Devuan( GNU/Linux)?|[Dd]eepin|MX|Parrot( OS)?|Tails|Debian( GNU/Linux| testing| unstable)?)` +
	`( [0-9]{1,4}(\.[0-9]{1,2})?)?$`)

// Kind returns how much the name of a release is to be trusted.
func (t *ReleaseTable) Kind(r Release) ReleaseKind {
	if _, ok := t.find(r); ok || r == "" {
		return OfficialRelease
	}
	if derivativeForm.MatchString(string(r)) {
		return DerivativeRelease
	}
	return UnknownRelease
}

// How many releases of each kind a list names. Official ones are as many as the release data has.
const (
	maxDerivatives = 10
	maxUnknown     = 5
)

// OtherReleases stands in lists for all releases that they do not name.
const OtherReleases Release = "other releases"

// ReleaseList is the releases that a list names: all official ones, and of derivatives and of unknown ones those with the
// most reports, a few of each. So invented names never displace known ones.
type ReleaseList struct {
	table *ReleaseTable
	named map[Release]bool
	rest  bool // some release is not named
}

// List chooses what a list names of some releases, by how many reports each has.
func (t *ReleaseTable) List(reports map[Release]int64) ReleaseList {
	l := ReleaseList{table: t, named: map[Release]bool{}}
	more := map[ReleaseKind][]Release{}
	for r := range reports {
		if kind := t.Kind(r); kind == OfficialRelease {
			l.named[r] = true
		} else {
			more[kind] = append(more[kind], r)
		}
	}
	for kind, most := range map[ReleaseKind]int{DerivativeRelease: maxDerivatives, UnknownRelease: maxUnknown} {
		some := more[kind]
		slices.SortFunc(some, func(a, b Release) int { return cmp.Or(cmp.Compare(reports[b], reports[a]), cmp.Compare(a, b)) })
		l.rest = l.rest || len(some) > most
		for _, r := range some[:min(len(some), most)] {
			l.named[r] = true
		}
	}
	return l
}

// Names reports whether the list names a release.
func (l ReleaseList) Names(r Release) bool { return l.named[r] }

// Of returns the release itself if the list names it, else OtherReleases.
func (l ReleaseList) Of(r Release) Release {
	if l.named[r] {
		return r
	}
	return OtherReleases
}

// Ascending returns the named releases in release order: official ones, then derivatives, then unknown ones, and
// OtherReleases at the end if there are any.
func (l ReleaseList) Ascending() []Release {
	return l.sorted(Release.Compare)
}

// Descending is Ascending with the newest release of each kind first.
func (l ReleaseList) Descending() []Release {
	return l.sorted(func(a, b Release) int { return b.Compare(a) })
}

// Offered returns what people may choose among, the newest of each kind first: the releases with a name, and the one that
// is chosen already, if any.
func (l ReleaseList) Offered(chosen Release) []Release {
	list := slices.DeleteFunc(l.Descending(), func(r Release) bool { return r == "" || r == OtherReleases })
	if chosen != "" && !slices.Contains(list, chosen) {
		list = append(list, chosen)
	}
	return list
}

func (l ReleaseList) sorted(compare func(a, b Release) int) []Release {
	list := slices.SortedFunc(maps.Keys(l.named), func(a, b Release) int {
		return cmp.Or(cmp.Compare(l.table.Kind(a), l.table.Kind(b)), compare(a, b))
	})
	if l.rest {
		list = append(list, OtherReleases)
	}
	return list
}
