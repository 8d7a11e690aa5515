package admin

import (
	"time"

	"mishap/crash/privacy"
	"mishap/views/layout"
	"mishap/views/problems"
)

// PrivacyPage holds the table of classes, retention, and runs over stored reports.
type PrivacyPage struct {
	Shell      layout.Shell
	Rows       []privacy.Row
	Unlisted   privacy.Class
	Secrets    []string // parts of names that make an unlisted field secret
	Removals   []privacy.Removal
	CountsFrom time.Time // first day whose counts have not expired; zero: none have
	Held       int64     // counted reports of held problems
	Holds      []problems.MarkedProblem
	Runs       []privacy.Run // newest first
	Problem    string        // why a run could not be started; empty: nothing
}

// running reports whether a run has not ended.
func (p PrivacyPage) running() bool { return len(p.Runs) > 0 && p.Runs[0].Finished.IsZero() }

func (p PrivacyPage) form(what string) layout.PostFormArgs {
	return layout.PostFormArgs{ID: "privacy-" + what, Action: layout.PathPrivacy + "/" + what,
		CSRFToken: p.Shell.CSRFToken,
		Class:     "inline"}
}

// changed returns the rows that the configuration has changed.
func (p PrivacyPage) changed() []privacy.Row {
	var rows []privacy.Row
	for _, r := range p.Rows {
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
