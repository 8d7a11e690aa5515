package crash

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Note is a person's note about a problem, with its earlier versions.
type Note struct {
	ID      int64
	Bucket  BucketID // where it was written; the bucket may have been merged since
	Written time.Time
	Person  string     // who wrote it first
	Texts   []NoteText // oldest first; the last is the present text
}

// NoteText is one version of a note. An empty Text means that the note was deleted.
type NoteText struct {
	At     time.Time
	Person string
	Text   string
}

// Text returns the present text, or "" if the note was deleted.
func (n Note) Text() string {
	if len(n.Texts) == 0 {
		return ""
	}
	return n.Texts[len(n.Texts)-1].Text
}

// MaxNote is the largest length of a note, in code points.
const MaxNote = 4000

// CleanNote returns a note as it is stored: with Unix line ends, without leading and trailing
// blanks. It returns an error of kind Invalid if the note is too long or not valid text.
func CleanNote(text string) (string, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) || utf8.RuneCountInString(text) > MaxNote {
		return "", Errorf(Invalid, "bad_note", "A note can have at most %d characters.", MaxNote)
	}
	return text, nil
}
