package views

import (
	"net/url"

	"mishap/crash"
	"mishap/crash/index"
)

// ReportFilterForm chooses among the reports of a problem.
type ReportFilterForm struct {
	Path          string // of the page
	Via           string // the list by which the visitor came
	Filter        index.Filter
	Versions      []string
	Releases      []crash.Release
	Architectures []string
}

// Any reports whether something is chosen.
func (f ReportFilterForm) Any() bool { return f.Filter != index.Filter{} }

// all is the address of all reports.
func (f ReportFilterForm) all() string { return WithVia(f.Path, f.Via) + "#reports" }

// FilterQuery is a filter as it stands in addresses.
func FilterQuery(f index.Filter) url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"version": f.Version, "release": string(f.Release), "architecture": f.Architecture} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Complete {
		q.Set("complete", "yes")
	}
	return q
}

// Breakdown is how the reports of a problem fall into parts.
type Breakdown struct {
	Title  string
	Field  string // of the filter that chooses a part; empty: none does
	Shares []crash.NameCount
}

func (b Breakdown) total() int64 {
	var n int64
	for _, s := range b.Shares {
		n += s.Reports
	}
	return n
}

// path is where the reports of one part are listed.
func (b Breakdown) path(page, name string) string {
	return page + "?" + url.Values{b.Field: {name}}.Encode() + "#reports"
}
