package problems

import (
	"errors"
	"net/http"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/crash/stats"
	"mishap/handlers/web"
	view "mishap/views/problems"
)

// GateQuery returns the query of the page of the update gate: the question.
func GateQuery(r *http.Request) (string, error) {
	q, err := gateQuestion(r)
	return q.Query(), err
}

// gateQuestion returns the question of a request.
func gateQuestion(r *http.Request) (q stats.GateQuestion, err error) {
	query := r.URL.Query()
	var release string
	for name, to := range map[string]*string{
		"package": &q.Package, "version": &q.Version, "against": &q.Against, "release": &release,
	} {
		if *to, err = web.QueryText(query, name); err != nil {
			return q, err
		}
		*to = web.SeenLabel(r, *to)
	}
	q.Release = crash.Release(release)
	return q, nil
}

// ShowGate shows whether an update made things worse, or the form that asks.
func (s *Lists) ShowGate(w http.ResponseWriter, r *http.Request) error {
	q, err := gateQuestion(r)
	if err != nil {
		return err
	}
	list, err := s.Problems.Releases(r.Context(), s.web.Releases)
	if err != nil {
		return err
	}
	page := view.GatePage{
		Shell: s.web.Shell(r, "Update gate"), Question: q, Releases: web.SeenLabels(r, list.Offered(q.Release)),
	}
	if q.Package == "" && q.Version == "" {
		return s.web.Page(w, r, http.StatusOK, view.Gate(page))
	}
	answer, err := s.Problems.UpdateGate(r.Context(), s.web.Releases, q, s.web.Now())
	status := http.StatusOK
	if e, ok := errors.AsType[*crash.Error](err); ok && (e.Kind == crash.NotFound || e.Kind == crash.Invalid) {
		page.Problem, status = e.Message, http.StatusNotFound
		if e.Kind == crash.Invalid {
			status = http.StatusUnprocessableEntity
		}
		return s.web.Page(w, r, status, view.Gate(page))
	}
	if err != nil {
		return err
	}
	if web.IsPublic(r) {
		answer = answer.Labelled(privacy.RedactLabel)
	}
	for id, b := range answer.Buckets {
		answer.Buckets[id] = s.web.SeenBucket(r, b)
	}
	page.Answer = &answer
	return s.web.Page(w, r, status, view.Gate(page))
}
