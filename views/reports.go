package views

import (
	"net/url"
	"strings"
	"time"

	"mishap/crash"
)

// ReportList is a list of reports with paging: those of a bucket or of a machine.
type ReportList struct {
	ID         string // of the element, "reports"
	Rows       []crash.ReportRow
	Now        time.Time
	Next       string                     // address of the next page; empty: there is none
	First      string                     // address of the first page, when this is not it
	Bugs       map[crash.BucketID]BugPart // with WithBucket: the bug cells of these buckets
	WithBucket bool                       // a machine's reports lie in different buckets: show which
	Empty      string                     // what to say when there are no rows
	Via        string                     // the list by which the reports are reached, when it is not all of a problem's

	Further  string    // address of what lies behind the reports that were looked at; empty: all were, or the list is full
	LookedTo time.Time // when the last of them arrived
}

// Keep adds a query to the addresses of other parts of the list.
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

// ReportPath is the address of one report.
func ReportPath(id crash.OopsID) string { return "/oops/" + id.String() }

// SystemPath is the address of a machine's reports. The name may be any text.
func SystemPath(id crash.SystemID) string { return "/user/" + url.PathEscape(string(id)) }

// shortSystem is enough of a machine's name to tell it from others on a page.
func shortSystem(id crash.SystemID) string { return cut(string(id), 12) }

// shortOops is the end of an id, the part that differs between reports of the same moment.
func shortOops(id crash.OopsID) string {
	s := id.String()
	return "…" + s[len(s)-12:]
}

// bug is the bug cell of the row at a place. The rows of one problem have copies of it, which differ in their ids.
func (l ReportList) bug(row crash.ReportRow, place int) (BugPart, bool) {
	if row.Bucket == nil {
		return BugPart{}, false
	}
	cell, ok := l.Bugs[*row.Bucket]
	cell.Copy = ""
	for n := place + 1; n > 0; n = (n - 1) / 26 {
		cell.Copy += string(rune('a' + (n-1)%26))
	}
	return cell, ok
}
