package tracker

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mishap/crash"
)

const (
	maxTableRows    = 30
	maxTableColumns = 8
)

// ReleasesOf lists the releases of cells that a text names, as [crash.ReleaseList] chooses them.
func ReleasesOf(cells []crash.VersionCount) crash.ReleaseList {
	reports := map[crash.Release]int64{}
	for _, c := range cells {
		reports[c.Release] += c.Reports
	}
	return crash.BuiltInReleases().List(reports)
}

// versionTable returns the versions × releases table as aligned text, newest version first. Lines
// below it count what does not fit.
func versionTable(cells []crash.VersionCount) string { return versionTableOf(cells, maxTableRows) }

// versionTableOf is like versionTable, with at most rows versions.
func versionTableOf(cells []crash.VersionCount, rows int) string {
	var versions []string
	count := map[string]map[crash.Release]int64{}
	for _, c := range cells {
		if count[c.Version] == nil {
			versions = append(versions, c.Version)
			count[c.Version] = map[crash.Release]int64{}
		}
		count[c.Version][c.Release] += c.Reports
	}
	list := ReleasesOf(cells)
	others := map[crash.Release]bool{}
	for _, c := range cells {
		others[c.Release] = true
	}
	columns := list.Descending() // known and new ones first
	columns = columns[:min(len(columns), maxTableColumns)]
	releases := slices.DeleteFunc(list.Ascending(), func(r crash.Release) bool {
		return r == crash.OtherReleases || !slices.Contains(columns, r)
	})
	for _, r := range releases {
		delete(others, r)
	}
	olderVersions := max(0, len(versions)-rows)
	versions = versions[:len(versions)-olderVersions]

	table := [][]string{{"Version"}}
	for _, r := range releases {
		table[0] = append(table[0], orUnknown(Clean(string(r), 30)))
	}
	for _, v := range versions {
		row := []string{orUnknown(Clean(v, 60))}
		for _, r := range releases {
			cell := ""
			if n := count[v][r]; n > 0 {
				cell = strconv.FormatInt(n, 10)
			}
			row = append(row, cell)
		}
		table = append(table, row)
	}
	out := align(table)
	if olderVersions > 0 {
		out += "and " + counted(int64(olderVersions), "older version", "older versions") + "\n"
	}
	if len(others) > 0 {
		out += "and " + counted(int64(len(others)), "other release", "other releases") + "\n"
	}
	return out
}

func orUnknown(s string) string {
	if s == "" {
		return "(unknown)"
	}
	return s
}

// align pads the cells of each column to the same width. The first column is aligned to the left,
// the others to the right.
func align(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString(cell + pad)
			} else {
				line.WriteString("  " + pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// counted returns a number with its noun.
func counted(n int64, one, many string) string { return itoa(n) + " " + crash.Plural(n, one, many) }
