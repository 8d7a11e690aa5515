package crash

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mishap/crash/dpkg"
)

// Condition selects reports of a problem: either some by their ids, or all that meet every term,
// including future ones.
type Condition struct {
	Reports []OopsID
	Terms   []Term
}

// storedCondition is the JSON form of a condition.
type storedCondition struct {
	Reports []string `json:"reports,omitempty"`
	Terms   []Term   `json:"terms,omitempty"`
}

// MarshalJSON writes the ids of reports in their text form.
func (c Condition) MarshalJSON() ([]byte, error) {
	out := storedCondition{Terms: c.Terms}
	for _, id := range c.Reports {
		out.Reports = append(out.Reports, id.String())
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Condition) UnmarshalJSON(b []byte) error {
	var in storedCondition
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*c = Condition{Terms: in.Terms}
	for _, text := range in.Reports {
		id, err := ParseOopsID(text)
		if err != nil {
			return err
		}
		c.Reports = append(c.Reports, id)
	}
	return nil
}

// Term is one part of a condition.
type Term struct {
	Field TermField `json:"field"`
	Value string    `json:"value"`
}

// TermField is the property of a report that a term tests.
type TermField string

// The fields of terms. All but the last three require equality.
const (
	TermPackage      TermField = "package"
	TermExecutable   TermField = "executable"
	TermArchitecture TermField = "architecture"
	TermRelease      TermField = "release"
	TermFrom         TermField = "version from"  // this version of the package or a later one, by dpkg's order
	TermBelow        TermField = "version below" // an earlier version
	TermFrame        TermField = "frame"         // the function occurs anywhere in the crashed thread's stack or traceback
)

// TermFields lists every field, in the order in which forms offer them.
var TermFields = []TermField{TermFrame, TermPackage, TermExecutable, TermArchitecture, TermRelease, TermFrom, TermBelow}

// The limits of a condition.
const (
	MaxChosen    = 500 // reports chosen by id
	maxTerms     = 4
	maxTermValue = 500 // code points
)

// Check returns an error of kind Invalid, with a sentence for people, if the condition is not
// valid.
func (c Condition) Check() error {
	switch {
	case len(c.Reports) == 0 && len(c.Terms) == 0:
		return Errorf(Invalid, "no_condition", "Select reports, or enter a condition.")
	case len(c.Reports) > 0 && len(c.Terms) > 0:
		return Errorf(Invalid, "two_conditions", "Select reports or enter a condition, not both.")
	case len(c.Reports) > MaxChosen:
		return Errorf(Invalid, "too_many_reports", "At most %d reports can be selected at once.", MaxChosen)
	case len(c.Terms) > maxTerms:
		return Errorf(Invalid, "too_many_terms", "A condition has at most %d parts.", maxTerms)
	}
	for _, t := range c.Terms {
		if err := t.check(); err != nil {
			return err
		}
	}
	return nil
}

func (t Term) check() error {
	value, ok := CleanLine(t.Value, maxTermValue)
	switch {
	case !slices.Contains(TermFields, t.Field):
		return Errorf(Invalid, "unknown_field", "A condition has no field %q.", t.Field)
	case !ok || value == "" || value != t.Value:
		return Errorf(Invalid, "bad_value", "The value for %s must be one line of 1 to %d characters.", t.Field, maxTermValue)
	case (t.Field == TermFrom || t.Field == TermBelow) && !dpkg.Valid(value):
		return Errorf(Invalid, "bad_version", "%q is not a valid Debian version.", value)
	}
	return nil
}

// NeedsFields reports whether the condition depends on the fields of a report, rather than only on
// its summary.
func (c Condition) NeedsFields() bool {
	return slices.ContainsFunc(c.Terms, func(t Term) bool { return t.Field == TermFrame })
}

// Holds reports whether a report meets the condition. The function calls reports whether a function
// occurs in the report's stack or traceback; it may be nil if NeedsFields returns false.
func (c Condition) Holds(id OopsID, s Summary, calls func(function string) bool) bool {
	if len(c.Reports) > 0 {
		return slices.Contains(c.Reports, id)
	}
	for _, t := range c.Terms {
		if !t.holds(s, calls) {
			return false
		}
	}
	return len(c.Terms) > 0
}

func (t Term) holds(s Summary, calls func(function string) bool) bool {
	switch t.Field {
	case TermPackage:
		return s.Package == t.Value
	case TermExecutable:
		return s.Executable == t.Value
	case TermArchitecture:
		return s.Architecture == t.Value
	case TermRelease:
		return string(s.Release) == t.Value
	case TermFrom:
		return dpkg.Valid(s.Version) && dpkg.Compare(s.Version, t.Value) >= 0
	case TermBelow:
		return dpkg.Valid(s.Version) && dpkg.Compare(s.Version, t.Value) < 0
	case TermFrame:
		return calls(t.Value)
	}
	return false
}

// String describes the condition: "architecture arm64, version from 2.1".
func (c Condition) String() string {
	if n := len(c.Reports); n == 1 {
		return "one chosen report"
	} else if n > 1 {
		return fmt.Sprintf("%d chosen reports", n)
	}
	parts := make([]string, len(c.Terms))
	for i, t := range c.Terms {
		parts[i] = string(t.Field) + " " + t.Value
	}
	return strings.Join(parts, ", ")
}

// SplitSignature returns the signature of the problem that receives the reports of a split. It is
// the signature of the original problem followed by the condition, so people and scripts can
// recognise it. The same condition always gives the same signature; for chosen reports, number
// distinguishes one choice from another.
func SplitSignature(signature string, c Condition, number int64) string {
	tail := " [" + c.String() + "]"
	if len(c.Reports) > 0 {
		tail = fmt.Sprintf(" [%s, no. %d]", c, number)
	}
	return Truncate(signature, MaxSignature-utf8.RuneCountInString(tail)) + tail
}

// SplitPreview shows which of the newest reports of a problem a condition would move.
type SplitPreview struct {
	LookedAt     int64
	More         bool // older reports exist, which were not examined
	Goes, Stays  int64
	GoesExamples []ReportRow // the newest
	StayExamples []ReportRow
}

// Rules are one version of the grouping rules.
type Rules struct {
	Version int
	Group   func(Fields) Grouping
}

// RegroupState is the state of a regrouping run.
type RegroupState string

// The states of a regrouping run.
const (
	RegroupRunning RegroupState = "running" // or waiting to be resumed, if its instance died
	RegroupDone    RegroupState = "done"
	RegroupStopped RegroupState = "stopped" // by a person; reports that it moved stay moved
)

// RegroupRun is one run that applies grouping rules to the stored reports.
type RegroupRun struct {
	ID       int64
	Rules    int  // version of the rules
	Dry      bool // dry run: nothing is moved
	Person   string
	State    RegroupState
	Started  time.Time
	Updated  time.Time
	Estimate int64 // approximate number of reports
	LookedAt int64
	Moved    int64 // or, in a dry run, would be
	Waiting  bool  // it is paused while reports arrive faster than they are counted
}

// RegroupMove is the number of reports that a run moves from one bucket to another.
type RegroupMove struct {
	From, To           BucketID // From zero: they were in no bucket; To zero: they will be in none
	FromLabel, ToLabel string
	New                bool // To did not exist before
	Reports            int64
	Left               int64 // counted reports that remain in From; in a dry run, that were in it
}

// RegroupEffect summarises the effect of a run on problems.
type RegroupEffect struct {
	Changed int64 // problems that lose reports
	Split   int64 // of these, problems whose reports end up in several problems, including itself
	New     int64 // problems that did not exist before
	Merged  int64 // problems that receive reports from several others, or from another one in addition to their own
}

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
