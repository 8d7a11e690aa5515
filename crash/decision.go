package crash

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// DecisionKind says what was decided about a problem.
type DecisionKind string

// The kinds.
const (
	DecisionMerged  DecisionKind = "merged"  // the reports of one problem are those of another
	DecisionRenamed DecisionKind = "renamed" // it has a name that a person gave it
	DecisionSplit   DecisionKind = "split"   // some of its reports are a problem of their own
)

// DecisionCause says where a decision comes from.
type DecisionCause string

// The causes.
const (
	CausePerson     DecisionCause = "person"
	CauseSymbolised DecisionCause = "symbolised" // the frames of a provisional problem have got their names
	CauseRegrouped  DecisionCause = "regrouped"  // new grouping rules have left nothing in a problem
	CauseEmptied    DecisionCause = "emptied"    // undoing has left nothing in what reports were taken out into: its address leads back
)

// Decision is one entry of the history of a problem.
type Decision struct {
	ID            int64
	Kind          DecisionKind
	Cause         DecisionCause
	Bucket        BucketID // what was merged, renamed, or taken out of
	Other         BucketID // into which; zero for a name
	BucketLabel   string   // of Bucket: the name, title or signature that it has now, cut
	OtherLabel    string
	Before, After string    // names; empty: none
	Condition     Condition // of a split
	Person        string    // empty: mishap itself
	Reason        string
	At            time.Time
	UndoneBy      string
	UndoneAt      time.Time // zero: it stands
	LookedAt      int64     // reports that were there before, of a split: looked through so far
	Moved         int64     // of these, taken out, or brought back by undoing
	Finished      bool      // all have been looked through
}

// Stands reports whether the decision has not been undone.
func (d Decision) Stands() bool { return d.UndoneAt.IsZero() }

// So long a text of a person may be, in code points.
const (
	MaxProblemName = 200
	MaxReason      = 500
)

// CleanLine is a text that a person typed as one line: blanks around it and runs of blanks within are dropped. False: it
// is too long, or holds what is no text.
func CleanLine(text string, limit int) (string, bool) {
	line := strings.Join(strings.Fields(text), " ")
	if !utf8.ValidString(line) || utf8.RuneCountInString(line) > limit || strings.ContainsFunc(line, unicode.IsControl) {
		return "", false
	}
	return line, true
}
