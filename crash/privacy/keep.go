package privacy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mishap/crash"
)

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
	for _, name := range k.names() {
		all = append(all, KeepLimit{name, k.Types[name]})
	}
	return all
}

func (k Keep) names() []string {
	return slices.SortedFunc(maps.Keys(k.Types), cmp.Compare[string])
}

// Forever reports whether no report is ever dropped.
func (k Keep) Forever() bool {
	for _, l := range k.Limits() {
		if l.Days > 0 {
			return false
		}
	}
	return true
}

// Periods say for how long data is stored; 0 means forever.
type Periods struct {
	Reports                             Keep
	PrivateDays, CountsYears, AuditDays int
}
