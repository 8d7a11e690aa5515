package crash

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// DecisionKind is what a person, or mishap, decided about a problem.
type DecisionKind string

// The kinds of decisions.
const (
	DecisionMerged  DecisionKind = "merged"  // a bucket was merged into another one
	DecisionRenamed DecisionKind = "renamed" // a person gave it a name
	DecisionSplit   DecisionKind = "split"   // some of its reports were moved to a problem of their own
)

// DecisionCause says who or what made a decision.
type DecisionCause string

// The causes of decisions.
const (
	CausePerson     DecisionCause = "person"
	CauseSymbolised DecisionCause = "symbolised" // the frames of a provisional bucket were symbolised
	CauseRegrouped  DecisionCause = "regrouped"  // new grouping rules left the bucket empty
	CauseEmptied    DecisionCause = "emptied"    // an undone split left its bucket empty, so its address redirects
)

// Decision is one entry in the history of a problem.
type Decision struct {
	ID            int64
	Kind          DecisionKind
	Cause         DecisionCause
	Bucket        BucketID // the bucket that was merged, renamed or split
	Other         BucketID // the bucket that received the reports; zero for a name
	BucketLabel   string   // of Bucket: its present name, title or signature, truncated
	OtherLabel    string
	Before, After string    // names; empty: none
	Condition     Condition // of a split
	Person        string    // empty: mishap
	Reason        string
	At            time.Time
	UndoneBy      string
	UndoneAt      time.Time // zero: not undone
	LookedAt      int64     // of a split: older reports examined so far
	Moved         int64     // of these, reports moved, or moved back by undoing
	Finished      bool      // all older reports have been examined
}

// Stands reports whether the decision has not been undone.
func (d Decision) Stands() bool { return d.UndoneAt.IsZero() }

// The largest lengths of texts that people type, in code points.
const (
	MaxProblemName = 200
	MaxReason      = 500
)

// CleanLine returns a typed text as one line: without leading and trailing blanks, each run of
// blanks as one. It returns false if the line has more than limit code points, invalid UTF-8 or
// control characters.
func CleanLine(text string, limit int) (string, bool) {
	line := strings.Join(strings.Fields(text), " ")
	if !utf8.ValidString(line) || utf8.RuneCountInString(line) > limit || strings.ContainsFunc(line, unicode.IsControl) {
		return "", false
	}
	return line, true
}
