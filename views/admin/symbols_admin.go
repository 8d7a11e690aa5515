package admin

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/views/layout"
	"mishap/views/problems"
)

// SymbolsPage holds the page about symbols.
type SymbolsPage struct {
	Shell   layout.Shell
	Workers []crash.SymbolWorker

	Missing       []crash.MissingSymbol
	MissingFrom   int   // number of rows before the first one
	MissingSize   int   // rows on a page
	MissingTotal  int64 // rows in the whole list
	MissingJobs   int   // crashes that were ranked, at most
	MissingCapped bool  // more crashes wait than were ranked

	Totals    crash.SymbolTotals
	State     crash.SymbolState // of the jobs shown; empty: running and queued
	Queue     []crash.SymbolQueueRow
	QueueFrom int
	QueueSize int
	QueueMore bool // further jobs follow
}

// queueStates lists the states by which the queue can be filtered, in order.
var queueStates = []crash.SymbolState{crash.SymbolsQueued, crash.SymbolsRunning, crash.SymbolsWaiting,
	crash.SymbolsPartial, crash.SymbolsFailed, crash.SymbolsExpired, crash.SymbolsDone}

// SymbolStateOf parses the state of a job in an address.
func SymbolStateOf(name string) (crash.SymbolState, bool) {
	for _, s := range queueStates {
		if string(s) == name {
			return s, true
		}
	}
	return "", false
}

// symbolsURL returns the address of the page with the jobs in one state. Both lists begin at a row.
func symbolsURL(state crash.SymbolState, missing, queue int, fragment string) string {
	q := url.Values{}
	if state != "" {
		q.Set("state", string(state))
	}
	if missing > 0 {
		q.Set("missing", strconv.Itoa(missing))
	}
	if queue > 0 {
		q.Set("queue", strconv.Itoa(queue))
	}
	u := url.URL{Path: layout.PathSymbols, RawQuery: q.Encode(), Fragment: fragment}
	return u.String()
}

// missingURL returns the address of the page from a row of the missing symbols on.
func (p SymbolsPage) missingURL(from int) string {
	return symbolsURL(p.State, max(0, from), p.QueueFrom, "missing")
}

// queueURL returns the address of the page from a row of the queue on.
func (p SymbolsPage) queueURL(from int) string {
	return symbolsURL(p.State, p.MissingFrom, max(0, from), "queue")
}

func (p SymbolsPage) stateURL(state crash.SymbolState) string {
	return symbolsURL(state, p.MissingFrom, 0, "queue")
}

func (p SymbolsPage) missingPlace() string {
	first := int64(p.MissingFrom + 1)
	return crash.Count(first) + "–" + crash.Count(int64(p.MissingFrom+len(p.Missing))) + " of " +
		crash.Count(p.MissingTotal)
}

func (p SymbolsPage) missingMore() bool {
	return int64(p.MissingFrom+len(p.Missing)) < p.MissingTotal
}

func missingKind(kind crash.MissingKind) string {
	switch kind {
	case crash.MissingProgram:
		return "program"
	case crash.MissingDebugFile:
		return "debug file"
	case crash.MissingBuild:
		return "build-id"
	}
	return string(kind)
}

// missingPackage returns the package that provides a missing symbol, with its version.
func missingPackage(m crash.MissingSymbol) string {
	if m.Package == "" {
		return "unknown package"
	}
	if m.Version == "" {
		return m.Package + " (unknown version)"
	}
	return m.Package + " " + m.Version
}

// missingSearched says where a missing file was searched, and with which result.
func missingSearched(m crash.MissingSymbol) string {
	if m.Kind == crash.MissingBuild {
		return "nothing to search for: the build-id is unknown"
	}
	return problems.Searched(m.Searched)
}

func queueSentence(j crash.SymbolQueueRow) string {
	s := j.Reason
	if !j.NotBefore.IsZero() && j.State != crash.SymbolsQueued {
		s = strings.TrimSpace(s + " " + problems.SymbolsNext(layout.Exact(j.NotBefore)))
	}
	if j.PressedBy != "" && j.State == crash.SymbolsQueued {
		s = strings.TrimSpace(s + " requested by " + j.PressedBy)
	}
	return s
}

// queueTime returns the time that matters for the state of a job.
func queueTime(j crash.SymbolQueueRow) time.Time {
	switch j.State {
	case crash.SymbolsRunning:
		return j.Started
	case crash.SymbolsQueued:
		return j.Created
	default:
		if !j.Ended.IsZero() {
			return j.Ended
		}
		return j.Created
	}
}

// architectures lists what an instance symbolises.
func architectures(w crash.SymbolWorker) string { return strings.Join(w.Architectures, ", ") }
