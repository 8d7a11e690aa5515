package handlers

import (
	"net/http"
	"net/url"
	"strings"

	"mishap/crash"
)

// redirectBucket leads from a signature in the query (id) to the page of its bucket.
func (s *Server) redirectBucket(w http.ResponseWriter, r *http.Request) error {
	signature, ok := rawQueryValue(r.URL.RawQuery, "id")
	if !ok || signature == "" {
		return redirect(w, r, "/")
	}
	bucket, err := s.store.Bucket(r.Context(), crash.BucketIDOf(signature))
	if err != nil {
		return err
	}
	return redirect(w, r, bucket.ID.Path())
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
