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
	Manual ManualView   // beside Status, never mixed with it
	Advice stats.Advice // empty if filing is not offered
	Admin  bool         // the person may see the page about symbols
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

// named reports whether the page of a problem shows the word of its status. The word adds nothing
// for most problems.
func named(w crash.StateWord) bool { return w != crash.StateNone && w != crash.StateUnfiled }

// beginsWithWord reports whether the headline begins with the word of the status, so that the mark alone
// stands before it.
func beginsWithWord(s crash.Status) bool {
	return strings.HasPrefix(strings.ToLower(s.Headline()), string(s.Word)+" ")
}

// visibleReleases is the number of releases that the status describes without unfolding.
const visibleReleases = 3

// firstReleases returns the releases that the status describes at once, otherReleases the others.
func (v StatusView) firstReleases() []crash.ReleaseStatus {
	return v.Status.Releases[:min(len(v.Status.Releases), visibleReleases)]
}

func (v StatusView) otherReleases() []crash.ReleaseStatus {
	return v.Status.Releases[len(v.firstReleases()):]
}
