package problems

import (
	"slices"

	"mishap/crash"
)

// reportColumn is a column of the list of a problem's reports.
type reportColumn struct {
	name, label string
	value       func(crash.ReportRow) string // what makes reports differ; nil: they always do
}

// reportColumns lists the columns that people can choose, in their order. The report itself is
// always the first.
var reportColumns = []reportColumn{
	{"occurred", "Occurred", nil},
	{"arrived", "Arrived", func(crash.ReportRow) string { return "" }},
	{"package", "Package", func(r crash.ReportRow) string { return r.Package }},
	{"version", "Version", func(r crash.ReportRow) string { return r.Version }},
	{"release", "Release", func(r crash.ReportRow) string { return string(r.Release) }},
	{"architecture", "Architecture", func(r crash.ReportRow) string { return r.Architecture }},
	{"type", "Type", func(r crash.ReportRow) string { return r.ProblemType }},
	{"pocket", "Pocket", pocket},
	{"trace", "Trace", traceWord},
	{"machine", "Machine", func(r crash.ReportRow) string { return string(r.System) }},
}

// columns returns the columns of the list: the chosen ones, or those in which the reports differ.
func (l ReportList) columns() []reportColumn {
	var some []reportColumn
	for _, c := range reportColumns {
		if l.Choice.Columns != nil && slices.Contains(l.Choice.Columns, c.name) ||
			l.Choice.Columns == nil && c.differs(l.Rows) {
			some = append(some, c)
		}
	}
	return some
}

// hasColumn reports whether a column is among some.
func hasColumn(some []reportColumn, name string) bool {
	return slices.ContainsFunc(some, func(c reportColumn) bool { return c.name == name })
}

func (c reportColumn) differs(rows []crash.ReportRow) bool {
	return c.value == nil ||
		slices.ContainsFunc(rows, func(r crash.ReportRow) bool { return c.value(r) != c.value(rows[0]) })
}

// hidesMachines reports whether the person may not know a machine in the list.
func (l ReportList) hidesMachines() bool {
	return slices.ContainsFunc(l.Rows, func(r crash.ReportRow) bool { return r.System == crash.HiddenSystem })
}

// same lists what the reports have in common, in columns other than those shown: "reefd, amd64".
func (l ReportList) same(shown []reportColumn) string {
	text := ""
	for _, c := range reportColumns {
		if c.value == nil || len(l.Rows) < 2 || c.differs(l.Rows) || hasColumn(shown, c.name) {
			continue
		}
		if value := c.value(l.Rows[0]); value != "" && c.name != "machine" {
			if text != "" {
				text += ", "
			}
			text += value
		}
	}
	return text
}

func pocket(r crash.ReportRow) string {
	if r.Proposed {
		return "proposed"
	}
	return ""
}

func traceWord(r crash.ReportRow) string {
	if r.Complete {
		return ""
	}
	return "no trace"
}

// ComparePath returns the address of the page that compares stacks of reports of a problem.
func ComparePath(id crash.BucketID) string { return id.Path() + "/compare" }
