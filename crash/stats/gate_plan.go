package stats

import (
	"slices"
	"time"

	"mishap/crash"
	"mishap/crash/dpkg"
)

const (
	// GateWindowDays is the maximum number of days before and after an update that are compared.
	GateWindowDays = 56
	// historyDays is the maximum number of days before an update in which a new problem must not
	// have been seen.
	historyDays = 182
	// minDays is the least number of days on which a version must have been the newest one.
	minDays = 7
	// minMachineDays is the least number of machine-days of the version to compare with.
	minMachineDays = 1000
)

// Window is a range of UTC days, both included. It is empty if it is zero or Until is before Since.
type Window struct{ Since, Until time.Time }

// Days returns the number of days.
func (w Window) Days() int {
	if w.Since.IsZero() {
		return 0
	}
	return max(0, int(w.Until.Sub(w.Since)/(24*time.Hour))+1)
}

// Contains reports whether a day is in the window.
func (w Window) Contains(day time.Time) bool { return !day.Before(w.Since) && !day.After(w.Until) }

// last returns the last days of the window, at most n.
func (w Window) last(n int) Window {
	if w.Days() > n {
		w.Since = w.Until.AddDate(0, 0, 1-n)
	}
	return w
}

// first returns the first days of the window, at most n.
func (w Window) first(n int) Window {
	if w.Days() > n {
		w.Until = w.Since.AddDate(0, 0, n-1)
	}
	return w
}

// GateChoice explains why the gate compares with a version.
type GateChoice string

// The reasons for a version to compare with.
const (
	ChoiceNamed    GateChoice = "named"    // the question names it
	ChoicePrevious GateChoice = "previous" // it is the version before, and has enough exposure
	ChoiceEarlier  GateChoice = "earlier"  // versions in between have too little exposure
	ChoiceThin     GateChoice = "thin"     // no lower version has enough exposure; it has most
	ChoiceNone     GateChoice = "none"     // the release has no lower version
)

// GatePlan says which days of a release the gate compares.
type GatePlan struct {
	Release  crash.Release
	Version  string
	Against  string // empty: there is no lower version
	Choice   GateChoice
	Before   Window // Against was the newest version
	After    Window // Version was the newest version
	History  Window // the days before the update on which problems are known
	Replaced string // the higher version that ended After, if any
	BeforeIn int    // number of days of the reports of Against, also outside of Before
	AfterIn  int    // the same for Version
}

// NewGatePlan returns the plan for a version in one release. known are all versions in use of the
// package; machines returns the active machines of the release on a day. It returns false if the
// version, or against if given, is not in use in the release.
func NewGatePlan(
	known []VersionKnown, release crash.Release, version, against string, today time.Time,
	machines func(time.Time) int64,
) (GatePlan, bool) {
	var all []VersionKnown
	for _, k := range known {
		if k.Release == release && dpkg.Valid(k.Version) {
			k.Since = crash.Midnight(k.Since)
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b VersionKnown) int { return dpkg.Order(b.Version, a.Version) })
	at := slices.IndexFunc(all, func(k VersionKnown) bool { return k.Version == version })
	if at < 0 {
		return GatePlan{}, false
	}
	today = crash.Midnight(today)
	p := GatePlan{Release: release, Version: version, Choice: ChoiceNone}
	after, replaced := newest(all, at, today)
	p.After, p.Replaced, p.AfterIn = after.first(GateWindowDays), replaced, Window{all[at].Since, today}.Days()
	if p.After.Days() < after.Days() {
		p.Replaced = ""
	}
	p.History = Window{all[at].Since, all[at].Since.AddDate(0, 0, -1)}
	for _, k := range all {
		if k.Since.Before(p.History.Since) {
			p.History.Since = k.Since
		}
	}
	p.History = p.History.last(historyDays)
	if against != "" {
		old := slices.IndexFunc(all, func(k VersionKnown) bool { return k.Version == against })
		if old <= at {
			return GatePlan{}, false
		}
		p.compareWith(all, at, old, today)
		p.Choice = ChoiceNamed
		return p, true
	}
	p.choose(all, at, today, machines)
	return p, true
}

// choose compares with the highest lower version that has enough exposure, or else with the one
// that has most.
func (p *GatePlan) choose(all []VersionKnown, at int, today time.Time, machines func(time.Time) int64) {
	most, best := -1., p.Before
	for old := at + 1; old < len(all); old++ {
		candidate := *p
		candidate.compareWith(all, at, old, today)
		var machineDays float64
		for day := candidate.Before.Since; !day.After(candidate.Before.Until); day = day.AddDate(0, 0, 1) {
			machineDays += float64(machines(day))
		}
		if candidate.Before.Days() >= minDays && machineDays >= minMachineDays {
			*p, p.Choice = candidate, ChoiceEarlier
			if old == at+1 {
				p.Choice = ChoicePrevious
			}
			return
		}
		if machineDays > most {
			most, best, p.Against, p.BeforeIn = machineDays, candidate.Before, candidate.Against, candidate.BeforeIn
			p.Choice = ChoiceThin
		}
	}
	p.Before = best
}

func (p *GatePlan) compareWith(all []VersionKnown, at, old int, today time.Time) {
	era, _ := newest(all, old, today)
	if end := all[at].Since.AddDate(0, 0, -1); end.Before(era.Until) {
		era.Until = end
	}
	p.Against, p.Before = all[old].Version, era.last(GateWindowDays)
	p.BeforeIn = Window{all[old].Since, today}.Days()
}

// newest returns the days on which a version was the newest one to arrive, and the higher version
// that ended them, if any. all is sorted, highest version first.
func newest(all []VersionKnown, at int, today time.Time) (w Window, replaced string) {
	w = Window{Since: all[at].Since, Until: today}
	for _, higher := range all[:at] {
		if end := higher.Since.AddDate(0, 0, -1); higher.Since.After(w.Since) && end.Before(w.Until) {
			w.Until, replaced = end, higher.Version
		}
	}
	return w, replaced
}
