package problems

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// splitTerms is the number of lines in the form for a condition.
const splitTerms = 3

// ShowSplit asks which reports to move out of a problem. With a condition in the query it shows
// a preview.
func (s *Decisions) ShowSplit(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	return s.splitPage(w, r, b, http.StatusOK, "")
}

// splitPage shows the page for moving reports out, with the condition of the query.
func (s *Decisions) splitPage(w http.ResponseWriter, r *http.Request, b crash.Bucket, status int,
	problem string,
) error {
	q := r.URL.Query()
	c := readTerms(q)
	p := views.SplitPage{Bucket: b, Terms: fillTerms(c.Terms), Problem: problem}
	if len(c.Terms) > 0 && problem == "" {
		found, err := s.Decisions.PreviewSplit(r.Context(), b.ID, c)
		switch crash.KindOf(err) {
		case crash.Invalid:
			a := web.AnswerTo(r, err)
			status, p.Problem = a.Status, a.Message
		default:
			if err != nil {
				return err
			}
			p.Preview = &views.SplitPreview{SplitPreview: found, Condition: c, Into: crash.SplitSignature(b.Signature, c, 1)}
		}
	}
	after, err := web.QueryOops(q, "after")
	if err != nil {
		return err
	}
	rows, err := s.Problems.BucketReports(r.Context(), b.ID, after, web.ListSize+1)
	if err != nil {
		return err
	}
	p.Reports = s.ReportList(r, b.ID.Path()+"/split", after, rows)
	p.Reports.Empty = views.NoReportsStored
	p.Shell = s.Shell(r, "Split off reports")
	return s.Page(w, r, status, views.Split(p))
}

// readTerms reads a condition from the lines of the form and skips empty lines.
func readTerms(form url.Values) crash.Condition {
	var c crash.Condition
	fields, values := form["field"], form["value"]
	for i := range min(len(fields), len(values)) {
		if value := strings.TrimSpace(values[i]); value != "" {
			c.Terms = append(c.Terms, crash.Term{Field: crash.TermField(fields[i]), Value: value})
		}
	}
	return c
}

// fillTerms adds the empty lines of the form.
func fillTerms(terms []crash.Term) []crash.Term {
	for i := len(terms); i < splitTerms; i++ {
		terms = append(terms, crash.Term{Field: crash.TermFields[i]})
	}
	return terms
}

// SplitProblem moves reports out of a problem: the selected ones, or those that meet the
// condition.
func (s *Decisions) SplitProblem(w http.ResponseWriter, r *http.Request) error {
	b, err := s.BucketInPath(r)
	if err != nil {
		return err
	}
	c := readTerms(r.PostForm) // parsed by the guard
	for _, report := range r.PostForm["report"] {
		id, err := crash.ParseOopsID(report)
		if err != nil {
			return err
		}
		c.Reports = append(c.Reports, id)
	}
	reason, ok := crash.CleanLine(r.PostFormValue("reason"), crash.MaxReason)
	if !ok {
		return errBadReason
	}
	decision, err := s.Decisions.Split(r.Context(), b.ID, c, web.CurrentUser(r).Name, reason)
	if errors.Is(err, crash.Invalid) || errors.Is(err, crash.Conflict) {
		return s.splitPage(w, r, b, http.StatusUnprocessableEntity, web.AnswerTo(r, err).Message)
	}
	if err != nil {
		return err
	}
	finished, err := s.moveReports(r.Context(), decision.ID)
	if err != nil {
		return err
	}
	if decision, err = s.Decisions.Decision(r.Context(), decision.ID); err != nil {
		return err
	}
	done := splitResult(decision.Moved, finished)
	return s.redirectWithUndo(w, r, decision.Other, done, crash.DecisionSplit)
}

// splitResult confirms a split, whose rest may still be moving.
func splitResult(moved int64, finished bool) string {
	if finished {
		return crash.Counted(moved, "report", "reports") + " split off into this problem"
	}
	return crash.Counted(moved, "report", "reports") + " split off so far. The rest follows; the history below shows " +
		"the progress."
}
