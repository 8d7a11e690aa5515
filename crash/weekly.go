package crash

import (
	"cmp"
	"net/url"
	"strings"
	"time"
)

// WeeklyPath is the path of the page of the weekly report.
const WeeklyPath = "/weekly"

// WeeklyKind is the kind of problems that a weekly report is about.
type WeeklyKind string

// The kinds of weekly reports. All but the first two have a name.
const (
	WeeklyAll     WeeklyKind = "all"
	WeeklyMine    WeeklyKind = "mine"    // what the person follows, except saved searches
	WeeklyPackage WeeklyKind = "package" // a binary or source package
	WeeklySet     WeeklyKind = "set"     // the source packages of a package set
	WeeklyTeam    WeeklyKind = "team"    // the source packages of a person or team of the tracker
)

// WeeklyKinds lists all kinds.
var WeeklyKinds = []WeeklyKind{WeeklyAll, WeeklyMine, WeeklyPackage, WeeklySet, WeeklyTeam}

// WeeklyScope says which problems a weekly report is about.
type WeeklyScope struct {
	Kind WeeklyKind
	Name string // empty for WeeklyAll and WeeklyMine
}

// Named reports whether the kind needs a name.
func (k WeeklyKind) Named() bool { return k == WeeklyPackage || k == WeeklySet || k == WeeklyTeam }

const maxWeeklyName = 100

// ParseWeeklyScope reads a scope from a form or an address. An empty kind is WeeklyAll. It returns an error of kind
// Invalid.
func ParseWeeklyScope(kind, name string) (WeeklyScope, error) {
	k, err := ParseWord(cmp.Or(kind, string(WeeklyAll)), WeeklyKinds, "kind of weekly report")
	if err != nil {
		return WeeklyScope{}, err
	}
	s := WeeklyScope{Kind: k}
	if !k.Named() {
		return s, nil
	}
	line, ok := CleanLine(name, maxWeeklyName)
	if line = strings.TrimPrefix(line, "~"); !ok || line == "" || strings.Contains(line, " ") {
		return s, Errorf(Invalid, "bad_weekly_name", "Enter the name of a package, package set, person or team.")
	}
	s.Name = line
	return s, nil
}

// Text names the scope: "all packages", "the package set desktop".
func (s WeeklyScope) Text() string {
	switch s.Kind {
	case WeeklyMine:
		return "what you follow"
	case WeeklyPackage:
		return s.Name
	case WeeklySet:
		return "the package set " + s.Name
	case WeeklyTeam:
		return "the packages of " + s.Name
	case WeeklyAll:
	}
	return "all packages"
}

// Query returns the query of the page; a zero day is the past week.
func (s WeeklyScope) Query(first time.Time) string {
	q := url.Values{}
	if s.Kind != WeeklyAll {
		q.Set("of", string(s.Kind))
	}
	if s.Name != "" {
		q.Set("name", s.Name)
	}
	if !first.IsZero() {
		q.Set("week", first.UTC().Format(time.DateOnly))
	}
	return q.Encode()
}

// Path returns the path and query of the page.
func (s WeeklyScope) Path(first time.Time) string {
	if q := s.Query(first); q != "" {
		return WeeklyPath + "?" + q
	}
	return WeeklyPath
}

// WeeklyPart is a list of a weekly report.
type WeeklyPart string

// The lists, in their order.
const (
	WeeklyBack      WeeklyPart = "back"
	WeeklyNew       WeeklyPart = "new"
	WeeklyRisen     WeeklyPart = "risen"
	WeeklyFixed     WeeklyPart = "fixed"
	WeeklyUndecided WeeklyPart = "undecided"
)

// WeeklyParts lists all lists in their order.
var WeeklyParts = []WeeklyPart{WeeklyBack, WeeklyNew, WeeklyRisen, WeeklyFixed, WeeklyUndecided}

// Title is the heading of a list: "2 came back", "41 undecided as of today, the oldest first".
func (p WeeklyPart) Title(n int) string {
	count := Count(int64(n)) + " "
	switch p {
	case WeeklyBack:
		return count + "came back"
	case WeeklyNew:
		return count + "new"
	case WeeklyRisen:
		return count + "risen"
	case WeeklyFixed:
		return count + "fixed"
	case WeeklyUndecided:
	}
	return count + "undecided as of today, the oldest first"
}

// WeeklyRows is the number of problems that a list of a weekly report shows.
const WeeklyRows = 10

// WeeklyReport is the content of the mail with a weekly report. It contains no private data.
type WeeklyReport struct {
	Scope       WeeklyScope
	First, Last time.Time // UTC days, both included
	Reports     int64
	Before      int64 // reports in the seven days before
	Parts       []WeeklyList
}

// WeeklyList is one list of a weekly report.
type WeeklyList struct {
	Part  WeeklyPart
	Count int
	Lines []WeeklyLine // at most WeeklyRows
}

// WeeklyLine is a problem in a weekly report.
type WeeklyLine struct {
	ID      BucketID
	Title   string
	Package string
	Reports int64 // in the week
	Text    string
}

// WeeklyHeadline sums up the numbers of problems in the lists, without the undecided ones: "2 came back, 12 new".
func WeeklyHeadline(count func(WeeklyPart) int) string {
	var parts []string
	for _, p := range WeeklyParts {
		if n := count(p); n > 0 && p != WeeklyUndecided {
			parts = append(parts, p.Title(n))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing new")
}

// Headline sums up the report: "2 came back, 12 new, 3 risen, 1 fixed".
func (r WeeklyReport) Headline() string {
	return WeeklyHeadline(func(p WeeklyPart) int {
		for _, l := range r.Parts {
			if l.Part == p {
				return l.Count
			}
		}
		return 0
	})
}

// Worst returns the first line of the first list.
func (r WeeklyReport) Worst() (WeeklyLine, bool) {
	for _, l := range r.Parts {
		if len(l.Lines) > 0 {
			return l.Lines[0], true
		}
	}
	return WeeklyLine{}, false
}

// WeekOf returns the first of the seven UTC days up to a day.
func WeekOf(last time.Time) time.Time { return Midnight(last).AddDate(0, 0, 1-PeriodWeek.Days()) }
