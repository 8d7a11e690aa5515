// Package span records what mishap does, and how long it takes, as spans of OpenTelemetry traces. The
// names and values that its functions accept are fixed words of the program and numbers, so that a
// trace says nothing about reports, machines and people.
//
// A nil [Tracer] records nothing and costs nothing: it returns the context that it was given, and
// allocates no memory. So does a Tracer below a span that is not sampled, apart from looking it up.
package span

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"mishap/crash"
)

// Tracer starts spans. It is safe for concurrent use; nil records nothing.
type Tracer struct{ tracer trace.Tracer }

// New returns a Tracer that records to a provider.
func New(p trace.TracerProvider) *Tracer { return &Tracer{p.Tracer("mishap")} }

// Span is one recorded step. Nil is a step that is not recorded.
type Span struct{ span trace.Span }

// Start starts a span with a fixed name below that of ctx. Without one in ctx, the span is below the
// first cause, or the first of a new trace. It links to the other causes. End must end it.
func (t *Tracer) Start(ctx context.Context, name string, causes ...Cause) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	return t.start(ctx, name, trace.SpanKindInternal, causes)
}

// Request starts the span of an incoming request, the first of a new trace: machines and browsers do
// not choose the ids of traces.
func (t *Tracer) Request(ctx context.Context) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	return t.start(ctx, "request", trace.SpanKindServer, nil)
}

func (t *Tracer) start(ctx context.Context, name string, kind trace.SpanKind, causes []Cause) (context.Context, *Span) {
	options := []trace.SpanStartOption{trace.WithSpanKind(kind)}
	below := trace.SpanContextFromContext(ctx).IsValid()
	for _, c := range causes {
		switch {
		case c.none():
		case !below:
			ctx, below = trace.ContextWithRemoteSpanContext(ctx, c.context()), true
		default:
			options = append(options, trace.WithLinks(trace.Link{SpanContext: c.context()}))
		}
	}
	ctx, s := t.tracer.Start(ctx, name, options...)
	if !s.IsRecording() {
		return ctx, nil
	}
	return ctx, &Span{s}
}

// Answered names the span of a request after its route, and records the status. The route must be a
// pattern, and the method a known one.
func (s *Span) Answered(method, route string, status int) {
	if s == nil {
		return
	}
	s.span.SetName(method + " " + route)
	s.span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route),
		attribute.Int("http.response.status_code", status))
	if status >= 500 {
		s.span.SetStatus(codes.Error, "")
	}
}

// Reports is the name under which Count records how many reports a step has stored or counted.
const Reports = "mishap.reports"

// Count records a number.
func (s *Span) Count(name string, n int) {
	if s != nil {
		s.span.SetAttributes(attribute.Int(name, n))
	}
}

// End ends the span. Of an error it records only its code, because the text may quote a report.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil {
		code := "internal"
		if e, ok := errors.AsType[*crash.Error](err); ok && e.Code != "" {
			code = e.Code
		}
		s.span.SetStatus(codes.Error, "")
		s.span.SetAttributes(attribute.String("error.type", code))
	}
	s.span.End()
}

// Cause is a span that caused another one, maybe in another process or much later. The zero Cause is
// none.
type Cause struct {
	trace trace.TraceID
	span  trace.SpanID
}

func (c Cause) none() bool { return !c.span.IsValid() }

// context returns the cause as OpenTelemetry has it. Causes are sampled.
func (c Cause) context() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: c.trace, SpanID: c.span, TraceFlags: trace.FlagsSampled})
}

// CauseOf returns the span of ctx if it is sampled.
func (t *Tracer) CauseOf(ctx context.Context) Cause {
	if t == nil {
		return Cause{}
	}
	if c := trace.SpanContextFromContext(ctx); c.IsSampled() {
		return Cause{c.TraceID(), c.SpanID()}
	}
	return Cause{}
}

// String returns the cause in the form of the header traceparent of W3C Trace Context, or an empty
// string for none.
func (c Cause) String() string {
	if c.none() {
		return ""
	}
	return "00-" + c.trace.String() + "-" + c.span.String() + "-01"
}

// ParseCause returns the cause that String has written. Other texts give none.
func ParseCause(text string) Cause {
	parts := strings.Split(text, "-")
	if len(parts) != 4 {
		return Cause{}
	}
	id, err1 := trace.TraceIDFromHex(parts[1])
	below, err2 := trace.SpanIDFromHex(parts[2])
	if err1 != nil || err2 != nil {
		return Cause{}
	}
	return Cause{id, below}
}
