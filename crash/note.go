package crash

import (
	"regexp"
	"slices"
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

// Assignment is one entry in the history of who takes care of a problem. The newest one that was
// not undone counts.
type Assignment struct {
	ID       int64
	Bucket   BucketID // where it was made; the bucket may have been merged since
	Assignee string   // an account, or "~" and a name at the tracker, as [ParseAssignee] returns it; empty: nobody
	By       string   // name of the account, or of the rule
	At       time.Time
	UndoneBy string
	UndoneAt time.Time // zero: not undone
}

// Stands reports whether the assignment has not been undone.
func (a Assignment) Stands() bool { return a.UndoneAt.IsZero() }

// Assigned says who takes care of a problem.
type Assigned struct {
	Name string // an account, or "~" and a name at the tracker; empty: nobody
	Bug  int64  // number of the bug whose assignee it is; 0: it was assigned in mishap
}

// trackerName is the form of names of people and teams at the tracker.
var trackerName = regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]{0,79}$`)

// maxAssignee is the largest length of the name of an account, in code points.
const maxAssignee = 64

// ParseAssignee returns the name of an assignee in the form in which it is stored. It accepts the
// name of an account; "~" and a name at the tracker; and the address of a page at the tracker, such
// as https://launchpad.net/~desktop-packages. An empty text means nobody. It does not check whether
// the account exists. Its errors have the kind Invalid.
func ParseAssignee(text string) (string, error) {
	name, ok := CleanLine(text, maxAssignee+len("https://")+100)
	if i := strings.LastIndex(name, "/~"); i >= 0 && strings.HasPrefix(name, "http") {
		name = strings.TrimSuffix(name[i+1:], "/")
	}
	tracker, isTracker := strings.CutPrefix(name, "~")
	if !ok || isTracker && !trackerName.MatchString(tracker) || !isTracker && len([]rune(name)) > maxAssignee ||
		strings.Contains(name, " ") {
		return "", Errorf(Invalid, "bad_assignee", "%.80q is not a name. Enter the name of an account, or ~ and "+
			"the name of a person or team at the tracker, such as ~desktop-packages.", text)
	}
	return name, nil
}

// AssigneeOf returns the assignee of a bug at the tracker, in the form of [ParseAssignee], or "" if
// the tracker names nobody or the bug is private. It prefers tasks for a source package to others,
// and open tasks to complete ones. A duplicate has the assignee of the bug that it duplicates.
func (b Bug) AssigneeOf(source string) string {
	state := b.State
	if state.DuplicateOf != 0 && b.Master != nil {
		state = *b.Master
	}
	if state.Hidden || state.Private || b.State.Hidden || b.State.Private {
		return ""
	}
	tasks := slices.Clone(state.Tasks)
	rank := func(t BugTask) (n int) {
		if t.SourcePackage() == "" || t.SourcePackage() != source {
			n += 2
		}
		if t.Complete {
			n++
		}
		return n
	}
	slices.SortStableFunc(tasks, func(x, y BugTask) int { return rank(x) - rank(y) })
	for _, t := range tasks {
		if t.Assignee != "" {
			return "~" + t.Assignee
		}
	}
	return ""
}

// ProblemTag is a tag that a problem has.
type ProblemTag struct {
	Tag    string
	Person string // who added it: an account, or the name of a rule
	At     time.Time
}

// MaxTags is the largest number of tags of a problem.
const MaxTags = 10

var tagPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]{0,39}$`)

// ParseTag returns a tag in lower case. Its error has the kind Invalid.
func ParseTag(text string) (string, error) {
	tag := strings.ToLower(strings.TrimSpace(text))
	if !tagPattern.MatchString(tag) {
		return "", Errorf(Invalid, "bad_tag", "%.80q is not a tag. A tag has at most 40 letters a–z, digits and .+- and "+
			"begins with a letter or digit.", text)
	}
	return tag, nil
}
