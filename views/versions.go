package views

import (
	"fmt"
	"slices"
	"strings"

	"mishap/crash"
)

// VersionTable is the versions × releases table of a bucket.
type VersionTable struct {
	Releases []crash.Release // oldest first
	Rows     []VersionRow    // newest version first
	Totals   []int64         // by release
	Total    int64
	Whole    bool  // show every row, however many there are
	most     int64 // the largest cell
}

// VersionRow is one package version.
type VersionRow struct {
	Version string
	Counts  []int64 // by the releases of the table
	Total   int64
	Mark    string // "newest", "first"; "not seen": it is known of other problems only; empty: none of these
}

// NewVersionTable arranges counts that come newest version first.
func NewVersionTable(counts []crash.VersionCount) VersionTable {
	var t VersionTable
	for _, c := range counts {
		if !slices.Contains(t.Releases, c.Release) {
			t.Releases = append(t.Releases, c.Release)
		}
	}
	slices.SortFunc(t.Releases, func(a, b crash.Release) int { return strings.Compare(a.Key(), b.Key()) })
	t.Totals = make([]int64, len(t.Releases))
	for _, c := range counts {
		if len(t.Rows) == 0 || t.Rows[len(t.Rows)-1].Version != c.Version {
			t.Rows = append(t.Rows, VersionRow{Version: c.Version, Counts: make([]int64, len(t.Releases))})
		}
		row, i := &t.Rows[len(t.Rows)-1], slices.Index(t.Releases, c.Release)
		row.Counts[i] += c.Reports
		row.Total += c.Reports
		t.Totals[i] += c.Reports
		t.Total += c.Reports
		t.most = max(t.most, row.Counts[i])
	}
	t.mark()
	return t
}

// mark names the newest and the oldest known version when there is more than one.
func (t *VersionTable) mark() {
	var known []*VersionRow
	for i := range t.Rows {
		if t.Rows[i].Total == 0 {
			t.Rows[i].Mark = "not seen"
		} else if t.Rows[i].Version != "" {
			known = append(known, &t.Rows[i])
		}
	}
	if len(known) > 1 {
		known[0].Mark, known[len(known)-1].Mark = "newest", "first"
	}
}

// shownVersions is how many rows stand in sight before somebody asks for all.
const shownVersions = 15

// shown are the rows in sight.
func (t VersionTable) shown() []VersionRow {
	if t.Whole || len(t.Rows) <= shownVersions {
		return t.Rows
	}
	return t.Rows[:shownVersions]
}

// left is how many older versions are out of sight.
func (t VersionTable) left() int { return len(t.Rows) - len(t.shown()) }

// heat is the class of a cell, by its share of the largest: heat-0 to heat-4.
func (t VersionTable) heat(n int64) string {
	if n == 0 {
		return "heat-0"
	}
	return fmt.Sprintf("heat-%d", min(1+4*n/max(t.most, 1), 4))
}
