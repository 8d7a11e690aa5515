// Package mail writes mails about events and hands them to an SMTP relay. It takes them from an
// [Outbox], which decides what is sent to whom. Mails contain titles, versions and counts, but no
// stacks, command lines, paths or names of machines, because mail is not access-controlled.
package mail

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
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

const (
	// roundMails limits the mails of one round, so that new notices do not wait for a long queue.
	roundMails = 500
	// lostConnections is the number of failed connections in a row that ends a round. A relay that
	// does not work costs a time-out each time.
	lostConnections = 3
	// tryFor is how long a mail is tried. Relays that greylist accept it after minutes; others may be
	// down for a night.
	tryFor = 48 * time.Hour
)

var retryAfter = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour,
}

// Round decides which mails to send, and sends all that are due. Several instances may run rounds at
// the same time.
func (m *Mailer) Round(ctx context.Context) error {
	if !m.Enabled() {
		return m.outbox.MailNobody(ctx)
	}
	if err := m.outbox.ReleaseMails(ctx); err != nil {
		return err
	}
	if err := m.outbox.PlanMails(ctx); err != nil {
		return err
	}
	key, err := m.secret(ctx)
	if err != nil {
		return err
	}
	relay := m.connection()
	defer relay.close()
	for sent, lost := 0, 0; sent < roundMails && lost < lostConnections && ctx.Err() == nil; sent++ {
		mail, notices, err := m.outbox.ClaimMail(ctx)
		if crash.KindOf(err) == crash.NotFound {
			return nil
		}
		if err != nil {
			return err
		}
		result := m.send(ctx, relay, key, mail, notices)
		if lost++; !result.lost {
			lost = 0
		}
		if err := m.settle(ctx, mail, result); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mailer) connection() *connection {
	return &connection{relay: m.config.Relay, helo: m.host, timeout: m.config.Timeout}
}

func (m *Mailer) send(
	ctx context.Context, relay *connection, key []byte, mail crash.Mail, notices []crash.Notice,
) sending {
	text, err := m.write(key, mail, notices)
	if err != nil {
		return sending{permanent: true, reply: replyOf(err)}
	}
	message, err := m.message(ctx, key, mail, text)
	if err != nil {
		return sending{permanent: true, reply: replyOf(err)}
	}
	ctx, step := m.config.Tracer.Start(ctx, "send mail")
	result := relay.send(ctx, message)
	step.End(result.failure())
	return result
}

func (m *Mailer) settle(ctx context.Context, mail crash.Mail, result sending) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	outcome := m.outcome(mail, result)
	m.attempts.WithLabelValues(string(outcome.State)).Inc()
	if outcome.State != crash.MailSent { // the reply may contain the address of the person
		m.config.Log.WarnContext(ctx, "a mail was not sent", "mail", mail.ID, "attempt", mail.Attempts,
			"state", outcome.State, "lost_connection", result.lost)
	}
	if err := m.outbox.SettleMail(ctx, mail.ID, outcome); err != nil {
		return fmt.Errorf("mail %d: %w", mail.ID, err)
	}
	return nil
}

func (m *Mailer) outcome(mail crash.Mail, result sending) crash.MailOutcome {
	now := m.config.Now()
	out := crash.MailOutcome{State: crash.MailSent, Reply: result.reply}
	if result.accepted {
		return out
	}
	out.Due = now.Add(retryAfter[min(max(mail.Attempts, 1), len(retryAfter))-1])
	if out.State = crash.MailWaiting; result.permanent || out.Due.After(mail.Created.Add(tryFor)) {
		out.State = crash.MailFailed
	}
	return out
}

const testTime = 15 * time.Second

// Test sends a test mail at once and records it. It returns what the relay answered, and whether it
// accepted the mail.
func (m *Mailer) Test(ctx context.Context, user int64, address string) (crash.MailOutcome, error) {
	if !m.Enabled() {
		return crash.MailOutcome{}, ErrNoRelay
	}
	if err := m.outbox.AllowTestMail(ctx, user); err != nil {
		return crash.MailOutcome{}, err
	}
	key, err := m.secret(ctx)
	if err != nil {
		return crash.MailOutcome{}, err
	}
	relay := m.connection()
	relay.timeout = min(relay.timeout, testTime)
	defer relay.close()
	test := crash.Mail{User: user, Kind: crash.MailTest, Address: address, Created: m.config.Now()}
	result := m.send(ctx, relay, key, test, nil)
	outcome := crash.MailOutcome{State: crash.MailFailed, Reply: result.reply}
	if result.accepted {
		outcome.State = crash.MailSent
	}
	m.attempts.WithLabelValues(string(outcome.State)).Inc()
	return outcome, m.outbox.RecordTestMail(ctx, user, address, outcome)
}

// ErrNoRelay is the error of a site that sends no mail.
var ErrNoRelay = crash.Errorf(crash.Conflict, "no_relay",
	"This site sends no mail. An administrator can set smtp_url and mail_from in its configuration.")

// A link in a mail holds what it is for, its details, and a signature of both, so that nobody can
// invent one. Links to unsubscribe never expire, because people use them years later.

// Purposes of links. The signature covers them, so that one link cannot be used as another.
const (
	purposeUnsubscribe = "unsubscribe"
	purposeConfirm     = "confirm"
)

const subscription = "mail"

const confirmFor = 3 * 24 * time.Hour

var (
	errBadLink = crash.Errorf(crash.NotFound, "bad_mail_link",
		"This link is incomplete or was not made here. Copy it completely from the mail.")
	errOldLink = crash.Errorf(crash.Conflict, "old_mail_link",
		"This link has expired. Ask for a new one in your settings of notifications.")
)

func sign(key []byte, purpose string, details ...string) string {
	text := strings.Join(details, "\n")
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(text)) + "." + encode(signature(key, purpose, text))
}

func signature(key []byte, purpose, text string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte("mishap mail: " + purpose + "\n" + text)) // never fails
	return mac.Sum(nil)[:16]
}

func verify(key []byte, purpose, token string, details int) ([]string, error) {
	encoded, signed, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	mac, err2 := base64.RawURLEncoding.Strict().DecodeString(signed)
	if err != nil || err2 != nil || !hmac.Equal(mac, signature(key, purpose, string(text))) {
		return nil, errBadLink
	}
	found := strings.Split(string(text), "\n")
	if len(found) != details {
		return nil, errBadLink
	}
	return found, nil
}

func unsubscribePath(key []byte, user int64) string {
	return PathUnsubscribe + sign(key, purposeUnsubscribe, strconv.FormatInt(user, 10), subscription)
}

// Paths of links in mails.
const (
	PathUnsubscribe = "/unsubscribe/" // and the token
	PathSettings    = "/account/notifications"
	PathConfirm     = PathSettings + "/confirm/" // and the token
	PathInbox       = "/inbox"
)

// Unsubscribed returns the person who unsubscribes with this token. It returns NotFound for a
// token that is not valid.
func (m *Mailer) Unsubscribed(ctx context.Context, token string) (user int64, err error) {
	key, err := m.secret(ctx)
	if err != nil {
		return 0, err
	}
	details, err := verify(key, purposeUnsubscribe, token, 2)
	if err != nil {
		return 0, err
	}
	user, err = strconv.ParseInt(details[0], 10, 64)
	if err != nil || details[1] != subscription {
		return 0, errBadLink
	}
	return user, nil
}

func (m *Mailer) confirmPath(key []byte, user int64, address string, until time.Time) string {
	return PathConfirm + sign(key, purposeConfirm, strconv.FormatInt(user, 10), address,
		strconv.FormatInt(until.Unix(), 10))
}

// Confirmed returns the person and the address that a token confirms. It returns NotFound for a
// token that is not valid, and Conflict for one that has expired.
func (m *Mailer) Confirmed(ctx context.Context, token string) (user int64, address string, err error) {
	key, err := m.secret(ctx)
	if err != nil {
		return 0, "", err
	}
	details, err := verify(key, purposeConfirm, token, 3)
	if err != nil {
		return 0, "", err
	}
	user, err = strconv.ParseInt(details[0], 10, 64)
	until, err2 := strconv.ParseInt(details[2], 10, 64)
	switch {
	case err != nil || err2 != nil:
		return 0, "", errBadLink
	case m.config.Now().After(time.Unix(until, 0)):
		return 0, "", errOldLink
	}
	return user, details[1], nil
}
