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
	Updates    crash.UpdateRules

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
	return layout.PostFormArgs{ID: action, Action: "/admin/tracker/" + action, CSRFToken: p.Shell.CSRFToken}
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

// failedAt reports whether the problem was caused by one of these buttons.
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

// AuthoriseOn is the link of the second step.
func AuthoriseOn(tracker string) string { return "Authorise mishap on " + tracker }

// BannerRejected warns admins on every page.
func BannerRejected(tracker string) string {
	return tracker + " no longer accepts mishap’s access token: no bugs are created."
}

// ConnectTo is the button of the first step.
func ConnectTo(tracker string) string { return "Connect to " + tracker }

// ReconnectTo is the button of the first step if there is a connection.
func ReconnectTo(tracker string) string { return "Reconnect to " + tracker }

// RequestExpires says how long the request is valid.
func RequestExpires(at string) string { return "This request expires at " + at + "." }

// StepFinishMeans says what the last step of connecting does.
const StepFinishMeans = "mishap fetches the access token and checks it."

// StepRequestMeans explains the first step.
func StepRequestMeans(tracker string) string {
	return "mishap asks " + tracker + " for a request token."
}

// TrackerAccessUnknown says that the access that a token gives is unknown.
const TrackerAccessUnknown = "as chosen when authorising (the tracker does not report it)"
