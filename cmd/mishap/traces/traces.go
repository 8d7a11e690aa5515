// Package traces sends spans to an OpenTelemetry collector, by OTLP over HTTP. It decides alone what
// leaves the program: see [attributes]. The other packages record spans through crash/span.
//
// Spans wait in a queue of limited size, from which one goroutine sends them. A collector that is down
// or hangs therefore delays nothing: what does not fit into the queue is dropped.
package traces

import (
	"context"
	"log/slog"
	"net/http"
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
