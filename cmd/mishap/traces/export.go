package traces

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"mishap/crash"
	"mishap/crash/span"
)

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
