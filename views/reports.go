package views

import (
	"net/url"
	"time"

	"mishap/crash"
)

// ReportList is a list of reports with paging: those of a bucket or of a machine.
type ReportList struct {
	ID         string // of the element, "reports"
	Rows       []crash.ReportRow
	Now        time.Time
	Next       string // address of the next page; empty: there is none
	First      string // address of the first page, when this is not it
	WithBucket bool   // a machine's reports lie in different buckets: show which
	Empty      string // what to say when there are no rows
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
