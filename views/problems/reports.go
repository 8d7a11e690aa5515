package problems

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/views/bugs"
	"mishap/views/layout"
)

// ReportList is a list of reports of a problem or a machine, with paging.
type ReportList struct {
	ID    string // id of the element, "reports"
	Rows  []crash.ReportRow
	Now   time.Time
	Next  string                          // address of the next page; empty: there is none
	First string                          // address of the first page; empty: this is it
	Bugs  map[crash.BucketID]bugs.BugPart // without Choice: the bug cells of these buckets
	Empty string                          // text of an empty list
	// Via is the list through which the reports are reached, unless it is all reports of a problem.
	Via string

	// Further is the address that continues the search behind the examined reports. It is empty if
	// all were examined, or the list is full.
	Further  string
	LookedTo time.Time // when the last examined report arrived

	Bodies crash.Bodies // of the list of a problem

	// Of the list of a problem: the choice of reports, and the page that compares stacks.
	Choice      *ReportChoice // nil: the list is not that of a problem
	ComparePath string
	Sample      int // number of reports among which those with a value of a field were selected
}

// inFull says how many reports are stored in full.
func (l ReportList) inFull() string {
	return crash.Count(l.Bodies.Stored) + " of " + crash.Counted(l.Bodies.All, "report", "reports") + " since " +
		layout.Date(l.Bodies.Since, l.Now) + " are stored in full."
}

// SampleText says how many reports have the chosen value of a field.
func (l ReportList) SampleText() string {
	return fmt.Sprintf("%s with %s “%s” among the newest %s.", crash.Counted(int64(len(l.Rows)), "report", "reports"),
		l.Choice.Facet.Label(), facetValue(l.Choice.Value), crash.Count(int64(l.Sample))+inFull(l.Bodies))
}

// Keep adds a query to the addresses of the list's pages.
func (l *ReportList) Keep(query url.Values) {
	if len(query) == 0 {
		return
	}
	for _, address := range []*string{&l.Next, &l.First, &l.Further} {
		switch {
		case *address == "":
		case strings.Contains(*address, "?"):
			*address += "&" + query.Encode()
		default:
			*address += "?" + query.Encode()
		}
	}
}

// ReportPath returns the address of one report.
func ReportPath(id crash.OopsID) string { return "/oops/" + id.String() }

// SystemPath returns the address of a machine's reports. The name may be any text.
func SystemPath(id crash.SystemID) string { return "/user/" + url.PathEscape(string(id)) }

// shortSystem returns the beginning of a machine's hash, enough to tell it from others on a page.
func shortSystem(id crash.SystemID) string { return layout.Cut(string(id), 12) }

// shortOops returns the end of an id, which differs between reports of the same moment.
func shortOops(id crash.OopsID) string {
	s := id.String()
	return "…" + s[len(s)-12:]
}

// bug returns the bug cell of the row at a place. Rows of one problem have copies with different
// ids.
func (l ReportList) bug(row crash.ReportRow, place int) (bugs.BugPart, bool) {
	if row.Bucket == nil {
		return bugs.BugPart{}, false
	}
	cell, ok := l.Bugs[*row.Bucket]
	cell.Copy = ""
	for n := place + 1; n > 0; n = (n - 1) / 26 {
		cell.Copy += string(rune('a' + (n-1)%26))
	}
	return cell, ok
}

const noDateOfItsOwn = "The report has no valid date"

const proposedHint = "The package came from proposed, the part of the distribution’s package archive where " +
	"updates are tested."

// ReportChoice selects the reports on the page of a problem, and the columns that the list shows.
// The address of the page holds all of it.
type ReportChoice struct {
	Path    string // of the page
	Via     string // the list from which the visitor came
	Filter  index.Filter
	Facet   stats.FacetField // field whose values are compared; empty: none
	ByValue bool             // only reports with this value of the field
	Value   string           // empty: those that do not have the field
	Columns []string         // nil: those in which the reports differ
}

// The parameters of a ReportChoice, besides those of its filter.
const (
	paramFacet   = "facet"
	paramValue   = "value"
	paramColumns = "columns"
)

// ReadReportChoice reads the facet, its value and the columns from a query, without checking them.
func ReadReportChoice(path string, f index.Filter, q url.Values) ReportChoice {
	c := ReportChoice{Path: path, Filter: f, Facet: stats.FacetField(strings.TrimSpace(q.Get(paramFacet)))}
	if c.Facet != "" && q.Has(paramValue) {
		c.ByValue, c.Value = true, q.Get(paramValue)
	}
	for _, column := range reportColumns {
		for _, names := range q[paramColumns] {
			if slices.Contains(strings.Split(names, ","), column.name) {
				c.Columns = append(c.Columns, column.name)
				break
			}
		}
	}
	return c
}

// Query returns the choice as the query of an address.
func (c ReportChoice) Query() url.Values {
	q := FilterQuery(c.Filter)
	if c.Facet != "" {
		q.Set(paramFacet, string(c.Facet))
	}
	if c.ByValue {
		q.Set(paramValue, c.Value)
	}
	if c.Columns != nil {
		q.Set(paramColumns, strings.Join(c.Columns, ","))
	}
	if c.Via != "" {
		q.Set(layout.Via, c.Via)
	}
	return q
}

func (c ReportChoice) url() string {
	if q := c.Query(); len(q) > 0 {
		return c.Path + "?" + q.Encode()
	}
	return c.Path
}

// Origin returns the address of the list to which the pages of the reports lead back.
func (c ReportChoice) Origin() string {
	if chosen := FilterQuery(c.Filter); len(chosen) > 0 {
		return c.Path + "?" + chosen.Encode()
	}
	return c.Via
}

// byFacet returns the choice with another compared field, and with all its values.
func (c ReportChoice) byFacet(field stats.FacetField) ReportChoice {
	c.Facet, c.ByValue, c.Value = field, false, ""
	return c
}

// byValue returns the choice with only the reports that have this value of the field.
func (c ReportChoice) byValue(value string) ReportChoice {
	c.ByValue, c.Value = true, value
	return c
}

func (c ReportChoice) all() ReportChoice {
	c.Filter, c.ByValue, c.Value = index.Filter{}, false, ""
	return c
}

// narrowed reports whether the choice leaves out reports, or has columns of its own.
func (c ReportChoice) narrowed() bool {
	return c.ByValue || c.Columns != nil || len(FilterQuery(c.Filter)) > 0
}

// withoutColumns returns the choice with the columns in which the reports differ.
func (c ReportChoice) withoutColumns() ReportChoice {
	c.Columns = nil
	return c
}

// hidden returns the fields of the choice that a form sends in addition to its own, sorted by name.
func (c ReportChoice) hidden(own ...string) []hiddenField { return hiddenFields(c.Query(), own) }

func hiddenFields(q url.Values, own []string) []hiddenField {
	var fields []hiddenField
	for name, values := range q {
		if !slices.Contains(own, name) {
			fields = append(fields, hiddenField{name, values[0]})
		}
	}
	slices.SortFunc(fields, func(a, b hiddenField) int { return strings.Compare(a.name, b.name) })
	return fields
}

type hiddenField struct{ name, value string }

func facetValue(value string) string {
	if value == "" {
		return "not in the report"
	}
	return value
}

// ReportFilterForm holds the filter of the reports of a problem.
type ReportFilterForm struct {
	Choice        ReportChoice
	Versions      []string
	Releases      []crash.Release
	Architectures []string
}

// Any reports whether any filter is set.
func (f ReportFilterForm) Any() bool { return f.Choice.Filter != index.Filter{} || f.Choice.ByValue }

func (f ReportFilterForm) all() string { return f.Choice.all().url() + "#reports-title" }

// FilterQuery returns a filter as the query of an address.
func FilterQuery(f index.Filter) url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"version": f.Version, "release": string(f.Release), "architecture": f.Architecture,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Complete {
		q.Set("complete", "yes")
	}
	return q
}

// Breakdown holds the numbers of a problem's reports by one field.
type Breakdown struct {
	Title  string
	Field  string // the filter field that selects a part; empty: none does
	Shares []crash.NameCount
}

func (b Breakdown) total() int64 {
	var n int64
	for _, s := range b.Shares {
		n += s.Reports
	}
	return n
}

func (b Breakdown) path(page, name string) string {
	return page + "?" + url.Values{b.Field: {name}}.Encode() + "#reports-title"
}

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
