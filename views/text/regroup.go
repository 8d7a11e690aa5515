package text

import (
	"fmt"
	"strconv"

	"mishap/crash"
)

// Texts of the page that regroups stored reports.
const (
	RegroupMeans = "New reports are always grouped by the newest rules. Stored reports keep their problems until " +
		"you regroup them. Manual changes stay: merged problems stay merged, reports that were split off stay split off, " +
		"and bugs, notes and names move with their problem."
	RegroupPreview  = "Preview changes"
	RegroupStart    = "Regroup stored reports"
	RegroupNever    = "Stored reports have not been regrouped yet."
	RegroupNothing  = "All stored reports are already grouped by these rules. There is nothing to do."
	RegroupRuns     = "Previous runs"
	RegroupDry      = "preview"
	RegroupProgress = "Progress"
	RegroupStop     = "Stop"
	RegroupReports  = "Reports"
	RegroupFrom     = "From"
	RegroupTo       = "To"
	RegroupNew      = "new"
	RegroupNowhere  = "no problem"
	InTerminal      = "In a terminal:"
)

// RegroupRules names the version of the grouping rules.
func RegroupRules(version int) string {
	return "This version of mishap has version " + strconv.Itoa(version) + " of the grouping rules."
}

// RegroupRun names a run.
func RegroupRun(id int64) string { return "Run " + strconv.FormatInt(id, 10) }

// RegroupRunTitle heads a run.
func RegroupRunTitle(r crash.RegroupRun) string {
	if r.Dry {
		return "Preview: what version " + strconv.Itoa(r.Rules) + " of the rules would change"
	}
	return "Regrouping by version " + strconv.Itoa(r.Rules) + " of the rules"
}

// RegroupState describes the state of a run in one line.
func RegroupState(r crash.RegroupRun) string {
	verb := "moved"
	if r.Dry {
		verb = "would move"
	}
	out := fmt.Sprintf("%s examined, %s %s", Reports(r.LookedAt), Count(r.Moved), verb)
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

// RegroupEffect describes the effect of a run on problems in one line.
func RegroupEffect(r crash.RegroupRun, e crash.RegroupEffect) string {
	verb := crash.Plural(e.Changed, "changes", "change")
	if r.Dry {
		verb = "would change"
	}
	return fmt.Sprintf("%s %s: %s split up, %s created, %s merged with others.",
		Problems(e.Changed), verb, Count(e.Split), Count(e.New), Count(e.Merged))
}
