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
	Stack bool // the field is also shown as a table of frames
	Own   bool // the report has its own signature; the lines explain the crash, but did not group it
}

// passageLines is the number of lines of a field that a page shows.
const passageLines = 120

// NewPassages returns the passages that the grouping rule read in a report.
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

// id returns the id of the element with the text.
func (p Passage) id() string { return "passage-" + strings.ToLower(p.Field) }

// hint explains the marks.
func (p Passage) hint() string {
	if p.Own {
		return "The marked lines explain the crash. The report has its own signature."
	}
	return "The problem is grouped by the marked lines."
}

// excerpt renders the lines of a passage, with the used ones marked. Gaps show the number of
// omitted lines.
func excerpt(lines grouping.Excerpt) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		b.WriteByte('\n') // browsers drop the first
		for _, line := range lines {
			switch {
			case line.Skipped > 0:
				b.WriteString(`<span class="gap">` + strconv.Itoa(line.Skipped) + " more " +
					map[bool]string{true: "line", false: "lines"}[line.Skipped == 1] + `</span>`)
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
