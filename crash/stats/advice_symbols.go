package stats

import (
	"path"
	"strings"

	"mishap/crash"
)

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
