package panel

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	"mishap/handlers/web"
	problemsview "mishap/views/problems"
)

// ExplainBucket returns why the reports of a bucket are grouped, without anything that visitors may
// not see.
func (s *Panel) ExplainBucket(b crash.Bucket) problemsview.GroupingView {
	return problemsview.GroupingView{
		Rule: b.Rule, Signature: b.Signature,
		Address: strings.TrimSuffix(s.web.Config.BaseURL, "/") + b.ID.Path(),
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
		_, err := s.Store.Bucket(r.Context(), today)
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
		return s.web.Config.Privacy.Excerpt(p.Field) > readable
	})
	if len(e.Passages) < all || s.web.Config.Privacy.Excerpt(e.Field) > readable && e.Field != "" {
		e.Frames, e.Changes = nil, nil
	}
}

// stackFacts are the facts of the representative report of a bucket, for people who are signed in.
type stackFacts struct {
	Stack    *problemsview.Stack // nil: no report is stored
	Grouping problemsview.GroupingView
	Advice   *stats.AdviceFacts // for Panel.Advise; nil: no advice is due
	fields   crash.Fields       // of the report, for the size in the cache: the stack refers to their memory
}

// ReportStack returns the evidence in a report for readers up to a class.
func (s *Panel) ReportStack(report crash.StoredReport, readable privacy.Class) *problemsview.Stack {
	report.Fields = s.web.Config.Privacy.Excerpts(report.Fields, readable)
	stack := problemsview.NewStack(report)
	stack.Links = s.web.Config.SourceLinks
	stack.FacetNames = slices.DeleteFunc(stack.FacetNames, func(name string) bool {
		return !web.PermitsFacet(s.web, readable, stats.FacetField(name))
	})
	return stack
}

// StackOf returns the stack facts of a bucket that the current user may see, with those for advice about
// filing if advise is true.
func (s *Panel) StackOf(r *http.Request, b crash.Bucket, advise bool) (stackFacts, error) {
	readable := web.Readable(r, b.SourcePackage)
	key := string(b.ID[:]) + strconv.FormatBool(advise) + readable.String()
	return web.CachedFacts(s.web, r, key, func(r *http.Request) (stackFacts, error) {
		return s.readStack(r, b, readable, advise)
	})
}

func (s *Panel) readStack(
	r *http.Request, b crash.Bucket, readable privacy.Class, advise bool,
) (facts stackFacts, err error) {
	report, err := s.Store.RepresentativeReport(r.Context(), b.ID)
	switch {
	case err == nil:
		facts.Stack, facts.fields = s.ReportStack(report, readable), report.Fields
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
	similar, err := s.Problems.Similar(ctx, b)
	if err != nil {
		return stats.AdviceFacts{}, nil, err
	}
	facts := stats.AdviceFacts{Bucket: b, Named: len(report) == 0 || grouping.Informative(report)}
	if len(similar) > 0 && similar[0].Likeness >= grouping.SameFunction {
		facts.Similar = similar[0].Bug
	}
	return facts, similar, nil
}

// SymbolsOf returns how far a problem is symbolised. It returns zero if it is no native crash.
func (s *Panel) SymbolsOf(ctx context.Context, b crash.Bucket) (crash.ProblemSymbols, error) {
	if b.ProblemType != "Crash" {
		return crash.ProblemSymbols{}, nil
	}
	return s.Symbols.ProblemSymbols(ctx, b.ID)
}

// SymbolsView returns the part of the page of a problem that says how far it is symbolised. It
// returns nil if there is nothing to say.
func (s *Panel) SymbolsView(r *http.Request, b crash.Bucket, symbols crash.ProblemSymbols) (*problemsview.SymbolsView,
	error) {
	triager := web.CurrentUser(r).MayTriage(b.SourcePackage)
	v := &problemsview.SymbolsView{Job: symbols.Job, MayPress: triager, CSRFToken: nosurf.Token(r),
		Path: problemsview.SymbolsPath(b.ID)}
	busy := symbols.Job.State == crash.SymbolsQueued || symbols.Job.State == crash.SymbolsRunning
	if b.LacksNames() && (triager && !busy || symbols.Wanted.Person != "") {
		why, err := s.WhyNoCore(r.Context(), b)
		if err != nil {
			return nil, err
		}
		v.Core = &problemsview.CoreView{Path: problemsview.CorePath(b.ID), Wanted: symbols.Wanted, MayAsk: triager,
			WhyNot: why}
	}
	if v.Core == nil && v.Job.State == "" {
		return nil, nil //nolint:nilnil // documented
	}
	return v, nil
}

// WhyNoCore says why no machine that reports a problem would be asked for its core. It returns ""
// if one would.
func (s *Panel) WhyNoCore(ctx context.Context, b crash.Bucket) (string, error) {
	switch {
	case !b.LacksNames():
		return "This problem needs no core dump: it is not a native crash without function names.", nil
	case !s.web.Config.AskForCores:
		return "No machine is asked for a core dump: the configuration says cores = \"never\".", nil
	case !s.web.Config.CorePackages.Match(b.Executable, b.Package, b.SourcePackage):
		return "No machine is asked for a core dump of this program: cores_packages excludes it.", nil
	}
	workers, err := s.Symbols.Workers(ctx)
	if err != nil {
		return "", err
	}
	var can []string
	for _, w := range workers {
		can = append(can, w.Architectures...)
	}
	switch {
	case len(workers) == 0:
		return "No running instance symbolises core dumps, so machines are not asked for any.", nil
	case len(can) == 0:
		return "No instance can symbolise core dumps, so machines are not asked for any.", nil
	}
	reported, _, err := s.Store.BucketArchitectures(ctx, b.ID)
	if err != nil {
		return "", err
	}
	var names []string
	for _, a := range reported {
		if slices.Contains(can, a.Name) {
			return "", nil
		}
		if a.Name != "" {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	return "No instance can symbolise core dumps of " + strings.Join(names, ", ") + ", so machines are not asked for " +
		"any.", nil
}

// Advise returns advice about filing a bug. facts may be shared with other requests, and lack what
// is known about symbols; nil means that no advice is due.
func (s *Panel) Advise(facts *stats.AdviceFacts, symbols crash.ProblemSymbols) stats.Advice {
	if facts == nil {
		return stats.Advice{}
	}
	f := *facts
	f.Symbols = symbols
	return stats.Advise(f)
}
