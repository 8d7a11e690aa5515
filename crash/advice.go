package crash

import (
	"fmt"
	"strconv"

	"mishap/crash/dpkg"
)

// AdviceKind says in a word whether filing a bug will help.
type AdviceKind string

// The kinds, in the order in which they are looked for.
const (
	AdviceExists        AdviceKind = "exists"         // there is a bug already, here or for a problem like this
	AdviceNotSymbolised AdviceKind = "not symbolised" // no names: nobody could work with the bug
	AdviceOldVersions   AdviceKind = "old versions"   // newer versions are in use in every affected release, without the problem
	AdviceNotSince      AdviceKind = "not since"      // a newer version is in use in another release, without the problem
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
	Bucket   Bucket
	Versions []VersionCount     // versions × releases of the problem
	Newest   map[Release]string // the newest version of its package that any report came from, by release
	Named    bool               // the functions have names, or there is a traceback or message to go by
	Similar  Bug                // a bug of a problem that looks like this one; Number 0: none
}

// Advise says whether a bug for the problem will help anybody, from what is known here and nothing else. The first thing
// that speaks against it decides. Versions are compared as dpkg does, release by release, never by date.
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
	if newest, release := f.leftBehind(); newest != "" {
		return Advice{AdviceOldVersions, fmt.Sprintf("Only old versions are affected: last seen in %s, and %s is in use%s without it.",
			b.LastVersion, newest, in(release))}
	}
	if newest, release := f.newestAnywhere(); newest != "" && b.LastVersion != "" && dpkg.Compare(newest, b.LastVersion) > 0 {
		return Advice{AdviceNotSince, fmt.Sprintf("Not seen since version %s: %s is in use%s without it, so it may be fixed there.",
			b.LastVersion, newest, in(release))}
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

// Telling reports whether a report has something from which a developer could tell where the fault is: a stack with names, a
// traceback, an assertion, the message of the kernel or the package manager, or another text that a grouping rule reads.
func Telling(f Fields) bool {
	for _, field := range []string{"Traceback", "AssertionMessage", "OopsText", "ErrorMessage"} {
		if f[field] != "" {
			return true
		}
	}
	if HasUsefulStacktrace(f) || named(Frames(f)) > 1 {
		return true
	}
	return tellingRules[group(withoutOwnSignature(f), nil).Rule]
}

// tellingRules are the rules that read names of functions, or a message, in a text.
var tellingRules = map[Rule]bool{
	RuleKernel: true, RulePackage: true, RuleJava: true, RuleGoPanic: true, RuleRustPanic: true, RuleCompiler: true, RulePython: true, RuleSnap: true,
	RuleRecoverable: true, RuleHang: true,
}

// leftBehind is a version that is newer than those affected in its release, when there is one in each affected release:
// that of the highest release. Empty: in some release the newest version is affected, or nothing is known.
func (f AdviceFacts) leftBehind() (version string, release Release) {
	affected := map[Release]string{}
	for _, v := range f.Versions {
		if !dpkg.Valid(v.Version) {
			return "", "" // it cannot be said which is newer
		}
		if last, ok := affected[v.Release]; !ok || dpkg.Compare(v.Version, last) > 0 {
			affected[v.Release] = v.Version
		}
	}
	for r, last := range affected {
		newest := f.Newest[r]
		if newest == "" || dpkg.Compare(newest, last) <= 0 {
			return "", ""
		}
		if version == "" || r.Key() > release.Key() {
			version, release = newest, r
		}
	}
	return version, release
}

// newestAnywhere is the newest version of the package that any report came from.
func (f AdviceFacts) newestAnywhere() (version string, release Release) {
	for r, v := range f.Newest {
		if dpkg.Valid(v) && (version == "" || dpkg.Compare(v, version) > 0 || v == version && r.Key() > release.Key()) {
			version, release = v, r
		}
	}
	return version, release
}
