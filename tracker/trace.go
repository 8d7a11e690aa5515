package tracker

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/grouping"
)

const (
	maxStackFrames = 25
	maxCodeFrames  = 40 // of a traceback: the outermost ones and the innermost
	outerFrames    = 5
	maxParts       = 5 // the last parts of chained tracebacks
	maxLine        = 300
	maxOopsLines   = 40
)

// trace returns the sections that show where the fault is: the top of the stack, the traceback, or
// the text that the grouping rule read. A line above names the report. Values of arguments and
// variables are left out.
func (w writer) trace() string {
	f := w.report.Fields
	var parts []string
	add := func(head, body string) {
		if body != "" {
			parts = append(parts, head+w.from()+":\n\n"+body)
		}
	}
	if message := w.line(f["AssertionMessage"], 1000); message != "" {
		parts = append(parts, "Assertion: "+message+"\n")
	}
	add("Traceback", w.traceback())
	if len(parts) == 0 || f["Traceback"] == "" {
		add("Top of the stack", w.stack())
	}
	read := w.passages(len(stackFrames(f)) > 0 || w.traceback() != "")
	if len(read) == 0 {
		add("Kernel's message", w.oops())
	}
	if message := w.line(f["ErrorMessage"], 1000); message != "" && (w.oneLineError() || len(read) == 0) {
		parts = append(parts, "Error: "+message+"\n")
	}
	return strings.Join(append(parts, read...), "\n")
}

func (w writer) from() string {
	if v := versionIn(w.report.Version, w.report.Release); v != "" {
		return ", from a report with version " + v
	}
	return ", from one report"
}

func (w writer) line(s string, limit int) string { return Clean(w.redact.Text(s), limit) }

func (w writer) stack() string {
	frames := stackFrames(w.report.Fields)
	more := max(0, len(frames)-maxStackFrames)
	var b strings.Builder
	for _, f := range frames[:len(frames)-more] {
		fmt.Fprintf(&b, "%-4s%s", "#"+strconv.Itoa(f.Number), Clean(w.redact.Name(f.Function), maxLine))
		switch {
		case f.File != "":
			b.WriteString(" at " + w.location(f))
		case f.Module != "":
			b.WriteString(" from " + Clean(w.redact.Path(f.Module), maxLine))
		}
		b.WriteString("\n")
	}
	if more > 0 {
		b.WriteString("and " + counted(int64(more), "more frame", "more frames") + "\n")
	}
	if w.bucket.Provisional {
		b.WriteString("\nThe functions have no names yet: the reports could not be symbolised.\n")
	}
	return b.String()
}

// stackFrames returns the frames of the crash. For a hang without such frames, it returns those of
// the first thread, which determines the grouping.
func stackFrames(f crash.Fields) []grouping.Frame {
	if frames := grouping.Frames(f); len(frames) > 0 {
		return frames
	}
	for _, t := range grouping.Threads(f) {
		if t.Number == 1 {
			return t.Frames
		}
	}
	return nil
}

func (w writer) location(f grouping.Frame) string {
	s := Clean(w.redact.Path(f.File), maxLine)
	if f.Line > 0 {
		s += ":" + strconv.Itoa(f.Line)
	}
	return s
}

func (w writer) traceback() string {
	parts := grouping.Tracebacks(w.report.Fields)
	parts = parts[max(0, len(parts)-maxParts):]
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString("\n" + w.line(part.Lead, maxLine) + "\n\n")
		}
		b.WriteString("Traceback (most recent call last):\n")
		for j, f := range part.Frames {
			if skipped := len(part.Frames) - maxCodeFrames; skipped > 0 && j >= outerFrames && j < outerFrames+skipped {
				if j == outerFrames {
					b.WriteString("  (" + counted(int64(skipped), "more frame", "more frames") + ")\n")
				}
				continue
			}
			b.WriteString(`  File "` + Clean(w.redact.Path(f.File), maxLine) + `", line ` + strconv.Itoa(f.Line))
			if f.Function != "" {
				b.WriteString(", in " + Clean(w.redact.Name(f.Function), maxLine))
			}
			b.WriteString("\n")
			if code := Clean(w.redact.Code(f.Code), maxLine); code != "" {
				b.WriteString("    " + code + "\n")
			}
		}
		if part.Exception != "" {
			exception := Clean(w.redact.Name(part.Exception), maxLine)
			if message := w.line(part.Message, 1000); message != "" {
				exception = w.redact.Name(exception + ": " + message) // they may belong together
			}
			b.WriteString(exception + "\n")
		}
	}
	return b.String()
}

var oopsNoise = regexp.MustCompile(`^\s*(?:\[[\s\d.]+\]\s*)?` +
	`(?:(?:R[A-Z0-9]{2}|E[A-Z]{2}|CR\d|DR\d|[CDEFGS]S)[:=]|Hardware name|CPU: |Code: |PGD |PKRU|Modules linked in)`)

func (w writer) oops() string {
	var lines []string
	for line := range strings.Lines(w.report.Fields["OopsText"]) {
		if oopsNoise.MatchString(line) || len(lines) == maxOopsLines {
			continue
		}
		if line = w.line(line, maxLine); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

const (
	maxPassageLines = 60
	keyBegins       = "-----BEGIN " // first line of a private key, which also contains keyWords
	keyWords        = "PRIVATE KEY"
	keyEnds         = "-----END "
)

// passages returns the texts that the grouping rule read, with marks at the lines that it used. It
// leaves out stacks and tracebacks, which other sections show, and one-line messages.
func (w writer) passages(hasStack bool) []string {
	e := grouping.Explain(w.report.Fields)
	marks := "; the problem is grouped by the lines marked with *"
	if e.Rule != e.ReadBy { // the report has a DuplicateSignature
		marks = "; the lines marked with * say what went wrong"
	}
	var parts []string
	for _, p := range e.Passages {
		switch p.Field {
		case "StacktraceTop", "ThreadStacktrace":
			continue // may hold values of arguments
		case "Stacktrace", "Traceback":
			if hasStack {
				continue
			}
		case "AssertionMessage", "StacktraceAddressSignature", "DuplicateSignature":
			continue
		case "ErrorMessage":
			if w.oneLineError() {
				continue
			}
		}
		switch body := w.passage(p); {
		case body == "":
		case strings.Count(body, "\n") == 1:
			parts = append(parts, p.Field+": "+strings.TrimLeft(body, "* "))
		default:
			parts = append(parts, p.Field+w.from()+marks+":\n\n"+body)
		}
	}
	return parts
}

func (w writer) oneLineError() bool {
	return !strings.Contains(strings.TrimSpace(w.report.Fields["ErrorMessage"]), "\n")
}

// passage returns the excerpt of one field: redacted lines, each after two columns for the mark. A
// gap says how many lines are omitted.
func (w writer) passage(p grouping.Passage) string {
	var b strings.Builder
	inKey := false
	for _, line := range p.Excerpt(w.report.Fields[p.Field], maxPassageLines) {
		if line.Skipped > 0 {
			b.WriteString("  (" + counted(int64(line.Skipped), "line", "lines") + " left out)\n")
			continue
		}
		text := line.Text
		begins := strings.Contains(text, keyBegins) && strings.Contains(text, keyWords)
		if inKey && !begins {
			inKey = !strings.Contains(text, keyEnds)
			continue
		}
		inKey = begins
		if !line.Used && oopsNoise.MatchString(text) && isKernelText(p.Field) {
			continue
		}
		mark := "  "
		if line.Used {
			mark = "* "
		}
		b.WriteString(strings.TrimRight(mark+indentation(text)+w.line(text, maxLine), " ") + "\n")
	}
	return strings.TrimLeft(b.String(), "\n")
}

func isKernelText(field string) bool {
	return field == "OopsText" || field == "VmCoreDmesg" || field == "VmCoreLog"
}

// indentation returns the blanks before a line, at most four; a tab counts as four.
func indentation(line string) string {
	blanks := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	return strings.Repeat(" ", min(4, len(strings.ReplaceAll(blanks, "\t", "    "))))
}

// reproduceFields are the fields that may say how to reproduce the fault. Apport never fills them;
// hooks of packages ask the person.
var reproduceFields = []string{"StepsToReproduce", "HowToReproduce"}

const (
	maxSteps     = 40 // lines
	maxStepsLine = 300
)

// reproduce returns the lines of the report that say how to reproduce the fault, or an empty
// string.
func (w writer) reproduce() string {
	for _, field := range reproduceFields {
		var lines []string
		for line := range strings.Lines(w.report.Fields[field]) {
			if line = w.line(line, maxStepsLine); line == "" {
				continue
			}
			if len(lines) == maxSteps {
				lines = append(lines, "…")
				break
			}
			lines = append(lines, line)
		}
		if len(lines) > 0 {
			return strings.Join(lines, "\n")
		}
	}
	return ""
}

type metrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_tracker_calls_total", Help: "Calls to the external tracker by operation and outcome.",
		}, []string{"operation", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mishap_tracker_call_seconds", Help: "Time until the external tracker answered or the call was given up.",
			Buckets: []float64{.01, .03, .1, .3, 1, 3, 10, 30, 75},
		}, []string{"operation"}),
	}
	if r != nil {
		m.calls = RegisterShared(r, m.calls)
		m.seconds = RegisterShared(r, m.seconds)
	}
	return m
}

// RegisterShared registers c and returns it, or the same collector if r already has it. This lets
// several clients in one process share their metrics.
func RegisterShared[C prometheus.Collector](r prometheus.Registerer, c C) C {
	err := r.Register(c)
	if there, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if same, ok := there.ExistingCollector.(C); ok {
			return same
		}
	}
	return c
}

func (m *metrics) called(operation string, o Outcome) {
	m.calls.WithLabelValues(operation, string(o)).Inc()
}

func (m *metrics) took(operation string, d time.Duration) {
	m.seconds.WithLabelValues(operation).Observe(d.Seconds())
}

// StoredMetrics are gauges that are read from the database when they are collected, so that all
// instances report the same.
type StoredMetrics struct {
	Gauges []*prometheus.Desc
	Read   func(ctx context.Context, send func(d *prometheus.Desc, value float64, labels ...string)) error
}

// Describe implements prometheus.Collector.
func (m *StoredMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range m.Gauges {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It sends no values while the database is unavailable.
func (m *StoredMetrics) Collect(ch chan<- prometheus.Metric) {
	//nolint:forbidigo // the interface of the registry has no context
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_ = m.Read(ctx, func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	})
}

// SecondsSince returns the age of a time in seconds, or 0 for the zero time.
func SecondsSince(t, now time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, now.Sub(t).Seconds())
}

func newFilingMetrics(store Store, now func() time.Time) *StoredMetrics {
	states := prometheus.NewDesc("mishap_filings", "Filings by state.", []string{"state"}, nil)
	oldest := prometheus.NewDesc("mishap_filings_oldest_open_seconds",
		"Age of the oldest open filing; 0 if there is none.", nil, nil)
	parked := prometheus.NewDesc("mishap_filings_parked",
		"Filings that wait for credentials that the tracker accepts.", nil, nil)
	own := prometheus.NewDesc("mishap_tracker_own_accounts",
		"People who have connected their own accounts of the tracker, by whether it accepts them.", []string{"state"}, nil)
	read := func(ctx context.Context, send func(*prometheus.Desc, float64, ...string)) error {
		totals, err := store.FilingTotals(ctx)
		if err != nil {
			return err
		}
		for _, state := range []crash.FilingState{
			crash.FilingQueued, crash.FilingSending, crash.FilingUncertain,
			crash.FilingFiled, crash.FilingRefused, crash.FilingAbandoned,
		} {
			send(states, float64(totals.States[state]), string(state))
		}
		send(oldest, SecondsSince(totals.Oldest, now()))
		send(parked, float64(totals.Parked))
		send(own, float64(totals.OwnAccounts-totals.OwnBroken), "accepted")
		send(own, float64(totals.OwnBroken), "rejected")
		return nil
	}
	return &StoredMetrics{[]*prometheus.Desc{states, oldest, parked, own}, read}
}
