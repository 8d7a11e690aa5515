package problems

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/views/layout"
)

// FieldExcerpt is the part of a field that a grouping rule read, with the lines that it used.
type FieldExcerpt struct {
	Field string
	Lines grouping.Excerpt
	Stack bool // the field is also shown as a table of frames
	Own   bool // the report has its own signature; the lines explain the crash, but did not group it
}

// shownLines is the number of lines of a field that a page shows.
const shownLines = 120

// NewFieldExcerpts returns the excerpts that the grouping rule read in a report.
func NewFieldExcerpts(f crash.Fields) []FieldExcerpt {
	e := grouping.Explain(f)
	var all []FieldExcerpt
	for _, p := range e.Passages {
		lines := p.Excerpt(f[p.Field], shownLines)
		if len(lines) == 0 || p.Field == "StacktraceAddressSignature" {
			continue
		}
		excerpt := FieldExcerpt{Field: p.Field, Lines: lines, Own: e.Rule != e.ReadBy}
		switch p.Field {
		case "Stacktrace", "StacktraceTop", "Traceback":
			excerpt.Stack = len(grouping.Frames(f)) > 0 || len(grouping.Tracebacks(f)) > 0
		}
		all = append(all, excerpt)
	}
	return all
}

// id returns the id of the element with the text.
func (e FieldExcerpt) id() string { return "excerpt-" + strings.ToLower(e.Field) }

// hint explains the marks.
func (e FieldExcerpt) hint() string {
	if e.Own {
		return "The marked lines explain the crash. The report’s own signature determines the problem."
	}
	return "The marked lines determine the problem."
}

// excerptLines renders the lines of an excerpt, with the used ones marked. Gaps show the number of
// omitted lines.
func excerptLines(lines grouping.Excerpt) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		b.WriteByte('\n') // browsers drop the first
		for _, line := range lines {
			switch {
			case line.Skipped > 0:
				b.WriteString(`<span class="gap">` + crash.Counted(int64(line.Skipped), "more line", "more lines") + `</span>`)
			case line.Used:
				b.WriteString(`<mark class="used">`)
				layout.ColourLine(&b, line.Text)
				b.WriteString("</mark>")
			default:
				layout.ColourLine(&b, line.Text)
			}
			b.WriteByte('\n')
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}
