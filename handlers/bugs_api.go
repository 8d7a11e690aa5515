package handlers

import (
	"net/http"
	"net/url"
	"strconv"

	"mishap/crash"
)

const (
	pathSignaturesForBug = "/api/1.0/crash-signatures-for-bug"
	maxAPILimit          = 360
	maxBugParameter      = 999_999_999_999_999_999
)

// listMeta and listEnvelope are what every list of the API comes in.
type listMeta struct {
	Limit      int     `json:"limit"`
	Next       *string `json:"next"`
	Offset     int     `json:"offset"`
	Previous   *string `json:"previous"`
	TotalCount int     `json:"total_count"`
}

type listEnvelope struct {
	Meta    listMeta `json:"meta"`
	Objects []any    `json:"objects"`
}

// bugSignatures is what is answered about one bug.
type bugSignatures struct {
	Signatures []string `json:"signatures"`
}

// listBugSignatures lists the signatures of the buckets that have a bug, at most limit of them; without a limit all.
func (s *Server) listBugSignatures(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	number, err := strconv.ParseInt(q.Get("bug"), 10, 64)
	if err != nil || number < 1 || number > maxBugParameter {
		return crash.Errorf(crash.Invalid, "bad_bug", "The parameter bug has to be the number of a bug, as in ?bug=2100001.")
	}
	limit, err := queryNumber(q, "limit", "Please provide a positive integer.")
	if err != nil {
		return err
	}
	offset, err := queryNumber(q, "offset", "Please provide an integer.")
	if err != nil {
		return err
	}
	signatures, err := s.store.SignaturesOfBug(r.Context(), number, limit)
	if err != nil {
		return err
	}
	if signatures == nil {
		signatures = []string{}
	}
	out := listEnvelope{Meta: listMeta{Limit: limit, Offset: offset, TotalCount: 1}, Objects: []any{}}
	if limit == 0 || limit > maxAPILimit {
		out.Meta.Limit = maxAPILimit
	}
	if offset == 0 {
		out.Objects = append(out.Objects, bugSignatures{Signatures: signatures})
	}
	return writeJSON(w, http.StatusOK, out)
}

// queryNumber reads a number of the query that is 0 or greater; without one it is 0.
func queryNumber(q url.Values, name, advice string) (int, error) {
	text := q.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || n > 1<<30:
		return 0, crash.Errorf(crash.Invalid, "bad_"+name, "Invalid %s '%.40s' provided. %s", name, text, advice)
	case n < 0:
		return 0, crash.Errorf(crash.Invalid, "bad_"+name, "Invalid %s '%d' provided. Please provide a positive integer >= 0.", name, n)
	}
	return n, nil
}
