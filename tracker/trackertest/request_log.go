package trackertest

import (
	"net/http"
	"sync"
)

// Request is one request to the tracker.
type Request struct {
	Operation Operation
	Method    string
	URI       string
	Header    http.Header
	Body      string
}

// requestLog holds the last requests. It is safe for concurrent use.
type requestLog struct {
	mu       sync.Mutex
	requests []Request
	working  int // requests under way
}

// maxRequests bounds the stored requests.
const maxRequests = 2000

// Requests returns the last requests for an operation, or all if op is empty, oldest first.
func (l *requestLog) Requests(op Operation) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Request
	for _, r := range l.requests {
		if op == "" || r.Operation == op {
			out = append(out, r)
		}
	}
	return out
}

func (l *requestLog) remember(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.requests) >= maxRequests {
		l.requests = l.requests[1:]
	}
	l.requests = append(l.requests, r)
}

// Working returns the number of requests under way, including those that hang.
func (l *requestLog) Working() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.working
}

func (l *requestLog) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working += n
}
