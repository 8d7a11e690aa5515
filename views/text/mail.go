package text

import (
	"mishap/crash"
)

// Texts of mails.
const (
	MailConfirmSubject = "Confirm your mail address"
	MailConfirmLink    = "Confirm this address"
	MailConfirmIgnore  = "If that was not you, do nothing: without your confirmation this address gets no further mail."
	MailConfirmWhy     = "You get this because somebody entered this address on the notifications page."
	MailTestSubject    = "Test mail from mishap"
	MailTestWhy        = "You get this because somebody pressed “Send a test mail”."
	MailSettings       = "Your notifications"
	MailOpen           = "Open it"
	MailOpenAll        = "Open all of them"
	MailChange         = "Change what you get"
	MailUnsubscribe    = "Unsubscribe"
)

// MailConfirmLead is the sentence of a mail that confirms an address.
func MailConfirmLead(name, site string) string {
	return name + " wants to get notifications from " + site + " at this address."
}

// MailTestLead is the sentence of a test mail.
func MailTestLead(site string) string { return "Mail from " + site + " arrives here." }

// MailDigestHeading is the heading of a daily or weekly mail.
func MailDigestHeading(n int64) string { return Counted(n, "notification", "notifications") }

// MailSummaryHeading is the heading of a mail about events beyond the limit.
func MailSummaryHeading(n int64) string { return Counted(n, "more notification", "more notifications") }

// MailSummaryLead says why there is a summary.
func MailSummaryLead(limit int64) string {
	return "You have had " + Counted(limit, "mail", "mails") + " within an hour. These notifications come as one mail."
}

// MailOpenMore labels the link to a list that is longer than the mail.
func MailOpenMore(n int64) string { return Counted(n, "more, open all", "more, open all") }

// MailWhy says why a person gets a mail.
func MailWhy(reasons []string) string {
	const most = 3
	switch n := len(reasons); {
	case n == 0:
		return "You get this because you have an account on this site."
	case n > most:
		reasons = append(append([]string{}, reasons[:most]...), "for "+Counted(int64(n-most), "other reason",
			"other reasons"))
	}
	return "You get this because " + crash.JoinAnd(reasons) + "."
}

// eventKinds names the kinds of events.
var eventKinds = map[crash.EventKind]string{
	crash.EventNew: "New", crash.EventRegressed: "Regressed", crash.EventRising: "Rising",
	crash.EventProposed: "New in proposed", crash.EventSymbolised: "Symbolised", crash.EventQuiet: "Quiet",
	crash.EventUnmuted: "Unmuted", crash.EventStorm: "Many new problems", crash.EventRefused: "Filing refused",
	crash.EventTracker: "Tracker refuses mishap", crash.EventAssigned: "Assigned", crash.EventMentioned: "Mentioned",
	crash.EventEndpointOff: "Endpoint switched off", crash.EventToken: "API token expires",
	crash.EventAccount: "Your account was changed", crash.EventMany: "Summary",
}

// EventKind names a kind of event.
func EventKind(k crash.EventKind) string {
	if name := eventKinds[k]; name != "" {
		return name
	}
	return string(k)
}
