package crash

import (
	"path"
	"slices"
	"time"
)

// UpdateKind is a kind of text that mishap writes in the tracker by itself.
type UpdateKind string

// Kinds of updates. All but UpdateSection are comments.
const (
	UpdateAgain   UpdateKind = "again"   // a fixed bug is seen again
	UpdateNames   UpdateKind = "names"   // the functions of a crash have names since its bug was filed
	UpdateQuiet   UpdateKind = "quiet"   // an open bug is no longer reported
	UpdateSection UpdateKind = "section" // the section in the description
)

// UpdateRule says which updates mishap sends to bugs of some source packages.
type UpdateRule struct {
	Pattern    string // name of a source package, in which "*" stands for any characters
	Again      bool   // comments of kind UpdateAgain and UpdateNames
	Quiet      bool
	QuietWeeks int // weeks without a report before a comment of kind UpdateQuiet
	Section    bool
	Person     string    // who changed the rule; empty: nobody has
	Changed    time.Time // zero: never
}

// EveryPackage is the pattern of the rule that applies to packages without another one.
const EveryPackage = "*"

// The default and the range of UpdateRule.QuietWeeks.
const (
	DefaultQuietWeeks = 12
	MaxQuietWeeks     = 260
)

// UpdateRules are all rules, in order. The last one has the pattern EveryPackage.
type UpdateRules []UpdateRule

// For returns the first rule that matches a source package. The name is empty if it is unknown.
func (rules UpdateRules) For(source string) UpdateRule {
	for _, r := range rules {
		if ok, err := path.Match(r.Pattern, source); ok && err == nil {
			return r
		}
	}
	return UpdateRule{Pattern: EveryPackage, QuietWeeks: DefaultQuietWeeks}
}

// Any reports whether some rule has a property.
func (rules UpdateRules) Any(has func(UpdateRule) bool) bool { return slices.ContainsFunc(rules, has) }

// BugUpdate is a comment that mishap has sent by itself.
type BugUpdate struct {
	Kind    UpdateKind
	About   string // the version (UpdateAgain) or the UTC day of the last report (UpdateQuiet)
	At      time.Time
	Outcome string // "sending", "sent", "refused" or "unknown"
	Answer  string // message of the tracker or of the network; empty: none
}

// SectionStop says why mishap no longer updates the section of a bug.
type SectionStop string

// Reasons to stop.
const (
	SectionActive  SectionStop = ""        // it goes on
	SectionChanged SectionStop = "changed" // someone changed the section
	SectionRemoved SectionStop = "removed" // someone removed it
	SectionForeign SectionStop = "foreign" // the description has a section that this database does not know
)

// BugSection is the section that mishap updates in the description of a bug.
type BugSection struct {
	Number    int64
	Known     bool         // an update was considered before
	Filed     string       // if not Known: the description that mishap filed the bug with, or empty
	FiledAt   time.Time    // when it was filed
	Hashes    []string     // of texts that mishap sent and that may be in the description
	Facts     SectionFacts // in the text that was written last
	Pending   SectionFacts // in the text whose outcome is unknown; zero: there is none
	Replace   bool         // a person asked for the section again, whatever the description has now
	Attempt   int64        // number of texts that were sent
	Written   time.Time    // when the tracker last confirmed a text; zero: never
	Stopped   SectionStop
	StoppedAt time.Time
	Problem   string // why the last attempt failed; empty: it did not
}

// DueSection is a bug whose section is due to be considered.
type DueSection struct {
	Number        int64
	SourcePackage string // of its most frequent problem
	Closed        bool   // the section is updated once more
}

// SectionFacts are the facts in a section that decide whether an update is worthwhile.
type SectionFacts struct {
	Reports int64  `json:"reports"`
	Last    string `json:"last"`  // UTC day of the newest report
	Shape   string `json:"shape"` // hash of everything but numbers and days
}

// Worth reports whether facts differ enough from those that were written last. An update mails the
// subscribers of the bug, so neither one more report nor one more day is worth one.
func (f SectionFacts) Worth(written SectionFacts) bool {
	if f.Shape != written.Shape || f.Reports < written.Reports {
		return true
	}
	if 4*(f.Reports-written.Reports) >= max(written.Reports, 4) {
		return true
	}
	now, err1 := time.Parse(time.DateOnly, f.Last)
	then, err2 := time.Parse(time.DateOnly, written.Last)
	return err1 == nil && err2 == nil && now.Sub(then) >= 7*24*time.Hour
}

// QuietBug is an open bug for which no comment of kind UpdateQuiet has been sent since the last
// report.
type QuietBug struct {
	Number        int64
	SourcePackage string                // of its most frequent problem
	Last          map[Release]time.Time // time of the newest report in each release
	Commented     time.Time             // when the last such comment was sent; zero: never
}

// LastSupported returns the time of the newest report from a supported release, or from any if none
// of them is supported on that day.
func (q QuietBug) LastSupported(day time.Time) (last time.Time) {
	var ended time.Time
	for release, at := range q.Last {
		if release.EndOfLifeOn(day) {
			ended = maxTime(ended, at)
		} else {
			last = maxTime(last, at)
		}
	}
	if last.IsZero() {
		return ended
	}
	return last
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
