package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"mishap/cmd/mishap/config"
	"mishap/cmd/mishap/traces"
	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/notify/mail"
	"mishap/notify/mail/mailtest"
	"mishap/notify/webhook"
	"mishap/tracker/trackertest"
)

// traceCollector receives spans by OTLP over HTTP.
type traceCollector struct {
	url string

	mu    sync.Mutex
	raw   bytes.Buffer // all messages
	spans []*otlp.Span
}

func newTraceCollector(t *testing.T) *traceCollector {
	t.Helper()
	c := &traceCollector{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var message collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &message)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: got %v", r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(body)
		for _, resource := range message.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range c.spans {
			if t.Failed() {
				t.Logf("%x: %x below %x: %s", s.TraceId[:4], s.SpanId, s.ParentSpanId, s.Name)
			}
		}
	})
	c.url = s.URL
	return c
}

// path waits for spans with these names, each below the one before, and returns the last one.
func (c *traceCollector) path(t *testing.T, names ...string) *otlp.Span {
	t.Helper()
	var last *otlp.Span
	eventually(t, "there are the spans "+strings.Join(names, " > "), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		above := []*otlp.Span{nil}
		for _, name := range names {
			var found []*otlp.Span
			for _, s := range c.spans {
				if strings.HasPrefix(s.Name, name) && slices.ContainsFunc(above, func(a *otlp.Span) bool {
					return a == nil && len(s.ParentSpanId) == 0 ||
						a != nil && bytes.Equal(s.ParentSpanId, a.SpanId) && bytes.Equal(s.TraceId, a.TraceId)
				}) {
					found = append(found, s)
				}
			}
			above = found
		}
		if len(above) > 0 {
			last = above[0]
		}
		return last != nil
	})
	return last
}

// TestTraces posts a report, files a bug for it and sends a mail, and checks the spans, and that they
// hold nothing private.
func TestTraces(t *testing.T) {
	t.Parallel()
	spans, relay, tr := newTraceCollector(t), mailtest.New(t), trackertest.New(t)
	in := installFor(t, tr, append(connected(tr), fmt.Sprintf("traces_url = %q", spans.url),
		fmt.Sprintf("smtp_url = %q", relay.URL), `smtp_tls = "off"`, `mail_from = "mishap@example.org"`)...)
	in.account("tess", crash.RoleTriager)

	report := crashtest.Native(crashtest.Set("Acme", "inwendig"), crashtest.Set("ProcCmdline", "vault --key inwendig"))
	bucket := in.report("inwendig-machine", report)
	s := newScript(t, in.url, "tess")
	if status, body := s.create(in.bucket(bucket).Signature); status != http.StatusCreated {
		t.Fatalf("create: got status %d, %s", status, body)
	}
	in.get(in.url+"/?q=inwendig&package=inwendig", http.StatusOK)
	in.get(in.url+"/inwendig?inwendig=1", http.StatusNotFound)
	in.get(in.url+"/unsubscribe/inwendig", http.StatusNotFound)

	const accept, create = "POST /{system}", "POST /api/1.0/create-bug-report"
	click := spans.path(t, create)
	spans.path(t, accept, "store reports", "batch start", "batch query db.(*saver)")
	spans.path(t, accept, "store reports", "count reports", "query db.(*Store)")
	spans.path(t, create, "query db/bugs.(*Store)")
	spans.path(t, create, "file bug", "tracker POST")
	spans.path(t, create, "file bug", "query db/bugs.(*Store)")
	spans.path(t, create, "job file-bugs")
	spans.path(t, "GET /", "query db")
	spans.path(t, "task send-mail", "query db/events.(*Store)")
	spans.path(t, "task start-due-filings", "query db/bugs.(*Store)")

	if id := hex.EncodeToString(click.TraceId); !strings.Contains(in.said.String(), `"trace_id":"`+id+`"`) {
		t.Errorf("got no log line with the trace %s of the click", id)
	}
	spans.mu.Lock()
	defer spans.mu.Unlock()
	bug := in.bucket(bucket)
	for _, private := range []string{"inwendig", bug.Signature, bug.Title, "select ", "insert ", "ws.op",
		"oauth", "unsubscribe/inw", s.token(), "tess"} {
		if bytes.Contains(spans.raw.Bytes(), []byte(private)) {
			t.Errorf("the spans contain %q", private)
		}
	}
	for _, got := range spans.spans {
		if len(got.Events) > 0 || got.Status.GetMessage() != "" {
			t.Errorf("%s: got events %v and status %q, want none", got.Name, got.Events, got.Status.GetMessage())
		}
	}
}

// TestTracesOfCalls checks the spans of a webhook, a debuginfod server, a mail, and of statements that
// fail, and that they hold no addresses and texts.
func TestTracesOfCalls(t *testing.T) {
	t.Parallel()
	spans, metrics, log := newTraceCollector(t), prometheus.NewRegistry(), newLog(&quietBuffer{}, 0)
	tr, err := traces.Start(t.Context(), traces.Config{Address: spans.url + "/v1/traces", Ratio: 1, Log: log,
		Registerer: metrics})
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.DataDir, c.SymbolsFromMachine = t.TempDir(), false
	site := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(site.Close)
	c.DebuginfodURLs = site.URL + "/inwendig"
	store, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(t), Tracer: tr.Tracer(), Statements: tr.Statements()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	ctx, step := tr.Tracer().Start(t.Context(), "task deliver")

	allowed, err := crash.ParseNetworks("127.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	webhook.NewClient(webhook.Config{Allow: allowed, Now: time.Now, Transport: tr.Transport("webhook")}).Send(ctx,
		crash.Endpoint{Kind: crash.EndpointSlack, Address: crash.Secret(site.URL + "/inwendig?key=inwendig")}, "1", 0, "{}")
	s, err := symboliser(c, tr.Transport("debuginfod"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finder.Find(ctx, debuginfo.Wanted{ID: "0123456789abcdef0123456789abcdef01234567",
		Kind: debuginfo.Debuginfo, Machine: elf.EM_X86_64, Class: elf.ELFCLASS64, Path: "/inwendig"},
		filepath.Join(t.TempDir(), "found")); err != nil {
		t.Fatal(err)
	}
	relay, err := mail.ParseRelay(mailtest.New(t).URL, "off")
	if err != nil {
		t.Fatal(err)
	}
	m, err := mail.New(mail.Config{Relay: relay, From: "mishap@example.org", BaseURL: "https://crashes.example.com",
		Log: log, Now: time.Now, Registerer: metrics, Tracer: tr.Tracer()}, events.New(store))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = m.Test(ctx, 1, "inwendig@example.org") // there is no such account, so that the record fails
	if _, err := store.Pool.Exec(ctx, "select $1::text::uuid", "inwendig"); err == nil {
		t.Error("got no error from a statement")
	}
	step.End(nil)
	tr.Stop(context.WithoutCancel(t.Context()))

	spans.path(t, "task deliver", "webhook POST")
	spans.path(t, "task deliver", "debuginfod GET")
	spans.path(t, "task deliver", "send mail")
	failed := spans.path(t, "task deliver", "query cmd/mishap.TestTracesOfCalls")
	if got := fmt.Sprint(failed.Attributes); !strings.Contains(got, "22P02") || failed.Status.GetMessage() != "" {
		t.Errorf("got %s and %q, want only the SQLSTATE", got, failed.Status.GetMessage())
	}
	spans.mu.Lock()
	defer spans.mu.Unlock()
	if bytes.Contains(spans.raw.Bytes(), []byte("inwendig")) {
		t.Errorf("got private values: %q", spans.raw.Bytes())
	}
}
