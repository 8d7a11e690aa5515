package problems

import (
	"net/url"

	"mishap/crash"
	"mishap/crash/index"
)

// ReportFilterForm holds the filter of the reports of a problem.
type ReportFilterForm struct {
	Choice        ReportChoice
	Versions      []string
	Releases      []crash.Release
	Architectures []string
}

// Any reports whether any filter is set.
func (f ReportFilterForm) Any() bool { return f.Choice.Filter != index.Filter{} || f.Choice.ByValue }

// all returns the address of all reports.
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

// path returns the address of the reports of one part.
func (b Breakdown) path(page, name string) string {
	return page + "?" + url.Values{b.Field: {name}}.Encode() + "#reports-title"
}
