package text

import (
	"strconv"

	"mishap/crash"
)

// Texts of the page of what a person follows.
const (
	Followed      = "followed"
	StopFollowing = "Stop following"
	MyEmpty       = "You’re not following anything yet. Problems of the packages that you " +
		"follow will appear here: new ones since your last visit first, then regressions, then those without a bug."
	MyEmptyNext = "Press Follow on the page of a package, or enter below what you want " +
		"to follow."
	PastYear          = "Show the past year"
	MyFirstVisit      = "from your next visit, new problems come first"
	MyAllGroups       = "all groups"
	MarkSeen          = "Mark all as seen"
	WhatYouFollow     = "Following"
	ColumnKind        = "Kind"
	ColumnFeed        = "Feed"
	Atom              = "Atom"
	FollowSomething   = "Follow something"
	FollowMore        = "Follow more"
	FollowThe         = "Follow the"
	FollowCalled      = "called"
	FollowButtonText  = "Follow"
	FollowKindPackage = "package"
	FollowKindPerson  = "packages of a person or team"
	FollowKindSet     = "package set"
	FollowIsPerson    = "person or team"
	FollowWhatIsNew   = "A problem that you follow is new again when it is seen in a higher version or in " +
		"another release, " +
		"or when its state or its bug changes. A problem is new to a saved search once: when it matches for the first time."
	FollowIsProblem     = "problem"
	FollowIsSearch      = "saved search"
	FollowNoSearch      = "no longer exists"
	MyAssigned          = "all that is assigned to you"
	FollowNobody        = "unknown to the tracker"
	FollowReading       = "being read from the tracker"
	ThisProblemFollowed = "this problem"
	SearchFollowed      = "the saved search"
	SeenDone            = "Marked as seen."
	SeenUndone          = "Marked as new again."
	SeenBadForm         = "The form does not say until when to mark problems as seen. Reload the " +
		"page and try again."
)

// Groups of the problems of packages that a person follows. A number precedes them.
const (
	GroupNew     = "new since your last visit"
	GroupUnfiled = "without a bug"
	GroupFiled   = "with a bug"
)

// GroupRegressions returns "regression" or "regressions".
func GroupRegressions(n int64) string { return crash.Plural(n, "regression", "regressions") }

// PackageNamed names a package within a sentence.
func PackageNamed(name string) string { return "the package " + name }

// PackagesOf names the packages of a person or team within a sentence.
func PackagesOf(name string) string { return "the packages of " + name }

// PackageSetNamed names a package set within a sentence.
func PackageSetNamed(name string) string { return "the package set " + name }

// NewsState says that the state of a problem has changed.
func NewsState(state string) string { return "now " + state }

// NewsBug says that a problem has another bug.
func NewsBug(number int64) string { return "bug " + strconv.FormatInt(number, 10) }

// NewsVersion says that a problem was seen in another version or release.
func NewsVersion(name string) string { return "first seen in " + name }

// SourcePackages returns "1 source package" or "12 source packages".
func SourcePackages(n int64) string { return Counted(n, "source package", "source packages") }

// Follow is the button that follows a package.
func Follow(name string) string { return "Follow " + name }

// StopFollowingName labels a button of a list.
func StopFollowingName(name string) string { return "Stop following " + name }

// FeedOf labels a link to a feed.
func FeedOf(name string) string { return "Atom feed of " + name }

// MyNothing says that nothing was counted in a period.
func MyNothing(period string) string { return "No reports of what you follow in " + period + "." }

// MyNewSince explains the word new.
func MyNewSince(since string) string { return "new since your last visit, " + since }

// More links to the rest of a group.
func More(n int64) string { return Count(n) + " more" }

// MoreInFiles says where the rest of a group is.
func MoreInFiles(n int64) string { return More(n) + " in the files below" }

// FollowHint explains where packages come from.
func FollowHint(tracker string) string {
	return "A person or team follows the packages whose bugs they are subscribed to on " + tracker +
		". Package sets are those of the newest release. mishap reads both from time to time."
}

// FollowPackagesOf is the button that follows one's own packages.
func FollowPackagesOf(name string) string { return "Follow the packages of " + name }

// YourNameOn explains that name.
func YourNameOn(tracker string) string { return "your name on " + tracker }

// NowFollowing confirms that something is followed.
func NowFollowing(what string) string { return "Following " + what + "." }

// NotFollowing confirms that something is no longer followed.
func NotFollowing(what string) string { return "No longer following " + what + "." }

// ReadingPackages says that the packages of a person or set are not known yet.
func ReadingPackages(name string) string {
	return "The packages of " + name + " are being read from the tracker. Reload the page in a moment."
}
