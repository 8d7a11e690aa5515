package mail_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/db/problems"
	"mishap/notify/mail/mailtest"
)

// problem stores a report and returns its problem.
func (p *post) problem(report crashtest.Report) crash.BucketID {
	p.t.Helper()
	in := intake.New(intake.Config{MaxAgeDays: 366, Now: p.clock}, p.store.Store)
	if _, err := in.Accept(p.t.Context(), crash.Report{System: "machine", Fields: report.Fields()}); err != nil {
		p.t.Fatal(err)
	}
	dbtest.Counted(p.t, p.store.Store)
	return crash.BucketIDOf(grouping.SignatureOf(report.Fields()).Signature)
}

// embargo embargoes a problem, or lifts its embargo.
func (p *post) embargo(id crash.BucketID, set bool) {
	p.t.Helper()
	var err error
	if s := problems.New(p.store.Store); set {
		_, err = s.Set(p.t.Context(), crash.Mark{Kind: crash.MarkEmbargo, Bucket: id, Person: "eve"})
	} else {
		err = s.Lift(p.t.Context(), id, crash.MarkEmbargo, "eve")
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// TestEmbargo checks that mails about an embargoed problem wait, whether their notices wait, are in a
// summary or are in a mail that failed once, and that they are sent when the embargo is lifted.
func TestEmbargo(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	hidden, public := p.problem(crashtest.Native()), p.problem(crashtest.Python())
	publish := func(n int, id crash.BucketID, title string, people ...int64) {
		e := event(n, crash.EventNew)
		e.Bucket, e.Title = &id, title
		p.publish(e, people...)
	}
	ada, admin := p.reader("ada", nil), p.reader("admin", nil)
	dbtest.Exec(t, p.url, `update users set role = 'admin' where id = $1`, admin)
	daily := p.reader("daily", func(s *crash.MailSettings) { s.Mode, s.Hour, s.Zone = crash.MailDaily, 8, "UTC" })
	m := p.mailer(p.store)
	p.server.OnRcpt(func(string) error { return mailtest.Temporary })
	publish(1, hidden, "secret crashed", ada, admin, daily)
	publish(2, public, "open crashed", ada, daily)
	p.round(m) // the mails for single events are planned, and fail
	p.server.OnRcpt(nil)
	p.embargo(hidden, true)
	publish(3, hidden, "secret crashed again", ada)
	sent := func() (subjects []string) {
		for _, mail := range p.server.Mails() {
			o := open(t, mail)
			subjects = append(subjects, strings.TrimSuffix(mail.To, "@example.org")+": "+o.subject())
			if !strings.HasPrefix(mail.To, "admin") && strings.Contains(o.plain+o.html, "secret") {
				t.Errorf("%s got a mail that names an embargoed problem: %s", mail.To, o.plain)
			}
		}
		return subjects
	}
	for range 21 {
		p.wait(time.Hour)
		p.round(m)
	}
	want := "admin: secret crashed|ada: open crashed|daily: 1 notification: new: open crashed"
	if got := sent(); !sameSet(got, strings.Split(want, "|")) {
		t.Errorf("during the embargo: got %q, want %s", got, want)
	}
	if got := p.states(); got[crash.MailFailed] != 0 || got[crash.MailWaiting] != 0 {
		t.Errorf("during the embargo: got %v, want no mail that failed or waits", got)
	}
	p.embargo(hidden, false)
	before := len(p.server.Mails())
	for range 25 {
		p.wait(time.Hour)
		p.round(m)
	}
	var late []string
	for _, mail := range p.server.Mails()[before:] {
		late = append(late, strings.TrimSuffix(mail.To, "@example.org")+": "+open(t, mail).subject())
	}
	want = "ada: secret crashed|ada: secret crashed|daily: 1 notification: new: secret crashed"
	if !sameSet(late, strings.Split(want, "|")) {
		t.Errorf("after the embargo: got %q, want %s", late, want)
	}
}

// sameSet reports whether two lists have the same texts in any order.
func sameSet(got, want []string) bool {
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	return slices.Equal(got, want)
}

// TestMailEndsWithTheRole checks that people who may not read reports any more get no mail about problems:
// of notices that wait, of a mail that failed once, and of later events. Mail about their account goes on.
func TestMailEndsWithTheRole(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	var people []int64
	for _, name := range []string{"role", "disabled", "group", "stays"} {
		people = append(people, p.reader(name, nil))
	}
	dbtest.Exec(t, p.url, `update users set role = '' where name = 'group'`)
	dbtest.Exec(t, p.url, `insert into group_grants (source, group_name, role, person, created)
		values ('oidc', 'staff', 'viewer', '', now())`)
	dbtest.Exec(t, p.url, `
		with i as (
			insert into identities (user_id, source, issuer, subject, name, created, last_sign_in, groups_read)
			select id, 'oidc', 'https://id.example', name, name, $1, $1, $1 from users where name = 'group' returning id)
		insert into user_groups select id, 'staff' from i`, p.clock())
	m := p.mailer(p.store)
	p.server.OnRcpt(func(string) error { return mailtest.Temporary })
	p.publish(event(1, crash.EventNew), people...)
	p.round(m) // planned, and failed
	if got := p.states()[crash.MailWaiting]; got != 4 {
		t.Fatalf("got %d mails that wait, want four", got)
	}
	p.server.OnRcpt(nil)
	p.publish(event(2, crash.EventNew), people...)
	dbtest.Exec(t, p.url, `update users set role = '' where name = 'role'`)
	dbtest.Exec(t, p.url, `update users set disabled = true where name = 'disabled'`)
	dbtest.Exec(t, p.url, `update identities set groups_read = groups_read - interval '31 days'`)
	p.publish(event(3, crash.EventNew), people...)
	own := event(4, crash.EventAccount)
	own.Bucket, own.Title = nil, "own"
	p.publish(own, people...)
	for range 3 {
		p.wait(time.Hour)
		p.round(m)
	}
	var got []string
	for _, mail := range p.server.Mails() {
		_, subject, found := strings.Cut(open(t, mail).subject(), ": ")
		if !found {
			subject = open(t, mail).subject()
		}
		got = append(got, strings.TrimSuffix(mail.To, "@example.org")+": "+subject)
	}
	want := []string{"role: own", "group: own", "stays: own", "stays: zsh crashed in f1()", "stays: zsh crashed in f2()",
		"stays: zsh crashed in f3()"}
	if !sameSet(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := p.states(); got[crash.MailWaiting] != 0 || got[crash.MailFailed] != 0 {
		t.Errorf("got %v, want that no mail waits", got)
	}
}
