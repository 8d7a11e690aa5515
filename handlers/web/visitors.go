package web

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/db/reader"
)

// visitors limits what requests without an account take from people who are signed in and from
// machines, however many there are. A request waits for a slot, in the order of the requests, and holds
// it while its answer is made or looked up, and while it is sent, at most maxSlotSend. Cached answers
// need a slot, too: hundreds a second keep all processors of Go busy, and then a page for people waits
// some milliseconds for each answer of the database, although the processors have time to spare.
type visitors struct {
	slots  chan struct{} // as many as half the processors, at least one
	probes chan struct{} // for checks of load balancers, which must not wait for pages: one
	files  chan struct{} // for files, which take long; each also needs a slot for its work

	waiting atomic.Int64 // requests that wait for a slot

	mu      sync.Mutex
	readers map[*cachedPage]int // of answers that are being sent
	bytes   int64               // of these answers
}

const (
	maxPublicFiles = 2 // files that are made for visitors at the same time
	// maxFileWork is how long work on a file lasts before others go first.
	maxFileWork = 10 * time.Millisecond
	maxSending  = 64 << 20 // bytes of all answers that visitors are reading
	// minRest bounds the answers of a slot for which others wait to a thousand a second: what surrounds a quick
	// answer costs more than the answer.
	minRest = time.Millisecond
	// minSendRate is the lowest speed, in bytes a second, at which a visitor may read a file. It is so low
	// that a poor mobile connection reaches it.
	minSendRate = 8 << 10
	// sendGrace is the time that a visitor has in addition, as for pages.
	sendGrace = time.Minute
)

func newVisitors() *visitors {
	return &visitors{
		slots:  make(chan struct{}, max(runtime.GOMAXPROCS(0)/2, 1)),
		probes: make(chan struct{}, 1), files: make(chan struct{}, maxPublicFiles), readers: map[*cachedPage]int{},
	}
}

// errBusy is the answer to visitors when too many are served.
var errBusy = crash.Errorf(crash.Unavailable, "busy",
	"Too many visitors ask for something at the moment. Try again shortly.")

// acquire waits for a place in slots or files until ctx ends. The caller calls release.
func acquire(ctx context.Context, from chan struct{}) (release func(), err error) {
	select {
	case from <- struct{}{}:
		return func() { <-from }, nil
	case <-ctx.Done():
		return nil, errBusy.Because(context.Cause(ctx))
	}
}

// enter waits for one of some slots until ctx ends. leave may be called more than once. If others wait then,
// the slot rests for as long as it was held, at least minRest: visitors that never pause use half of it.
func (v *visitors) enter(ctx context.Context, slots chan struct{}) (leave func(), err error) {
	v.waiting.Add(1)
	release, err := acquire(ctx, slots)
	v.waiting.Add(-1)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	return sync.OnceFunc(func() {
		if v.waiting.Load() == 0 {
			release()
			return
		}
		time.AfterFunc(max(time.Since(began), minRest), release)
	}), nil
}

// needsSlot reports whether the answer to a request is to be made in a slot that it does not have yet.
func needsSlot(r *http.Request) bool { return CurrentUser(r).ID == 0 && !VisitOf(r).slot }

// LimitVisitors returns middleware that answers visitors in a slot.
// Handlers that cache pages or send files do that themselves.
func (s *Kit) LimitVisitors(next http.Handler) http.Handler {
	return s.Do(func(w http.ResponseWriter, r *http.Request) error {
		if !needsSlot(r) {
			next.ServeHTTP(w, r)
			return nil
		}
		return s.inSlot(r.Context(), w, r, func(w http.ResponseWriter) error { next.ServeHTTP(w, r); return nil })
	})
}

// LimitProbes returns middleware that answers load balancers, one after the other.
func (s *Kit) LimitProbes(next http.Handler) http.Handler { return s.through(s.visitors.probes, next) }

// LimitAssets returns middleware that sends what has no session and needs no work in the slots of visitors.
func (s *Kit) LimitAssets(next http.Handler) http.Handler { return s.through(s.visitors.slots, next) }

func (s *Kit) through(slots chan struct{}, next http.Handler) http.Handler {
	return s.Do(func(w http.ResponseWriter, r *http.Request) error {
		leave, err := s.visitors.enter(r.Context(), slots)
		if err != nil {
			return err
		}
		defer leave()
		defer time.AfterFunc(maxSlotSend, leave).Stop()
		next.ServeHTTP(w, r)
		return nil
	})
}

// inSlot answers in a slot. ctx limits the wait for it.
func (s *Kit) inSlot(
	ctx context.Context, w http.ResponseWriter, r *http.Request, render func(http.ResponseWriter) error,
) error {
	leave, err := s.visitors.enter(ctx, s.visitors.slots)
	if err != nil {
		return err
	}
	defer leave()
	v := VisitOf(r)
	v.slot = true
	page, err := record(w.Header(), render)
	v.slot = false
	if err != nil {
		return err
	}
	page.header, page.tag = nil, "" // w has the headers
	return s.send(w, r, page, leave)
}

// hold counts an answer as being sent until release is called. Readers of the same answer share it.
func (v *visitors) hold(p *cachedPage) (release func(), err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	size := int64(len(p.compressed))
	if v.readers[p] == 0 {
		if v.bytes > 0 && v.bytes+size > maxSending {
			return nil, errBusy
		}
		v.bytes += size
	}
	v.readers[p]++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.readers[p]--; v.readers[p] == 0 {
			delete(v.readers, p)
			v.bytes -= size
		}
	}, nil
}

// PublicFile sends visitors a file that all get until its revision changes. write writes the file, and
// calls rest between its parts, which lets others go first. tag is the entity tag of the file.
func (s *Kit) PublicFile(w http.ResponseWriter, r *http.Request, revision, tag string, limit time.Duration,
	write func(ctx context.Context, w http.ResponseWriter, rest func() error) error,
) error {
	made := func() (*cachedPage, error) { //nolint:contextcheck // see detached
		waiting, cancel := detached(r.Context())
		defer cancel()
		leave, err := acquire(waiting, s.visitors.files)
		if err != nil {
			return nil, err
		}
		defer leave()
		long, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), limit)
		defer cancel()
		ctx, cancel := detached(long)
		defer cancel()
		release, err := acquire(ctx, s.visitors.slots)
		if err != nil {
			return nil, err
		}
		defer func() { release() }()
		began := time.Now()
		rest := func() (err error) {
			worked := time.Since(began)
			if worked < maxFileWork {
				return nil
			}
			release()
			release = func() {}
			select {
			case <-time.After(3 * worked): // a quarter of the time
			case <-ctx.Done():
			}
			if release, err = acquire(ctx, s.visitors.slots); err != nil {
				release = func() {}
			}
			began = time.Now()
			return err
		}
		page, err := record(http.Header{}, func(w http.ResponseWriter) error { return write(ctx, w, rest) })
		if err == nil {
			page.tag = tag
		}
		return page, err
	}
	var file *cachedPage
	var err error
	if uri := r.URL.RequestURI(); len(uri) > maxPageKey {
		file, err = made()
	} else {
		key := strings.Join(r.Header.Values("Accept"), ",") + " " + uri + reader.Key(r.Context())
		file, err = cache.Get(s.fileCache, revision, key, made)
	}
	if err != nil {
		return err
	}
	within := sendGrace + time.Duration(file.size)*time.Second/minSendRate
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(within)) // not every writer supports it
	leave, err := s.visitors.enter(r.Context(), s.visitors.slots)
	if err != nil {
		return err
	}
	defer leave()
	return s.send(w, r, file, leave)
}
