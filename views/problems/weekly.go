package problems

import (
	"time"

	"mishap/crash"
	"mishap/views/layout"
)

// WeeklyPage is the weekly report of some packages.
type WeeklyPage struct {
	Shell       layout.Shell
	Scope       crash.WeeklyScope
	Only        crash.WeeklyPart // the only list to show; empty: all
	First, Last time.Time
	Past        bool // the week is over
	Newest      bool // there is no later week
	Headline    string
	Reports     int64
	Before      int64
	Problems    int64
	Muted       int64
	Chart       Chart
	Parts       []WeeklyPart
	Unknown     bool   // the packages are not known yet
	Notice      string // why there is nothing; empty: nothing is wrong
}

// WeeklyPart is one list of the report.
type WeeklyPart struct {
	Part  crash.WeeklyPart
	Count int
	Rows  []WeeklyRow
}

// WeeklyRow is a problem in the report.
type WeeklyRow struct {
	Bucket  crash.Bucket
	Reports int64
	Before  int64
	Text    string
}

func (p WeeklyPage) title() string { return "Weekly report of " + p.Scope.Text() }

// days names the days of the week: "16–22 November 2026".
func (p WeeklyPage) days() string {
	last := p.Last.Format("2 January 2006")
	switch {
	case p.First.Year() != p.Last.Year():
		return p.First.Format("2 January 2006") + " – " + last
	case p.First.Month() != p.Last.Month():
		return p.First.Format("2 January") + " – " + last
	}
	return p.First.Format("2") + "–" + last
}

// url returns the address of another week or list.
func (p WeeklyPage) url(first time.Time, only crash.WeeklyPart) string {
	path := p.Scope.Path(first)
	if only != "" {
		path += "&only=" + string(only)
	}
	return path
}

func (p WeeklyPage) shift(days int) string { return p.url(p.First.AddDate(0, 0, days), p.Only) }

// sums says how many reports there were.
func (p WeeklyPage) sums() string {
	text := crash.Counted(p.Reports, "report", "reports") + " of " + crash.Counted(p.Problems, "problem", "problems") +
		"; " + crash.Count(p.Before) + " in the seven days before."
	if p.Muted > 0 {
		text += " " + crash.Counted(p.Muted, "muted problem is", "muted problems are") + " left out."
	}
	return text
}

// weeklyMean explains the lists.
const weeklyMean = "Days are UTC days. The lists follow from the reports of these days, from when people " +
	"decided, and from when the tracker closed bugs; links, merges and mutes are those of today, and so are undecided " +
	"problems. Fixed and came back are changes of the status since the day before the week."

// kinds returns the kinds that the person can choose.
func (p WeeklyPage) kinds() []crash.WeeklyKind {
	return crash.Pick(crash.WeeklyKinds, func(k crash.WeeklyKind) bool {
		return k != crash.WeeklyMine || p.Shell.SignedIn()
	})
}
