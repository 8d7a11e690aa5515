package traces

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash/crashtest"
)

// output collects a log.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func start(t *testing.T, address string, said *output) (*Traces, *prometheus.Registry) {
	t.Helper()
	metrics := prometheus.NewRegistry()
	traces, err := Start(t.Context(), Config{Address: address, Ratio: 1, Version: "1", Registerer: metrics,
		Log: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return traces, metrics
}

// TestOff checks that nothing is wrapped without an address.
func TestOff(t *testing.T) {
	t.Parallel()
	traces, err := Start(t.Context(), Config{})
	if err != nil || traces != nil {
		t.Fatalf("got %v, %v; want nil", traces, err)
	}
	log := slog.New(slog.DiscardHandler)
	if traces.Tracer() != nil || traces.Transport("tracker") != nil || traces.Statements() != nil ||
		traces.Logger(log) != log {
		t.Error("got something that records, want nothing")
	}
	traces.Stop(t.Context())
}

// TestBrokenCollectors records more spans than the queue holds for collectors that are down, refuse,
// or never answer. Recording and stopping must end, with one line in the log.
func TestBrokenCollectors(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-end }))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(end) }) // before that
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(refusing.Close)
	for name, address := range map[string]string{"down": crashtest.NobodyListens, "refusing": refusing.URL,
		"hanging": hanging.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said output
			traces, metrics := start(t, address, &said)
			const spans = 10_000
			for range spans {
				_, s := traces.Tracer().Start(t.Context(), "task send-mail")
				s.End(nil)
			}
			traces.Stop(t.Context())
			if n := strings.Count(said.text.String(), "\n"); n > 1 {
				t.Errorf("got %d lines in the log, want at most 1: %s", n, &said.text)
			}
			if n := sum(t, metrics, "ended"); n != spans {
				t.Errorf("got %v spans, want %d", n, spans)
			}
			if n := sum(t, metrics, "sent"); n != 0 {
				t.Errorf("got %v sent spans, want 0", n)
			}
		})
	}
}

// sum returns the number of spans in a state.
func sum(t *testing.T, metrics *prometheus.Registry, state string) float64 {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range families[0].GetMetric() {
		if m.GetLabel()[0].GetValue() == state {
			return m.GetCounter().GetValue()
		}
	}
	t.Fatalf("no spans in state %s", state)
	return 0
}

// TestPrivate checks that addresses and texts of errors stay here, even if a library records them.
func TestPrivate(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var received bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = received.ReadFrom(r.Body)
	}))
	t.Cleanup(collector.Close)
	var header http.Header
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { header = r.Header }))
	t.Cleanup(site.Close)
	var said output
	traces, metrics := start(t, collector.URL, &said)
	client := &http.Client{Transport: traces.Transport("webhook")(http.DefaultTransport)}
	ctx, s := traces.Tracer().Start(t.Context(), "task deliver")
	traces.Logger(slog.New(slog.NewTextHandler(&said, nil))).With("a", 1).InfoContext(ctx, "traced")
	for _, address := range []string{site.URL + "/hook/inwendig?key=inwendig", "http://127.0.0.1:1/inwendig"} {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("inwendig"))
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := client.Do(req); err == nil {
			if err := answer.Body.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.End(errors.New("inwendig"))
	traces.Stop(context.WithoutCancel(t.Context()))
	mu.Lock()
	defer mu.Unlock()
	if sum(t, metrics, "sent") != 3 || !bytes.Contains(received.Bytes(), []byte("webhook POST")) {
		t.Errorf("got %v spans, want 3: %q", sum(t, metrics, "sent"), received.Bytes())
	}
	if bytes.Contains(received.Bytes(), []byte("inwendig")) {
		t.Errorf("got private values: %q", received.Bytes())
	}
	if header.Get("Traceparent") != "" || header.Get("Baggage") != "" {
		t.Errorf("got headers %v, want no ids of traces", header)
	}
	if !strings.Contains(said.text.String(), " trace_id=") {
		t.Errorf("got %s, want the id of the trace", &said.text)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
	}))
	t.Cleanup(collector.Close)
	if err := Check(t.Context(), collector.URL); err != nil {
		t.Errorf("got %v, want none", err)
	}
	status = http.StatusUnauthorized
	if err := Check(t.Context(), collector.URL); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("got %v, want the status", err)
	}
}
