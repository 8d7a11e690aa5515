package crash

import (
	"regexp"
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

// mention matches a name after an at sign, unless the at sign is part of a word, an e-mail address
// or a path. The names have the form of names of accounts.
var mention = regexp.MustCompile(`(?:^|[^\pL\pN._%+@/-])@([\pL\pN](?:[\pL\pN._@+-]{0,62}[\pL\pN])?)`)

// maxMentions is the largest number of names that a note can mention.
const maxMentions = 50

// Mention is a name after an at sign in a text.
type Mention struct {
	Name       string // without the at sign, as typed
	Start, End int    // of the at sign and the name, in bytes
}

// Mentions returns the names after an at sign in a text. Whether there are such accounts is for the
// caller to find out.
func Mentions(text string) []Mention {
	var all []Mention
	for _, at := range mention.FindAllStringSubmatchIndex(text, maxMentions) {
		all = append(all, Mention{Name: text[at[2]:at[3]], Start: at[2] - 1, End: at[3]})
	}
	return all
}
