package crash

import (
	"cmp"
	"time"

	"mishap/crash/dpkg"
)

// Release is a distribution release as reports name it: "Ubuntu 24.04".
type Release string

// Bucket is all reports with one signature, and those of the signatures that were merged into it.
type Bucket struct {
	ID            BucketID
	Signature     string
	Name          string // given by a person; empty: none
	Members       int64  // how many signatures it has, 1 when nothing was merged into it
	Rule          Rule
	Provisional   bool // not symbolised yet
	ProblemType   string
	Title         string // of the newest report that has one
	Executable    string
	Package       string // binary package of the newest report
	SourcePackage string // what bugs are filed against; empty: not known
	Reports       int64  // counted reports
	Systems       int64  // distinct counted machines

	// What the oldest and the newest report say; see First and Last.
	FirstSeen, LastSeen               time.Time
	FirstSeenVersion, LastSeenVersion string
	FirstSeenRelease, LastSeenRelease Release

	LowestVersion, HighestVersion               string  // of the package, by dpkg's order
	LowestVersionRelease, HighestVersionRelease Release // the releases in which these versions were seen
	LowestRelease, HighestRelease               Release // by the order of releases

	Bug    Bug    // Number 0: none; of several an open one, of those the one linked last
	Status Status // how it stands; zero until it has been judged, see [Judge]
	Filing Filing // ID 0: never asked for
}

// First returns what the oldest counted report says.
func (b Bucket) First() Occurrence {
	return Occurrence{At: b.FirstSeen, Version: b.FirstSeenVersion, Release: b.FirstSeenRelease}
}

// Last returns what the newest counted report says.
func (b Bucket) Last() Occurrence {
	return Occurrence{At: b.LastSeen, Version: b.LastSeenVersion, Release: b.LastSeenRelease}
}

// Occurrence is one report's answer to when and where a problem was seen. The three facts belong together.
type Occurrence struct {
	At      time.Time // the time of the crash, or of the arrival where the report's own date does not count; zero: never
	Version string    // of the package; empty: the report has none
	Release Release   // empty: the report has none
}

// Compare orders occurrences by time, those of one time by version (see [dpkg.Order]), and then by
// the name of the release. It is the order of the type of the same name in the database.
func (o Occurrence) Compare(other Occurrence) int {
	return cmp.Or(o.At.Compare(other.At), dpkg.Order(o.Version, other.Version), cmp.Compare(o.Release, other.Release))
}

// SeenSpan holds what the reports of a problem from one release say together: the oldest, the
// newest, and the versions.
type SeenSpan struct {
	First, Last Occurrence // zero: no report
	Versions    dpkg.Range
}

// Add widens the span by a report. A report without a time does not count.
func (s *SeenSpan) Add(o Occurrence) {
	if o.At.IsZero() {
		return
	}
	if s.First.At.IsZero() || o.Compare(s.First) < 0 {
		s.First = o
	}
	if s.Last.At.IsZero() || o.Compare(s.Last) > 0 {
		s.Last = o
	}
	s.Versions.Add(o.Version)
}

// Empty reports whether the span holds no report.
func (s *SeenSpan) Empty() bool { return s.First.At.IsZero() }

// Period is how far back a list looks, in days that end with today (UTC).
type Period string

// The periods of the front page.
const (
	PeriodDay   Period = "day"
	PeriodWeek  Period = "week"
	PeriodMonth Period = "month"
	PeriodYear  Period = "year"
)

// Days is the length of the period in days: 1, 7, 30, 365; 0 for an unknown word.
func (p Period) Days() int {
	switch p {
	case PeriodDay:
		return 1
	case PeriodWeek:
		return 7
	case PeriodMonth:
		return 30
	case PeriodYear:
		return 365
	}
	return 0
}

// ProblemCursor is the place of a row in a list that is sorted by count, descending, then by id.
type ProblemCursor struct {
	Count int64
	ID    BucketID
}

// Problem is one row of a list: a bucket and how often it was seen in the chosen days (and release).
type Problem struct {
	Bucket
	Count int64
}

// ProblemTotals are the sums over the whole list, not only the rows shown.
type ProblemTotals struct {
	Problems, Reports int64
}

// VersionCount is one cell of the versions × releases table.
type VersionCount struct {
	Version string
	Release Release
	Reports int64
}

// NameCount is how many reports have something in common.
type NameCount struct {
	Name    string
	Reports int64
}

// DayCount is one bar of a per-day chart.
type DayCount struct {
	Day     time.Time
	Release Release
	Reports int64
}

// ReportRow is a report in a list.
type ReportRow struct {
	ID OopsID
	Summary
	System     SystemID
	Occurred   time.Time
	Bucket     *BucketID // nil: in none
	Unbucketed string    // why in none
}

// StoredReport is one report read back.
type StoredReport struct {
	ReportRow
	Rule   Rule // that grouped it
	Rules  int  // the version of the grouping rules then, see [RulesVersion]
	Fields Fields
}
