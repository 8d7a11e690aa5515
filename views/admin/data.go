package admin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/views/layout"
	"mishap/views/problems"
)

// DumpPath returns the address of everything that is known about a machine.
func DumpPath(id crash.SystemID) string { return problems.SystemPath(id) + "/dump.jsonl" }

// EraseConfirmLength is the number of characters of the id that confirm an erasure.
const EraseConfirmLength = 8

// ErasePage asks whether to erase a machine.
type ErasePage struct {
	Shell   layout.Shell
	System  crash.SystemID
	Facts   crash.MachineFacts
	Before  []crash.Erasure // of the same machine, newest first
	Block   bool
	Problem string // why the last attempt was refused; empty: there was none
}

func (p ErasePage) form() layout.PostFormArgs {
	return p.Shell.Form("erase", problems.ErasePath(p.System))
}

func (p ErasePage) running() bool { return len(p.Before) > 0 && p.Before[0].Finished.IsZero() }

// DataPage holds the page about stored data.
type DataPage struct {
	Shell  layout.Shell
	Checks []crash.HealthCheck

	Removals   []privacy.Removal
	CountsFrom time.Time // first day whose counts have not expired; zero: none have
	Held       int64     // counted reports of held problems
	Holds      []problems.MarkedProblem
	Runs       []privacy.Run // newest first
	Problem    string        // why a run could not be started; empty: nothing
	Changed    int           // fields whose class the configuration changes
	Embargoed  int           // problems that the reader may see

	Version  int                // of the grouping rules of this program
	Regroups []crash.RegroupRun // newest first
	Workers  []crash.SymbolWorker
	Symbols  crash.SymbolTotals
	Erasures []crash.Erasure // newest first
}

// checking reports whether a run over the stored reports has not ended.
func (p DataPage) checking() bool { return len(p.Runs) > 0 && p.Runs[0].Finished.IsZero() }

func (p DataPage) erasing() bool {
	return slices.ContainsFunc(p.Erasures, func(e crash.Erasure) bool { return e.Finished.IsZero() })
}

// PrivacyPage holds the table of classes.
type PrivacyPage struct {
	Shell    layout.Shell
	Rows     []privacy.Row
	Unlisted privacy.Class
	Secrets  []string // parts of names that make an unlisted field secret
}

// Changed returns the fields whose class the configuration changes.
func Changed(all []privacy.Row) (rows []privacy.Row) {
	for _, r := range all {
		if r.Changed() {
			rows = append(rows, r)
		}
	}
	return rows
}

// shownNames is the largest number of fields of one class that a run lists.
const shownNames = 20

func shownFields(counts map[string]int64) []privacy.FieldCount {
	all := privacy.Sorted(counts)
	return all[:min(len(all), shownNames)]
}

// RegroupPage holds the state of regrouping.
type RegroupPage struct {
	Shell  layout.Shell
	Run    *crash.RegroupRun // the run shown; nil: there was none yet
	Effect crash.RegroupEffect
	Moves  []crash.RegroupMove // the largest moves
	Runs   []crash.RegroupRun  // newest first
}

func (p RegroupPage) running() bool { return p.Run != nil && p.Run.State == crash.RegroupRunning }

// nothingToDo reports whether a complete run found no report to move.
func (p RegroupPage) nothingToDo() bool { return p.Run.State == crash.RegroupDone && p.Run.Moved == 0 }

func runPath(r crash.RegroupRun) string { return fmt.Sprintf("%s?run=%d", layout.PathRegroup, r.ID) }

// RegroupPercent returns the progress of a run in whole percent; below 100 until it is done.
func RegroupPercent(r crash.RegroupRun) int64 {
	if r.State == crash.RegroupDone {
		return 100
	}
	return min(99, 100*r.LookedAt/max(r.Estimate, 1))
}

// SymbolsPage holds the page about symbols.
type SymbolsPage struct {
	Shell layout.Shell

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

// QueueStates lists the states by which the queue can be filtered, in order.
var QueueStates = []crash.SymbolState{crash.SymbolsQueued, crash.SymbolsRunning, crash.SymbolsWaiting,
	crash.SymbolsPartial, crash.SymbolsFailed, crash.SymbolsExpired, crash.SymbolsDone}

// symbolsURL returns the address of the page with the jobs in one state. Both lists begin at a row.
func symbolsURL(state crash.SymbolState, missing, queue int, fragment string) string {
	return layout.Address(layout.PathSymbols, map[string]string{"state": string(state),
		"missing": layout.Digits(missing), "queue": layout.Digits(queue)}) + "#" + fragment
}

func (p SymbolsPage) missingURL(from int) string {
	return symbolsURL(p.State, max(0, from), p.QueueFrom, "missing")
}

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

// missingKinds names the kinds of missing symbols.
var missingKinds = map[crash.MissingKind]string{crash.MissingProgram: "program",
	crash.MissingDebugFile: "debug file", crash.MissingBuild: "build-id"}

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
		return "not searched: the build-id is unknown"
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
	switch {
	case j.State == crash.SymbolsRunning:
		return j.Started
	case j.State == crash.SymbolsQueued || j.Ended.IsZero():
		return j.Created
	}
	return j.Ended
}
