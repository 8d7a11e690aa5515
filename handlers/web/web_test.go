package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/checktest"
)

// bareKit returns a Kit that can only answer with errors.
func bareKit(t *testing.T) (*Kit, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	m, err := newMetrics(prometheus.NewRegistry())
	checktest.NoError(t, err)
	return &Kit{visitors: newVisitors(),
		Log: slog.New(slog.NewJSONHandler(&log, nil)), Now: time.Now, metrics: m,
		Base: &url.URL{Scheme: "http", Host: "localhost"},
	}, &log
}

func TestPanicBecomesAPage(t *testing.T) {
	t.Parallel()
	s, log := bareKit(t)
	h := s.Identify(
		s.Observe(s.Recovered(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the inside") }))))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "inside") {
		t.Errorf("got %d %s, want 500 without the reason", w.Code, w.Body)
	}
	if id := w.Header().Get("X-Request-ID"); id == "" || !strings.Contains(w.Body.String(), id) {
		t.Errorf("the page does not contain the request id %q: %s", id, w.Body)
	}
	if strings.Count(log.String(), "the inside") != 1 || !strings.Contains(log.String(), "web_test.go") {
		t.Errorf("log: got %s, want the reason and the stack exactly once", log)
	}
}

func TestPanicInTheMiddleAbortsTheAnswer(t *testing.T) {
	t.Parallel()
	s, _ := bareKit(t)
	server := httptest.NewServer(
		s.Identify(s.Observe(s.Recovered(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("half"))
			_ = http.NewResponseController(w).Flush()
			panic("the inside")
		})))))
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	checktest.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	checktest.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	if body, err := io.ReadAll(res.Body); err == nil || string(body) != "half" {
		t.Errorf("got %q, %v, want half an answer and an error", body, err)
	}
}

func TestSessionThatCannotBeStored(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	sw := &beforeAnswer{ResponseWriter: w, do: func(int) error { return errors.New("away") }}
	sw.Header().Set("Location", "/")
	sw.WriteHeader(http.StatusSeeOther)
	if n, err := sw.Write([]byte("page")); n != 4 || err != nil {
		t.Errorf("write: got %d, %v, want it discarded", n, err)
	}
	if sw.err == nil || w.Body.Len() != 0 {
		t.Errorf("got %v and %q, want the error and nothing sent", sw.err, w.Body)
	}
}

func TestStatusOfEveryKind(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	for kind := crash.Invalid; kind.Error() != "internal"; kind++ {
		if a := AnswerTo(r, crash.Errorf(kind, "x", "sentence")); a.Status == http.StatusInternalServerError ||
			a.Message != "sentence" {
			t.Errorf("%v: got %d %q, want its own status and the message", kind, a.Status, a.Message)
		}
	}
	if a := AnswerTo(r, errors.New("the inside")); a.Status != http.StatusInternalServerError ||
		strings.Contains(a.Message, "inside") {
		t.Errorf("internal: got %d %q, want 500 and a general message", a.Status, a.Message)
	}
}

func TestShapeOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path, accept, contentType, requestType string
		want                                   answerFormat
	}{
		{"/", "text/html,*/*", "", "", formatPage},
		{"/", "", "", "", formatPage},
		{"/", "*/*", "", "", formatPage},
		{"/", "application/json", "", "", formatJSON},
		{"/", "text/html", "", "partial", formatPart},
		{"/", "text/html", "", "full", formatPage},
		{"/api/1.0/x", "*/*", "", "", formatJSON},
		{"/api/1.0/x", "text/html,application/xhtml+xml,*/*;q=0.8", "", "", formatJSON},
		{"/api/1.0/x", "*/*", "application/json", "", formatJSON},
		{"/api/1.0/x", "*/*", "application/x-www-form-urlencoded", "", formatJSON},
		{"/api/1.0/create-bug-report/", "*/*", "application/x-www-form-urlencoded", "", formatPage},
		{"/api/1.0/x", "application/json", "application/x-www-form-urlencoded", "", formatJSON},
		{"/api/1.0/x", "text/html", "application/json", "partial", formatPart},
		{"/apix", "*/*", "", "", formatPage},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tt.path, nil)
		r.Header.Set("Accept", tt.accept)
		r.Header.Set("Content-Type", tt.contentType)
		r.Header.Set("HX-Request-Type", tt.requestType)
		checktest.Equal(t, fmt.Sprintf("%+v", tt), formatOf(r), tt.want)
	}
}

func TestParseBase(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://localhost:8080":            "http://localhost:8080",
		"http://localhost:8080/":           "http://localhost:8080",
		"https://Crashes.Example.ORG:443/": "https://crashes.example.org",
		"http://example.org:80":            "http://example.org",
		"http://example.org:443":           "http://example.org:443",
		"":                                 "",
		"localhost:8080":                   "",
		"ftp://example.org":                "",
		"http://":                          "",
		"http://[::1":                      "",
	} {
		got := ""
		if u, err := parseBase(address); err == nil {
			got = u.String()
		}
		checktest.Equal(t, fmt.Sprintf("parseBase(%q)", address), got, want)
	}
}

// visitorsKit returns a Kit with one slot that can send files.
func visitorsKit(t *testing.T) *Kit {
	t.Helper()
	s, _ := bareKit(t)
	s.visitors.slots = make(chan struct{}, 1)
	s.fileCache = cache.New[string](maxPageBytes, maxStalePage)
	return s
}

// blocked is an answer whose reader reads nothing until it is closed.
type blocked struct {
	*httptest.ResponseRecorder

	until chan struct{}
}

func (w blocked) Write(b []byte) (int, error) {
	<-w.until
	return w.ResponseRecorder.Write(b)
}

// TestSlowReaders checks that visitors who do not read their answers, also of errors, do not delay
// others, and that the answers are complete in the end.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := visitorsKit(t)
		page := s.Identify(s.LimitVisitors(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte("page "), 1000))
		})))
		missing := s.Identify(s.Do(func(http.ResponseWriter, *http.Request) error { return ErrNoPage }))
		get := func(h http.Handler, w http.ResponseWriter) {
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		}
		slow := blocked{httptest.NewRecorder(), make(chan struct{})}
		slowError := blocked{httptest.NewRecorder(), slow.until}
		go get(page, slow)
		go get(missing, slowError)
		synctest.Wait()
		quick, quickError := httptest.NewRecorder(), httptest.NewRecorder()
		get(page, quick)
		get(missing, quickError)
		if quick.Body.Len() != 5000 || quickError.Code != http.StatusNotFound {
			t.Errorf("behind slow readers: got %d bytes and status %d, want 5000 and 404", quick.Body.Len(), quickError.Code)
		}
		close(slow.until)
		synctest.Wait()
		if slow.Body.String() != quick.Body.String() || slowError.Body.Len() != quickError.Body.Len() {
			t.Errorf("slow readers got %d and %d bytes, want the same as quick ones", slow.Body.Len(), slowError.Body.Len())
		}
	})
}

// TestManySlowReaders checks that visitors who read a large file slowly, without gzip, hold little of it in
// memory each, and that it is complete in the end.
func TestManySlowReaders(t *testing.T) {
	t.Parallel()
	s := visitorsKit(t)
	const size = 1 << 20
	page, err := record(http.Header{}, func(w http.ResponseWriter) error {
		_, err := w.Write(make([]byte, size))
		return err
	})
	checktest.NoError(t, err)
	w := parts{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	checktest.NoError(t, s.send(&w, r, page, func() {}))
	if w.largest > 32<<10 || w.Body.Len() != size {
		t.Errorf("got %d bytes in parts of up to %d, want %d in parts of 32 KiB", w.Body.Len(), w.largest, size)
	}
}

// parts records the largest part of an answer.
type parts struct {
	*httptest.ResponseRecorder

	largest int
}

func (w *parts) Write(b []byte) (int, error) {
	w.largest = max(w.largest, len(b))
	return w.ResponseRecorder.Write(b)
}

// TestSlots checks that one answer for visitors is made at a time, that one who waits too long is told so,
// and that nobody else waits.
func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := visitorsKit(t)
		working, until := 0, make(chan struct{})
		h := s.Identify(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			VisitOf(r).User.ID = int64(len(r.URL.Query().Get("person")))
			Deadline(PageTime)(s.LimitVisitors(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				working++
				<-until
			}))).ServeHTTP(w, r)
		}))
		get := func(address string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			go h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
			synctest.Wait()
			return w
		}
		get("/")
		second := get("/")
		checktest.Equal(t, "answers in the making", working, 1)
		get("/?person=1")
		get("/?person=1")
		checktest.Equal(t, "answers in the making with two for people", working, 3)
		time.Sleep(PageTime) //nolint:forbidigo // the clock of synctest
		synctest.Wait()
		// The error page waits for a slot, too, but no longer than errorTimeout.
		time.Sleep(errorTimeout) //nolint:forbidigo // the clock of synctest
		synctest.Wait()
		if second.Code != http.StatusServiceUnavailable || second.Header().Get("Retry-After") == "" {
			t.Errorf("got status %d after waiting in vain, want 503 with Retry-After", second.Code)
		}
		close(until)
	})
}

// TestCachedPagesNeedSlots checks that a visitor waits for a slot even if the page is cached.
func TestCachedPagesNeedSlots(t *testing.T) {
	t.Parallel()
	sessions := scs.New() // outside of synctest, because it starts a goroutine
	synctest.Test(t, func(t *testing.T) {
		s := visitorsKit(t)
		s.Sessions, s.pageCache = sessions, cache.New[string](maxPageBytes, 0)
		made := 0
		page := s.CachePage(func(*http.Request) (string, error) { return "", nil },
			func(w http.ResponseWriter, _ *http.Request) error {
				made++
				_, err := w.Write([]byte("page"))
				return err
			})
		router := chi.NewRouter()
		router.Use(s.Identify, s.WithSession)
		router.Get("/", s.Do(func(w http.ResponseWriter, r *http.Request) error {
			VisitOf(r).revision = "1"
			return page(w, r)
		}))
		get := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			router.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			return w
		}
		get()
		leave, err := s.visitors.enter(t.Context(), s.visitors.slots)
		checktest.NoError(t, err)
		answer := make(chan *httptest.ResponseRecorder, 1)
		go func() { answer <- get() }()
		synctest.Wait()
		if len(answer) != 0 {
			t.Error("got a cached page without a slot")
		}
		leave()
		if w := <-answer; w.Body.String() != "page" || made != 1 {
			t.Errorf("got %d %q, made %d times, want the cached page", w.Code, w.Body, made)
		}
	})
}

// TestSlotsRest checks that a slot for which others wait rests for as long as it was held, and at least a
// millisecond, so that visitors who never pause leave time to others.
func TestSlotsRest(t *testing.T) {
	t.Parallel()
	for held, want := range map[time.Duration]time.Duration{0: time.Millisecond, time.Second: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			v := newVisitors()
			v.slots = make(chan struct{}, 1)
			enter := func() func() {
				leave, err := v.enter(t.Context(), v.slots)
				if err != nil {
					t.Error(err)
				}
				return leave
			}
			enter()() // nobody waits, so the next one need not, either
			first := enter()
			second := make(chan time.Time)
			go func() {
				leave := enter()
				second <- time.Now()
				leave()
			}()
			time.Sleep(held) //nolint:forbidigo // the clock of synctest
			synctest.Wait()
			left := time.Now()
			first()
			checktest.Equal(t, fmt.Sprintf("held for %v: slot after", held), (<-second).Sub(left), want)
		})
	}
}

// TestPublicFiles checks that two files are made at a time, that visitors of the same file share it, that
// the others get their turn between its parts, and that it is made again for another revision.
func TestPublicFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := visitorsKit(t)
		made, until := 0, make(chan struct{})
		get := func(address, revision string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h := s.Identify(Deadline(time.Hour)(s.Do(func(w http.ResponseWriter, r *http.Request) error {
				return s.PublicFile(w, r, revision, `W/"`+revision+`"`, time.Hour,
					func(_ context.Context, w http.ResponseWriter, rest func() error) error {
						made++
						_, err := w.Write([]byte("first,"))
						<-s.visitors.slots // as rest does, for as long as the test wants
						<-until
						s.visitors.slots <- struct{}{}
						if err := errors.Join(err, rest()); err != nil {
							return err
						}
						_, err = w.Write([]byte("second"))
						return err
					})
			})))
			go h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
			time.Sleep(time.Second) //nolint:forbidigo // the clock of synctest: slots rest
			synctest.Wait()
			return w
		}
		answers := []*httptest.ResponseRecorder{
			get("/a.csv", "1"), get("/b.csv", "1"), get("/c.csv", "1"), get("/a.csv", "1"),
		}
		checktest.Equal(t, "files in the making", made, 2)
		close(until)
		time.Sleep(time.Minute) //nolint:forbidigo // the clock of synctest
		synctest.Wait()
		for i, a := range append(answers, get("/a.csv", "1")) {
			if a.Body.String() != "first,second" || a.Header().Get("ETag") != `W/"1"` {
				t.Errorf("file %d: got %d %q with the tag %s", i, a.Code, a.Body, a.Header().Get("ETag"))
			}
		}
		if made != 3 {
			t.Errorf("made %d files for five requests, want 3", made)
		}
		get("/a.csv", "2")
		if made != 4 {
			t.Errorf("made %d files after another revision, want 4", made)
		}
		long := "/a.csv?" + strings.Repeat("x", maxPageKey)
		if get(long, "2").Code != http.StatusOK || s.fileCache.Len() > 4 {
			t.Errorf("got %d cached files after a very long address, want it to be left out", s.fileCache.Len())
		}
	})
}

// timed is an answer that keeps the time until which it can be written.
type timed struct {
	*httptest.ResponseRecorder

	until time.Time
}

func (w *timed) SetWriteDeadline(t time.Time) error {
	w.until = t
	return nil
}

// TestSendRate checks that a visitor has to read a file at a minimum speed.
func TestSendRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := visitorsKit(t)
		const seconds = 90
		h := s.Identify(Deadline(time.Hour)(s.Do(func(w http.ResponseWriter, r *http.Request) error {
			return s.PublicFile(w, r, "1", `"1"`, time.Hour,
				func(_ context.Context, w http.ResponseWriter, _ func() error) error {
					_, err := w.Write(make([]byte, seconds*minSendRate))
					return err
				})
		})))
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/a.csv", nil)
		r.Header.Set("Accept-Encoding", "gzip")
		h.ServeHTTP(w, r)
		checktest.Equal(t, "to read the file", time.Until(w.until), sendGrace+seconds*time.Second)
	})
}

// TestHold checks the limit of the answers that visitors are reading.
func TestHold(t *testing.T) {
	t.Parallel()
	v := newVisitors()
	large := func() *cachedPage { return &cachedPage{compressed: make([]byte, maxSending*2/3)} }
	one := large()
	release1, err1 := v.hold(one)
	release2, err2 := v.hold(one)
	_, other := v.hold(large())
	if err := errors.Join(err1, err2); err != nil || !errors.Is(other, errBusy) {
		t.Errorf("got %v for a shared answer and %v for another one, want room for the first only", err, other)
	}
	release1()
	if _, err := v.hold(large()); !errors.Is(err, errBusy) {
		t.Errorf("got %v while one still reads, want %v", err, errBusy)
	}
	release2()
	if _, err := v.hold(large()); err != nil || v.bytes != int64(len(one.compressed)) {
		t.Errorf("got %v and %d bytes, want room after the last one has read", err, v.bytes)
	}
}

// TestBusyDescribesNoAnswer checks that an error that replaces an answer, because too many are being read,
// has none of the headers that describe the answer.
func TestBusyDescribesNoAnswer(t *testing.T) {
	t.Parallel()
	s := visitorsKit(t)
	answer := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(answer) // gzip cannot make it smaller
	write := func(w http.ResponseWriter) error {
		w.Header().Set("ETag", `"answer"`)
		w.Header().Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Disposition", "attachment")
		_, err := w.Write(answer)
		return err
	}
	release, err := s.visitors.hold(&cachedPage{compressed: make([]byte, maxSending-len(answer)/2)})
	checktest.NoError(t, err)
	for name, h := range map[string]http.Handler{
		"page": s.LimitVisitors(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = write(w) })),
		"file": s.Do(func(w http.ResponseWriter, r *http.Request) error {
			return s.PublicFile(w, r, "1", `"answer"`, time.Hour,
				func(_ context.Context, w http.ResponseWriter, _ func() error) error { return write(w) })
		}),
	} {
		w := httptest.NewRecorder()
		s.Identify(h).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), errBusy.Message) {
			t.Errorf("%s: got %d %.100q, want 503 with the reason", name, w.Code, w.Body)
		}
		for _, header := range []string{"ETag", "Last-Modified", "Content-Disposition"} {
			if got := w.Header().Get(header); got != "" {
				t.Errorf("%s: got %s %q with an error", name, header, got)
			}
		}
	}
	release()
}
