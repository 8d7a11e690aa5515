package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/grouping"
	"mishap/crash/stats"
	"mishap/views"
)

// WhyBucket says why the reports of a bucket are together, as far as everybody may know it.
func (s *Panel) WhyBucket(b crash.Bucket) views.WhyPart {
	return views.WhyPart{Rule: b.Rule, Signature: b.Signature, Address: strings.TrimSuffix(s.Config.BaseURL, "/") + b.ID.Path()}
}

// whyLike adds to that, by the example of one report of the bucket, what the rules took of it.
func (s *Panel) whyLike(r *http.Request, b crash.Bucket, report crash.StoredReport) (views.WhyPart, error) {
	why, err := s.WhyReport(r, report)
	if err != nil {
		return views.WhyPart{}, err
	}
	whole := s.WhyBucket(b)
	whole.Report, whole.Explained, whole.Now = report.ID, why.Explained, why.Now
	return whole, nil
}

// WhyReport says why a report is where it is, and whether today's rules would put it elsewhere.
func (s *Panel) WhyReport(r *http.Request, report crash.StoredReport) (views.WhyPart, error) {
	e := grouping.Explain(report.Fields)
	why := views.WhyPart{Rule: report.Rule, Explained: &e}
	today, grouped := e.Bucket()
	if grouped == (report.Bucket != nil) && (!grouped || today == *report.Bucket) {
		return why, nil
	}
	why.Now = &views.WhyNow{Bucket: today, None: !grouped, Rules: report.Rules, Decided: report.Rules == grouping.RulesVersion}
	if grouped {
		_, err := s.Store.Bucket(r.Context(), today)
		if err != nil && !errors.Is(err, crash.NotFound) {
			return views.WhyPart{}, err
		}
		why.Now.Known = err == nil
	}
	return why, nil
}

// stackFacts is what the representative report of a bucket says, to everybody who is signed in.
type stackFacts struct {
	Stack  *views.Stack // nil: no report is stored
	Why    views.WhyPart
	Advice stats.Advice
	fields int64 // bytes of the report's fields, of which the stack may hold parts
}

func (s *Panel) readStack(r *http.Request, b crash.Bucket, advise bool) (facts stackFacts, err error) {
	report, err := s.Store.RepresentativeReport(r.Context(), b.ID)
	switch {
	case err == nil:
		facts.Stack = views.NewStack(report)
		for _, value := range report.Fields {
			facts.fields += int64(len(value))
		}
		facts.Stack.Links = s.Config.SourceLinks
		if facts.Why, err = s.whyLike(r, b, report); err != nil {
			return facts, err
		}
	case !errors.Is(err, crash.NotFound):
		return facts, err
	default:
		facts.Why = s.WhyBucket(b)
	}
	if advise {
		facts.Advice, _, err = s.Advice(r.Context(), b, report.Fields)
		return facts, err
	}
	return facts, nil
}

// StackOf is what readStack reads, cached.
func (s *Panel) StackOf(r *http.Request, b crash.Bucket, advise bool) (stackFacts, error) {
	return CachedFacts(s.Kit, r, string(b.ID[:])+strconv.FormatBool(advise), func(r *http.Request) (stackFacts, error) {
		return s.readStack(r, b, advise)
	})
}

// Advice says whether filing will help, and which problems with a bug look like this one.
func (s *Panel) Advice(ctx context.Context, b crash.Bucket, report crash.Fields) (stats.Advice, []grouping.SimilarProblem, error) {
	similar, err := s.Counts.Similar(ctx, b)
	if err != nil {
		return stats.Advice{}, nil, err
	}
	facts := stats.AdviceFacts{Bucket: b, Named: len(report) == 0 || grouping.Informative(report)}
	if len(similar) > 0 && similar[0].Likeness >= grouping.SameFunction {
		facts.Similar = similar[0].Bug
	}
	return stats.Advise(facts), similar, nil
}

// CachedBytes implements [cache.Sizer].
func (f stackFacts) CachedBytes() int64 { return cache.SizeOf(&f) + f.fields }
