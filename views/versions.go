package views

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
	"mishap/crash/stats"
)

// VersionTable is the table of a problem's reports by version and release.
type VersionTable struct {
	// Releases has known releases first, oldest first. The last column adds up those without a column
	// of their own.
	Releases []crash.Release
	Rows     []VersionRow // newest version first
	Totals   []int64      // by release
	Total    int64
	Whole    bool  // show all rows
	most     int64 // the largest cell
	dated    bool  // some row has the day on which it was seen last
	now      time.Time
}

// VersionRow is one package version.
type VersionRow struct {
	Version string
	Counts  []int64 // by the releases of the table; [inUse]: the version is in use there, without this problem
	Total   int64
	Mark    string    // "newest", "first", "probable fix"; empty: none of these
	Fix     bool      // the mark says that the problem is fixed there, or may be
	Why     string    // explanation of the mark
	Last    time.Time // last day on which it was seen there; zero: unknown or never
	Link    string    // address of the version in its archive
}

// inUse replaces a count of 0 where a version is in use.
const inUse = -1

// VersionFacts holds the data of a table of versions.
type VersionFacts struct {
	Story stats.VersionStory
	Known []stats.VersionKnown // versions of the package in use
	// Last is the last day on which the problem was seen, by version.
	Last   map[string]time.Time
	Status crash.Status                                       // names the versions that have a fix
	Bug    int64                                              // the bug that names the fixes
	Link   func(version string, release crash.Release) string // address of a version in its archive; nil: there are none
	Now    time.Time

	Releases *crash.ReleaseTable // releases that may have a column; nil: the built-in ones
}

// NewVersionTable returns the table of counts, which must be sorted newest version first.
func NewVersionTable(counts []crash.VersionCount) VersionTable {
	return VersionFacts{Story: stats.VersionStory{Counts: counts}}.Table()
}

// Table returns the table, newest version first.
func (f VersionFacts) Table() VersionTable {
	t := VersionTable{now: f.Now}
	reports := map[crash.Release]int64{}
	for _, c := range f.Story.Counts {
		reports[c.Release] += c.Reports
	}
	if f.Releases == nil {
		f.Releases = crash.BuiltInReleases()
	}
	list := f.Releases.List(reports)
	t.Releases = list.Ascending()
	t.Totals = make([]int64, len(t.Releases))
	for _, c := range f.Story.Counts {
		if len(t.Rows) == 0 || t.Rows[len(t.Rows)-1].Version != c.Version {
			t.Rows = append(t.Rows, VersionRow{Version: c.Version, Counts: make([]int64, len(t.Releases)),
				Last: f.Last[c.Version]})
		}
		row, i := &t.Rows[len(t.Rows)-1], slices.Index(t.Releases, list.Of(c.Release))
		row.Counts[i] += c.Reports
		row.Total += c.Reports
		t.Totals[i] += c.Reports
		t.Total += c.Reports
		t.most = max(t.most, row.Counts[i])
	}
	rows := map[string]*VersionRow{}
	for i := range t.Rows {
		rows[t.Rows[i].Version] = &t.Rows[i]
		t.dated = t.dated || !t.Rows[i].Last.IsZero()
	}
	for _, k := range f.Known {
		if row, i := rows[k.Version], slices.Index(t.Releases, k.Release); row != nil && i >= 0 && row.Counts[i] == 0 {
			row.Counts[i] = inUse
		}
	}
	t.mark()
	f.mark(&t, rows)
	t.link(f)
	return t
}

// mark marks, in each release, the newest and the oldest version with the problem, if there is more
// than one.
func (t *VersionTable) mark() {
	marks := map[*VersionRow][]string{}
	for i, release := range t.Releases {
		var seen []*VersionRow
		newer := false
		for j := range t.Rows {
			switch row := &t.Rows[j]; {
			case row.Counts[i] > 0 && dpkg.Valid(row.Version):
				seen = append(seen, row)
			case row.Counts[i] == inUse:
				newer = newer || len(seen) == 0
			}
		}
		add := func(row *VersionRow, word string) {
			if len(t.Releases) > 1 {
				word += " in " + releaseName(release)
			}
			marks[row] = append(marks[row], word)
		}
		switch {
		case len(seen) > 0 && newer:
			add(seen[0], "last")
			seen[0].Why = "Not seen in a newer version in " + releaseName(release)
		case len(seen) > 1:
			add(seen[0], "newest")
		}
		if len(seen) > 1 {
			add(seen[len(seen)-1], "first")
		}
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		if row.Mark = strings.Join(marks[row], ", "); row.Total == 0 {
			row.Mark = "not seen"
		}
	}
}

// mark marks the versions with a fix: those of the status, else perhaps the version after the last
// one with the problem.
func (f VersionFacts) mark(t *VersionTable, rows map[string]*VersionRow) {
	for _, k := range f.Story.Before {
		if row := rows[k.Version]; row != nil && row.Total == 0 {
			row.Mark, row.Why = "before", "In use in "+releaseName(k.Release)+", and the problem was never seen there"
		}
	}
	for _, k := range f.Story.After {
		row := rows[k.Version]
		if row == nil || row.Total > 0 {
			continue
		}
		row.Mark, row.Why = "not seen yet", "In use in "+releaseName(k.Release)+" since "+
			Date(k.Since, f.Now)+", without this problem"
		if f.fixed(k.Release) {
			row.Mark, row.Fix = "probable fix", true
			row.Why += "; it is the first version after the last in which it was seen"
		}
	}
	for _, r := range f.Status.Releases {
		row, i := rows[r.Fix], slices.Index(t.Releases, r.Release)
		if r.Fix == "" || row == nil || i < 0 {
			continue
		}
		row.Mark, row.Why, row.Fix = "fix", "Bug "+strconv.FormatInt(f.Bug, 10)+" says that it is fixed in this version", true
		if row.Counts[i] > 0 {
			row.Mark, row.Fix = "fix, seen again", false
		}
	}
}

// fixed reports whether the status says that the problem is fixed in a release, or probably is.
func (f VersionFacts) fixed(release crash.Release) bool {
	return slices.ContainsFunc(f.Status.Releases, func(r crash.ReleaseStatus) bool {
		return r.Release == release && (r.Word == crash.StateGone || r.Word == crash.StateFixed)
	})
}

// link links each version to its page in the archive of the newest release that has it.
func (t *VersionTable) link(f VersionFacts) {
	if f.Link == nil {
		return
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		for j, release := range slices.Backward(t.Releases) {
			if row.Counts[j] != 0 && row.Version != "" && release != crash.OtherReleases {
				row.Link = f.Link(row.Version, release)
				break
			}
		}
	}
}

// shownVersions is the number of rows that are visible before a person unfolds the rest.
const shownVersions = 15

// shown returns the visible rows.
func (t VersionTable) shown() []VersionRow {
	if t.Whole || len(t.Rows) <= shownVersions {
		return t.Rows
	}
	return t.Rows[:shownVersions]
}

// sums reports whether a row of sums adds anything.
func (t VersionTable) sums() bool { return len(t.Rows) > 1 && len(t.Releases) > 0 }

// left returns the number of older versions that are not visible.
func (t VersionTable) left() int { return len(t.Rows) - len(t.shown()) }

// heat returns the class of a cell by its share of the largest: heat-0 to heat-4.
func (t VersionTable) heat(n int64) string {
	if n == 0 {
		return "heat-0"
	}
	return fmt.Sprintf("heat-%d", min(1+4*n/max(t.most, 1), 4))
}
