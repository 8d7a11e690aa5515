package problems

import (
	"context"
	"io"

	"github.com/a-h/templ"

	"mishap/crash"
)

// noteText renders the text of a note. Names of accounts after an at sign link to the problems of
// that person. It adds no white space, which notes preserve.
func (v NotesView) noteText(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		at := 0
		for _, m := range crash.Mentions(text) {
			name, ok := v.Names[m.Name]
			if !ok {
				continue
			}
			if _, err := io.WriteString(w, templ.EscapeString(text[at:m.Start])+`<a class="mention" href="`+
				templ.EscapeString(assigneeURL(name))+`">`+templ.EscapeString(text[m.Start:m.End])+`</a>`); err != nil {
				return err
			}
			at = m.End
		}
		_, err := io.WriteString(w, templ.EscapeString(text[at:]))
		return err
	})
}
