package problems

import (
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/views/bugs"
	"mishap/views/layout"
)

// StatusView holds the status of a problem for its page: in words, its bugs, and whether filing is
// likely to help.
type StatusView struct {
	Status crash.Status
	Bugs   bugs.BugsView
	Manual ManualView   // beside Status, never mixed with it
	Advice stats.Advice // empty if filing is not offered
	Admin  bool         // the person may see the page about symbols
	Now    time.Time
}

// IsStatusTarget reports whether the request header HX-Target names the part of StatusPart.
func IsStatusTarget(header string) bool { return header == "div#"+layout.StatusID }

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
