package problems

import (
	"net/http"
	"slices"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/stats"
	"mishap/handlers/web"
	"mishap/views"
)

// errNoneSelected is the error for a comparison of no report, or of more than two.
var errNoneSelected = crash.Errorf(crash.Invalid, "select_reports",
	"Select two reports to compare their stacks, or one to compare it with the representative report.")

// errRepresentative is the error for a comparison of the representative report with itself.
var errRepresentative = crash.Errorf(crash.Invalid, "representative_report", "This is the representative report of "+
	"the problem. Select another one to compare it with.")

// ShowCompare compares the stacks of two reports, or of one and the representative report of its
// problem.
func (s *Pages) ShowCompare(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	var ids []crash.OopsID
	for _, text := range r.URL.Query()["report"] {
		id, err := crash.ParseOopsID(text)
		if err != nil {
			return err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || len(ids) > 2 {
		return errNoneSelected
	}
	page := views.ComparePage{Bucket: b, Representative: len(ids) == 1}
	var sides [2]crash.StoredReport
	if len(ids) == 1 {
		if sides[0], err = s.Store.RepresentativeReport(r.Context(), b.ID); err != nil {
			return err
		}
		if sides[0].ID == ids[0] {
			return errRepresentative
		}
	} else if sides[0], err = s.Store.Report(r.Context(), ids[0]); err != nil {
		return err
	}
	if sides[1], err = s.Store.Report(r.Context(), ids[len(ids)-1]); err != nil {
		return err
	}
	for _, side := range sides {
		if err := s.AuditView(r, "read.compare", side.ID.String()); err != nil {
			return err
		}
	}
	page.First, page.Second = sides[0].ReportRow, sides[1].ReportRow
	for i := range sides {
		sides[i].Fields = s.Config.Privacy.Excerpts(sides[i].Fields, web.Readable(r, sides[i].SourcePackage))
	}
	page.Frames = grouping.CompareFrames(grouping.AnyFrames(sides[0].Fields), grouping.AnyFrames(sides[1].Fields))
	page.Facts = differentFacts(sides)
	page.Shell = s.Shell(r, "Compare stacks")
	return s.Page(w, r, http.StatusOK, views.Compare(page))
}

// differentFacts returns the properties in which two reports differ.
func differentFacts(sides [2]crash.StoredReport) []views.DifferentFact {
	var facts []views.DifferentFact
	for _, field := range stats.FacetFields {
		first := field.ValueIn(sides[0].Summary, sides[0].Fields)
		if second := field.ValueIn(sides[1].Summary, sides[1].Fields); first != second {
			facts = append(facts, views.DifferentFact{Field: field, First: first, Second: second})
		}
	}
	return facts
}
