package crash

import (
	"slices"
	"strings"
	"time"

	"mishap/crash/dpkg"
)

// ArchiveKind says what a fact about the distribution's archive is about.
type ArchiveKind string

// The kinds, and what their keys are.
const (
	ArchiveSource  ArchiveKind = "source"  // a source package's name: where it is published now
	ArchiveBinary  ArchiveKind = "binary"  // a binary package's name: where it is published now
	ArchiveVersion ArchiveKind = "version" // source package, blank, version: where it was ever published
	ArchiveSet     ArchiveKind = "set"     // codename of a series, slash, name of a package set: its source packages
	ArchivePerson  ArchiveKind = "person"  // name of a person or team: the source packages whose bugs they are subscribed to
)

// ArchiveWant is one thing that somebody wants to know of the archive.
type ArchiveWant struct {
	Kind ArchiveKind
	Key  string
}

// Publication is one version of a package at one place of the archive.
type Publication struct {
	Series       string `json:"series"` // codename: "noble"
	Pocket       string `json:"pocket"` // Release, Security, Updates, Proposed, Backports
	Version      string `json:"version"`
	Source       string `json:"source,omitempty"`       // of a binary package: its source package
	Architecture string `json:"architecture,omitempty"` // of a binary package: "amd64"
}

// ArchiveFact is what is known of one thing in the archive.
type ArchiveFact struct {
	ArchiveWant
	Read         time.Time     // when the tracker said so; zero: nothing is known yet
	Exists       bool          // false with a Read: the tracker has no such thing
	Publications []Publication // of packages, in no order
	Names        []string      // of sets and people: source packages, sorted
}

// Known reports whether the tracker has been asked.
func (f ArchiveFact) Known() bool { return !f.Read.IsZero() }

// In returns the publications in one series, of some pockets only when any are named.
func (f ArchiveFact) In(series string, pockets ...string) []Publication {
	var out []Publication
	for _, p := range f.Publications {
		if p.Series == series && (len(pockets) == 0 || slices.Contains(pockets, p.Pocket)) {
			out = append(out, p)
		}
	}
	return out
}

// Versions returns the versions of some publications in dpkg's order, each once.
func Versions(publications []Publication) []string {
	var versions []string
	for _, p := range publications {
		versions = append(versions, p.Version)
	}
	slices.SortFunc(versions, dpkg.Compare)
	return slices.Compact(versions)
}

// PocketOf returns the pocket that has a version, the most settled when several have it; empty when none has.
func PocketOf(publications []Publication, version string) string {
	best, rank := "", len(pocketOrder)
	for _, p := range publications {
		if r := slices.Index(pocketOrder, p.Pocket); p.Version == version && r >= 0 && r < rank {
			best, rank = p.Pocket, r
		}
	}
	return best
}

// pocketOrder is how settled a version in a pocket is.
var pocketOrder = []string{"Release", "Security", "Updates", "Proposed", "Backports"}

// validArchiveName is what names of packages, sets and people are made of.
func validArchiveName(s string) bool {
	if s == "" || len(s) > 100 || strings.ContainsAny(s[:1], "+.-") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '+' && r != '.' && r != '-'
	})
}

// Valid reports whether there could be such a thing. Others are not asked for.
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
