package crash

import (
	"slices"
	"strings"
	"time"

	"mishap/crash/dpkg"
)

// ArchiveKind is the kind of object in the distribution's archive that a fact describes.
type ArchiveKind string

// The kinds of archive facts, each with the form of its keys.
const (
	ArchiveSource  ArchiveKind = "source"  // key: name of a source package; fact: where it is published now
	ArchiveBinary  ArchiveKind = "binary"  // key: name of a binary package; fact: where it is published now
	ArchiveVersion ArchiveKind = "version" // key: source package, blank, version; fact: where it was ever published
	ArchiveSet     ArchiveKind = "set"     // key: series codename, slash, package set; fact: its source packages
	ArchivePerson  ArchiveKind = "person"  // key: name of a person or team; fact: source packages subscribed to
)

// ArchiveWant names one archive fact that a caller asks for.
type ArchiveWant struct {
	Kind ArchiveKind
	Key  string
}

// Publication is one version of a package, published in one pocket of one series.
type Publication struct {
	Series       string `json:"series"` // codename: "noble"
	Pocket       string `json:"pocket"` // Release, Security, Updates, Proposed, Backports
	Version      string `json:"version"`
	Source       string `json:"source,omitempty"`       // of a binary package: its source package
	Architecture string `json:"architecture,omitempty"` // of a binary package: "amd64"
}

// ArchiveFact is what the tracker's archive said about one object.
type ArchiveFact struct {
	ArchiveWant
	Read         time.Time     // when the tracker was asked; zero: not yet
	Exists       bool          // false with a Read: the tracker has no such object
	Publications []Publication // of packages, in no particular order
	Names        []string      // of sets and people: source packages, sorted
}

// Known reports whether the tracker has answered.
func (f ArchiveFact) Known() bool { return !f.Read.IsZero() }

// In returns the publications in one series. If pockets are given, it returns only those in these
// pockets.
func (f ArchiveFact) In(series string, pockets ...string) []Publication {
	return Pick(f.Publications, func(p Publication) bool {
		return p.Series == series && (len(pockets) == 0 || slices.Contains(pockets, p.Pocket))
	})
}

// Versions returns the distinct versions of the publications, in dpkg's order.
func Versions(publications []Publication) []string {
	var versions []string
	for _, p := range publications {
		versions = append(versions, p.Version)
	}
	slices.SortFunc(versions, dpkg.Compare)
	return slices.Compact(versions)
}

// PocketOf returns the pocket that contains the version, or "" if none does. If several do, it
// returns the most stable one, by pocketOrder.
func PocketOf(publications []Publication, version string) string {
	best, rank := "", len(pocketOrder)
	for _, p := range publications {
		if r := slices.Index(pocketOrder, p.Pocket); p.Version == version && r >= 0 && r < rank {
			best, rank = p.Pocket, r
		}
	}
	return best
}

// pocketOrder lists the pockets from the most stable to the least stable.
var pocketOrder = []string{"Release", "Security", "Updates", "Proposed", "Backports"}

// validArchiveName reports whether s can be the name of a package, a package set or a person.
func validArchiveName(s string) bool { return len(s) <= maxScopeName && archiveName.MatchString(s) }

// Valid reports whether the key has the form that its kind requires. The tracker is never asked for
// an invalid one.
func (w ArchiveWant) Valid() bool {
	switch w.Kind {
	case ArchiveSource, ArchiveBinary, ArchivePerson:
		return validArchiveName(w.Key)
	case ArchiveVersion:
		name, version, ok := strings.Cut(w.Key, " ")
		return ok && validArchiveName(name) && len(version) <= 128 && dpkg.Valid(version)
	case ArchiveSet:
		series, name, ok := strings.Cut(w.Key, "/")
		return ok && validArchiveName(series) && validArchiveName(name)
	}
	return false
}
