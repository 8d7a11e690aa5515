package text

import (
	"strconv"
	"time"

	"mishap/crash"
)

// Texts of the filing log.
const (
	FilingLog          = "Filing log"
	FilingStates       = "States"
	FilingAll          = "all"
	FilingOldestBefore = "Oldest unfinished filing: requested"
	FilingsAll         = "All filings"
	FilingsOlder       = "Older filings"
	FilingsNewest      = "Newest filings"
	FilingsNoOlder     = "There are no older filings."
	FilingsNoneInState = "No filings in this state."
	FilingsNone        = "No bugs have been requested yet. Each request, each call to the tracker and its answer will " +
		"be listed here."
	FilingsNoneNext = "Show problems without a bug"
	FilingReconcile = "To find bugs of mishap’s account that are not linked to a problem, run in a terminal:"

	FilingHistory   = "History"
	FilingWhen      = "When"
	FilingEvent     = "Event"
	FilingBy        = "By"
	FilingOutcome   = "Outcome"
	FilingStatus    = "HTTP status"
	FilingDuration  = "Duration"
	FilingDetails   = "Details"
	FilingRequestID = "The tracker’s id of this request"
	FilingBug       = "bug"

	FilingRetry      = "Retry now"
	FilingGiveUpMore = "Give up…"
	FilingGiveUp     = "Give up"
	FilingReason     = "Reason"
	FilingLinkMore   = "Link a bug…"
	FilingLink       = "Link bug"

	FilingRetrying = "Retrying."
	FilingGivenUp  = "Filing given up."
)

// States of filings, and what they mean.
const (
	FilingQueued        = "queued"
	FilingQueuedMeans   = "Waiting for its turn to be sent to the tracker."
	FilingSending       = "sending"
	FilingSendingMeans  = "Being sent to the tracker now."
	FilingUnknown       = "unknown"
	FilingUnknownMeans  = "The tracker may have created the bug. mishap searches for it before it tries again."
	FilingRefused       = "refused"
	FilingRefusedMeans  = "The tracker refused to create the bug."
	FilingAbandoned     = "given up"
	FilingAbandonMeans  = "A person gave up on it."
	FilingFiled         = "filed"
	FilingFiledMeans    = "The bug is in the tracker."
	FilingNoAnswer      = "no answer yet"
	FilingCallCreate    = "sent to the tracker"
	FilingCallSearch    = "searched for in the tracker"
	FilingCallSubscribe = "subscribed the person to the bug"
)

// FilingHeading is the heading of the page of one filing.
func FilingHeading(id int64) string { return "Filing " + strconv.FormatInt(id, 10) }

// FilingHistoryOf is the heading of the history of a filing.
func FilingHistoryOf(lines int) string { return FilingHistory + " (" + strconv.Itoa(lines) + ")" }

// FilingRequestedBy names the person who requested a bug.
func FilingRequestedBy(person string) string { return "requested by " + person }

// FilingAttempts returns "1 attempt" or "3 attempts".
func FilingAttempts(n int64) string { return Counted(n, "attempt", "attempts") }

// FilingNext says when the next attempt is due.
func FilingNext(at string) string { return "next attempt " + at }

// FilingLinked says which bug was linked instead.
func FilingLinked(bug int64) string { return "linked to bug " + strconv.FormatInt(bug, 10) }

// FilingLeftOut says how many calls the history leaves out.
func FilingLeftOut(n int64) string {
	return Counted(n, "older call is", "older calls are") + " not shown."
}

// FilingDone confirms that a bug was filed.
func FilingDone(bug int64) string {
	return "Bug " + strconv.FormatInt(bug, 10) + " filed."
}

// SentAs names the account with which a bug was sent last.
func SentAs(f crash.Filing) string {
	if f.SentAs != "" {
		return "sent as ~" + f.SentAs
	}
	return "sent by mishap’s account"
}

// FiledAs continues the message that a bug was filed, with the account that filed it if the person
// chose their own.
func FiledAs(f crash.Filing) string {
	switch {
	case f.SentAs != "":
		return " You are its reporter, as ~" + f.SentAs + "."
	case f.Fallback != "":
		return " " + FilingFellBack(f.Fallback)
	}
	return ""
}

// FilingFellBack says why mishap's account files a bug instead of the person's own.
func FilingFellBack(reason string) string { return "mishap’s account files it: " + reason }

// BannerRestored tells triagers and admins on every page that nothing is sent.
func BannerRestored(taken time.Time) string {
	return "The database was restored from a backup of " + taken.UTC().Format("2006-01-02 15:04 UTC") +
		". mishap files no bugs and sends nothing until an administrator has compared it with the tracker."
}

// BannerMore is the link beside it.
const BannerMore = "More"
