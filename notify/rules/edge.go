package rules

import (
	"fmt"
	"time"

	"mishap/crash"
)

// Edge is a change that a rule has noticed. A rule acts on each edge once: the rule, the problem
// and Key identify it.
type Edge struct {
	Rule  *Rule
	Key   string      // the kind, and which change it was, such as a version or a day
	Event crash.Event // Bucket is nil if the edge is not about one problem
	Held  time.Time   // when the condition held last; zero: at the time of the event
}

// maxKey is the largest length of a version or package name in a key, in code points.
const maxKey = 100

// Key returns the key of an edge: the kind, and texts that tell edges of one problem apart.
func Key(kind crash.EventKind, parts ...string) string {
	key := string(kind)
	for _, p := range parts {
		key += ":" + crash.Truncate(p, maxKey)
	}
	return key
}

// Change identifies the change, whatever rule has noticed it.
func (e Edge) Change() string {
	bucket := "-"
	if e.Event.Bucket != nil {
		bucket = e.Event.Bucket.String()
	}
	return ":" + bucket + ":" + crash.Truncate(e.Key, 200)
}

// ID identifies the edge among all edges of all rules.
func (e Edge) ID() string { return fmt.Sprintf("rule %d%s", e.Rule.ID, e.Change()) }

// Machines returns "1 machine" or "1,902 machines".
func Machines(n int64) string { return count(n) + crash.Plural(n, " machine", " machines") }

// in returns the place of an event in a sentence: " in 1.2 on Ubuntu 24.04".
func in(e crash.Event) string {
	place := ""
	if e.Version != "" {
		place += " in " + e.Version
	}
	if e.Release != "" {
		place += " on " + string(e.Release)
	}
	return place
}

// NewText describes an event of the kind new.
func NewText(e crash.Event) string {
	return fmt.Sprintf("New: %s %s it, first%s.", Machines(e.Machines), reports(e.Machines), in(e))
}

// RegressedText describes an event of the kind regressed. marked is whether a person has marked the
// problem as fixed, instead of the tracker.
func RegressedText(e crash.Event, marked bool) string {
	return fmt.Sprintf("Seen again%s, %s, by %s.", in(e), WhyFixed(marked), Machines(e.Machines))
}

// WhyFixed says why a version should be free of a problem.
func WhyFixed(marked bool) string {
	if marked {
		return "though it was marked as fixed"
	}
	return "which has the fix"
}

// RisingText describes an event of the kind rising, with the reports of the seven days up to a day
// and of the seven before.
func RisingText(e crash.Event, day time.Time, week, before int64) string {
	return fmt.Sprintf("Rising: %s of %s in the seven days up to %s, %s in the seven before.",
		crash.Counted(week, "report", "reports"), Machines(e.Machines), day.Format("2 January"), count(before))
}

// ProposedText describes an event of the kind proposed.
func ProposedText(e crash.Event) string {
	return fmt.Sprintf("New in proposed: %s %s it%s, and none an earlier version.", Machines(e.Machines),
		reports(e.Machines), in(e))
}

// QuietText describes an event of the kind quiet.
func QuietText(weeks int, last time.Time) string {
	return fmt.Sprintf("Not seen for %d %s, since %s.", weeks, crash.Plural(int64(weeks), "week", "weeks"),
		last.Format("2 January 2006"))
}

// StormText describes an event of the kind storm.
func StormText(pkg string, problems int) string {
	return fmt.Sprintf("%d problems of %s are new within minutes. They are not reported one by one.", problems, pkg)
}

// Texts of events that need no numbers.
const (
	SymbolisedText = "The functions on its stack have names now."
	UnmutedText    = "The problem was muted and has returned."
	RefusedText    = "The tracker refused its bug."
	TrackerTitle   = "The tracker does not accept mishap's credentials"
	TrackerText    = "Bugs are not filed and not read until an administrator connects the tracker again."
)

func reports(n int64) string { return crash.Plural(n, "reports", "report") }
