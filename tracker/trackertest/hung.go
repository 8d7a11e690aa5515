package trackertest

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
)

// callHeader names a call, so that it can end at once if the tracker lets it hang.
const callHeader = "X-Practice-Call"

// hungCalls ends calls by clients in this process that the tracker lets hang. The zero value is
// ready to use.
type hungCalls struct {
	mu    sync.Mutex
	calls map[string]context.CancelCauseFunc
}

func (h *hungCalls) add(name string, cancel context.CancelCauseFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.calls == nil {
		h.calls = map[string]context.CancelCauseFunc{}
	}
	h.calls[name] = cancel
}

func (h *hungCalls) remove(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.calls, name)
}

// announce ends a call with [context.DeadlineExceeded], as its time-out would.
func (h *hungCalls) announce(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if cancel := h.calls[name]; cancel != nil {
		cancel(context.DeadlineExceeded)
	}
}

// TimeOutHung wraps the transport of a client in the same process. A request that the tracker lets
// hang fails at once with [context.DeadlineExceeded], as if the client's time-out had passed. The
// time-out itself can then be so long that a slow machine never reaches it.
func (i *injector) TimeOutHung(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		ctx, cancel := context.WithCancelCause(req.Context())
		name := rand.Text()
		i.hung.add(name, cancel)
		defer i.hung.remove(name)
		req = req.Clone(ctx)
		req.Header.Set(callHeader, name)
		resp, err := next.RoundTrip(req)
		if err != nil && req.Context().Err() != nil {
			return nil, context.Cause(ctx)
		}
		return resp, err
	})
}

// roundTripper is a function that implements [http.RoundTripper].
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
