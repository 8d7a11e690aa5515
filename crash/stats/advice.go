package stats

import (
	"fmt"
	"strconv"

	"mishap/crash"
)

// AdviceKind says in a word whether filing a bug will help.
type AdviceKind string

// The kinds, in the order in which they are looked for.
const (
	AdviceExists        AdviceKind = "exists"         // there is a bug already, here or for a problem like this
	AdviceNotSymbolised AdviceKind = "not symbolised" // no names: nobody could work with the bug
	AdviceOldVersions   AdviceKind = "old versions"   // newer versions are in use in every affected release, without the problem
	AdviceOneMachine    AdviceKind = "one machine"    // only one machine has it
	AdviceTests         AdviceKind = "tests"          // only test machines have it
	AdviceReady         AdviceKind = "ready"          // nothing speaks against it
)

// Advice is an honest line beside Create.
type Advice struct {
	Kind AdviceKind
	Text string // one sentence
}

// AdviceFacts are what Advise goes by.
type AdviceFacts struct {
	Bucket  crash.Bucket // with its status
	Named   bool         // the functions have names, or there is a traceback or message to go by
	Similar crash.Bug    // a bug of a problem that looks like this one; Number 0: none
}

// Advise says whether a bug for the problem will help anybody, from what is known here and nothing else. The first thing
// that speaks against it decides. What it says of versions follows from the status of the problem.
func Advise(f AdviceFacts) Advice {
	b := f.Bucket
	switch {
	case b.Bug.Number != 0:
		return Advice{AdviceExists, "A bug exists already: " + strconv.FormatInt(b.Bug.Number, 10) + "."}
	case b.Provisional || !f.Named:
		return Advice{AdviceNotSymbolised, "Not symbolised: without names of functions nobody can tell from the bug where the fault is."}
	case f.Similar.Number != 0:
		return Advice{AdviceExists, fmt.Sprintf("A problem like this one has bug %d: see whether it is the same fault.", f.Similar.Number)}
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

// outdated says that the problem is not seen in the newest versions, in the words of its newest release.
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
