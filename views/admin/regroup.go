package admin

import (
	"fmt"

	"mishap/crash"
	"mishap/views/layout"
)

// RegroupPage holds the state of regrouping.
type RegroupPage struct {
	Shell   layout.Shell
	Version int               // version of the grouping rules of this program
	Run     *crash.RegroupRun // the run shown; nil: there was none yet
	Effect  crash.RegroupEffect
	Moves   []crash.RegroupMove // the largest moves
	Runs    []crash.RegroupRun  // newest first
}

func (p RegroupPage) running() bool { return p.Run != nil && p.Run.State == crash.RegroupRunning }

// nothingToDo reports whether a complete run found no report to move.
func (p RegroupPage) nothingToDo() bool { return p.Run.State == crash.RegroupDone && p.Run.Moved == 0 }

func (p RegroupPage) form(what string) layout.PostFormArgs {
	return layout.PostFormArgs{ID: "regroup" + what, Action: layout.PathRegroup + what, CSRFToken: p.Shell.CSRFToken,
		Class: "inline"}
}

// runPath returns the address of the part that shows a run.
func runPath(r crash.RegroupRun) string { return fmt.Sprintf("%s?run=%d", layout.PathRegroup, r.ID) }

// RegroupPercent returns the progress of a run in whole percent; below 100 until it is done.
func RegroupPercent(r crash.RegroupRun) int64 {
	if r.State == crash.RegroupDone {
		return 100
	}
	return min(99, 100*r.LookedAt/max(r.Estimate, 1))
}
