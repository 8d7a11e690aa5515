package problems

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/views/layout"
)

// SymbolsView is the part of a page that says whether a native crash has function names.
type SymbolsView struct {
	Job       crash.SymbolJob // State empty: nothing was tried, and no core was asked for
	MayPress  bool            // the person may symbolise it again
	Core      *CoreView       // nil: on the page of a report, or all functions have names
	CSRFToken string
	Path      string // where to ask for changes; empty: the page does not follow them
}

// Mark identifies what the part says about the job.
func (v SymbolsView) Mark() string {
	return string(v.Job.State) + strconv.FormatInt(v.Job.Ended.Unix(), 36)
}

// follow returns the attributes with which the part follows changes: soon while something happens, and
// now and then while it waits for symbols.
func (v SymbolsView) follow() templ.Attributes {
	trigger := ""
	switch v.Job.State {
	case crash.SymbolsQueued, crash.SymbolsRunning:
		trigger = "every 3s"
	case crash.SymbolsAsked, crash.SymbolsWaiting, crash.SymbolsPartial:
		trigger = "every 10s"
	default: // it has ended
	}
	if v.Path == "" || trigger == "" {
		return nil
	}
	return templ.Attributes{"hx-get": v.Path + "?seen=" + url.QueryEscape(v.Mark()), "hx-trigger": trigger,
		"hx-swap": "outerHTML", "hx-sync": "this:drop", "hx-status:4xx": "swap:none", "hx-status:5xx": "swap:none"}
}

// SymbolsPath returns where the page of a problem asks whether it has function names.
func SymbolsPath(id crash.BucketID) string { return id.Path() + "/symbols" }

// CoreView says whether the next machine that reports a problem will be asked for its core.
type CoreView struct {
	Path   string // where the buttons lead
	Wanted crash.WantedCore
	MayAsk bool   // the person may ask for a core
	WhyNot string // why no machine would be asked, as a sentence; empty: one would
}

// CorePath returns where a core of a problem is asked for.
func CorePath(id crash.BucketID) string { return id.Path() + "/core" }

// SymbolisePath returns where a report is symbolised again.
func SymbolisePath(id crash.OopsID) string { return ReportPath(id) + "/symbolise" }

// SymbolsTexts holds the name, the meaning and the class of each state.
var SymbolsTexts = map[crash.SymbolState]struct{ Name, means, Class string }{
	crash.SymbolsAsked: {"waiting for a core",
		"A machine was asked for the core dump of this crash and has not sent it yet.", "state state-wait"},
	crash.SymbolsQueued:  {"queued", "It will be symbolised soon.", "state state-wait"},
	crash.SymbolsRunning: {"running", "It is being symbolised.", "state state-wait"},
	crash.SymbolsDone:    {"done", "mishap has worked out the stack.", "state state-done"},
	crash.SymbolsPartial: {"partial", "Some functions have no name.", "state state-warn"},
	crash.SymbolsWaiting: {"waiting", "", "state state-wait"},
	crash.SymbolsFailed:  {"failed", "", "state state-error"},
	crash.SymbolsExpired: {"expired", "", "state state-warn"},
}

func (v SymbolsView) state() string { return SymbolsTexts[v.Job.State].Name }
func (v SymbolsView) class() string { return SymbolsTexts[v.Job.State].Class }

// sentence says what the state means for this report.
func (v SymbolsView) sentence() string {
	s := v.Job.Reason
	if v.Job.State == "" {
		return "mishap has no core dump of this crash."
	}
	if s == "" {
		s = SymbolsTexts[v.Job.State].means
	}
	if next := v.Job.NotBefore; !next.IsZero() && v.Job.State != crash.SymbolsQueued {
		s = strings.TrimSpace(s + " " + SymbolsNext(layout.Exact(next)))
	}
	return s
}

// mayPress reports whether to show the button.
func (v SymbolsView) mayPress() bool {
	switch v.Job.State {
	case crash.SymbolsPartial, crash.SymbolsWaiting, crash.SymbolsFailed:
		return v.MayPress && !v.Job.CoreGone
	default:
		return false
	}
}

// symbolFile says where a file of a module was found, or where it was searched.
func symbolFile(s *crash.SymbolSearch, otherwise string) string {
	if s == nil {
		return otherwise
	}
	if s.Found {
		return s.Origin
	}
	return strings.TrimSuffix("not found"+"; "+Searched(s.Searched), "; ")
}

// debugFile says where the debug information of a module was found.
func debugFile(m crash.SymbolModule) string {
	switch {
	case m.Debuginfo == nil && m.Executable != nil && m.Executable.Found:
		return "in the program"
	case m.Shared != nil && !m.Shared.Found:
		return symbolFile(m.Shared, "")
	default:
		return symbolFile(m.Debuginfo, "not searched")
	}
}

// SymbolsNext says when the next try is.
func SymbolsNext(when string) string { return "The next try is " + when + "." }

// Searched lists where a file was searched, and with which result.
func Searched(attempts []crash.SymbolAttempt) string {
	tried := make([]string, len(attempts))
	for i, a := range attempts {
		tried[i] = a.Source + ": " + a.Outcome
		if a.Detail != "" {
			tried[i] += " (" + a.Detail + ")"
		}
	}
	return strings.Join(tried, "; ")
}
