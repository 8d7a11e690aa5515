package web

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
)

// bareKit returns a Kit that can only answer with errors.
func bareKit(t *testing.T) (*Kit, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
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
	if strings.Count(log.String(), "the inside") != 1 || !strings.Contains(log.String(), "middleware_test.go") {
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
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if body, err := io.ReadAll(res.Body); err == nil || string(body) != "half" {
		t.Errorf("got %q, %v, want half an answer and an error", body, err)
	}
}

func TestSessionThatCannotBeStored(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	sw := &sessionWriter{ResponseWriter: w, save: func() error { return errors.New("away") }}
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
