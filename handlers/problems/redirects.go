package problems

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// RedirectBug leads from a bug's number to the bucket that has it; of several it shows a list. With an ending, or by Accept,
// the list is a file or feed.
func (s *Lists) RedirectBug(w http.ResponseWriter, r *http.Request) error {
	text, format := web.CutFormat(chi.URLParam(r, "number"))
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number <= 0 {
		return crash.Errorf(crash.NotFound, "unknown_bug", "There is no bug with such a number.")
	}
	if format == "" {
		format = web.AcceptedExport(r)
	}
	if format != "" {
		return s.exportBug(w, r, number, format)
	}
	buckets, err := s.Bugs.BucketsOfBug(r.Context(), number)
	if err != nil {
		return err
	}
	if len(buckets) == 1 {
		return web.Redirect(w, r, buckets[0].ID.Path())
	}
	judged := make([]*crash.Bucket, len(buckets))
	for i := range buckets {
		judged[i] = &buckets[i]
	}
	if err := s.Store.Judge(r.Context(), judged...); err != nil {
		return err
	}
	for i := range buckets {
		buckets[i] = s.SeenBucket(r, buckets[i])
	}
	page := views.BugProblemsPage{Shell: s.Shell(r, "Bug "+text), Number: number, Buckets: buckets}
	page.Shell.Also = views.Alternates("Problems of bug "+text, "/bug/"+text, "")
	return s.Page(w, r, http.StatusOK, views.BugProblems(page))
}

// RedirectBucket leads from a signature in the query (id) to the page of its bucket.
func (s *Lists) RedirectBucket(w http.ResponseWriter, r *http.Request) error {
	signature, ok := rawQueryValue(r.URL.RawQuery, "id")
	if !ok || signature == "" {
		return web.Redirect(w, r, "/")
	}
	id := crash.BucketIDOf(signature)
	bucket, err := s.Store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return web.Redirect(w, r, memberPath(bucket.ID, id))
}

// rawQueryValue finds a value in a query as leniently as hand-written links need: semicolons are text, and what is not
// an escape stays as it is.
func rawQueryValue(query, name string) (string, bool) {
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if key != name {
			continue
		}
		if decoded, err := url.QueryUnescape(value); err == nil {
			return decoded, true
		}
		return value, true
	}
	return "", false
}
