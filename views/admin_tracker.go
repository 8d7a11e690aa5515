package views

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// TrackerPage holds the page on which an admin connects mishap to the tracker.
type TrackerPage struct {
	Shell      Shell
	Tracker    string // its name, "launchpad.net"
	Connection crash.Connection
	Comments   CommentsView

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

func (p TrackerPage) connected() bool { return p.Connection.Source != crash.NotConnected }

func (p TrackerPage) form(action string) PostFormArgs {
	return PostFormArgs{ID: action, Action: "/admin/tracker/" + action, CSRFToken: p.Shell.CSRFToken}
}

// limit describes the restriction of the token, if the tracker reported one.
func (p TrackerPage) limit() string {
	switch p.Connection.Context {
	case "":
		return "not known"
	case "None":
		return "not limited to one project"
	}
	return p.Connection.Context
}

// failedAt reports whether the problem was caused by one of these buttons.
func (p TrackerPage) failedAt(buttons ...string) bool {
	return p.Problem != "" && slices.Contains(buttons, p.Pressed)
}

func (p TrackerPage) origin() string {
	switch {
	case p.Connection.Source == crash.FromDatabase:
		return "the database, for all units without a token of their own"
	case p.FromEnvironment:
		return "the environment of this unit"
	}
	return "the configuration file of this unit, " + p.ConfigFile
}

// linesText returns the lines as they appear in the file. Tokens contain no quotes.
func (p TrackerPage) linesText() string {
	var b strings.Builder
	for _, l := range p.Lines {
		b.WriteString(l.Key + " = " + strconv.Quote(l.Value) + "\n")
	}
	return b.String()
}
