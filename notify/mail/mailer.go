// Package mail writes mails about events and hands them to an SMTP relay. It takes them from an
// [Outbox], which decides what is sent to whom. Mails contain titles, versions and counts, but no
// stacks, command lines, paths or names of machines, because mail is not access-controlled.
package mail

import (
	"context"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/span"
)

// Outbox holds the mails to send. Its methods return [crash.Unavailable] if it cannot be reached.
type Outbox interface {
	// PlanMails decides which notices become mails now.
	PlanMails(ctx context.Context) error
	// MailNobody decides that no waiting notice becomes a mail.
	MailNobody(ctx context.Context) error
	// ReleaseMails makes mails due again whose instance has died while it was sending them.
	ReleaseMails(ctx context.Context) error
	// ClaimMail claims a mail that is due, and returns NotFound if there is none.
	ClaimMail(ctx context.Context) (crash.Mail, []crash.Notice, error)
	// SettleMail records the outcome of an attempt.
	SettleMail(ctx context.Context, id int64, outcome crash.MailOutcome) error
	// AllowTestMail returns TooMany if a person has sent too many tests.
	AllowTestMail(ctx context.Context, user int64) error
	// RecordTestMail records a test and its outcome.
	RecordTestMail(ctx context.Context, user int64, address string, outcome crash.MailOutcome) error
	// MailKey returns the key that signs links.
	MailKey(ctx context.Context) ([]byte, error)
}

// Config holds the settings of a Mailer.
type Config struct {
	Relay      *Relay // nil: no mail is sent
	From       string // as ParseFrom accepts it
	BaseURL    string // of links, without a slash at the end
	Timeout    time.Duration
	Log        *slog.Logger
	Now        func() time.Time
	Registerer prometheus.Registerer
	Tracer     *span.Tracer // records calls of the relay; nil: none
}

// Mailer sends the mails of an Outbox. It is safe for concurrent use.
type Mailer struct {
	config   Config
	outbox   Outbox
	host     string // of BaseURL, without the port
	attempts *prometheus.CounterVec

	mu  sync.Mutex
	key []byte
}

// usualTimeout is the time limit of sending one mail. Relays may scan a mail before they accept it;
// after a time-out, it is sent again.
const usualTimeout = time.Minute

// New returns a Mailer.
func New(c Config, outbox Outbox) (*Mailer, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil {
		return nil, err
	}
	if c.Timeout == 0 {
		c.Timeout = usualTimeout
	}
	m := &Mailer{config: c, outbox: outbox, host: base.Hostname(), attempts: prometheus.NewCounterVec(
		prometheus.CounterOpts{
			Name: "mishap_mail_attempts_total",
			Help: "Attempts to send a mail, by outcome: sent, waiting (for another attempt) or failed.",
		}, []string{"outcome"})}
	for _, state := range []crash.MailState{crash.MailSent, crash.MailWaiting, crash.MailFailed} {
		m.attempts.WithLabelValues(string(state)) // starts at 0, so that rates see the first attempt
	}
	return m, c.Registerer.Register(m.attempts)
}

// Enabled reports whether there is a relay, so that mail is sent.
func (m *Mailer) Enabled() bool { return m.config.Relay != nil }

// From returns the address from which mail comes.
func (m *Mailer) From() string { return m.config.From }

// secret returns the key that signs links.
func (m *Mailer) secret(ctx context.Context) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key == nil {
		key, err := m.outbox.MailKey(ctx)
		if err != nil {
			return nil, err
		}
		m.key = key
	}
	return m.key, nil
}
