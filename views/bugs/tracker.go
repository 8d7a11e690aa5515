package bugs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/views/layout"
)

// TrackerPage holds the page on which an admin connects mishap to the tracker.
type TrackerPage struct {
	Shell      layout.Shell
	Tracker    string // its name, "Launchpad"
	Connection crash.Connection

	AuthorizeURL string    // the tracker's page for the decision, while a request is pending; empty: none is
	Expires      time.Time // when that request expires
	Problem      string    // why the last action failed; empty: it did not
	Pressed      string    // the last element of that action's address

	ConfigFile      string
	FromEnvironment bool // the token of this instance comes from the environment
	Unwritten       bool // the new token is not in the configuration file
	Lines           []ConfigLine
}

// ConfigLine is a line for the configuration file, shown to an admin after connecting, on request.
type ConfigLine struct{ Key, Value string }

// Connected reports whether mishap has an access token of the tracker.
func (p TrackerPage) Connected() bool { return p.Connection.Source != crash.NotConnected }

func (p TrackerPage) form(action string) layout.PostFormArgs {
	return p.Shell.Form(action, "/admin/tracker/"+action)
}

// limit describes the restriction of the token, if the tracker reported one.
func (p TrackerPage) limit() string {
	switch p.Connection.Context {
	case "":
		return "unknown"
	case "None":
		return "no particular project"
	}
	return p.Connection.Context
}

func (p TrackerPage) failedAt(buttons ...string) bool {
	return p.Problem != "" && slices.Contains(buttons, p.Pressed)
}

// emptyLines stands for the lines before they are shown.
const emptyLines = "tracker_oauth_token = \"…\"\ntracker_oauth_secret = \"…\""

// trackerStepCount is the number of steps of connecting.
const trackerStepCount = 3

// AllDone reports whether mishap is connected and no new request is pending.
func (p TrackerPage) AllDone() bool {
	return p.Connected() && p.AuthorizeURL == "" && !p.Connection.Dead
}

// Step returns the number of the next step; 0: none.
func (p TrackerPage) Step() int {
	switch {
	case p.AllDone():
		return 0
	case p.AuthorizeURL != "":
		return 2
	}
	return 1
}

// stepState returns the state of a step: done, next or later.
func (p TrackerPage) stepState(number int) string {
	switch next := p.Step(); {
	case next == 0 || number < next:
		return "done"
	case number == next:
		return "next"
	}
	return "later"
}

// Origin returns where the access token is stored.
func (p TrackerPage) Origin() string {
	switch {
	case p.Connection.Source == crash.FromDatabase:
		return "the database, for all instances without a token of their own"
	case p.FromEnvironment:
		return "the environment of this instance"
	}
	return "the configuration file of this instance, " + p.ConfigFile
}

// linesText returns the lines as they appear in the file. Tokens contain no quotes.
func (p TrackerPage) linesText() string {
	var b strings.Builder
	for _, l := range p.Lines {
		b.WriteString(l.Key + " = " + strconv.Quote(l.Value) + "\n")
	}
	return b.String()
}

// BannerRejected warns admins on every page.
func BannerRejected(tracker string) string {
	return tracker + " no longer accepts mishap’s access token: no bugs are created."
}

// TrackerAccessUnknown says that the access that a token gives is unknown.
const TrackerAccessUnknown = "as chosen when authorising (the tracker does not report it)"

// PathUpdates is the address of the forms that choose what mishap writes to bugs.
const PathUpdates = "/admin/tracker/updates"

// UpdatesPage holds the policies about what mishap writes to bugs by itself.
type UpdatesPage struct {
	Shell   layout.Shell
	Rules   crash.UpdatePolicies
	Waiting WaitingUpdates
	Adding  crash.UpdatePolicy // as typed in the form for a new row
	Problem string             // why the last form was refused; empty: it was not
	Pattern string             // with Problem: the row that the form was about; empty: a new one
}

// WaitingUpdates are the numbers of bugs that would get an update if it were on for every package,
// and that get none by the present policies.
type WaitingUpdates struct{ Again, Quiet, Section int }

// form returns the form of a row, or of a new one if the pattern is empty.
func (p UpdatesPage) form(pattern string) layout.PostFormArgs {
	return layout.PostFormArgs{ID: rowID(pattern), Action: PathUpdates, CSRFToken: p.Shell.CSRFToken, Class: "inline"}
}

// rowID returns the id of the form of a row. Patterns have no blanks.
func rowID(pattern string) string { return "rule-" + pattern }

func rowName(pattern string) string {
	if pattern == crash.EveryPackage {
		return "All other packages"
	}
	return pattern
}

func (p UpdatesPage) raisable(i int) bool { return i > 0 && p.Rules[i].Pattern != crash.EveryPackage }

// updateText describes a comment that mishap has sent to a bug.
func updateText(u crash.BugUpdate) string {
	what := updateAbout(string(u.Kind), u.About)
	switch u.Outcome {
	case "sent":
		return "Commented: " + what + "."
	case "refused":
		return "Comment (" + what + ") refused: " + u.Answer + "."
	case "unknown":
		return "Comment (" + what + "): it is not known whether the tracker has it (" + u.Answer + "). It is not sent again."
	}
	return "Comment (" + what + "): no answer yet."
}

// visibleUpdates is the number of comments that the page of a problem shows without unfolding.
const visibleUpdates = 2

func firstUpdates(b crash.Bug) []crash.BugUpdate {
	return b.Updates[:min(len(b.Updates), visibleUpdates)]
}

func otherUpdates(b crash.Bug) []crash.BugUpdate { return b.Updates[len(firstUpdates(b)):] }

// stopText says why mishap no longer updates the section of a bug.
func stopText(stop crash.SectionStop) string {
	switch stop {
	case crash.SectionChanged:
		return "Someone changed the section, so mishap no longer updates it."
	case crash.SectionRemoved:
		return "Someone removed the section, so mishap no longer updates it."
	case crash.SectionForeign:
		return "The description has a section that this mishap did not write, so mishap leaves it alone."
	case crash.SectionActive:
	}
	return ""
}

func updateAbout(kind, about string) string {
	switch kind {
	case "again":
		return "seen again in " + about
	case "quiet":
		return "no report since " + about
	case "forwarded":
		return "address of the other bug"
	}
	return "function names"
}
