package handlers

import (
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/views"
)

// showProblem is the page of one bucket. Visitors see what is counted; people who are signed in see the stack and the
// reports too. The list of reports is also sent alone, as a part: it has the same address with after.
func (s *Server) showProblem(w http.ResponseWriter, r *http.Request) error {
	id, err := crash.ParseBucketID(chi.URLParam(r, "id"))
	if err != nil {
		return err
	}
	signedIn := currentUser(r).Role.Allows(crash.RoleViewer)
	if wantsPart(r) {
		if !signedIn {
			return errNotSignedIn
		}
		list, err := s.bucketReports(r, id)
		if err != nil {
			return err
		}
		return s.part(w, r, views.ReportListPart(*list))
	}
	if format := acceptedExport(r); format != "" {
		return s.exportReportsOf(w, r, id, format)
	}
	page, err := s.problemPage(r, id)
	if err != nil {
		return err
	}
	if page.Bucket.ID != id {
		return redirect(w, r, memberPath(page.Bucket.ID, id))
	}
	if page.From, err = s.cameFrom(r, id); err != nil {
		return err
	}
	if page.Decisions, err = s.decisionsView(r, page.Bucket); err != nil {
		return err
	}
	if signedIn {
		if err := s.addReports(r, page); err != nil {
			return err
		}
	}
	page.Shell = s.shell(r, views.DocumentTitle(page.Bucket, signedIn))
	if signedIn {
		page.Shell.Also = views.Alternates("Reports of this problem", page.Bucket.ID.Path(), "")
	}
	return s.page(w, r, http.StatusOK, views.Problem(*page))
}

// problemPage gathers what everybody may see of a bucket.
func (s *Server) problemPage(r *http.Request, id crash.BucketID) (*views.ProblemPage, error) {
	bucket, err := s.store.Bucket(r.Context(), id)
	if err != nil {
		return nil, err
	}
	page := &views.ProblemPage{
		Bucket: bucket, Why: s.whyBucket(bucket),
	}
	if page.Bugs, err = s.bugsView(r, bucket); err != nil {
		return nil, err
	}
	since, until := views.ChartSpan(bucket.FirstSeen, s.now())
	days, err := s.store.BucketDays(r.Context(), id, since, until)
	if err != nil {
		return nil, err
	}
	page.Chart = views.NewChart(days, since, until)
	versions, err := s.store.BucketVersions(r.Context(), id)
	if err != nil {
		return nil, err
	}
	page.Versions = views.NewVersionTable(versions)
	page.Versions.Whole = r.URL.Query().Get("versions") == "all"
	return page, nil
}

// addReports adds what only people who are signed in may see.
func (s *Server) addReports(r *http.Request, page *views.ProblemPage) error {
	report, err := s.store.RepresentativeReport(r.Context(), page.Bucket.ID)
	switch {
	case err == nil:
		page.Stack = views.NewStack(report)
		if page.Why, err = s.whyLike(r, page.Bucket, report); err != nil {
			return err
		}
	case !errors.Is(err, crash.NotFound):
		return err
	}
	if page.Bugs.Cell.Review {
		if page.Advice, _, err = s.advice(r.Context(), page.Bucket, report.Fields); err != nil {
			return err
		}
	}
	if page.Filing, err = s.bucketFiling(r, page.Bucket.ID); err != nil {
		return err
	}
	page.Reports, err = s.bucketReports(r, page.Bucket.ID)
	return err
}

// bucketReports is the list of a bucket's reports that the query asks for.
func (s *Server) bucketReports(r *http.Request, id crash.BucketID) (*views.ReportList, error) {
	after, err := queryOops(r.URL.Query(), "after")
	if err != nil {
		return nil, err
	}
	rows, err := s.store.BucketReports(r.Context(), id, after, listSize+1)
	if err != nil {
		return nil, err
	}
	list := s.reportList(id.Path(), after, rows)
	list.Empty = "No report of this problem is stored any more."
	return &list, nil
}
