package views

import (
	"fmt"

	"mishap/crash"
)

// PathRegroup is where new grouping rules are applied to stored reports.
const PathRegroup = "/admin/regroup"

// RegroupPage is how regrouping stands.
type RegroupPage struct {
	Shell   Shell
	Version int               // of the grouping rules of this program
	Run     *crash.RegroupRun // the one that is shown; nil: there was none yet
	Effect  crash.RegroupEffect
	Moves   []crash.RegroupMove // the largest
	Runs    []crash.RegroupRun  // the last first
}

func (p RegroupPage) running() bool { return p.Run != nil && p.Run.State == crash.RegroupRunning }

func (p RegroupPage) form(what string) PostFormArgs {
	return PostFormArgs{ID: "regroup" + what, Action: PathRegroup + what, CSRFToken: p.Shell.CSRFToken, Class: "inline"}
}

// path of the part that follows a run.
func runPath(r crash.RegroupRun) string { return fmt.Sprintf("%s?run=%d", PathRegroup, r.ID) }

// RegroupPercent is how far a run is, in whole percent; below 100 until it is done.
func RegroupPercent(r crash.RegroupRun) int64 {
	if r.State == crash.RegroupDone {
		return 100
	}
	return min(99, 100*r.LookedAt/max(r.Estimate, 1))
}

// RegroupWords says how a run stands, in one line.
func RegroupWords(r crash.RegroupRun) string {
	verb := "moved"
	if r.Dry {
		verb = "would move"
	}
	out := fmt.Sprintf("%s looked at, %s %s", Counted(r.LookedAt, "report", "reports"), Count(r.Moved), verb)
	switch {
	case r.State == crash.RegroupStopped:
		out += "; stopped"
	case r.State == crash.RegroupDone:
		out += "; done"
	case r.Waiting:
		out += "; waiting for counting to catch up"
	}
	return out
}

// EffectWords says what a run does to problems, in one line.
func EffectWords(r crash.RegroupRun, e crash.RegroupEffect) string {
	will := ""
	if r.Dry {
		will = "would "
	}
	return fmt.Sprintf("%s %sget other reports: %s split, %s new, %s merged into.",
		Counted(e.Changed, "problem", "problems"), will, Count(e.Split), Count(e.New), Count(e.Merged))
}
