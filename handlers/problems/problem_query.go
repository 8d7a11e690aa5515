package problems

import (
	"net/http"
	"net/url"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// ProblemQuery returns the query of a public problem page: all versions, one release, the merged
// problem that led here, and the list for navigation.
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
	l, err := s.readOrigin(r)
	if err != nil {
		return "", err
	}
	if l != nil && l.choice != nil {
		known.Set(views.Via, l.choice.URL())
	}
	return known.Encode(), nil
}
