package text

import "mishap/crash"

// Texts of the inbox, and of the choices about mail.
const (
	Inbox      = "Inbox"
	InboxEmpty = "Nothing yet. Events about what you follow, and about problems that are assigned to you, " +
		"appear here."
	InboxEmptyFollow = "Follow a package"
	InboxNoneHere    = "No notification matches these filters."
	InboxAll         = "Show all"
	InboxOlder       = "Older"
	InboxNewest      = "Newest"
	InboxByMail      = "The inbox has everything, whatever you choose to get by mail."
	InboxKind        = "Kind"
	InboxPackage     = "Package"
	InboxAny         = "any"
	InboxUnreadOnly  = "only unread"
	InboxShow        = "Show"
	InboxRead        = "Mark as read"
	InboxReadAll     = "Mark all as read"
	InboxOneMail     = "These are the notifications in one mail."
	NoticeMailed     = "sent by mail"
	NoticeMailWaits  = "mail waits"
	NoticeNotMailed  = "not by mail"
	NoticesUnread    = "Marked as unread again."

	MailIsOff          = "This site sends no mail: its administrator has not configured a relay."
	MailAddressHeading = "Mail address"
	MailNoAddress      = "You get no mail yet. Enter an address; a link in a mail to it confirms that it is yours."
	MailConfirmed      = "confirmed"
	MailPending        = "not confirmed"
	MailPendingMeans   = "Open the link in the mail that was sent to this address. It is valid for three days."
	MailAddress        = "Your mail address"
	MailOtherAddress   = "Another address"
	MailSendLink       = "Send the link"
	MailLinkSent       = "A link is on its way. Open it to confirm the address."
	MailSendTest       = "Send a test mail"
	MailRemoveAddress  = "Remove the address"
	MailRemoved        = "The address was removed. You get no mail."
	MailNowConfirmed   = "The address is confirmed. You get mail there."
	MailNotYours       = "This link belongs to another account. Sign in with the account that asked for it."
	MailNoAddressYet   = "Confirm an address first."

	MailChoices     = "What you get by mail"
	MailWhen        = "When"
	MailHour        = "Hour of the daily or weekly mail"
	MailWeekday     = "Day of the weekly mail"
	MailZone        = "Time zone"
	MailZoneExample = "Europe/Paris"
	MailZoneHint    = "Of all hours on this page, such as Europe/Paris, America/New_York or UTC."
	MailQuiet       = "Quiet hours"
	MailQuietFrom   = "Quiet hours begin"
	MailQuietTo     = "Quiet hours end"
	MailQuietHint   = "Mail for each event waits until they end. Alerts to administrators and the daily or weekly mail " +
		"do not wait."
	MailNoHour       = "none"
	MailKinds        = "About"
	MailBadChoice    = "The form contains a value that does not exist. Reload the page, then choose again."
	MailBadZone      = "There is no such time zone. Write it like Europe/Paris."
	MailBadQuiet     = "Choose both ends of the quiet hours, at different times, or none."
	MailChoicesSaved = "Saved."
	MailHistory      = "Last mails to you"
	MailCreated      = "Written"
	MailPerson       = "Person"
	MailContents     = "Contents"
	MailReply        = "Last reply of the relay"
	MailWaiting      = "waiting"
	MailSending      = "sending"
	MailSent         = "sent"
	MailFailed       = "failed"
	MailCancelled    = "cancelled"
	MailAgain        = "Send again"
	MailWillGo       = "The mail will be sent within seconds."
	MailAdmin        = "Mail"
	MailOn           = "on"
	MailOffWord      = "off"
	MailLastSuccess  = "Last accepted mail:"
	MailTestTo       = "Test address"
	MailStates       = "States of mails"
	MailCountsMean   = "The counts are those of waiting mails, and of other mails of the past day."
	MailNone         = "There are no such mails."
	UnsubscribeAsk   = "Stop all mail from this site? Your inbox still gets everything."
	UnsubscribeDone  = "You get no more mail from this site. Your inbox still gets everything."
	UnsubscribeLess  = "Or get less mail: choose hours and kinds of events."
	UnsubscribeBack  = "Change your mind, or choose what you get"
	UnsubscribeBody  = "This address accepts only List-Unsubscribe=One-Click."
)

// InboxUnread labels the link to the inbox. It begins with the text of the link.
func InboxUnread(shown string) string { return Inbox + " " + shown + " unread" }

// NoticeReason says why a person gets a notice.
func NoticeReason(reason string) string { return "because " + reason }

// ReadNoticeLabel labels the button that marks a notice as read.
func ReadNoticeLabel(title string) string { return "Mark as read: " + title }

// NoticesRead says how many notices were marked as read.
func NoticesRead(n int64) string {
	return Counted(n, "notification", "notifications") + " marked as read."
}

// MailMode describes when a person gets mail.
func MailMode(m crash.MailMode) string {
	switch m {
	case crash.MailImmediate:
		return "at once, a mail for each event"
	case crash.MailDaily:
		return "once a day, if there is something"
	case crash.MailWeekly:
		return "once a week, if there is something"
	case crash.MailOff:
	}
	return "never"
}

// MailKind says what a mail contains.
func MailKind(k crash.MailKind, notices int64) string {
	switch k {
	case crash.MailNotice:
		return "one event"
	case crash.MailSummary:
		return "summary of " + Counted(notices, "event", "events")
	case crash.MailDigest:
		return Counted(notices, "event", "events")
	case crash.MailConfirm:
		return "link to confirm the address"
	case crash.MailTest:
	}
	return "test"
}

// MailAttempts counts the attempts to send a mail.
func MailAttempts(n int64) string { return Counted(n, "attempt", "attempts") }

// MailFrom says from which address mail comes.
func MailFrom(address string) string { return "Mail comes from " + address + "." }

// MailAgainLabel labels the button that sends a mail again.
func MailAgainLabel(name string) string { return "Send again to " + name }

// MailConfirmAsk asks whether an address should get mail.
func MailConfirmAsk(address string) string { return "Should notifications go to " + address + "?" }

// MailTested says what the relay replied to a test mail.
func MailTested(accepted bool, reply string) string {
	if accepted {
		return "The relay accepted the test mail: " + reply
	}
	return "The relay did not accept the test mail: " + reply
}
