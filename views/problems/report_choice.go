package problems

import (
	"net/url"
	"slices"
	"strings"

	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/views/layout"
)

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

// url returns the address of the page with the choice.
func (c ReportChoice) url() string {
	if q := c.Query(); len(q) > 0 {
		return c.Path + "?" + q.Encode()
	}
	return c.Path
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

// all returns the choice with all reports.
func (c ReportChoice) all() ReportChoice {
	c.Filter, c.ByValue, c.Value = index.Filter{}, false, ""
	return c
}

// withoutColumns returns the choice with the columns in which the reports differ.
func (c ReportChoice) withoutColumns() ReportChoice {
	c.Columns = nil
	return c
}

// hidden returns the fields of the choice that a form sends in addition to its own, sorted by name.
func (c ReportChoice) hidden(own ...string) []hiddenField {
	var fields []hiddenField
	for name, values := range c.Query() {
		if !slices.Contains(own, name) {
			fields = append(fields, hiddenField{name, values[0]})
		}
	}
	slices.SortFunc(fields, func(a, b hiddenField) int { return strings.Compare(a.name, b.name) })
	return fields
}

type hiddenField struct{ name, value string }

// facetLabel returns the name of a field for people.
func facetLabel(f stats.FacetField) string {
	if f == stats.FacetCPU {
		return "CPU"
	}
	if name := f.Package(); name != "" {
		return "Version of " + name
	}
	if slices.Contains(stats.FacetFields, f) {
		return strings.ToUpper(string(f[:1])) + string(f[1:])
	}
	return string(f)
}

// facetValue returns the label of a value.
func facetValue(value string) string {
	if value == "" {
		return "not in the report"
	}
	return value
}
