package mail_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/db/people"
	"mishap/db/problems"
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
	checktest.NoError(p.t, err)
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
	p.timeout = 2 * time.Second // ends the wait for the relay that hangs
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
	checktest.NoError(t, p.store.RetryMail(t.Context(), mails[0].ID))
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
	checktest.NoError(t, first.PlanMails(t.Context()))
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
	checktest.NoError(t, p.store.Unsubscribe(t.Context(), ada))
	p.publish(event(2, crash.EventNew), ada)
	p.round(m)
	none, err := mishapmail.New(mishapmail.Config{BaseURL: base, Log: dbtest.Log(t), Now: p.clock,
		Registerer: prometheus.NewRegistry()}, p.store)
	checktest.NoError(t, err)
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

const base = "https://crashes.example.org"

// post is a database, an SMTP server and a clock, with mailers that use them.
type post struct {
	t       *testing.T
	url     string // of the database
	store   *events.Store
	server  *mailtest.Server
	timeout time.Duration // of a mail; 0: the usual one

	mu  sync.Mutex
	now time.Time
}

func newPost(t *testing.T) *post {
	t.Helper()
	p := &post{t: t, url: dbtest.URL(t), server: mailtest.New(t),
		now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	p.store = p.open()
	return p
}

func (p *post) clock() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// wait moves the clock.
func (p *post) wait(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(d)
}

// open opens the store as another instance does.
func (p *post) open() *events.Store {
	return events.New(dbtest.OpenConfig(p.t, db.Config{URL: p.url, Now: p.clock}))
}

// mailer returns a mailer of the instance with this store.
func (p *post) mailer(s *events.Store) *mishapmail.Mailer {
	p.t.Helper()
	relay, err := mishapmail.ParseRelay(p.server.URL, "off")
	checktest.NoError(p.t, err)
	m, err := mishapmail.New(mishapmail.Config{
		Relay: relay, From: "mishap <crashes@example.org>", BaseURL: base, Timeout: p.timeout,
		Log: dbtest.Log(p.t), Now: p.clock, Registerer: prometheus.NewRegistry(),
	}, s)
	checktest.NoError(p.t, err)
	return m
}

// round runs a round of a mailer.
func (p *post) round(m *mishapmail.Mailer) {
	p.t.Helper()
	checktest.NoError(p.t, m.Round(p.t.Context()))
}

// reader adds an account with a confirmed address, and changes its settings.
func (p *post) reader(name string, change func(*crash.MailSettings)) int64 {
	p.t.Helper()
	user, err := people.New(p.store.Store).Add(p.t.Context(), "", name, crash.RoleTriager, "correct horse battery")
	checktest.NoError(p.t, err)
	dbtest.Exec(p.t, p.url, `insert into mail_settings (user_id, address, confirmed) values ($1, $2, now())`,
		user.ID, name+"@example.org")
	if change != nil {
		s, err := p.store.MailSettings(p.t.Context(), user.ID)
		checktest.NoError(p.t, err)
		change(&s)
		checktest.NoError(p.t, p.store.SaveMailSettings(p.t.Context(), s))
	}
	return user.ID
}

// publish publishes an event for these people.
func (p *post) publish(e crash.Event, people ...int64) {
	p.t.Helper()
	var to crash.Recipients
	for _, id := range people {
		to.People = append(to.People, crash.Recipient{User: id, Reason: "you follow zsh"})
	}
	err := p.store.InTx(p.t.Context(), func(tx pgx.Tx) error {
		_, err := p.store.Publish(p.t.Context(), tx, e, to)
		return err
	})
	checktest.NoError(p.t, err)
}

// event returns an event about the problem with this number.
func event(n int, kind crash.EventKind) crash.Event {
	id := crash.BucketID{byte(n >> 8), byte(n)}
	return crash.Event{
		Edge: fmt.Sprintf("%s:%d", kind, n), Kind: kind, Bucket: &id, Title: fmt.Sprintf("zsh crashed in f%d()", n),
		Package: "zsh", Source: "zsh", Release: "Ubuntu 24.04", Version: "5.9-6", Machines: int64(n), Text: "It happened.",
	}
}

// opened is a mail as a mail program reads it.
type opened struct {
	*mail.Message
	plain, html string
}

func open(t *testing.T, m mailtest.Mail) opened {
	t.Helper()
	msg, err := mail.ReadMessage(strings.NewReader(m.Raw))
	if err != nil {
		t.Fatalf("%v in\n%s", err, m.Raw)
	}
	media, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil || media != "multipart/alternative" {
		t.Fatalf("got %q, %v, want multipart/alternative", media, err)
	}
	var parts []string
	for r := multipart.NewReader(msg.Body, params["boundary"]); ; {
		part, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		checktest.NoError(t, err)
		want := []string{"text/plain; charset=UTF-8", "text/html; charset=UTF-8"}[len(parts)]
		if got := part.Header.Get("Content-Type"); got != want || part.Header.Get("Content-Transfer-Encoding") !=
			"quoted-printable" {
			t.Errorf("part %d: got %v, want %q", len(parts), part.Header, want)
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		checktest.NoError(t, err)
		parts = append(parts, strings.ReplaceAll(string(text), "\r\n", "\n"))
	}
	if len(parts) != 2 {
		t.Fatalf("got %d parts, want plain text and HTML", len(parts))
	}
	return opened{msg, parts[0], parts[1]}
}

// subject returns the decoded subject.
func (o opened) subject() string {
	s, err := new(mime.WordDecoder).DecodeHeader(o.Header.Get("Subject"))
	if err != nil {
		return err.Error()
	}
	return s
}

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
	checktest.NoError(p.t, err)
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

// crashed stores reports of a problem, each of a machine of its own, some days ago.
func (p *post) crashed(name string, n, daysAgo int, options ...crashtest.Option) crash.BucketID {
	p.t.Helper()
	in := intake.New(intake.Config{MaxAgeDays: 366, Now: p.clock}, p.store.Store)
	var id crash.BucketID
	for i := range n {
		report := crashtest.Native(append([]crashtest.Option{crashtest.Set("DuplicateSignature", name),
			crashtest.Process(daysAgo*100 + i + 1), crashtest.At(p.clock().AddDate(0, 0, -daysAgo))}, options...)...)
		if _, err := in.Accept(p.t.Context(), crash.Report{System: crash.SystemID(fmt.Sprint(name, daysAgo, i)),
			Fields: report.Fields()}); err != nil {
			p.t.Fatal(err)
		}
		id = crash.BucketIDOf(grouping.SignatureOf(report.Fields()).Signature)
	}
	dbtest.Counted(p.t, p.store.Store)
	return id
}

// TestWeeklyReport checks that weekly reports come at the reader's hour and day, say the same as the page, and do not
// come when nothing happened, twice, or to people who may not read them.
func TestWeeklyReport(t *testing.T) {
	t.Parallel()
	p := newPost(t) // on Sunday, 22 November, at noon
	ada := p.reader("ada", func(s *crash.MailSettings) { s.Weekday, s.Hour, s.Zone = time.Tuesday, 8, "Europe/Berlin" })
	admin := p.reader("admin", nil) // Monday, 8 o'clock UTC
	off := p.reader("off", func(s *crash.MailSettings) { s.Mode = crash.MailOff })
	dbtest.Exec(t, p.url, `update users set role = 'admin' where id = $1`, admin)
	subscribe := func(user int64, kind crash.WeeklyKind, name string) {
		t.Helper()
		checktest.NoError(t, p.store.AddWeeklyMail(t.Context(), user, crash.WeeklyScope{Kind: kind, Name: name}))
	}
	subscribe(ada, crash.WeeklyPackage, "tidewatch")
	subscribe(ada, crash.WeeklyPackage, "tidewatch") // changes nothing
	subscribe(ada, crash.WeeklyPackage, "quillpad")  // of which nothing happens
	subscribe(ada, crash.WeeklySet, "desktop")       // which the tracker has not named
	subscribe(admin, crash.WeeklyAll, "")
	subscribe(off, crash.WeeklyAll, "")
	p.crashed("old", 9, 60)
	p.crashed("riser", 3, 50)
	p.crashed("riser", 20, 2)
	for i := range 12 {
		p.crashed(fmt.Sprint("fresh", string(rune('a'+i))), 12-i, 3)
	}
	hidden := p.crashed("hidden", 30, 3)
	p.embargo(hidden, true)
	m := p.mailer(p.store)
	hours := func(n int) []mailtest.Mail {
		t.Helper()
		before := len(p.server.Mails())
		for range n {
			p.wait(time.Hour)
			p.round(m)
			p.round(m)
		}
		return p.server.Mails()[before:]
	}
	if early := hours(19); len(early) != 0 {
		t.Fatalf("until Monday, 7 o'clock: got %d mails, want none", len(early))
	}
	mails := hours(2)
	if len(mails) != 1 || !strings.HasPrefix(mails[0].To, "admin@") {
		t.Fatalf("on Monday at 8 o'clock: got %v, want one to admin", mails)
	}
	got := open(t, mails[0])
	checktest.Equal(t, "subject", got.subject(),
		"Weekly report of all packages: 13 new, 1 risen: hidden")
	mails = hours(23) // in Berlin, it is an hour later
	if len(mails) != 1 || !strings.HasPrefix(mails[0].To, "ada@") {
		t.Fatalf("on Tuesday at 8 o'clock in Berlin: got %v, want one to ada", mails)
	}
	got = open(t, mails[0])
	checktest.Equal(t, "subject", got.subject(),
		"Weekly report of tidewatch: 12 new, 1 risen: fresha")
	if when, err := got.Header.Date(); err != nil || when.UTC() != time.Date(2026, 11, 24, 7, 0, 0, 0, time.UTC) {
		t.Errorf("date: got %v, %v, want Tuesday, 7 o'clock UTC", when, err)
	}
	page := base + "/weekly?name=tidewatch&of=package&week=2026-11-17"
	for _, want := range []string{"Weekly report of tidewatch\n\n17 November – 23 November 2026 (UTC): 12 new, " +
		"1 risen.\n\n98 reports; 0 in the seven days before.\n", "\n12 new\n* fresha (tidewatch; 12 reports) " +
		base + "/problem/", "* 2 more: " + page + "&only=new\n", "\n1 risen\n", "20 reports)",
		"\n1 undecided as of today, the oldest first\n", "The whole report: " + page + "\n",
		"You get this because you subscribed to the weekly report of tidewatch.\n",
		"Unsubscribe: " + base + "/unsubscribe/"} {
		if !strings.Contains(got.plain, want) {
			t.Errorf("got no %q in\n%s", want, got.plain)
		}
	}
	if n := strings.Count(got.plain, "\n* "); n != 13 || strings.Count(got.html, "<li") != 13 {
		t.Errorf("got %d lines, want ten new, a link to more, one risen and one undecided", n)
	}
	if strings.Contains(got.plain+got.html, hidden.String()) || strings.Contains(got.plain, "/usr/bin") {
		t.Errorf("got the embargoed problem, or a path, in\n%s", got.plain)
	}
	for header, want := range map[string]string{"List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		"Precedence": "bulk", "Auto-Submitted": "auto-generated"} {
		checktest.Equal(t, header, got.Header.Get(header), want)
	}
	if later := hours(20 * 24); len(later) != 0 { // nothing happened in these weeks
		t.Errorf("in the next weeks: got %d mails, want none", len(later))
	}
}

// TestWeeklyReportEnds checks that a report that waits is not sent to people who may not read it any more, or have
// ended it, and that an embargo empties it.
func TestWeeklyReportEnds(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	fresh := p.crashed("fresh", 3, 2)
	people := map[string]int64{}
	for _, name := range []string{"role", "ended", "blind", "stays"} {
		people[name] = p.reader(name, nil)
		checktest.NoError(t, p.store.AddWeeklyMail(t.Context(), people[name], crash.WeeklyScope{Kind: crash.WeeklyAll}))
	}
	dbtest.Exec(t, p.url, `update users set role = 'admin' where name = 'stays'`)
	m := p.mailer(p.store)
	p.server.OnRcpt(func(string) error { return mailtest.Temporary })
	for range 21 {
		p.wait(time.Hour)
		p.round(m)
	}
	if got := p.states()[crash.MailWaiting]; got != 4 {
		t.Fatalf("got %d mails that wait, want four", got)
	}
	p.server.OnRcpt(nil)
	dbtest.Exec(t, p.url, `update users set role = '' where name = 'role'`)
	mails, err := p.store.WeeklyMails(t.Context(), people["ended"])
	checktest.NoError(t, err)
	checktest.NoError(t, p.store.RemoveWeeklyMail(t.Context(), people["ended"], mails[0].ID))
	if err := p.store.RemoveWeeklyMail(t.Context(), people["blind"], mails[0].ID); crash.KindOf(err) != crash.NotFound {
		t.Errorf("remove what another had: got %v, want NotFound", err)
	}
	p.embargo(fresh, true)
	for range 3 {
		p.wait(time.Hour)
		p.round(m)
	}
	var to []string
	for _, mail := range p.server.Mails() {
		to = append(to, mail.To)
	}
	if !slices.Equal(to, []string{"stays@example.org"}) {
		t.Errorf("got mails to %v, want one to stays, who may see the embargoed problem", to)
	}
	if got := p.states(); got[crash.MailWaiting] != 0 || got[crash.MailFailed] != 0 {
		t.Errorf("got %v, want that no mail waits", got)
	}
}
