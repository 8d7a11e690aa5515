package problems

import (
	"fmt"
	"slices"
	"strconv"

	"mishap/crash"
	"mishap/crash/stats"
)

// FacetsView holds the comparison of a problem's reports by one field.
type FacetsView struct {
	Choice  ReportChoice
	Package string
	Facet   *stats.Facet // nil: no field is chosen
	Problem string       // why there is no comparison; empty: there is
	Names   []string     // suggested fields
}

const (
	facetsID            = "facets"
	facetsTarget        = "#" + facetsID
	reportSectionID     = "report-section"
	reportSectionTarget = "#" + reportSectionID
)

// IsFacetsTarget reports whether the request header HX-Target names FacetsPart.
func IsFacetsTarget(header string) bool { return header == "section#"+facetsID }

// IsReportSectionTarget reports whether the request header HX-Target names ReportSection.
func IsReportSectionTarget(header string) bool { return header == "section#"+reportSectionID }

// other returns the chosen field if it has no button of its own.
func (v FacetsView) other() string {
	if slices.Contains(stats.FacetFields, v.Choice.Facet) {
		return ""
	}
	return string(v.Choice.Facet)
}

func (v FacetsView) caption() string {
	return facetCaption(v.Facet.Here, v.Facet.There, v.Package)
}

// percentOf returns a share in whole percent.
func percentOf(n, of int) string { return strconv.Itoa((100*n + of/2) / max(of, 1)) }

// facetCaption says which reports are compared.
func facetCaption(here, there int, of string) string {
	caption := "The newest " + crash.Counted(int64(here), "report", "reports") + " of this problem"
	if there == 0 {
		return caption
	}
	return fmt.Sprintf("%s, compared with %s of other problems of %s", caption, crash.Counted(int64(there), "report",
		"reports"), of)
}

// Texts of the comparison by a field.
const (
	NoReportsStored = "Reports of this problem are no longer stored."
)
