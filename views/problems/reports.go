package problems

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"mishap/crash"
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

	// Of the list of a problem: the choice of reports, and the page that compares stacks.
	Choice      *ReportChoice // nil: the list is not that of a problem
	ComparePath string
	Sample      int // number of reports among which those with a value of a field were selected
}

// SampleText says how many reports have the chosen value of a field.
func (l ReportList) SampleText() string {
	return fmt.Sprintf("%s with %s “%s” among the newest %s.", crash.Counted(int64(len(l.Rows)), "report", "reports"),
		facetLabel(l.Choice.Facet), facetValue(l.Choice.Value), crash.Count(int64(l.Sample)))
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

const noDateOfItsOwn = "The report has no readable date of its own."

const proposedHint = "The package came from the proposed pocket."

// selectReport is the label of the box that selects a report.
func selectReport(id string) string { return "Select " + id }
