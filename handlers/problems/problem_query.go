package problems

import (
	"net/http"
	"net/url"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// ProblemQuery reads how the page of a problem is shown to visitors: with all versions, with the facts of one release,
// with the problem that led here when it was merged, and with the way through a list.
func (s *Pages) ProblemQuery(r *http.Request) (string, error) {
	known := url.Values{}
	if r.URL.Query().Get("versions") == "all" {
		known.Set("versions", "all")
	}
	if from, err := crash.ParseBucketID(r.URL.Query().Get("from")); err == nil {
		known.Set("from", from.String())
	}
	release, err := web.QueryText(r.URL.Query(), "release")
	if err != nil {
		return "", err
	}
	if release != "" {
		known.Set("release", release)
	}
	l, err := s.readVia(r)
	if err != nil {
		return "", err
	}
	if l != nil && l.choice != nil {
		known.Set(views.Via, l.choice.URL())
	}
	return known.Encode(), nil
}
