package span_test

import (
	"context"
	"errors"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/span"
)

func newTracer(t *testing.T, sampler sdk.Sampler) (*span.Tracer, *tracetest.SpanRecorder) {
	t.Helper()
	seen := tracetest.NewSpanRecorder()
	p := sdk.NewTracerProvider(sdk.WithSampler(sampler), sdk.WithSpanProcessor(seen))
	return span.New(p), seen
}

// step does what the code paths of reports, requests and jobs do.
func step(ctx context.Context, t *span.Tracer) {
	ctx, request := t.Request(ctx)
	defer request.End(nil)
	cause := t.CauseOf(ctx)
	_, inner := t.Start(ctx, "store reports", cause)
	inner.Count(span.Reports, 1)
	inner.End(nil)
	request.Answered("GET", "/", 200)
}

// TestOffCostsNothing checks that code with spans allocates nothing while traces are off.
func TestOffCostsNothing(t *testing.T) {
	ctx := t.Context()
	checktest.Equal(t, "allocations", testing.AllocsPerRun(100, func() { step(ctx, nil) }), 0)
}

func TestCauses(t *testing.T) {
	t.Parallel()
	tracer, seen := newTracer(t, sdk.AlwaysSample())
	ctx1, first := tracer.Request(t.Context())
	ctx2, second := tracer.Request(t.Context())
	read := span.ParseCause(tracer.CauseOf(ctx1).String())
	_, both := tracer.Start(t.Context(), "store reports", span.Cause{}, read, tracer.CauseOf(ctx2))
	both.End(nil)
	first.End(nil)
	second.End(nil)
	ended := seen.Ended()
	batch, one, two := ended[0], ended[1], ended[2]
	if batch.Parent().SpanID() != one.SpanContext().SpanID() ||
		batch.SpanContext().TraceID() != one.SpanContext().TraceID() {
		t.Errorf("got parent %v, want the first cause, %v", batch.Parent(), one.SpanContext())
	}
	if links := batch.Links(); len(links) != 1 || links[0].SpanContext.SpanID() != two.SpanContext().SpanID() {
		t.Errorf("got links %v, want the second cause, %v", links, two.SpanContext())
	}
	for _, text := range []string{"", "x", "00-0-0-01", "00-00000000000000000000000000000000-0000000000000000-01"} {
		if c := span.ParseCause(text); c.String() != "" {
			t.Errorf("%q: got cause %s, want none", text, c)
		}
	}
}

// TestErrors checks that spans hold the codes of errors, but no texts.
func TestErrors(t *testing.T) {
	t.Parallel()
	tracer, seen := newTracer(t, sdk.AlwaysSample())
	for _, err := range []error{errors.New("secret"), crash.Errorf(crash.Invalid, "malformed_body", "secret")} {
		_, s := tracer.Start(t.Context(), "file bug")
		s.End(err)
	}
	for i, want := range []string{"internal", "malformed_body"} {
		got := seen.Ended()[i]
		if a := got.Attributes(); len(a) != 1 || a[0].Value.AsString() != want || got.Status().Description != "" {
			t.Errorf("got %v and %q, want only the code %s", a, got.Status().Description, want)
		}
	}
}
