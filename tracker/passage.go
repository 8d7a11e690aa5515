package tracker

import (
	"strings"

	"mishap/crash/grouping"
)

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

// oneLineError reports whether the error message of the report is one line, which needs no heading.
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

// isKernelText reports whether a field holds messages of the kernel.
func isKernelText(field string) bool {
	return field == "OopsText" || field == "VmCoreDmesg" || field == "VmCoreLog"
}

// indentation returns the blanks before a line, at most four; a tab counts as four.
func indentation(line string) string {
	blanks := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	return strings.Repeat(" ", min(4, len(strings.ReplaceAll(blanks, "\t", "    "))))
}
