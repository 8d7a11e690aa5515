package gallery

import (
	"fmt"
	"time"

	"mishap/crash"
	eventsview "mishap/views/events"
)

// notices returns the inbox and the pages about mail in every state.
func notices() []specimen {
	settings := func(change func(*eventsview.MailSettingsPage)) eventsview.MailSettingsPage {
		p := eventsview.MailSettingsPage{Shell: shell("Notifications", viewer), On: true, From: "crashes@example.org",
			Settings: crash.DefaultMailSettings}
		change(&p)
		return p
	}
	filled := settings(func(p *eventsview.MailSettingsPage) {
		p.Settings.Address, p.Settings.Pending = "vera@example.org", "a.very.long.address.of.vera@subdomain.example.org"
		p.Settings.Mode, p.Settings.Zone = crash.MailWeekly, "Europe/Paris"
		p.Settings.Quiet = &crash.QuietHours{From: 22, To: 7}
		p.Settings.KindsOff = []crash.EventKind{crash.EventQuiet}
		p.Mails = mails()
	})
	mistakes := settings(func(p *eventsview.MailSettingsPage) {
		p.Typed, p.Problem = "vera", "This is not a mail address."
		p.Wrong = "“Mars/Olympus” is not a time zone that this machine knows."
	})
	admins := func(change func(*eventsview.MailAdminPage)) eventsview.MailAdminPage {
		p := eventsview.MailAdminPage{Shell: shell("Mail", admin), On: true, From: "crashes@example.org",
			Address: "ada@example.org"}
		change(&p)
		return p
	}
	return []specimen{
		{"Inbox, empty", eventsview.Inbox(eventsview.InboxPage{Shell: shell("Inbox", viewer)})},
		{"Inbox", eventsview.Inbox(inbox())},
		{"Inbox, nothing matches", eventsview.Inbox(eventsview.InboxPage{Shell: shell("Inbox", viewer), MailOn: true,
			Filter: crash.NoticeFilter{Kind: crash.EventQuiet, Unread: true},
			Kinds:  map[crash.EventKind]int64{crash.EventNew: 2}})},
		{"Mail settings, mail is off",
			eventsview.MailSettings(settings(func(p *eventsview.MailSettingsPage) { p.On = false }))},
		{"Mail settings, no address", eventsview.MailSettings(settings(func(*eventsview.MailSettingsPage) {}))},
		{"Mail settings", eventsview.MailSettings(filled)},
		{"Mail settings, mistakes", eventsview.MailSettings(mistakes)},
		{"Confirm an address", eventsview.ConfirmAddress(eventsview.ConfirmAddressPage{Shell: shell("Confirm", viewer),
			Address: "vera@example.org", Path: "/"})},
		{"Unsubscribe", eventsview.Unsubscribe(eventsview.UnsubscribePage{Shell: shell("Unsubscribe", visitor), Path: "/"})},
		{"Unsubscribed", eventsview.Unsubscribe(eventsview.UnsubscribePage{Shell: shell("Unsubscribe", visitor),
			Done: true})},
		{"Mail of all, off", eventsview.MailAdmin(admins(func(p *eventsview.MailAdminPage) { p.On = false }))},
		{"Mail of all, none", eventsview.MailAdmin(admins(func(*eventsview.MailAdminPage) {}))},
		{"Mail of all, every state, mistake", eventsview.MailAdmin(admins(func(p *eventsview.MailAdminPage) {
			p.Mails, p.LastSuccess, p.Next = mails(), now.Add(-time.Hour), "/?before=1"
			p.Address, p.Problem = "ada", "This is not a mail address."
			p.States = map[crash.MailState]int64{crash.MailSent: 41_300, crash.MailFailed: 3}
		}))},
	}
}

// inbox returns a notice of each kind, read and unread, with every fate by mail.
func inbox() eventsview.InboxPage {
	s := shell("Inbox", viewer)
	s.Unread = 120
	page := eventsview.InboxPage{Shell: s, MailOn: true, More: true, Kinds: map[crash.EventKind]int64{},
		Packages: map[string]int64{"tidewatch": 9}}
	fates := []crash.NoticeMail{crash.MailWaits, crash.MailHeld, crash.Mailed, crash.NotMailed}
	for i, kind := range crash.EventKinds {
		b := bucket(i)
		n := crash.Notice{ID: int64(100 - i), At: now.Add(-time.Duration(i) * time.Hour), Reason: "you follow tidewatch",
			Mail: fates[i%len(fates)], Event: crash.Event{Kind: kind, Title: b.Title, Text: "Seen again in 46.4-0ubuntu2.",
				Package: b.Package, Source: b.SourcePackage, Release: releases[1], Version: "46.4-0ubuntu2", Machines: int64(i),
				Bucket: &b.ID, At: now}}
		if kind.Urgent() || kind == crash.EventStorm {
			n.Event.Bucket = nil
		}
		if i%3 == 2 {
			n.Read = now
		}
		page.Notices, page.Kinds[kind] = append(page.Notices, n), 1
	}
	return page
}

// mails returns a mail in each state.
func mails() []crash.Mail {
	replies := map[crash.MailState]string{
		crash.MailWaiting: "451 4.7.1 Greylisted, try later", crash.MailSent: "2.0.0 OK: queued",
		crash.MailFailed: "connecting to relay.example.org:465: tls: failed to verify certificate: x509: " +
			"certificate is valid " +
			"for mail.example.net, not relay.example.org. The certificate belongs to another name. Put a name of the " +
			"certificate into smtp_url.",
	}
	kinds := []crash.MailKind{crash.MailNotice, crash.MailSummary, crash.MailDigest, crash.MailConfirm, crash.MailTest}
	var all []crash.Mail
	for i, state := range crash.MailStates {
		all = append(all, crash.Mail{ID: int64(i + 1), Name: "vera", Kind: kinds[i], State: state, Reply: replies[state],
			Address: fmt.Sprintf("vera%d@example.org", i), Created: now.Add(-time.Hour), Due: now.Add(time.Hour), Attempts: i,
			Ended: now, Notices: i})
	}
	return all
}
