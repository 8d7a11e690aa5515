package privacy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// RunKind is what a run over stored reports does.
type RunKind string

// The kinds of runs.
const (
	RunCheck  RunKind = "check"  // only counts
	RunApply  RunKind = "apply"  // removes secret fields
	RunExpire RunKind = "expire" // removes private fields of old reports
)

// Run is a run over stored reports, which compares their fields with the table.
type Run struct {
	ID       int64
	Kind     RunKind
	Person   string // who started it; empty: mishap itself, or the command line
	Started  time.Time
	Until    time.Time // only reports that arrived before
	Finished time.Time // zero: it has not ended
	Estimate int64     // approximate number of reports

	// Numbers of reports: examined so far; of these, with secret fields, with private fields, with
	// removed fields, and with fields that stay only because the problem is held.
	LookedAt, Secret, Private, Changed, Held int64

	Found Found
}

// Found counts the reports that have a field, by the name of the field.
type Found struct {
	Secret  map[string]int64 `json:"secret,omitempty"`
	Private map[string]int64 `json:"private,omitempty"`
}

const maxFound = 200 // names of one class

// Add counts a field of a report.
func (f *Found) Add(class Class, name string) {
	into := &f.Private
	if class == Secret {
		into = &f.Secret
	}
	if *into == nil {
		*into = map[string]int64{}
	}
	name = plainName(name)
	if _, known := (*into)[name]; known || len(*into) < maxFound {
		(*into)[name]++
	}
}

// FieldCount is the number of reports with a field.
type FieldCount struct {
	Name    string
	Reports int64
}

// Sorted returns counts, the largest first.
func Sorted(counts map[string]int64) []FieldCount {
	var all []FieldCount
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, FieldCount{name, counts[name]})
	}
	slices.SortStableFunc(all, func(a, b FieldCount) int { return cmp.Compare(b.Reports, a.Reports) })
	return all
}

// Percent returns the progress of a run; below 100 until it has ended.
func (r Run) Percent() int64 {
	if !r.Finished.IsZero() {
		return 100
	}
	return min(99, 100*r.LookedAt/max(r.Estimate, 1))
}

func reports(n int64) string {
	if n == 1 {
		return "1 report"
	}
	return fmt.Sprintf("%d reports", n)
}

func have(n int64) string {
	if n == 1 {
		return "1 has"
	}
	return fmt.Sprintf("%d have", n)
}

// Summary says in one sentence what the run has found or done so far.
func (r Run) Summary() string {
	switch {
	case r.Kind == RunCheck:
		return fmt.Sprintf("Of %s, %s secret fields and %s private fields.", reports(r.LookedAt), have(r.Secret),
			have(r.Private))
	case r.Kind == RunApply && r.Held > 0:
		return fmt.Sprintf("Removed secret fields from %d of %d reports; %d reports of held problems keep theirs.",
			r.Changed, r.LookedAt, r.Held)
	case r.Kind == RunApply:
		return fmt.Sprintf("Removed secret fields from %d of %d reports.", r.Changed, r.LookedAt)
	case r.Held > 0:
		return fmt.Sprintf("Removed private fields from %d of %d old reports; %d reports of held problems keep theirs.",
			r.Changed, r.LookedAt, r.Held)
	}
	return fmt.Sprintf("Removed private fields from %d of %d old reports.", r.Changed, r.LookedAt)
}

// Hash returns a text that changes with the table.
func (t *Table) Hash() string {
	h := sha256.New()
	for _, row := range t.Rows() {
		_, _ = fmt.Fprintf(h, "%s=%s\n", row.Name, row.Class) // a hash returns no error
	}
	_, _ = fmt.Fprintf(h, "%s\n%s", t.Unlisted(), strings.Join(secretNames, " "))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Removal says how long one kind of data is stored, and how much will be removed.
type Removal struct {
	What  string
	Key   string // of the configuration; empty: there is none
	Days  int    // 0: forever, unless Years is set
	Years int
	Week  int64 // how much is removed within seven days
	All   int64 // how much is stored
	Least bool  // there may be more than Week

	Unknown bool // All is not known
}

// Keep says for how many days reports are stored; 0 means forever. Types have their own numbers of days
// by ProblemType, which replace Days.
type Keep struct {
	Days  int
	Types map[string]int
}

// KeepLimit is a number of days for which reports are stored, and the type that it is for; empty: all
// other types.
type KeepLimit struct {
	Type string
	Days int
}

const maxKeepDays = 36500

// ParseKeepTypes reads words such as "KernelOops=90 Snap=0". The error is a sentence for people.
func ParseKeepTypes(s string) (map[string]int, error) {
	types := map[string]int{}
	for word := range strings.FieldsSeq(s) {
		name, value, _ := strings.Cut(word, "=")
		days, err := strconv.Atoi(value)
		if name == "" || err != nil || days < 0 || days > maxKeepDays {
			return nil, fmt.Errorf("%q is not a problem type, = and a number of days", crash.Shorten(word, 100))
		}
		if _, twice := types[name]; twice {
			return nil, fmt.Errorf("%s has two numbers of days", crash.Shorten(name, 100))
		}
		types[name] = days
	}
	return types, nil
}

// Limits returns the types with numbers of days of their own, sorted, after the number of all others.
func (k Keep) Limits() []KeepLimit {
	all := []KeepLimit{{Days: k.Days}}
	for _, name := range slices.Sorted(maps.Keys(k.Types)) {
		all = append(all, KeepLimit{name, k.Types[name]})
	}
	return all
}

// Forever reports whether no report is ever dropped.
func (k Keep) Forever() bool {
	return !slices.ContainsFunc(k.Limits(), func(l KeepLimit) bool { return l.Days > 0 })
}

// Periods say for how long data is stored; 0 means forever.
type Periods struct {
	Reports                             Keep
	PrivateDays, CountsYears, AuditDays int
}
