package problems

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/crash/version"
	"mishap/views/layout"
)

// VersionTable is the table of a problem's reports by version and release.
type VersionTable struct {
	// Releases has Ubuntu first, then Debian, then others, the newest of each first. The last column
	// adds up those without a column of their own.
	Releases []crash.Release
	Rows     []VersionRow // in the order of the first release that has them, newest version first
	Totals   []int64      // by release
	Total    int64
	Whole    bool  // show all rows
	most     int64 // the largest cell
	dated    bool  // some row has the day on which it was seen last
	now      time.Time
}

// VersionRow is one package version. Releases whose packages have another order have another row.
type VersionRow struct {
	Version string
	Counts  []int64 // by the releases of the table; [inUse]: the version is in use there, without this problem
	Total   int64
	Mark    string    // "highest", "first in 24.04 and 22.04, last in 26.04", "probable fix"; empty: none of these
	Kind    string    // of the first mark: "first", "last", "highest", "fix", "none"
	Fix     bool      // the mark says that the problem is fixed there, or may be
	Why     string    // explanation of the mark
	Last    time.Time // last day on which it was seen there; zero: unknown or never
	Link    string    // address of the version in its archive

	column int // number of the first release with the version
	key    rowKey
}

// rowKey identifies a row: a version, and the order in which it is comparable.
type rowKey struct {
	version string
	order   version.Order // version.Orders: it is not comparable
}

func rowOf(release crash.Release, text string) rowKey {
	order := release.VersionOrder()
	if !order.Valid(text) {
		order = version.Orders
	}
	return rowKey{text, order}
}

// inUse replaces a count of 0 where a version is in use.
const inUse = -1

// VersionFacts holds the data of a table of versions.
type VersionFacts struct {
	Story stats.VersionStory
	Known []stats.VersionKnown // versions of the package in use
	// Last is the last day on which the problem was seen, by version and release.
	Last   map[crash.FixedIn]time.Time
	Status crash.Status                                       // names the versions that have a fix
	Bug    string                                             // the bug that names the fixes
	Link   func(version string, release crash.Release) string // address of a version in its archive; nil: there are none
	Now    time.Time
}

// NewVersionTable returns the table of counts, which must be sorted newest version first.
func NewVersionTable(counts []crash.VersionCount) VersionTable {
	return VersionFacts{Story: stats.VersionStory{Counts: counts}}.Table()
}

// Table returns the table.
func (f VersionFacts) Table() VersionTable {
	t := VersionTable{now: f.Now}
	reports := map[crash.Release]int64{}
	for _, c := range f.Story.Counts {
		reports[c.Release] += c.Reports
	}
	list := crash.Releases().List(reports)
	t.Releases = list.Descending()
	slices.SortStableFunc(t.Releases, func(a, b crash.Release) int { return groupOf(a) - groupOf(b) })
	t.Totals = make([]int64, len(t.Releases))
	for _, c := range f.Story.Counts {
		if key := rowOf(c.Release, c.Version); len(t.Rows) == 0 || t.Rows[len(t.Rows)-1].key != key {
			t.Rows = append(t.Rows, VersionRow{Version: c.Version, Counts: make([]int64, len(t.Releases)),
				column: len(t.Releases), key: key})
		}
		row, i := &t.Rows[len(t.Rows)-1], slices.Index(t.Releases, list.Of(c.Release))
		row.Counts[i] += c.Reports
		row.Total += c.Reports
		row.column = min(row.column, i)
		row.Last = crash.Later(row.Last, f.Last[crash.FixedIn{Release: c.Release, Version: c.Version}])
		t.Totals[i] += c.Reports
		t.Total += c.Reports
		t.most = max(t.most, row.Counts[i])
	}
	rows := map[rowKey]*VersionRow{}
	for i := range t.Rows {
		rows[t.Rows[i].key] = &t.Rows[i]
		t.dated = t.dated || !t.Rows[i].Last.IsZero()
	}
	for _, k := range f.Known {
		row, i := rows[rowOf(k.Release, k.Version)], slices.Index(t.Releases, k.Release)
		if row != nil && i >= 0 && row.Counts[i] == 0 {
			row.Counts[i] = inUse
		}
	}
	t.mark()
	f.mark(&t, rows)
	t.link(f)
	slices.SortStableFunc(t.Rows, func(a, b VersionRow) int { return a.column - b.column })
	return t
}

// mark marks, in each release, the highest and the lowest version with the problem, if there is
// more than one. If a higher version is in use without it, the highest is marked as the last one.
func (t *VersionTable) mark() {
	marks := map[*VersionRow][]releaseMark{}
	for i, release := range t.Releases {
		var seen []*VersionRow
		newer := false
		for j := range t.Rows {
			switch row := &t.Rows[j]; {
			case row.Counts[i] > 0 && row.key.order != version.Orders:
				seen = append(seen, row)
			case row.Counts[i] == inUse:
				newer = newer || len(seen) == 0
			}
		}
		add := func(row *VersionRow, word string) {
			if row.Kind == "" {
				row.Kind = word
			}
			at := slices.IndexFunc(marks[row], func(m releaseMark) bool { return m.word == word })
			if at < 0 {
				at, marks[row] = len(marks[row]), append(marks[row], releaseMark{word: word})
			}
			marks[row][at].releases = append(marks[row][at].releases, releaseName(release))
		}
		switch {
		case len(seen) > 0 && newer:
			add(seen[0], "last")
		case len(seen) > 1:
			add(seen[0], "highest")
		}
		if len(seen) > 1 {
			add(seen[len(seen)-1], "first")
		}
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		var words []string
		for _, m := range marks[row] {
			if m.word == "last" {
				row.Why = "No newer version in " + crash.JoinAnd(m.releases) + " has shown the problem"
			}
			if row.inReleases() > 1 {
				m.word = m.word + " in " + crash.JoinAnd(m.releases)
			}
			words = append(words, m.word)
		}
		if row.Mark = strings.Join(words, ", "); row.Total == 0 {
			row.Mark, row.Kind = "not seen", "none"
		}
	}
}

type releaseMark struct {
	word     string
	releases []string
}

// inReleases returns the number of releases in which the problem was seen in this version.
func (row *VersionRow) inReleases() (n int) {
	for _, count := range row.Counts {
		if count > 0 {
			n++
		}
	}
	return n
}

// mark marks the versions with a fix: those of the status, else perhaps the version after the last
// one with the problem.
func (f VersionFacts) mark(t *VersionTable, rows map[rowKey]*VersionRow) {
	for _, k := range f.Story.Before {
		if row := rows[rowOf(k.Release, k.Version)]; row != nil && row.Total == 0 {
			row.Mark, row.Why = "before", "In use in "+releaseName(k.Release)+" before the problem appeared"
		}
	}
	for _, k := range f.Story.After {
		row := rows[rowOf(k.Release, k.Version)]
		if row == nil || row.Total > 0 {
			continue
		}
		row.Mark, row.Fix = "not seen yet", f.fixed(k.Release)
		if row.Fix {
			row.Mark, row.Kind = "probable fix", "fix"
		}
		row.Why = "In use in " + releaseName(k.Release) + " since " + layout.Date(k.Since, f.Now) + ", without this problem"
		if row.Fix {
			row.Why += "; it is the first version after the last one with the problem"
		}
	}
	for _, r := range f.Status.Releases {
		row, i := rows[rowOf(r.Release, r.Fix)], slices.Index(t.Releases, r.Release)
		if r.Fix == "" || row == nil || i < 0 {
			continue
		}
		row.Mark, row.Kind, row.Fix = "fixed", "fix", true
		row.Why = "According to bug " + f.Bug + ", this version has the fix"
		if row.Counts[i] > 0 {
			row.Mark, row.Kind, row.Fix = "fixed, seen again", "again", false
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
		for j, release := range t.Releases {
			if row.Counts[j] != 0 && row.Version != "" && release != crash.OtherReleases {
				row.Link = f.Link(row.Version, release)
				break
			}
		}
	}
}

// shownVersions is the number of rows that are visible before a person unfolds the rest.
const shownVersions = 15

// shown returns the visible rows: those with a fix, and the newest of each release with reports.
func (t VersionTable) shown() []VersionRow {
	if t.Whole {
		return t.Rows
	}
	place := make([]int, len(t.Rows)) // of each row among those of its release
	next := map[int]int{}
	var places []int
	for i, row := range t.Rows {
		place[i] = -1
		if row.Total > 0 {
			place[i] = next[row.column]
			next[row.column]++
			places = append(places, place[i])
		}
	}
	slices.Sort(places)
	last, room := -1, shownVersions // rows at an earlier place than last are visible, and some at last
	if len(places) > 0 {
		last = places[min(len(places), shownVersions)-1]
	}
	for _, p := range places {
		if p < last {
			room--
		}
	}
	var rows []VersionRow
	for i, row := range t.Rows {
		atLast := place[i] == last && room > 0
		if atLast {
			room--
		}
		if row.Fix || atLast || place[i] >= 0 && place[i] < last {
			rows = append(rows, row)
		}
	}
	return rows
}

func (t VersionTable) sums() bool { return len(t.Rows) > 1 && len(t.Releases) > 0 }

// left says how many rows are not visible, in words; empty: all are.
func (t VersionTable) left(shown []VersionRow) string {
	var older, without int64
	for _, row := range t.Rows {
		switch {
		case slices.ContainsFunc(shown, func(s VersionRow) bool { return s.key == row.key }):
		case row.Total > 0:
			older++
		default:
			without++
		}
	}
	var parts []string
	if older > 0 {
		parts = append(parts, crash.Counted(older, "older version", "older versions"))
	}
	if without > 0 {
		parts = append(parts, crash.Counted(without, "version without reports", "versions without reports"))
	}
	if parts == nil {
		return ""
	}
	return "Show " + crash.JoinAnd(parts)
}

// folds reports whether the table hides rows unless a person asks for all.
func (t VersionTable) folds() bool {
	t.Whole = false
	return len(t.shown()) < len(t.Rows)
}

// heat returns the shade of a cell, from 1 to 4, by its share of the largest cell.
func (t VersionTable) heat(n int64) string {
	return strconv.FormatInt(min(1+4*n/max(t.most, 1), 4), 10)
}

// maxOrder is the number of columns that narrow screens order by their number of reports.
const maxOrder = 12

// order returns the place of a column on narrow screens, which show releases with the most reports first.
func (t VersionTable) order(i int) string {
	place := 0
	for j, n := range t.Totals {
		if n > t.Totals[i] || n == t.Totals[i] && j < i {
			place++
		}
	}
	return strconv.Itoa(min(place, maxOrder))
}

// releaseGroup is the columns of one distribution, or of all others.
type releaseGroup struct {
	name     string
	first    int // number of its first column
	releases []crash.Release
}

// The groups of releases, in the order of the columns.
var groupNames = []string{"Ubuntu", "Debian", "Others"}

func groupOf(r crash.Release) int {
	switch r.Distribution() {
	case "ubuntu":
		return 0
	case "debian":
		return 1
	}
	return 2
}

func (t VersionTable) groups() []releaseGroup {
	var groups []releaseGroup
	for i, r := range t.Releases {
		name := groupNames[groupOf(r)]
		if n := len(groups); n == 0 || groups[n-1].name != name {
			groups = append(groups, releaseGroup{name: name, first: i})
		}
		g := &groups[len(groups)-1]
		g.releases = append(g.releases, r)
	}
	return groups
}

func (g releaseGroup) columns() string { return strconv.Itoa(len(g.releases)) }

func (g releaseGroup) short(r crash.Release) string {
	if short, ok := strings.CutPrefix(string(r), g.name+" "); ok {
		return short
	}
	return releaseName(r)
}

func headRows(groups []releaseGroup) string { return strconv.Itoa(min(len(groups), 2)) }
