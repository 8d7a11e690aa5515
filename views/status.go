package views

import (
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
)

// StatusView holds the status of a problem for its page: in words, its bugs, and whether filing is
// likely to help.
type StatusView struct {
	Status crash.Status
	Bugs   BugsView
	Advice stats.Advice // empty if filing is not offered
	Now    time.Time
}

const (
	statusID     = "status"
	statusTarget = "#" + statusID
	morph        = "outerMorph" // htmx replaces an element but leaves equal descendants in place
)

// IsStatusTarget reports whether the request header HX-Target names the part of StatusPart.
func IsStatusTarget(header string) bool { return header == "div#"+statusID }

// statusClass returns the class of a status mark.
func statusClass(w crash.StateWord) string {
	return "status-" + strings.ReplaceAll(string(w), " ", "-")
}

// quietStates are the states that lists do not mark, because most problems have them.
var quietStates = []crash.StateWord{crash.StateNone, crash.StateUnread, crash.StateNew, crash.StateUnfiled,
	crash.StateNameless, crash.StateTests}

// marked reports whether lists mark a problem with this status.
func marked(w crash.StateWord) bool { return !slices.Contains(quietStates, w) }

// maxReleases is the number of releases that the status describes in full.
const maxReleases = 6

// releases returns the releases that the status describes.
func (v StatusView) releases() []crash.ReleaseStatus {
	return v.Status.Releases[:min(len(v.Status.Releases), maxReleases)]
}

func (v StatusView) more() int { return len(v.Status.Releases) - len(v.releases()) }
