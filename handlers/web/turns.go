package web

import (
	"context"
	"net/http"
	"runtime"
	"time"
)

// turns limits how many pages are made at the same time, in the order in which they were asked for.
//
// A page takes milliseconds of a processor, and a few statements in between. Without turns, a page that
// comes back from a statement waits for all others again, so that under full load some pages take four
// times as long as most. docs/performance.md has the measurement.
type turns chan struct{}

// newTurns allows one page per processor, and one more that waits for the database.
func newTurns() turns { return make(turns, runtime.GOMAXPROCS(0)+1) }

// maxTurnWait is the longest wait for a turn. After it, a page is made anyway, so that pages that wait
// for a slow database delay the others only a little.
const maxTurnWait = 50 * time.Millisecond

// wait waits for a turn. The caller calls done at the end of the page.
func (t turns) wait(ctx context.Context) (done func()) {
	timer := time.NewTimer(maxTurnWait)
	defer timer.Stop()
	select {
	case t <- struct{}{}:
		return func() { <-t }
	case <-timer.C:
	case <-ctx.Done():
	}
	return func() {}
}

// render calls a handler when it is the turn of its request. Files have no turns, because sending one may
// take minutes.
func (t turns) render(w http.ResponseWriter, r *http.Request,
	page func(http.ResponseWriter, *http.Request) error,
) error {
	if !asksForFile(r) {
		defer t.wait(r.Context())()
	}
	return page(w, r)
}
