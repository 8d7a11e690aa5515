// Package traces sends spans to an OpenTelemetry collector, by OTLP over HTTP. It decides alone what
// leaves the program: see [attributes]. The other packages record spans through crash/span.
//
// Spans wait in a queue of limited size, from which one goroutine sends them. A collector that is down
// or hangs therefore delays nothing: what does not fit into the queue is dropped.
package traces

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"mishap/crash"
	"mishap/crash/span"
)

// Config says where spans are sent.
type Config struct {
	Address    string  // where the collector receives spans; see config.Config.TracesAddress
	Ratio      float64 // part of the traces that are recorded
	Version    string  // of mishap
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Traces records and sends spans. Nil is switched off: its methods return nil, or what they were given.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   *span.Tracer
	address  string
}

const (
	sendTimeout = 10 * time.Second // for one batch of spans
	stopTimeout = 3 * time.Second  // for the last spans when an instance stops
	maxText     = 200              // bytes of a text attribute
)

// Start returns Traces, or nil without an address. It does not connect: the collector may start later.
func Start(ctx context.Context, c Config) (*Traces, error) {
	if c.Address == "" {
		return nil, nil //nolint:nilnil // nil is switched off
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {})) // the exporter below logs errors, once
	inner, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(c.Address), otlptracehttp.WithTimeout(sendTimeout))
	if err != nil {
		return nil, err
	}
	out, err := newExporter(inner, c.Log, c.Registerer)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "mishap"), attribute.String("service.version", c.Version)),
		resource.WithFromEnv())
	if err != nil {
		c.Log.WarnContext(ctx, "traces: ignored a part of OTEL_RESOURCE_ATTRIBUTES", "error", err)
	}
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxText
	provider := sdk.NewTracerProvider(
		sdk.WithResource(about), sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(c.Ratio))),
		sdk.WithRawSpanLimits(limits), sdk.WithSpanProcessor(out.counted(sdk.NewBatchSpanProcessor(out,
			sdk.WithExportTimeout(sendTimeout)))))
	return &Traces{provider: provider, tracer: span.New(provider), address: c.Address}, nil
}

// Stop sends the spans that wait, for up to three seconds.
func (t *Traces) Stop(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the exporter has logged the reason
}

// Tracer returns the tracer of all packages.
func (t *Traces) Tracer() *span.Tracer {
	if t == nil {
		return nil
	}
	return t.tracer
}

// Statements returns what records the statements of a span, named after the function that runs them.
func (t *Traces) Statements() pgx.QueryTracer {
	if t == nil {
		return nil
	}
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(t.provider), otelpgx.WithSpanNameFunc(caller),
		otelpgx.WithQuerySpanNamePrefix(), otelpgx.WithDisableSQLStatementInAttributes(),
		otelpgx.WithDisableConnectionDetailsInAttributes(), otelpgx.WithDisableAcquireTracer())
}

// Transport returns a function that makes a transport record its requests, under a name such as
// "tracker". It sends no ids of traces to other sites.
func (t *Traces) Transport(name string) func(http.RoundTripper) http.RoundTripper {
	if t == nil {
		return nil
	}
	return func(inner http.RoundTripper) http.RoundTripper {
		return otelhttp.NewTransport(inner, otelhttp.WithTracerProvider(t.provider),
			otelhttp.WithPropagators(propagation.NewCompositeTextMapPropagator()),
			otelhttp.WithSpanNameFormatter(func(_ string, r *http.Request) string { return name + " " + r.Method }))
	}
}

// Task returns a function that records each run of a background task.
func (t *Traces) Task(name string, run func(context.Context) error) func(context.Context) error {
	if t == nil {
		return run
	}
	return func(ctx context.Context) error {
		ctx, step := t.tracer.Start(ctx, "task "+name)
		err := run(ctx)
		step.End(err)
		return err
	}
}

// counted returns a processor that counts the spans that it passes to p.
func (e *exporter) counted(p sdk.SpanProcessor) sdk.SpanProcessor { return &counting{p, &e.ended} }

type counting struct {
	sdk.SpanProcessor

	ended *atomic.Int64
}

// OnEnd implements [sdk.SpanProcessor].
func (c *counting) OnEnd(s sdk.ReadOnlySpan) {
	c.ended.Add(1)
	c.SpanProcessor.OnEnd(s)
}

const (
	ourModule = "mishap/"
	thisFile  = ourModule + "cmd/mishap/traces."
	river     = "github.com/riverqueue/river"
	helpers   = "db/rows.go" // functions that run the statements of others, whose callers say more
)

// caller returns the name of the function that runs a statement, such as "db/bugs.(*Store).Filing".
// Statements are constants of such functions, and have no names of their own. It ignores the text of
// the statement.
func caller(string) string {
	var counters [40]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for {
		frame, more := frames.Next()
		name, ours := strings.CutPrefix(frame.Function, ourModule)
		switch {
		case ours && !strings.HasPrefix(frame.Function, thisFile) && !strings.HasSuffix(frame.File, helpers):
			name, _, _ = strings.Cut(name, ".func") // the numbers of functions inside it
			return name
		case strings.HasPrefix(frame.Function, river):
			return "job queue"
		case !more:
			return "statement"
		}
	}
}

// Check sends an empty message to the collector, with the same headers and certificates as spans. The
// error says why the collector does not accept it.
func Check(ctx context.Context, address string) error {
	client := otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(address),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err := client.Start(ctx); err != nil {
		return err
	}
	defer client.Stop(ctx) //nolint:errcheck // nothing waits
	if err := client.UploadTraces(ctx, nil); err != nil {
		return errors.New(explain(err))
	}
	return nil
}

// attributes are all attributes that leave the program. Libraries record more, such as addresses with
// their tokens and the texts of errors, which quote reports.
var attributes = map[attribute.Key]bool{
	"http.request.method":       true,
	"http.route":                true, // a pattern
	"http.response.status_code": true,
	"error.type":                true, // a code, or a type of Go
	"server.address":            true, // a host of the configuration
	"server.port":               true,
	"db.system.name":            true,
	"db.operation.batch.size":   true,
	"pgx.rows_affected":         true,
	"pgx.sql_state":             true,
	span.Reports:                true,
}

// exporter sends spans without what may be private. It logs that sending fails, and that it works
// again, but not each failure.
type exporter struct {
	inner   sdk.SpanExporter
	log     *slog.Logger
	ended   atomic.Int64
	sent    atomic.Int64
	failed  atomic.Int64
	failing atomic.Bool
}

func newExporter(inner sdk.SpanExporter, log *slog.Logger, metrics prometheus.Registerer) (*exporter, error) {
	e := &exporter{inner: inner, log: log}
	for outcome, n := range map[string]*atomic.Int64{"ended": &e.ended, "sent": &e.sent, "failed": &e.failed} {
		if err := metrics.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "mishap_trace_spans_total", Help: "Spans of traces: ended, sent to the collector, and failed to be sent.",
			ConstLabels: prometheus.Labels{"state": outcome},
		}, func() float64 { return float64(n.Load()) })); err != nil {
			return nil, fmt.Errorf("register metrics of traces: %w", err)
		}
	}
	return e, nil
}

// ExportSpans implements [sdk.SpanExporter].
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	public := make([]sdk.ReadOnlySpan, len(spans))
	for i, s := range spans {
		public[i] = publicSpan{s}
	}
	err := e.inner.ExportSpans(ctx, public)
	if err != nil {
		e.failed.Add(int64(len(spans)))
		if !e.failing.Swap(true) {
			e.log.WarnContext(ctx, "cannot send traces to the collector; they are dropped until it works again",
				"error", explain(err))
		}
		return nil
	}
	e.sent.Add(int64(len(spans)))
	if e.failing.Swap(false) {
		e.log.InfoContext(ctx, "traces are sent to the collector again")
	}
	return nil
}

// Shutdown implements [sdk.SpanExporter].
func (e *exporter) Shutdown(ctx context.Context) error { return e.inner.Shutdown(ctx) }

// explain returns the text of an error on one line.
func explain(err error) string {
	if known, ok := errors.AsType[*url.Error](err); ok {
		err = known.Err
	}
	return crash.Truncate(strings.Join(strings.Fields(err.Error()), " "), 200)
}

// publicSpan is a span without what may be private.
type publicSpan struct{ sdk.ReadOnlySpan }

// Attributes returns the attributes that may leave the program.
func (s publicSpan) Attributes() []attribute.KeyValue {
	var public []attribute.KeyValue
	for _, a := range s.ReadOnlySpan.Attributes() {
		if attributes[a.Key] {
			public = append(public, a)
		}
	}
	return public
}

// Events returns none: libraries record the texts of errors as events.
func (publicSpan) Events() []sdk.Event { return nil }

// Status returns the status without its text.
func (s publicSpan) Status() sdk.Status { return sdk.Status{Code: s.ReadOnlySpan.Status().Code} }

// Logger returns a logger that adds the id of the trace to lines about something that is traced.
func (t *Traces) Logger(log *slog.Logger) *slog.Logger {
	if t == nil {
		return log
	}
	return slog.New(logHandler{log.Handler()})
}

type logHandler struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if c := trace.SpanContextFromContext(ctx); c.IsSampled() {
		r.AddAttrs(slog.String("trace_id", c.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }
