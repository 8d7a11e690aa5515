package bugs

import (
	"fmt"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/views/layout"
)

// LedgerPage holds a page of the ledger, for admins.
type LedgerPage struct {
	Shell  layout.Shell
	State  crash.FilingState // empty: all
	Only   bool              // the page shows one filing
	Totals crash.FilingTotals
	Rows   []FilingPart
	Next   string // address of the next page; empty: this is the last
	First  bool   // this is the first page
}

// FilingPart holds one filing with its history, for the ledger and for the page of its problem.
type FilingPart struct {
	crash.LedgerEntry
	BugURL    string // address of the filed bug
	MayManage bool   // the person may retry, give up and link by hand
	Alone     bool   // on the page of its problem, so the problem is not named
	Trouble   string // why an action failed, shown beside the buttons
	CSRFToken string
	Now       time.Time
}

// filingStates lists the states in order, with the label and style of each.
var filingStates = []struct {
	state crash.FilingState
	word  string
	look  string
	means string
}{
	{crash.FilingQueued, "queued", "state-wait", "Waiting for its turn to be sent to the tracker."},
	{crash.FilingSending, "sending", "state-wait", "Being sent to the tracker now."},
	{crash.FilingUncertain, "unknown", "state-warn", "The tracker may have created the bug. mishap searches for it " +
		"before it tries again."},
	{crash.FilingRefused, "refused", "state-error", "The tracker refused to create the bug."},
	{crash.FilingAbandoned, "given up", "", "A person gave up on it."},
	{crash.FilingFiled, "filed", "state-done", "The bug is in the tracker."},
}

func filingState(state crash.FilingState) (word, look, means string) {
	for _, s := range filingStates {
		if s.state == state {
			return s.word, s.look, s.means
		}
	}
	return string(state), "", ""
}

// FilingsURL returns the address of the ledger, or of the filings in one state.
func FilingsURL(state crash.FilingState) string {
	return layout.Address(layout.PathFilings, map[string]string{"state": string(state)})
}

// NextFilings returns the address of the page after an entry.
func NextFilings(state crash.FilingState, last crash.LedgerEntry) string {
	return layout.Address(layout.PathFilings, map[string]string{"state": string(state),
		"after": fmt.Sprintf("%d.%d", last.Created.UnixMicro(), last.ID)})
}

// above returns the page to which that of one filing belongs.
func (p LedgerPage) above() []layout.Crumb {
	if p.Only {
		return []layout.Crumb{{Title: "Filing log", Href: layout.PathFilings}}
	}
	return nil
}

func filingsInAll(totals crash.FilingTotals) (n int64) {
	for _, count := range totals.States {
		n += count
	}
	return n
}

func (p FilingPart) id() string { return "filing-" + strconv.FormatInt(p.ID, 10) }

func (p FilingPart) path() string { return layout.PathFilings + "/" + strconv.FormatInt(p.ID, 10) }

// bugText returns what people call a bug of the filing.
func (p FilingPart) bugText(number int64) string {
	return crash.Bug{Number: number, Place: crash.BugPlace{Tracker: p.Tracker, Project: p.Project}}.Text()
}

// moves reports whether the filing will soon change by itself.
func (p FilingPart) moves() bool {
	return p.State == crash.FilingSending || p.State == crash.FilingQueued && p.Problem == ""
}

func (p FilingPart) open() bool {
	return p.State == crash.FilingSending || p.State == crash.FilingQueued || p.State == crash.FilingUncertain
}

func (p FilingPart) form(action string) layout.PostFormArgs {
	return layout.PostFormArgs{
		ID: p.id() + "-" + action, Action: p.path() + "/" + action, CSRFToken: p.CSRFToken, Class: "filing-form",
		InPlace: true, Target: "#" + p.id(),
	}
}

func (p FilingPart) linkForm() layout.PostFormArgs {
	return layout.PostFormArgs{ID: p.id() + "-link", Action: p.Bucket.Path() + "/link", CSRFToken: p.CSRFToken,
		Class: "filing-form"}
}

func (p FilingPart) mayRetry() bool {
	return p.State != crash.FilingFiled && p.State != crash.FilingSending && p.Linked == 0
}

func (p FilingPart) mayGiveUp() bool {
	return p.State == crash.FilingQueued || p.State == crash.FilingUncertain || p.State == crash.FilingRefused
}

func actionText(l crash.LedgerLine) string {
	switch l.Call {
	case "create":
		return "sent to the tracker"
	case "search":
		return "searched for in the tracker"
	case "subscribe":
		return "subscribed the person to the bug"
	}
	words, _ := audit.Words(l.Action)
	return words
}

func outcomeText(l crash.LedgerLine) string {
	switch {
	case l.Call == "":
		return ""
	case l.Ended.IsZero():
		return "no answer yet"
	}
	return l.Outcome
}

// Took describes how long something took.
func Took(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < time.Second:
		return strconv.FormatInt(max(1, d.Milliseconds()), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}

// FilingHeading is the heading of the page of one filing.
func FilingHeading(id int64) string { return "Filing " + strconv.FormatInt(id, 10) }
