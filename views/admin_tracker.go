package views

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// TrackerPage is where an admin connects mishap to the tracker.
type TrackerPage struct {
	Shell      Shell
	Tracker    string // its name, "launchpad.net"
	Connection crash.Connection
	Comments   CommentsView

	AuthorizeURL string    // the page to decide on, while a request is under way; empty: none is
	Expires      time.Time // when that request ends
	Problem      string    // what the last press of a button met; empty: nothing
	Pressed      string    // the last element of that button's address

	ConfigFile      string
	FromEnvironment bool // the environment gives this unit's token
	Unwritten       bool // the token of this session's flow is not in the file
	Lines           []ConfigLine
}

// ConfigLine is a line for the configuration file, shown to the admin who has just connected and asked to see it.
type ConfigLine struct{ Key, Value string }

func (p TrackerPage) connected() bool { return p.Connection.Source != crash.NotConnected }

func (p TrackerPage) form(action string) PostFormArgs {
	return PostFormArgs{ID: action, Action: "/admin/tracker/" + action, CSRFToken: p.Shell.CSRFToken}
}

// limit is what the token is limited to, as far as the tracker says it.
func (p TrackerPage) limit() string {
	switch p.Connection.Context {
	case "":
		return "not known"
	case "None":
		return "not limited to one project"
	}
	return p.Connection.Context
}

// met reports whether the problem belongs to one of these buttons.
func (p TrackerPage) met(buttons ...string) bool {
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

// linesText is the lines as they stand in the file. What the tracker hands out as tokens holds no quotes.
func (p TrackerPage) linesText() string {
	var b strings.Builder
	for _, l := range p.Lines {
		b.WriteString(l.Key + " = " + strconv.Quote(l.Value) + "\n")
	}
	return b.String()
}
