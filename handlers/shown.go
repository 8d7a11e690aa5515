package handlers

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"mishap/crash"
)

// shown keeps what pages are made of and everybody sees alike, for as long as a kept page would be the same: pages of people
// who are signed in are made each time, but not from the ground up. What it gives is shared and not to be changed. It is safe
// for concurrent use.
type shown[V any] struct {
	making singleflight.Group
	mu     sync.Mutex
	state  string
	values map[string]V
}

// mostShown bounds how many values of a kind are kept: keys come from outside.
const mostShown = 2000

// get returns what is kept for a state of things (see [Server.state]), or reads it. Who asks for what is being read waits for
// it, and it is read to its end also when the one who asked first has left.
func (m *shown[V]) get(ctx context.Context, state, key string, read func(context.Context) (V, error)) (V, error) {
	if v, ok := m.find(state, key); ok {
		return v, nil
	}
	v, err, _ := m.making.Do(state+" "+key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pageTime)
		defer cancel()
		v, err := read(ctx)
		if err == nil {
			m.keep(state, key, v)
		}
		return v, err
	})
	return v.(V), err //nolint:forcetypeassert // what the function above returns
}

func (m *shown[V]) find(state, key string) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != state {
		m.state, m.values = state, nil
	}
	v, ok := m.values[key]
	return v, ok
}

// keep keeps a value, unless something has changed since it was asked for.
func (m *shown[V]) keep(state, key string, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != state {
		return
	}
	if m.values == nil || len(m.values) >= mostShown {
		m.values = map[string]V{}
	}
	m.values[key] = v
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
