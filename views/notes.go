package views

import (
	"fmt"
	"time"

	"mishap/crash"
)

// NotesView is what people wrote down about a problem, on its page.
type NotesView struct {
	Bucket     crash.BucketID
	Notes      []crash.Note // those that were taken away among them
	Person     string       // who looks
	Everything bool         // this person may change every note, not only their own
	CSRFToken  string
	Now        time.Time
}

func (v NotesView) form(note int64) PostFormArgs {
	action := v.Bucket.Path() + "/notes"
	if note != 0 {
		action += fmt.Sprintf("/%d", note)
	}
	return PostFormArgs{Action: action, CSRFToken: v.CSRFToken, Class: "decide"}
}

// kept are the notes that say something.
func (v NotesView) kept() (notes []crash.Note) {
	for _, n := range v.Notes {
		if n.Text() != "" {
			notes = append(notes, n)
		}
	}
	return notes
}

// removed are those that were taken away.
func (v NotesView) removed() (notes []crash.Note) {
	for _, n := range v.Notes {
		if n.Text() == "" {
			notes = append(notes, n)
		}
	}
	return notes
}

func (v NotesView) mayChange(n crash.Note) bool { return v.Everything || n.Person == v.Person }

func textID(n crash.Note) string { return fmt.Sprintf("note-%d", n.ID) }
