// Package events renders notification rules, the inbox, and the settings of mail and webhooks.
package events

import (
	"maps"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/views/layout"
)

// Addresses of a person's notices and of the choices about them.
const (
	PathInboxRead     = layout.PathInbox + "/read"
	PathInboxUnread   = layout.PathInbox + "/unread"
	PathNotifications = "/account/notifications"
	PathUnsubscribe   = "/unsubscribe/" // and the token
)

// InboxPage lists the notices of a person.
type InboxPage struct {
	Shell    layout.Shell
	Filter   crash.NoticeFilter
	Notices  []crash.Notice
	Kinds    map[crash.EventKind]int64
	Packages map[string]int64
	More     bool // there are older ones
	MailOn   bool // this site sends mail
}

// InboxURL returns the address of the notices that pass a filter.
func InboxURL(f crash.NoticeFilter) string {
	query := map[string]string{"kind": string(f.Kind), "package": f.Package, "mail": layout.Digits(f.Mail),
		"before": layout.Digits(f.Before)}
	if f.Unread {
		query["unread"] = "1"
	}
	return layout.Address(layout.PathInbox, query)
}

// next returns the address of older notices.
func (p InboxPage) next() string {
	f := p.Filter
	f.Before = p.Notices[len(p.Notices)-1].ID
	return InboxURL(f)
}

// filtered reports whether the page shows only some notices.
func (p InboxPage) filtered() bool {
	f := p.Filter
	return f.Kind != "" || f.Package != "" || f.Mail != 0 || f.Unread
}

func (p InboxPage) anyUnread() bool {
	return slices.ContainsFunc(p.Notices, func(n crash.Notice) bool { return n.Read.IsZero() })
}

// kinds returns the kinds of the notices, in the order of crash.EventKinds.
func (p InboxPage) kinds() []crash.EventKind {
	return slices.DeleteFunc(slices.Clone(crash.EventKinds), func(k crash.EventKind) bool {
		return p.Kinds[k] == 0 && k != p.Filter.Kind
	})
}

func (p InboxPage) packages() []string {
	names := slices.Collect(maps.Keys(p.Packages))
	if p.Filter.Package != "" && p.Packages[p.Filter.Package] == 0 {
		names = append(names, p.Filter.Package)
	}
	slices.Sort(names)
	return names
}

func kindLook(k crash.EventKind) string {
	switch {
	case k == crash.EventRegressed || k.Urgent():
		return "state-error"
	case k == crash.EventStorm || k == crash.EventRising || k == crash.EventUnmuted:
		return "state-warn"
	}
	return ""
}

// noticeFacts returns the package, version, release and machines of a notice, why the person gets
// it, and what became of it by mail.
func noticeFacts(n crash.Notice) string {
	e := n.Event
	parts := []string{strings.TrimSpace(e.Package + " " + e.Version), string(e.Release)}
	if e.Machines > 0 {
		parts = append(parts, crash.Counted(e.Machines, "machine", "machines"))
	}
	if n.Reason != "" {
		parts = append(parts, "because "+n.Reason)
	}
	parts = append(parts, mailWords(n.Mail))
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

func mailWords(m crash.NoticeMail) string {
	switch m {
	case crash.MailWaits, crash.MailHeld:
		return "mail waits"
	case crash.Mailed:
		return "sent by mail"
	case crash.NotMailed:
	}
	return "not by mail"
}

// MailSettingsPage holds a person's choices about mail.
type MailSettingsPage struct {
	Shell    layout.Shell
	Settings crash.MailSettings
	Typed    string // address in the form
	Problem  string // with the address; empty: none
	Wrong    string // with the choices; empty: none
	Mails    []crash.Mail
	On       bool // this site sends mail

	Weekly        []WeeklyMail
	WeeklyProblem string // with a new weekly report; empty: none
}

// WeeklyMail is a weekly report that the person gets.
type WeeklyMail struct {
	ID    int64
	Scope crash.WeeklyScope
}

// hourWords returns "08:00".
func hourWords(hour int) string { return time.Date(0, 1, 1, hour, 0, 0, 0, time.UTC).Format("15:04") }

// weekdays lists the days of a week, Monday first.
var weekdays = []time.Weekday{
	time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday, time.Sunday,
}

// quietFrom returns the first quiet hour, or -1.
func (p MailSettingsPage) quietFrom() int {
	if p.Settings.Quiet == nil {
		return -1
	}
	return p.Settings.Quiet.From
}

// quietTo returns the hour at which quiet hours end, or -1.
func (p MailSettingsPage) quietTo() int {
	if p.Settings.Quiet == nil {
		return -1
	}
	return p.Settings.Quiet.To
}

// confirmMail returns the newest mail with a link for the address that waits for confirmation.
func (p MailSettingsPage) confirmMail() *crash.Mail {
	for i, m := range p.Mails {
		if m.Kind == crash.MailConfirm && m.Address == p.Settings.Pending {
			return &p.Mails[i]
		}
	}
	return nil
}

// mailStates lists the states of mails with label and style.
var mailStates = map[crash.MailState]struct{ word, look string }{
	crash.MailWaiting: {"waiting", "state-wait"}, crash.MailSending: {"sending", "state-wait"},
	crash.MailSent: {"sent", "state-done"}, crash.MailFailed: {"failed", "state-error"},
	crash.MailCancelled: {"cancelled", ""},
}

// MailAdminPage shows admins what became of all mail.
type MailAdminPage struct {
	Shell  layout.Shell
	State  crash.MailState // empty: all
	States map[crash.MailState]int64
	Mails  []crash.Mail
	Next   string // address of older mails; empty: none
}

// MailSummary says whether and how mail is sent.
type MailSummary struct {
	On          bool
	From        string
	LastSuccess time.Time
	States      map[crash.MailState]int64
	Address     string // for a test
	Problem     string // with that address
}

// MailsURL returns the address of the mails in a state that are older than one.
func MailsURL(state crash.MailState, before int64) string {
	return layout.Address(layout.PathMailAdmin, map[string]string{"state": string(state), "before": layout.Digits(before)})
}

// UnsubscribePage asks whether a person wants to unsubscribe, or says that it is done.
type UnsubscribePage struct {
	Shell layout.Shell
	Path  string // address of this page, with the token
	Done  bool
}

// ConfirmAddressPage asks whether an address is the person's.
type ConfirmAddressPage struct {
	Shell   layout.Shell
	Address string
	Path    string
}

const mailIsOff = "This site sends no mail: its administrator has not configured a relay."
