package crash

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Note is what a person wrote down about a problem, with everything that it said before.
type Note struct {
	ID      int64
	Bucket  BucketID // where it was written; the problem may have been merged since
	Written time.Time
	Person  string     // who wrote it first
	Texts   []NoteText // the first one first; the last counts
}

// NoteText is what a note said from a time on. Empty: it was taken away.
type NoteText struct {
	At     time.Time
	Person string
	Text   string
}

// Text is what the note says now; empty: it was taken away.
func (n Note) Text() string {
	if len(n.Texts) == 0 {
		return ""
	}
	return n.Texts[len(n.Texts)-1].Text
}

// MaxNote is how long a note may be, in code points.
const MaxNote = 4000

// CleanNote is a note as it is kept: line ends as Unix has them, without blanks around it. It returns Invalid for one that is
// too long or no text.
func CleanNote(text string) (string, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) || utf8.RuneCountInString(text) > MaxNote {
		return "", Errorf(Invalid, "bad_note", "A note is text of at most %d characters.", MaxNote)
	}
	return text, nil
}
