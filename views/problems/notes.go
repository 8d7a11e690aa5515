package problems

import (
	"fmt"
	"time"

	"mishap/crash"
	"mishap/views/layout"
)

// NotesView holds the notes about a problem, for its page.
type NotesView struct {
	Bucket     crash.BucketID
	Notes      []crash.Note      // including removed ones
	Names      map[string]string // accounts that the notes name, by the names as typed
	Person     string            // account name of the viewer
	Everything bool              // the viewer may change every note, not only their own
	CSRFToken  string
	Now        time.Time
}

func (v NotesView) form(note int64) layout.PostFormArgs {
	action := v.Bucket.Path() + "/notes"
	if note != 0 {
		action += fmt.Sprintf("/%d", note)
	}
	return layout.PostFormArgs{Action: action, CSRFToken: v.CSRFToken, Class: "decide"}
}

// mentionsURL is the address of the names that complete a mention. The typed text follows.
func (v NotesView) mentionsURL() string {
	return layout.PathComplete + "?of=mention&problem=" + v.Bucket.String() + "&mention="
}

// MentionOffers are names that complete a mention.
type MentionOffers struct {
	Names []string
	More  bool // there are more names
}

// current returns the notes that were not removed.
func (v NotesView) current() (notes []crash.Note) {
	for _, n := range v.Notes {
		if n.Text() != "" {
			notes = append(notes, n)
		}
	}
	return notes
}

// removed returns the removed notes.
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
