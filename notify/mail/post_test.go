package mail_test

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/db/people"
	mishapmail "mishap/notify/mail"
	"mishap/notify/mail/mailtest"
)

const base = "https://crashes.example.org"

// post is a database, an SMTP server and a clock, with mailers that use them.
type post struct {
	t      *testing.T
	url    string // of the database
	store  *events.Store
	server *mailtest.Server

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
	if err != nil {
		p.t.Fatal(err)
	}
	m, err := mishapmail.New(mishapmail.Config{
		Relay: relay, From: "mishap <crashes@example.org>", BaseURL: base, Timeout: 300 * time.Millisecond,
		Log: dbtest.Log(p.t), Now: p.clock, Registerer: prometheus.NewRegistry(),
	}, s)
	if err != nil {
		p.t.Fatal(err)
	}
	return m
}

// round runs a round of a mailer.
func (p *post) round(m *mishapmail.Mailer) {
	p.t.Helper()
	if err := m.Round(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

// reader adds an account with a confirmed address, and changes its settings.
func (p *post) reader(name string, change func(*crash.MailSettings)) int64 {
	p.t.Helper()
	user, err := people.New(p.store.Store).Add(p.t.Context(), "", name, crash.RoleTriager, "correct horse battery")
	if err != nil {
		p.t.Fatal(err)
	}
	dbtest.Exec(p.t, p.url, `insert into mail_settings (user_id, address, confirmed) values ($1, $2, now())`,
		user.ID, name+"@example.org")
	if change != nil {
		s, err := p.store.MailSettings(p.t.Context(), user.ID)
		if err != nil {
			p.t.Fatal(err)
		}
		change(&s)
		if err := p.store.SaveMailSettings(p.t.Context(), s); err != nil {
			p.t.Fatal(err)
		}
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
	if err != nil {
		p.t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"text/plain; charset=UTF-8", "text/html; charset=UTF-8"}[len(parts)]
		if got := part.Header.Get("Content-Type"); got != want || part.Header.Get("Content-Transfer-Encoding") !=
			"quoted-printable" {
			t.Errorf("part %d: got %v, want %q", len(parts), part.Header, want)
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatal(err)
		}
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
