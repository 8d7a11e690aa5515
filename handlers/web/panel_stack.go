package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	problemsview "mishap/views/problems"
)

// ExplainBucket returns why the reports of a bucket are grouped, without anything that visitors may
// not see.
func (s *Panel) ExplainBucket(b crash.Bucket) problemsview.GroupingView {
	return problemsview.GroupingView{
		Rule: b.Rule, Signature: b.Signature,
		Address: strings.TrimSuffix(s.Config.BaseURL, "/") + b.ID.Path(),
	}
}

// explainByExample extends ExplainBucket with what the rules read in one report of the bucket.
func (s *Panel) explainByExample(
	r *http.Request, b crash.Bucket, report crash.StoredReport, readable privacy.Class,
) (problemsview.GroupingView, error) {
	why, err := s.ExplainReport(r, report, readable)
	if err != nil {
		return problemsview.GroupingView{}, err
	}
	whole := s.ExplainBucket(b)
	whole.Report, whole.Explained, whole.Now = report.ID, why.Explained, why.Now
	return whole, nil
}

// ExplainReport returns why a report is in its bucket, and whether the present rules would choose
// another. It omits lines of fields above the class readable.
func (s *Panel) ExplainReport(
	r *http.Request, report crash.StoredReport, readable privacy.Class,
) (problemsview.GroupingView, error) {
	e := grouping.Explain(report.Fields)
	s.hidePassages(&e, readable)
	why := problemsview.GroupingView{Rule: report.Rule, Explained: &e}
	today, grouped := e.Bucket()
	if grouped == (report.Bucket != nil) && (!grouped || today == *report.Bucket) {
		return why, nil
	}
	why.Now = &problemsview.PresentGrouping{
		Bucket: today, None: !grouped, Rules: report.Rules, Decided: report.Rules == grouping.RulesVersion,
	}
	if grouped {
		_, err := s.store.Bucket(r.Context(), today)
		if err != nil && !errors.Is(err, crash.NotFound) {
			return problemsview.GroupingView{}, err
		}
		why.Now.Known = err == nil
	}
	return why, nil
}

// hidePassages removes what an explanation quotes from fields above the class readable.
func (s *Panel) hidePassages(e *grouping.Explanation, readable privacy.Class) {
	all := len(e.Passages)
	e.Passages = slices.DeleteFunc(e.Passages, func(p grouping.Passage) bool {
		return s.Config.Privacy.Excerpt(p.Field) > readable
	})
	if len(e.Passages) < all || s.Config.Privacy.Excerpt(e.Field) > readable && e.Field != "" {
		e.Frames, e.Changes = nil, nil
	}
}

// stackFacts are the facts of the representative report of a bucket, for people who are signed in.
type stackFacts struct {
	Stack    *problemsview.Stack // nil: no report is stored
	Grouping problemsview.GroupingView
	Advice   *stats.AdviceFacts // for Panel.Advise; nil: no advice is due
}

// ReportStack returns the evidence in a report for readers up to a class.
func (s *Panel) ReportStack(report crash.StoredReport, readable privacy.Class) *problemsview.Stack {
	report.Fields = s.Config.Privacy.Excerpts(report.Fields, readable)
	stack := problemsview.NewStack(report)
	stack.Links = s.Config.SourceLinks
	stack.FacetNames = slices.DeleteFunc(stack.FacetNames, func(name string) bool {
		return !PermitsFacet(s.Kit, readable, stats.FacetField(name))
	})
	return stack
}

// StackOf reads the stack facts of a bucket that the current user may see, with those for advice about
// filing if advise is true.
func (s *Panel) StackOf(r *http.Request, b crash.Bucket, advise bool) (facts stackFacts, err error) {
	readable := Readable(r, b.SourcePackage)
	report, err := s.store.RepresentativeReport(r.Context(), b.ID)
	switch {
	case err == nil:
		facts.Stack = s.ReportStack(report, readable)
		if facts.Grouping, err = s.explainByExample(r, b, report, readable); err != nil {
			return facts, err
		}
	case !errors.Is(err, crash.NotFound):
		return facts, err
	default:
		facts.Grouping = s.ExplainBucket(b)
	}
	if advise {
		advice, _, err := s.AdviceFacts(r.Context(), b, report.Fields)
		facts.Advice = &advice
		return facts, err
	}
	return facts, nil
}

// AdviceFacts returns the facts for advice about filing a bug for b, except those about symbols. It
// also returns similar problems that have a bug.
func (s *Panel) AdviceFacts(
	ctx context.Context, b crash.Bucket, report crash.Fields,
) (stats.AdviceFacts, []grouping.SimilarProblem, error) {
	similar, err := s.problems.Similar(ctx, b)
	if err != nil {
		return stats.AdviceFacts{}, nil, err
	}
	facts := stats.AdviceFacts{Bucket: b, Named: len(report) == 0 || grouping.Informative(report)}
	if len(similar) > 0 && similar[0].Likeness >= grouping.SameFunction {
		facts.Similar = similar[0].Bug
	}
	return facts, similar, nil
}
