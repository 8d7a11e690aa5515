package mail_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/events"
	mishapmail "mishap/notify/mail"
	"mishap/notify/mail/mailtest"
)

// TestDigest checks that a digest comes at the reader's hour, that there is none without events, and
// that regressions are first.
func TestDigest(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	ada := p.reader("ada", func(s *crash.MailSettings) {
		s.Mode, s.Hour, s.Zone = crash.MailDaily, 8, "Europe/Berlin"
	})
	m := p.mailer(p.store)
	for n := range 25 {
		p.publish(event(n, crash.EventNew), ada)
	}
	p.publish(event(100, crash.EventRising), ada)
	p.publish(event(101, crash.EventRegressed), ada)
	for range 18 { // until 6 o'clock UTC, an hour before the digest
		p.round(m)
		p.wait(time.Hour)
	}
	p.round(m)
	if n := len(p.server.Mails()); n != 0 {
		t.Fatalf("got %d mails before 8 o'clock in Berlin, want none", n)
	}
	for range 30 { // more than a day
		p.wait(time.Hour)
		p.round(m)
	}
	mails := p.server.Mails()
	if len(mails) != 1 {
		t.Fatalf("got %d mails in a day, want 1", len(mails))
	}
	got := open(t, mails[0])
	if want := "27 notifications: regressed: zsh crashed in f101()"; got.subject() != want {
		t.Errorf("subject: got %q, want %q", got.subject(), want)
	}
	lines := slices.DeleteFunc(strings.Split(got.plain, "\n"), func(s string) bool { return !strings.HasPrefix(s, "* ") })
	if len(lines) != 20 || !strings.HasPrefix(lines[0], "* Regressed: ") || !strings.HasPrefix(lines[1], "* New: ") ||
		strings.Count(got.html, "<li") != 20 {
		t.Errorf("got %d lines %q, want 20, the regression first", len(lines), lines)
	}
	if want := "7 more, open all: " + base + "/inbox?mail=1"; !strings.Contains(got.plain, want) {
		t.Errorf("got no %q in\n%s", want, got.plain)
	}
	if when, err := got.Header.Date(); err != nil || when.UTC().Hour() != 7 {
		t.Errorf("date: got %v, %v, want 7 o'clock UTC", when, err)
	}
}

// TestSummary checks the limit of mails per hour.
func TestSummary(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	ada := p.reader("ada", nil)
	for n := range 57 {
		p.publish(event(n, crash.EventNew), ada)
	}
	m := p.mailer(p.store)
	p.round(m)
	p.publish(event(100, crash.EventNew), ada)
	p.round(m)
	mails := p.server.Mails()
	if len(mails) != 21 {
		t.Fatalf("got %d mails, want 20 and a summary", len(mails))
	}
	got := open(t, mails[20])
	if want := "37 more notifications: new: "; !strings.HasPrefix(got.subject(), want) {
		t.Errorf("subject: got %q, want %q", got.subject(), want)
	}
	if !strings.Contains(got.plain, "17 more, open all: "+base+"/inbox?mail=") {
		t.Errorf("got no link to all in\n%s", got.plain)
	}
	p.wait(61 * time.Minute)
	p.round(m)
	p.round(m)
	mails = p.server.Mails()
	if len(mails) != 22 || !strings.HasPrefix(open(t, mails[21]).subject(), "1 more notification: ") {
		t.Errorf("an hour later: got %d mails, want one more summary", len(mails))
	}
}

// states returns how many mails are in each state.
func (p *post) states() map[crash.MailState]int {
	p.t.Helper()
	mails, err := p.store.Mails(p.t.Context(), "", 0, 0, 1000)
	if err != nil {
		p.t.Fatal(err)
	}
	states := map[crash.MailState]int{}
	for _, m := range mails {
		states[m.State]++
	}
	return states
}

// TestRefusals checks temporary and permanent refusals, and relays that hang and drop connections.
func TestRefusals(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	greylisted, unknown := p.reader("greylisted", nil), p.reader("unknown", nil)
	hanging, dropped, fine := p.reader("hanging", nil), p.reader("dropped", nil), p.reader("fine", nil)
	var failing atomic.Bool
	failing.Store(true)
	p.server.OnRcpt(func(to string) error {
		switch {
		case strings.HasPrefix(to, "greylisted") && failing.Load():
			return mailtest.Temporary
		case strings.HasPrefix(to, "unknown"):
			return mailtest.Permanent
		}
		return nil
	})
	p.server.OnData(func(to string) error {
		switch {
		case strings.HasPrefix(to, "hanging") && failing.Load():
			return mailtest.ErrHang
		case strings.HasPrefix(to, "dropped") && failing.Load():
			return mailtest.ErrDrop
		}
		return nil
	})
	p.publish(event(1, crash.EventNew), greylisted, unknown, hanging, dropped, fine)
	m := p.mailer(p.store)
	p.round(m)
	if got := p.states(); got[crash.MailSent] != 1 || got[crash.MailFailed] != 1 || got[crash.MailWaiting] != 3 {
		t.Fatalf("first round: got %v, want one sent, one failed, three waiting", got)
	}
	failed, err := p.store.Mails(t.Context(), crash.MailFailed, unknown, 0, 10)
	if err != nil || len(failed) != 1 || !strings.Contains(failed[0].Reply, "550 5.1.1 No such mailbox") {
		t.Errorf("permanent refusal: got %v, %v, want the reply of the relay", failed, err)
	}
	p.round(m)
	if got := p.states(); got[crash.MailWaiting] != 3 {
		t.Errorf("second round at once: got %v, want the same", got)
	}
	failing.Store(false)
	p.wait(2 * time.Minute)
	p.round(m)
	if got := p.states(); got[crash.MailSent] != 4 || got[crash.MailWaiting] != 0 {
		t.Errorf("two minutes later: got %v, want all sent", got)
	}
	ids := map[string]string{}
	for _, mail := range p.server.Mails() {
		id := open(t, mail).Header.Get("Message-Id")
		if was := ids[mail.To]; was != "" && was != id {
			t.Errorf("%s: got two mails with different ids", mail.To)
		}
		ids[mail.To] = id
	}
	if len(ids) != 4 {
		t.Errorf("got mail to %v, want to four people", ids)
	}
}

// TestGivesUp checks that a mail is tried for two days, and that a relay that is down fails nothing
// at once.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	p.server.OnRcpt(func(string) error { return mailtest.Temporary })
	p.publish(event(1, crash.EventNew), p.reader("ada", nil))
	m := p.mailer(p.store)
	hours := 0
	for ; p.states()[crash.MailFailed] == 0 && hours < 100; hours++ {
		p.round(m)
		p.wait(time.Hour)
	}
	if hours < 40 || hours > 50 {
		t.Errorf("gave up after %d h, want about two days", hours)
	}
	mails, err := p.store.Mails(t.Context(), crash.MailFailed, 0, 0, 1)
	if err != nil || len(mails) != 1 || mails[0].Attempts > 25 {
		t.Fatalf("got %v, %v, want one mail with few attempts", mails, err)
	}
	p.server.OnRcpt(nil)
	if err := p.store.RetryMail(t.Context(), mails[0].ID); err != nil {
		t.Fatal(err)
	}
	p.round(m)
	if got := p.states(); got[crash.MailSent] != 1 {
		t.Errorf("sent again by hand: got %v, want it sent", got)
	}
}

// TestInstances checks that instances that send at the same time send everything once.
func TestInstances(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	var people []int64
	for n := range 5 {
		people = append(people, p.reader(fmt.Sprintf("reader%d", n), nil))
	}
	for n := range 12 {
		p.publish(event(n, crash.EventNew), people...)
	}
	var rounds sync.WaitGroup
	for range 3 {
		m := p.mailer(p.open())
		rounds.Go(func() {
			for range 3 {
				if err := m.Round(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	rounds.Wait()
	seen := map[string]int{}
	for _, mail := range p.server.Mails() {
		seen[open(t, mail).Header.Get("Message-Id")]++
	}
	if len(seen) != 60 || len(p.server.Mails()) != 60 {
		t.Errorf("got %d mails with %d ids, want 60 of each", len(p.server.Mails()), len(seen))
	}
}

// TestDeadInstance checks that mail of an instance that has died is sent, with the same id as the
// copy that the relay may have.
func TestDeadInstance(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	p.publish(event(1, crash.EventNew), p.reader("ada", nil))
	dying := dbtest.OpenConfig(t, db.Config{URL: p.url, Now: p.clock})
	first := events.New(dying)
	if err := first.PlanMails(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := first.ClaimMail(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := p.mailer(p.store)
	p.round(m)
	if n := len(p.server.Mails()); n != 0 {
		t.Fatalf("got %d mails while the instance lives, want none", n)
	}
	dying.Close()
	for range 1000 { // PostgreSQL needs a moment to notice
		if p.round(m); len(p.server.Mails()) > 0 {
			break
		}
	}
	if n := len(p.server.Mails()); n != 1 {
		t.Fatalf("got %d mails after its death, want 1", n)
	}
	mails, err := p.store.Mails(t.Context(), crash.MailSent, 0, 0, 1)
	if err != nil || len(mails) != 1 || mails[0].Attempts != 2 {
		t.Errorf("got %v, %v, want two attempts", mails, err)
	}
}

// TestWithoutMail checks people without an address, the stop switch, and a site without a relay.
func TestWithoutMail(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	ada := p.reader("ada", nil)
	m := p.mailer(p.store)
	dbtest.Exec(t, p.url, `insert into notification_stop (stopped, person) values (now(), 'root')`)
	p.publish(event(1, crash.EventNew), ada)
	p.round(m)
	if n := len(p.server.Mails()); n != 0 {
		t.Errorf("stopped: got %d mails, want none", n)
	}
	dbtest.Exec(t, p.url, `delete from notification_stop`)
	p.round(m)
	if n := len(p.server.Mails()); n != 1 {
		t.Errorf("started again: got %d mails, want 1", n)
	}
	if err := p.store.Unsubscribe(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	p.publish(event(2, crash.EventNew), ada)
	p.round(m)
	none, err := mishapmail.New(mishapmail.Config{BaseURL: base, Log: dbtest.Log(t), Now: p.clock,
		Registerer: prometheus.NewRegistry()}, p.store)
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, p.url, `update mail_settings set mode = 'immediate'`)
	p.publish(event(3, crash.EventNew), ada)
	p.round(none)
	p.round(m)
	if n := len(p.server.Mails()); n != 1 {
		t.Errorf("unsubscribed, then without a relay: got %d mails, want no more", n)
	}
	if _, err := none.Test(t.Context(), ada, "ada@example.org"); crash.KindOf(err) != crash.Conflict {
		t.Errorf("test without a relay: got %v, want Conflict", err)
	}
}

// TestTestMail checks that a test returns and records what the relay replies.
func TestTestMail(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	ada := p.reader("ada", nil)
	m := p.mailer(p.store)
	got, err := m.Test(t.Context(), ada, "ada@example.org")
	if err != nil || got.State != crash.MailSent || got.Reply == "" {
		t.Errorf("got %+v, %v, want the reply of the relay", got, err)
	}
	p.server.OnRcpt(func(string) error { return mailtest.Permanent })
	if got, err = m.Test(t.Context(), ada, "ada@example.org"); err != nil || !strings.Contains(got.Reply, "550 5.1.1") {
		t.Errorf("got %+v, %v, want the refusal of the relay", got, err)
	}
	if got := p.states(); got[crash.MailSent] != 1 || got[crash.MailFailed] != 1 {
		t.Errorf("got %v, want both recorded", got)
	}
	for range 4 {
		_, err = m.Test(t.Context(), ada, "ada@example.org")
	}
	if crash.KindOf(err) != crash.TooMany {
		t.Errorf("sixth test: got %v, want TooMany", err)
	}
}

// TestCancelled checks that a round that is interrupted leaves no mail claimed.
func TestCancelled(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	ada := p.reader("ada", nil)
	for n := range 3 {
		p.publish(event(n, crash.EventNew), ada)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p.server.OnData(func(string) error { cancel(); return nil })
	_ = p.mailer(p.store).Round(ctx)
	if got := p.states(); got[crash.MailSending] != 0 || got[crash.MailSent] != 1 {
		t.Errorf("got %v, want one sent and none claimed", got)
	}
}
