package views

import (
	"slices"
	"strconv"

	"mishap/crash/stats"
	"mishap/views/text"
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
	return text.FacetCaption(v.Facet.Here, v.Facet.There, v.Package)
}

// percentOf returns a share in whole percent.
func percentOf(n, of int) string { return strconv.Itoa((100*n + of/2) / max(of, 1)) }
