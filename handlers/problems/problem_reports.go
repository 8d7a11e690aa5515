package problems

import (
	"net/http"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	"mishap/db/problems"
	"mishap/handlers/web"
	"mishap/views"
)

// showReportsPart sends what htmx requested of the reports of a problem: the comparison by a field,
// the section of the reports, or a page of their list.
func (s *Pages) showReportsPart(w http.ResponseWriter, r *http.Request, id crash.BucketID) error {
	bucket, err := s.Store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	choice, err := readReportChoice(r, bucket.ID)
	if err != nil {
		return err
	}
	target := r.Header.Get("HX-Target")
	if !views.IsFacetsTarget(target) && !views.IsReportSectionTarget(target) {
		reports, err := s.chosenReports(r, bucket, choice)
		if err != nil {
			return err
		}
		return s.Part(w, r, views.ReportListPart(*reports.list))
	}
	facts, err := web.CachedFacts(s.Kit, r, string(bucket.ID[:]), func(r *http.Request) (problemFacts, error) {
		return s.readProblem(r, bucket.ID)
	})
	if err != nil {
		return err
	}
	stack, err := s.StackOf(r, bucket, false)
	if err != nil {
		return err
	}
	reports, err := s.chosenReports(r, bucket, choice)
	if err != nil {
		return err
	}
	if stack.Stack != nil {
		reports.facets.Names = stack.Stack.FacetNames
	}
	if views.IsFacetsTarget(target) {
		return s.Part(w, r, views.FacetsPart(reports.facets))
	}
	form := facts.filter
	form.Choice = choice
	return s.Part(w, r, views.ReportSectionPart(*reports.list, form, reports.facets))
}

// readReportChoice reads the choice of a problem's reports.
func readReportChoice(r *http.Request, id crash.BucketID) (views.ReportChoice, error) {
	q := r.URL.Query()
	filter, err := readReportFilter(q)
	if err != nil {
		return views.ReportChoice{}, err
	}
	for _, name := range []string{"facet", "value"} {
		if _, err := web.QueryText(q, name); err != nil {
			return views.ReportChoice{}, err
		}
	}
	choice := views.ReadReportChoice(id.Path(), filter, q)
	if via := q.Get(views.Via); via != "" && web.LocalPath(via) == via {
		choice.Via = via
	}
	return choice, nil
}

// chosenReports is a list of a problem's reports, and their comparison by a field.
type chosenReports struct {
	list   *views.ReportList
	facets views.FacetsView
}

// facetFacts is the comparison of a problem's reports by a field.
type facetFacts struct {
	facet   stats.Facet
	reports []problems.FacetReport
}

// chosenReports returns the reports that a choice selects. Reports with one value of a field are
// selected among those that the comparison examined.
func (s *Pages) chosenReports(r *http.Request, b crash.Bucket, choice views.ReportChoice) (chosenReports, error) {
	facets := views.FacetsView{Choice: choice, Package: b.Package}
	if choice.Facet != "" && !web.PermitsFacet(s.Kit, web.Readable(r, b.SourcePackage), choice.Facet) {
		facets.Problem = views.PrivateOf(b.SourcePackage)
	}
	if choice.Facet == "" || facets.Problem != "" {
		list, err := s.bucketReports(r, b.ID, choice)
		return chosenReports{list, facets}, err
	}
	if !web.PermitsFacet(s.Kit, privacy.Restricted, choice.Facet) {
		if err := s.AuditView(r, "read.values", b.ID.String()); err != nil {
			return chosenReports{}, err
		}
	}
	facts, err := web.CachedFacts(s.Kit, r, string(b.ID[:])+string(choice.Facet),
		func(r *http.Request) (f facetFacts, err error) {
			f.facet, f.reports, err = s.Problems.Facet(r.Context(), b, choice.Facet)
			return f, err
		})
	switch {
	case crash.KindOf(err) == crash.Unavailable:
		facets.Problem = "Comparing the reports took too long. Try again, or choose another field."
	case err != nil:
		return chosenReports{}, err
	default:
		facets.Facet = &facts.facet
	}
	if !choice.ByValue || err != nil {
		list, err := s.bucketReports(r, b.ID, choice)
		return chosenReports{list, facets}, err
	}
	var rows []crash.ReportRow
	for _, report := range facts.reports {
		if report.Value == choice.Value && passes(choice.Filter, report.ReportRow) {
			rows = append(rows, report.ReportRow)
		}
	}
	list := views.ReportList{ID: "reports", Rows: web.HideMachines(r, rows), Now: s.Now(), Choice: &choice,
		ComparePath: views.ComparePath(b.ID), Sample: len(facts.reports), Empty: "No report matches."}
	list.Via = choice.Via
	return chosenReports{&list, facets}, nil
}

// passes reports whether a report passes the filter of a problem's reports.
func passes(f index.Filter, r crash.ReportRow) bool {
	return (f.Version == "" || f.Version == r.Version) && (f.Release == "" || f.Release == r.Release) &&
		(f.Architecture == "" || f.Architecture == r.Architecture) && (!f.Complete || r.Complete)
}

// bucketReports returns the page of a bucket's reports that a choice and the query select.
func (s *Pages) bucketReports(r *http.Request, id crash.BucketID, choice views.ReportChoice) (*views.ReportList,
	error) {
	after, err := web.QueryOops(r.URL.Query(), "after")
	if err != nil {
		return nil, err
	}
	rows, further, err := s.Problems.BucketReportsLike(r.Context(), id, choice.Filter, after, web.ListSize+1)
	if err != nil {
		return nil, err
	}
	list := s.ReportList(r, id.Path(), after, rows)
	list.Choice, list.ComparePath, list.Via = &choice, views.ComparePath(id), choice.Via
	list.Empty = views.NoReportsStored
	if chosen := views.FilterQuery(choice.Filter); len(chosen) > 0 {
		list.Empty = "No stored report matches."
		list.Via = id.Path() + "?" + chosen.Encode()
	}
	if !further.IsZero() {
		list.Further = id.Path() + "?after=" + further.String()
		list.LookedTo = further.Received()
	}
	list.Keep(choice.Query())
	return &list, nil
}
