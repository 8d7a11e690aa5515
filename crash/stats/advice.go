package stats

import (
	"fmt"
	"path"
	"strconv"
	"strings"

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
	Kind    AdviceKind
	Text    string // one sentence
	Missing bool   // it waits for symbols that the page /admin/symbols lists
}

// AdviceFacts are the facts on which Advise bases its advice.
type AdviceFacts struct {
	Bucket  crash.Bucket // with its status
	Named   bool         // the functions have names, or there is a traceback or message
	Similar crash.Bug    // a bug of a similar problem; Number 0: none
	Symbols crash.ProblemSymbols
}

// Advise says whether a bug for the problem will help, from the given facts only. The first reason
// against it decides. It takes statements about versions from the status of the problem.
func Advise(f AdviceFacts) Advice {
	b := f.Bucket
	switch {
	case b.Bug.Number != 0:
		return Advice{Kind: AdviceExists, Text: "No: bug " + strconv.FormatInt(b.Bug.Number, 10) + " exists."}
	case b.Provisional || !f.Named:
		return withoutNames(f.Symbols)
	case f.Similar.Number != 0:
		return Advice{Kind: AdviceExists, Text: fmt.Sprintf("Check first: a similar problem has bug %d, perhaps for the "+
			"same fault.",
			f.Similar.Number)}
	case b.LacksNames() && (f.Symbols.Job.State == crash.SymbolsPartial || f.Symbols.Job.State == crash.SymbolsWaiting):
		return withoutNames(f.Symbols)
	}
	if b.Status.Outdated() || b.Status.Word == crash.StateGone {
		return Advice{Kind: AdviceOldVersions, Text: outdated(b.Status)}
	}
	switch {
	case b.Reports == 0:
		return Advice{Kind: AdviceTests, Text: "No: only test machines have reported it."}
	case b.Systems == 1:
		text := "Perhaps not: only one machine has reported it"
		if b.Reports > 1 {
			text += fmt.Sprintf(", %d times", b.Reports)
		}
		return Advice{Kind: AdviceOneMachine, Text: text + ". The machine itself may be at fault."}
	case b.Systems == 0:
		return Advice{Kind: AdviceReady, Text: "Yes: no similar bug is known."}
	}
	return Advice{Kind: AdviceReady, Text: fmt.Sprintf("Yes: %d machines, and no similar bug is known.", b.Systems)}
}

// outdated says that the newest versions are free of the problem, using the problem's newest
// release.
func outdated(s crash.Status) string {
	text := "Probably not: it is probably fixed"
	if s.Word != crash.StateGone {
		text = "Probably not: only old versions are affected"
	}
	counting := s.Counting()
	if len(counting) == 0 {
		return text + ". It has not been seen for more than a year."
	}
	r := counting[0]
	text += fmt.Sprintf(". In %s it was seen up to %s, and %s is in use without it", r.Release.Short(), r.Highest, r.Newer)
	if n := len(counting) - 1; n == 1 {
		text += "; likewise in " + counting[1].Release.Short()
	} else if n > 1 {
		text += fmt.Sprintf("; likewise in %d other releases", n)
	}
	return text + "."
}

// withoutNames says why to wait with a bug for a problem whose functions lack names, or some of
// them.
func withoutNames(s crash.ProblemSymbols) Advice {
	a := Advice{Kind: AdviceNotSymbolised, Text: "Not yet: without function names, the bug would not show where " +
		"the fault is."}
	missing := missingNames(s.Missing)
	switch s.Job.State {
	case crash.SymbolsQueued, crash.SymbolsRunning:
		a.Text = "Wait for names: the crash is being symbolised."
		return a
	case crash.SymbolsWaiting, crash.SymbolsPartial, crash.SymbolsAsked:
		a.Missing = missing != ""
	default: // nothing could be added that helps
	}
	switch {
	case a.Missing && s.Job.State == crash.SymbolsPartial:
		a.Text = "Wait for names: some functions have none, because symbols of " + missing + " are missing."
	case a.Missing && s.Job.State == crash.SymbolsAsked:
		a.Text = "Wait for names: a machine was asked for its core dump, and symbols of " + missing + " are missing."
	case a.Missing:
		a.Text = "Wait for names: symbols of " + missing + " are missing."
	case s.Wanted.Person != "":
		a.Text = "Wait for names: the next machine that reports it will be asked for its core dump."
	case s.Job.State == crash.SymbolsAsked:
		a.Text = "Wait for names: a machine was asked for its core dump."
	case s.Job.State == crash.SymbolsWaiting:
		a.Text = "Wait for names: mishap has found none yet."
	case s.Job.State == crash.SymbolsPartial:
		a.Text = "Perhaps not: some functions have no names, so the bug may not show where the fault is."
	case s.Job.State == crash.SymbolsFailed, s.Job.State == crash.SymbolsExpired:
		a.Text = "Not yet: symbolising has failed, and without function names the bug would not show where the fault is."
	}
	return a
}

// missingNames joins the names of up to two files.
func missingNames(paths []string) string {
	const most = 2
	var names []string
	for _, p := range paths {
		if len(names) == most {
			return strings.Join(names, ", ") + " and others"
		}
		names = append(names, crash.Shorten(path.Base(p), 60))
	}
	return crash.JoinAnd(names)
}
