package handlers

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"golang.org/x/sync/singleflight"

	"mishap/crash"
	"mishap/crash/cache"
)

// shownFacts holds what pages are made of and everybody sees alike, for as long as a cached page would be the same: pages of
// people who are signed in are rendered each time, but not read from the database each time. All kinds share one limit.
type shownFacts struct {
	reading singleflight.Group
	cache   *cache.Cache[factKey, any]
	mu      sync.Mutex
	state   string
}

// maxFactBytes is how much memory the facts may hold.
const maxFactBytes = 32 << 20

// factKey names a fact: which kind it is, and what it is about.
type factKey struct{ kind, of string }

func newShownFacts() *shownFacts { return &shownFacts{cache: cache.New[factKey, any](maxFactBytes)} }

// shown is one kind of facts. What it returns is shared and must not be changed. It is safe for concurrent use.
type shown[V any] struct {
	kind  string
	facts *shownFacts
}

// get returns what is cached for a state of things (see [Server.state]), or reads it. Who asks for what is being read waits
// for it, and it is read to its end also when the one who asked first has left. read gets a request that tells nothing of the
// one who asks, see [publicRequest].
func (m shown[V]) get(ctx context.Context, state, key string, read func(*http.Request) (V, error)) (V, error) {
	if v, ok := m.find(state, key); ok {
		return v, nil
	}
	v, err, _ := m.facts.reading.Do(state+" "+m.kind+" "+key, func() (any, error) {
		ctx, cancel := detached(ctx)
		defer cancel()
		v, err := read(publicRequest(ctx, state, &url.URL{Path: "/"}, chi.RouteParams{}, false))
		if err == nil {
			m.keep(state, key, v)
		}
		return v, err
	})
	return v.(V), err //nolint:forcetypeassert // what the function above returns
}

func (m shown[V]) find(state, key string) (V, bool) {
	m.facts.enter(state)
	v, ok := m.facts.cache.Get(factKey{m.kind, key})
	fact, same := v.(V)
	return fact, ok && same
}

// keep stores a value, unless something has changed since it was asked for.
func (m shown[V]) keep(state, key string, v V) {
	bytes := cache.SizeOf(any(v)) + int64(reflect.TypeFor[V]().Size()) //nolint:gosec // no type is that large
	if p, ok := any(v).(pinner); ok {
		bytes += p.pinned()
	}
	m.facts.mu.Lock()
	defer m.facts.mu.Unlock()
	if m.facts.state == state {
		m.facts.cache.Put(factKey{m.kind, key}, v, bytes)
	}
}

// pinner is a fact that holds more memory than can be seen by looking at it: parts of a text hold all of it.
type pinner interface{ pinned() int64 }

// enter forgets what was cached for another state.
func (f *shownFacts) enter(state string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state != state {
		f.state = state
		f.cache.Clear()
	}
}

// problemsShown are the problems of some counts, in their order, without those that are no longer there: what is kept of them,
// and the others by one question.
func (s *Server) problemsShown(r *http.Request, counts []crash.ProblemCursor) ([]crash.Problem, error) {
	state, err := s.state(r)
	if err != nil {
		return nil, err
	}
	var missing []crash.ProblemCursor
	found := make(map[crash.BucketID]crash.Bucket, len(counts))
	for _, c := range counts {
		if b, ok := s.shownRows.find(state, string(c.ID[:])); ok {
			found[c.ID] = b
		} else {
			missing = append(missing, c)
		}
	}
	if len(missing) > 0 {
		read, err := s.store.ProblemsByID(r.Context(), missing)
		if err != nil {
			return nil, err
		}
		judged := make([]*crash.Bucket, len(read))
		for i := range read {
			judged[i] = &read[i].Bucket
		}
		if err := s.store.Judge(r.Context(), judged...); err != nil {
			return nil, err
		}
		for _, p := range read {
			found[p.ID] = p.Bucket
			s.shownRows.keep(state, string(p.ID[:]), p.Bucket)
		}
	}
	problems := make([]crash.Problem, 0, len(counts))
	for _, c := range counts {
		if b, ok := found[c.ID]; ok {
			problems = append(problems, crash.Problem{Bucket: b, Count: c.Count})
		}
	}
	return problems, nil
}

// state is a word that is another one as soon as pages show something else: when [db.Store.Revision] is, and after keptTime,
// since pages say how long ago things were. One request that only reads sees one state.
func (s *Server) state(r *http.Request) (string, error) {
	v := visitOf(r)
	if v.state != "" && safeMethods[r.Method] {
		return v.state, nil
	}
	revision, err := s.store.Revision(r.Context())
	if err != nil {
		return "", err
	}
	v.state = revision + " " + s.now().UTC().Truncate(keptTime).Format(time.RFC3339)
	return v.state, nil
}
