package handlers

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/views"
)

// redirectBug leads from a bug's number to the bucket that has it; of several it shows a list. With an ending, or by Accept,
// the list is a file or feed.
func (s *Server) redirectBug(w http.ResponseWriter, r *http.Request) error {
	text, format := cutFormat(chi.URLParam(r, "number"))
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number <= 0 {
		return crash.Errorf(crash.NotFound, "unknown_bug", "There is no bug with such a number.")
	}
	if format == "" {
		format = acceptedExport(r)
	}
	if format != "" {
		return s.exportBug(w, r, number, format)
	}
	buckets, err := s.bugs.BucketsOfBug(r.Context(), number)
	if err != nil {
		return err
	}
	if len(buckets) == 1 {
		return redirect(w, r, buckets[0].ID.Path())
	}
	judged := make([]*crash.Bucket, len(buckets))
	for i := range buckets {
		judged[i] = &buckets[i]
	}
	if err := s.store.Judge(r.Context(), judged...); err != nil {
		return err
	}
	for i := range buckets {
		buckets[i] = s.seenBy(r, buckets[i])
	}
	page := views.BugProblemsPage{Shell: s.shell(r, "Bug "+text), Number: number, Buckets: buckets}
	page.Shell.Also = views.Alternates("Problems of bug "+text, "/bug/"+text, "")
	return s.page(w, r, http.StatusOK, views.BugProblems(page))
}

// redirectBucket leads from a signature in the query (id) to the page of its bucket.
func (s *Server) redirectBucket(w http.ResponseWriter, r *http.Request) error {
	signature, ok := rawQueryValue(r.URL.RawQuery, "id")
	if !ok || signature == "" {
		return redirect(w, r, "/")
	}
	id := crash.BucketIDOf(signature)
	bucket, err := s.store.Bucket(r.Context(), id)
	if err != nil {
		return err
	}
	return redirect(w, r, memberPath(bucket.ID, id))
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
