package crash

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
)

// ReleaseKind says how trustworthy the name of a release is: machines can send any name.
type ReleaseKind int

// The kinds of releases, the most trustworthy first.
const (
	OfficialRelease   ReleaseKind = iota // in the release data of Ubuntu or Debian, or empty
	DerivativeRelease                    // a known derivative, with a short version number
	UnknownRelease                       // any other name
)

// derivativeForm matches the names of derivatives as their machines report them. It allows a fixed
// list of names, with a version such as 9, 22.04 or 2026.3, or without one for rolling
// distributions.
var derivativeForm = regexp.MustCompile(`^(Ubuntu (Kylin|Core|Touch|RTM)|Linux ?[Mm]int|LMDE|` +
	`[Ee]lementary( OS)?|Pop(!_OS)?|Zorin( OS)?|(KDE )?[Nn]eon|` +
	`TUXEDO( OS)?|Raspbian( GNU/Linux)?|Raspberry Pi OS|Kali( GNU/Linux)?|Devuan( GNU/Linux)?|` +
	`[Dd]eepin|MX|Parrot( OS)?|Tails|Debian( GNU/Linux| testing| unstable)?)` +
	`( [0-9]{1,4}(\.[0-9]{1,2})?)?$`)

// Kind returns how trustworthy the name of the release is.
func (t *ReleaseTable) Kind(r Release) ReleaseKind {
	if _, ok := t.find(r); ok || r == "" {
		return OfficialRelease
	}
	if derivativeForm.MatchString(string(r)) {
		return DerivativeRelease
	}
	return UnknownRelease
}

// The largest number of releases that a list names, by kind. Official releases are not limited.
const (
	maxDerivatives = 10
	maxUnknown     = 5
)

// OtherReleases is the row of a list for all releases that it does not name.
const OtherReleases Release = "other releases"

// ReleaseList is the releases that a list names: all official ones, and the derivatives and unknown
// ones with the most reports, a limited number of each. Invented names therefore never displace
// real ones.
type ReleaseList struct {
	table *ReleaseTable
	named map[Release]bool
	rest  bool // some releases are not named
}

// List chooses the releases that a list names, given the number of reports of each.
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
		slices.SortFunc(some, func(a, b Release) int {
			return cmp.Or(cmp.Compare(reports[b], reports[a]), cmp.Compare(a, b))
		})
		l.rest = l.rest || len(some) > most
		for _, r := range some[:min(len(some), most)] {
			l.named[r] = true
		}
	}
	return l
}

// Names reports whether the list names a release.
func (l ReleaseList) Names(r Release) bool { return l.named[r] }

// Of returns r if the list names it, else OtherReleases.
func (l ReleaseList) Of(r Release) Release {
	if l.named[r] {
		return r
	}
	return OtherReleases
}

// Ascending returns the named releases in release order: official ones, then derivatives, then
// unknown ones. OtherReleases comes last, if any release is not named.
func (l ReleaseList) Ascending() []Release {
	return l.sorted(Release.Compare)
}

// Descending returns the same releases as Ascending, with the newest release of each kind first.
func (l ReleaseList) Descending() []Release {
	return l.sorted(func(a, b Release) int { return b.Compare(a) })
}

// Offered returns the releases that a form offers, the newest of each kind first. It includes the
// release chosen at present, if any, and excludes the empty release and OtherReleases.
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
