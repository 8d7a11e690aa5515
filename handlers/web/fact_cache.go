package web

import (
	"net/http"
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/db/reader"
)

// maxFactBytes is the limit of the cache of problems in lists.
const maxFactBytes = 32 << 20

// factKey is the key of a problem in the fact cache.
type factKey struct {
	hidden string // see [reader.Key]
	id     crash.BucketID
}

// CachedProblems returns the problems of some counts, in their order and without those that no
// longer exist. It reads those that are not cached with one query. Callers must not change their
// buckets.
func (s *Kit) CachedProblems(r *http.Request, counts []crash.ProblemCursor) ([]crash.Problem, error) {
	revision, err := s.revision(r)
	if err != nil {
		return nil, err
	}
	hidden := reader.Key(r.Context())
	problems := make([]crash.Problem, len(counts))
	var missing []crash.ProblemCursor
	for i, c := range counts {
		problems[i].Count = c.Count
		var ok bool
		if problems[i].Bucket, ok = cache.Find[*crash.Bucket](s.factCache, revision, factKey{hidden, c.ID}); !ok {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return problems, nil
	}
	read, err := s.problems.ProblemsByID(r.Context(), missing)
	if err != nil {
		return nil, err
	}
	found := make(map[crash.BucketID]*crash.Bucket, len(read))
	judged := make([]*crash.Bucket, len(read))
	for i := range read {
		judged[i] = read[i].Bucket
		found[judged[i].ID] = judged[i]
	}
	if err := s.store.Judge(r.Context(), judged...); err != nil {
		return nil, err
	}
	for _, b := range judged {
		cache.Put(s.factCache, revision, factKey{hidden, b.ID}, b)
	}
	for i, c := range counts {
		if b := found[c.ID]; b != nil {
			problems[i].Bucket = b
		}
	}
	return slices.DeleteFunc(problems, func(p crash.Problem) bool { return p.Bucket == nil }), nil
}

// revision returns a text that changes with everything that public pages show. It combines
// [db.Store.Revision], which contains the start of the database server, with the time in steps of
// pageAge, because pages show ages. A request that only reads uses one revision throughout.
func (s *Kit) revision(r *http.Request) (string, error) {
	v := VisitOf(r)
	if v.revision != "" && SafeMethods[r.Method] {
		return v.revision, nil
	}
	revision, err := s.store.Revision(r.Context())
	if err != nil {
		return "", err
	}
	v.revision = revision + " " + s.Now().UTC().Truncate(pageAge).Format(time.RFC3339)
	return v.revision, nil
}
