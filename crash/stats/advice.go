package stats

import (
	"fmt"
	"strconv"

	"mishap/crash"
)

// AdviceKind says whether filing a bug will help, and if not, why.
type AdviceKind string

// The kinds of advice, in order of precedence.
const (
	AdviceExists        AdviceKind = "exists"         // a bug exists, for this problem or a similar one
	AdviceNotSymbolised AdviceKind = "not symbolised" // without function names, nobody can work on the bug
	AdviceOldVersions   AdviceKind = "old versions"   // newer versions without the problem are in use
	AdviceOneMachine    AdviceKind = "one machine"    // only one machine reports it
	AdviceTests         AdviceKind = "tests"          // only test machines report it
	AdviceReady         AdviceKind = "ready"          // no reason against filing
)

// Advice is what the page says about filing, next to the Create button.
type Advice struct {
	Kind AdviceKind
	Text string // one sentence
}

// AdviceFacts are the facts on which Advise bases its advice.
type AdviceFacts struct {
	Bucket  crash.Bucket // with its status
	Named   bool         // the functions have names, or there is a traceback or message
	Similar crash.Bug    // a bug of a similar problem; Number 0: none
}

// Advise says whether a bug for the problem will help, from the given facts only. The first reason
// against it decides. It takes statements about versions from the status of the problem.
func Advise(f AdviceFacts) Advice {
	b := f.Bucket
	switch {
	case b.Bug.Number != 0:
		return Advice{AdviceExists, "A bug exists already: " + strconv.FormatInt(b.Bug.Number, 10) + "."}
	case b.Provisional || !f.Named:
		return Advice{AdviceNotSymbolised,
			"Not symbolised: without names of functions nobody can tell from the bug where the fault is."}
	case f.Similar.Number != 0:
		return Advice{AdviceExists, fmt.Sprintf("A problem like this one has bug %d: see whether it is the same fault.",
			f.Similar.Number)}
	}
	if b.Status.Outdated() || b.Status.Word == crash.StateGone {
		return Advice{AdviceOldVersions, outdated(b.Status)}
	}
	switch {
	case b.Reports == 0:
		return Advice{AdviceTests, "Only test machines have reported it."}
	case b.Systems == 1:
		text := "Only one machine has reported it, so the machine itself may be at fault."
		if b.Reports > 1 {
			text = fmt.Sprintf("Only one machine has reported it, %d times, so the machine itself may be at fault.", b.Reports)
		}
		return Advice{AdviceOneMachine, text}
	}
	return Advice{AdviceReady, "Looks ready to file."}
}

// outdated says that the newest versions are free of the problem, using the problem's newest
// release.
func outdated(s crash.Status) string {
	text := "It is probably fixed"
	if s.Word != crash.StateGone {
		text = "Only old versions are affected"
	}
	counting := crash.PickReleases(s.Releases, func(r crash.ReleaseStatus) bool { return r.Reports > 0 && !r.Ended })
	if len(counting) == 0 {
		return text + ": it was not seen for more than a year."
	}
	r := counting[0]
	text += fmt.Sprintf(": in %s it was seen up to %s, and %s is in use without it", r.Release.Short(), r.Highest, r.Newer)
	if n := len(counting) - 1; n == 1 {
		text += "; likewise in " + counting[1].Release.Short()
	} else if n > 1 {
		text += fmt.Sprintf("; likewise in %d other releases", n)
	}
	return text + "."
}
