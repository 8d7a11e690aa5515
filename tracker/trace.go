package tracker

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

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

// from returns the words that name the report of a trace.
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

// oops returns the message of the kernel, without registers and the names of modules and processes.
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
