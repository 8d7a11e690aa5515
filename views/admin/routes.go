package admin

import (
	"strconv"

	"mishap/crash"
	"mishap/views/layout"
)

// RoutesPage holds the page on which an admin says where bugs go.
type RoutesPage struct {
	Shell    layout.Shell
	Trackers []RouteTracker
	Rows     []RouteRow // the first routes
	Count    int        // of all routes
	Unknown  []crash.NameCount
	Try      RouteTry

	Editing bool   // the text is in a field; otherwise there are too many routes
	Text    string // of all routes, or as typed
	Problem string // why the text was refused; empty: it was not
	Notice  string
}

// RouteTracker is a tracker to which routes can lead.
type RouteTracker struct {
	Name, Title string
	Form        string // of targets
	Target      string // where bugs go without a route or without its target
	Upstream    bool
}

// words describes the tracker in the explanations of the form.
func (t RouteTracker) words() string {
	text := t.Title + ", with targets of the form " + t.Form
	if t.Target != "" {
		text += "; without a target: " + t.Target
	}
	return text
}

// RouteRow is one route.
type RouteRow struct {
	crash.Route
	Line     int    // in the text of all routes
	Title    string // of the tracker; empty: it is not in the configuration
	Upstream bool
	Problem  string // what is wrong with it in the present configuration
}

// RouteTry is a question where the bug of a package would go, with its answers.
type RouteTry struct {
	Source, ProblemType string
	Release             crash.Release

	Answer, Upstream RouteAnswer // zero: not asked
}

// RouteAnswer says where a bug would go.
type RouteAnswer struct {
	Where   string // "GNOME/mutter in GNOME"
	Route   crash.Route
	Line    int    // of Route; 0: no route fits
	Review  bool   // a person reviews the bug first
	Version string // that stands for the package's in Where; empty: none does
	Problem string // why it can go nowhere
	None    bool   // Problem only says that no route leads to an upstream project
}

// RoutesSaved says how many routes there are now.
func RoutesSaved(n int) string {
	if n == 0 {
		return "Saved. There are no routes."
	}
	return "Saved " + crash.Counted(int64(n), "route", "routes") + ". New bugs follow them."
}

func (p RoutesPage) form() layout.PostFormArgs {
	return layout.PostFormArgs{
		ID: "routes-form", Action: layout.PathRoutes, CSRFToken: p.Shell.CSRFToken, Class: "template-form", Files: true,
	}
}

// first returns the tracker that gets bugs without a route.
func (p RoutesPage) first() RouteTracker {
	for _, t := range p.Trackers {
		if !t.Upstream {
			return t
		}
	}
	return RouteTracker{}
}

func (p RoutesPage) describedBy() string {
	if p.Problem != "" {
		return "routes-problem"
	}
	return "routes-hint"
}

// why says what decided where a bug goes.
func (a RouteAnswer) why() string {
	if a.Line == 0 {
		return "no route fits, and this is the first tracker"
	}
	return "line " + strconv.Itoa(a.Line) + " decides"
}

// unknownText says what happens to bugs whose route leads to an unknown tracker.
func unknownText(c crash.NameCount) string {
	verb := "lead"
	if c.Reports == 1 {
		verb = "leads"
	}
	return crash.Counted(c.Reports, "route", "routes") + " " + verb + " to " + c.Name + ", which is not in the " +
		"configuration: bugs are refused. Change the routes, or add a [[tracker]] table with this name."
}

// orAny marks an empty value of a route.
func orAny(s string) string {
	if s == "" {
		return "any"
	}
	return s
}
