package views

import (
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
)

// StatusView says how a problem stands, on its page: the status in words, its bugs, and whether filing one will help.
type StatusView struct {
	Status crash.Status
	Bugs   BugsView
	Advice stats.Advice // empty where nobody is asked to file
	Now    time.Time
}

const (
	statusID     = "status"
	statusTarget = "#" + statusID
	morph        = "outerMorph" // how htmx replaces an element and keeps those inside that stay the same
)

// IsStatusTarget reports whether the header HX-Target of a request names the part that StatusPart makes.
func IsStatusTarget(header string) bool { return header == "div#"+statusID }

// statusClass is the class of a status mark.
func statusClass(w crash.StateWord) string {
	return "status-" + strings.ReplaceAll(string(w), " ", "-")
}

// quietWords are the words that lists do not mark: most problems have them.
var quietWords = []crash.StateWord{crash.StateNone, crash.StateUnread, crash.StateNew, crash.StateUnfiled, crash.StateNameless, crash.StateTests}

// marked reports whether lists mark a problem with its status.
func marked(w crash.StateWord) bool { return !slices.Contains(quietWords, w) }

// maxReleases is how many releases the status names in full.
const maxReleases = 6

// releases are those that the status has something to say of.
func (v StatusView) releases() []crash.ReleaseStatus {
	return v.Status.Releases[:min(len(v.Status.Releases), maxReleases)]
}

func (v StatusView) more() int { return len(v.Status.Releases) - len(v.releases()) }
