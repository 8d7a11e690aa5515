package handlers

import (
	"errors"
	"net/http"
	"strings"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/views"
)

// whyBucket says why the reports of a bucket are together, as far as everybody may know it.
func (s *Server) whyBucket(b crash.Bucket) views.WhyPart {
	return views.WhyPart{Rule: b.Rule, Signature: b.Signature, Address: strings.TrimSuffix(s.config.BaseURL, "/") + b.ID.Path()}
}

// whyLike adds to that, by the example of one report of the bucket, what the rules took of it.
func (s *Server) whyLike(r *http.Request, b crash.Bucket, report crash.StoredReport) (views.WhyPart, error) {
	why, err := s.whyReport(r, report)
	if err != nil {
		return views.WhyPart{}, err
	}
	whole := s.whyBucket(b)
	whole.Report, whole.Explained, whole.Now = report.ID, why.Explained, why.Now
	return whole, nil
}

// whyReport says why a report is where it is, and whether today's rules would put it elsewhere.
func (s *Server) whyReport(r *http.Request, report crash.StoredReport) (views.WhyPart, error) {
	e := grouping.Explain(report.Fields)
	why := views.WhyPart{Rule: report.Rule, Explained: &e}
	today, grouped := e.Bucket()
	if grouped == (report.Bucket != nil) && (!grouped || today == *report.Bucket) {
		return why, nil
	}
	why.Now = &views.WhyNow{Bucket: today, None: !grouped, Rules: report.Rules, Decided: report.Rules == grouping.RulesVersion}
	if grouped {
		_, err := s.store.Bucket(r.Context(), today)
		if err != nil && !errors.Is(err, crash.NotFound) {
			return views.WhyPart{}, err
		}
		why.Now.Known = err == nil
	}
	return why, nil
}
