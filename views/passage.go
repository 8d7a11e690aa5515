package views

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/grouping"
)

// Passage is the part of a field that a grouping rule read, with the lines that it used.
type Passage struct {
	Field string
	Lines grouping.Excerpt
	Stack bool // a field that is shown as a table of frames, too
	Own   bool // the report brings its own signature: the lines say what went wrong, and did not group it
}

// passageLines is how many lines of a field stand on a page.
const passageLines = 120

// NewPassages returns what the grouping rule read of a report.
func NewPassages(f crash.Fields) []Passage {
	e := grouping.Explain(f)
	var all []Passage
	for _, p := range e.Passages {
		lines := p.Excerpt(f[p.Field], passageLines)
		if len(lines) == 0 || p.Field == "StacktraceAddressSignature" {
			continue
		}
		passage := Passage{Field: p.Field, Lines: lines, Own: e.Rule != e.ReadBy}
		switch p.Field {
		case "Stacktrace", "StacktraceTop", "Traceback":
			passage.Stack = len(grouping.Frames(f)) > 0 || len(grouping.Tracebacks(f)) > 0
		}
		all = append(all, passage)
	}
	return all
}

// hint says what the marks mean.
func (p Passage) hint() string {
	if p.Own {
		return "The marked lines say what went wrong. The report brings its own signature."
	}
	return "The problem is grouped by the marked lines."
}

// passagesHeading is the heading above the passages of a report.
func passagesHeading(all []Passage) string {
	if all[0].Own {
		return "What went wrong"
	}
	return "What the report is grouped by"
}

// excerpt writes the lines of a passage, the used ones marked. Gaps say how many lines are left out.
func excerpt(lines grouping.Excerpt) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		b.WriteByte('\n') // browsers drop the first
		for _, line := range lines {
			switch {
			case line.Skipped > 0:
				b.WriteString(`<span class="gap">` + strconv.Itoa(line.Skipped) + " more " + map[bool]string{true: "line", false: "lines"}[line.Skipped == 1] + `</span>`)
			case line.Used:
				b.WriteString(`<mark class="used">`)
				colourLine(&b, line.Text)
				b.WriteString("</mark>")
			default:
				colourLine(&b, line.Text)
			}
			b.WriteByte('\n')
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}
