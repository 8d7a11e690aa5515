// Package mail writes mails about events and hands them to an SMTP relay. It takes them from an
// [Outbox], which decides what is sent to whom. Mails contain titles, versions and counts, but no
// stacks, command lines, paths or names of machines, because mail is not access-controlled.
package mail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"net/netip"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"mishap/crash"
	"mishap/crash/privacy"
	"mishap/crash/span"
)

// Outbox holds the mails to send. Package db/events describes its methods. They return
// [crash.Unavailable] if it cannot be reached.
type Outbox interface {
	PlanMails(ctx context.Context) error
	MailNobody(ctx context.Context) error
	ReleaseMails(ctx context.Context) error
	ClaimMail(ctx context.Context) (crash.Mail, []crash.Notice, error)
	SettleMail(ctx context.Context, id int64, outcome crash.MailOutcome) error
	AllowTestMail(ctx context.Context, user int64) error
	RecordTestMail(ctx context.Context, user int64, address string, outcome crash.MailOutcome) error
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
		"This link is incomplete or was not made here. Copy the whole link from the email.")
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

func (m *Mailer) message(ctx context.Context, key []byte, mail crash.Mail, t texts) (*gomail.Msg, error) {
	from, err := ParseFrom(m.config.From)
	if err != nil {
		return nil, fmt.Errorf("mail_from: %w", err)
	}
	to, err := ParseAddress(mail.Address)
	if err != nil {
		return nil, err
	}
	// go-mail would add its name and version as User-Agent and X-Mailer.
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithEncoding(gomail.EncodingQP))
	msg.FromMailAddress(from)
	if err := msg.To(to); err != nil {
		return nil, err
	}
	msg.Subject(t.Subject)
	msg.SetDateWithValue(mail.Created)
	msg.SetMessageIDWithValue(m.messageID(key, mail))
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	if t.Unsubscribe != "" {
		msg.SetGenHeaderPreformatted("List-Id", "mishap <notifications."+m.host+">")
		msg.SetGenHeader("Precedence", "bulk")
		msg.SetGenHeaderPreformatted("List-Unsubscribe", "<"+t.Unsubscribe+">")
		msg.SetGenHeaderPreformatted("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	}
	if t.Thread != "" {
		msg.SetGenHeaderPreformatted("In-Reply-To", t.Thread)
		msg.SetGenHeaderPreformatted("References", t.Thread)
	}
	var plain, html bytes.Buffer
	if err := plainMail(t, &plain); err != nil {
		return nil, err
	}
	if err := htmlMail(t).Render(ctx, &html); err != nil {
		return nil, err
	}
	msg.SetBodyString(gomail.TypeTextPlain, plain.String())
	msg.AddAlternativeString(gomail.TypeTextHTML, html.String())
	return msg, nil
}

// messageID returns the Message-ID of a mail. It is the same whenever the mail is sent, so that a
// second copy is recognised, and nobody can guess it.
func (m *Mailer) messageID(key []byte, mail crash.Mail) string {
	if mail.ID == 0 { // a test
		return "test." + rand.Text() + "@" + m.host
	}
	id := strconv.FormatInt(mail.ID, 10)
	return "mail." + id + "." + hex.EncodeToString(signature(key, "message", id)) + "@" + m.host
}

func (m *Mailer) thread(e crash.Event) string {
	if e.Bucket == nil {
		return ""
	}
	return "<problem." + e.Bucket.String() + "@" + m.host + ">"
}

var errAddress = crash.Errorf(crash.Invalid, "bad_mail_address",
	"This is not an email address. It should look like name@example.org, without a display name.")

// ParseAddress checks a bare mail address that a person typed, and returns it without spaces around
// it. It refuses quoted names and control characters, which could forge headers.
func ParseAddress(typed string) (string, error) {
	typed = strings.TrimSpace(typed)
	parsed, err := mail.ParseAddress(typed)
	if err != nil || parsed.Address != typed || len(typed) > 254 || strings.Count(typed, "@") != 1 ||
		strings.Index(typed, "@") > 64 || !isPlain(typed) || strings.ContainsAny(typed, "\"()<>[]:;,\\ ") {
		return "", errAddress
	}
	return typed, nil
}

// ParseFrom checks the address of the sender, which may have a display name.
func ParseFrom(text string) (*mail.Address, error) {
	parsed, err := mail.ParseAddress(text)
	if err != nil || !isPlain(text) {
		return nil, errAddress
	}
	if _, err := ParseAddress(parsed.Address); err != nil {
		return nil, err
	}
	return parsed, nil
}

func isPlain(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

type texts struct {
	Subject     string
	Heading     string
	Lead        []string // paragraphs
	Lines       []line
	Parts       []part // of a weekly report
	Link, Label string // the one address to open
	Why         string
	Settings    string // address of the settings; empty: none
	Unsubscribe string // address; empty: this is not mail about events
	Thread      string // reference of the problem; empty: none
}

type line struct {
	Kind, Title, Facts, Link string
}

type part struct {
	Heading    string
	Lines      []line
	More, Link string // how many more there are, and where; empty: none
}

const maxLines = 20

const maxTitle = 200 // runes of a title or a sentence

func (m *Mailer) write(key []byte, mail crash.Mail, notices []crash.Notice) (texts, error) {
	base := m.config.BaseURL
	switch mail.Kind {
	case crash.MailConfirm:
		return texts{Subject: "Confirm your email address", Heading: "Confirm your email address",
			Lead: []string{oneLine(mail.Name) + " wants to get notifications from " + base + " at this address.", "If that " +
				"was not you, do nothing: without your confirmation this address gets no further mail."},
			Link:  base + m.confirmPath(key, mail.User, mail.Address, mail.Created.Add(confirmFor)),
			Label: "Confirm this address", Why: "You get this because somebody entered this address on the notifications " +
				"page."}, nil
	case crash.MailTest:
		return texts{Subject: "Test email from mishap", Heading: "Test email from mishap",
			Lead: []string{"Mail from " + base + " arrives here."},
			Link: base + PathSettings, Label: "Your notifications", Why: "You get this because somebody pressed “Send a " +
				"test email”."}, nil
	case crash.MailReport:
		return m.weekly(key, mail)
	case crash.MailNotice, crash.MailSummary, crash.MailDigest:
	}
	if len(notices) == 0 {
		return texts{}, fmt.Errorf("the events in mail %d have been deleted", mail.ID)
	}
	t := texts{Why: why(notices), Settings: base + PathSettings, Unsubscribe: m.unsubscribe(key, mail.User)}
	if mail.Kind == crash.MailNotice {
		m.single(&t, notices[0].Event)
	} else {
		m.several(&t, mail, notices)
	}
	return t, nil
}

// unsubscribe returns the address that switches all mail of a person off.
func (m *Mailer) unsubscribe(key []byte, user int64) string {
	return m.config.BaseURL + PathUnsubscribe + sign(key, purposeUnsubscribe, strconv.FormatInt(user, 10), subscription)
}

// single says what a mail about one event contains. The subject of all mails about a problem is the title
// of its first event, so that mail programs that compare subjects show one thread.
func (m *Mailer) single(t *texts, e crash.Event) {
	title := clean(e.Heading())
	t.Subject, t.Heading, t.Thread = clean(cmp.Or(e.Thread, e.Heading())), e.Kind.Label()+": "+title, m.thread(e)
	if e.Bucket == nil {
		t.Subject = t.Heading
	}
	if said := clean(e.Text); said != "" {
		t.Lead = append(t.Lead, said)
	}
	if f := facts(e); f != "" {
		t.Lead = append(t.Lead, f)
	}
	t.Link, t.Label = m.link(e), "Open it"
}

// several says what a summary or digest contains: the worst events first, and the count of the rest.
func (m *Mailer) several(t *texts, mail crash.Mail, notices []crash.Notice) {
	notices = slices.Clone(notices)
	slices.SortStableFunc(notices, func(a, b crash.Notice) int {
		return cmp.Or(cmp.Compare(crash.DigestRank(a.Event.Kind), crash.DigestRank(b.Event.Kind)),
			cmp.Compare(b.Event.Machines, a.Event.Machines), cmp.Compare(a.ID, b.ID))
	})
	worst := notices[0].Event
	n := int64(len(notices))
	t.Heading = crash.Counted(n, "notification", "notifications")
	if mail.Kind == crash.MailSummary {
		t.Heading = crash.Counted(n, "more notification", "more notifications")
		t.Lead = []string{"You have had " + crash.Counted(crash.MailsPerHour, "email", "emails") + " within an hour. These " +
			"notifications come as one email."}
	}
	t.Subject = t.Heading + ": " + strings.ToLower(worst.Kind.Label()) + ": " + clean(worst.Heading())
	for _, notice := range notices[:min(len(notices), maxLines)] {
		e := notice.Event
		t.Lines = append(t.Lines, line{e.Kind.Label(), clean(e.Heading()), facts(e), m.link(e)})
	}
	t.Link, t.Label = fmt.Sprintf("%s%s?mail=%d", m.config.BaseURL, PathInbox, mail.ID), "Open all of them"
	if n > maxLines {
		t.Label = crash.Counted((n - maxLines), "more, open all", "more, open all")
	}
}

// weekly says what a mail with a weekly report contains: the same as the page of the week.
func (m *Mailer) weekly(key []byte, mail crash.Mail) (texts, error) {
	r := mail.Weekly
	if r == nil {
		return texts{}, fmt.Errorf("mail %d has no weekly report", mail.ID)
	}
	name := clean(r.Scope.Text())
	t := texts{
		Heading: "Weekly report of " + name, Settings: m.config.BaseURL + PathSettings,
		Unsubscribe: m.unsubscribe(key, mail.User), Link: m.config.BaseURL + r.Scope.Path(r.First), Label: "The whole report",
		Why: "You get this because you subscribed to the weekly report of " + name + ".",
		Lead: []string{r.First.Format("2 January") + " – " + r.Last.Format("2 January 2006") + " (UTC): " +
			r.Headline() + ".", crash.Counted(r.Reports, "report", "reports") + "; " + crash.Count(r.Before) +
			" in the seven days before."},
	}
	t.Subject = t.Heading + ": " + r.Headline()
	if worst, ok := r.Worst(); ok {
		t.Subject += ": " + clean(worst.Title)
	}
	for _, list := range r.Parts {
		p := part{Heading: list.Part.Title(list.Count)}
		for _, l := range list.Lines {
			facts := []string{clean(l.Package), crash.Counted(l.Reports, "report", "reports")}
			if text := strings.TrimSuffix(clean(l.Text), "."); text != "" {
				facts = append(facts, text)
			}
			p.Lines = append(p.Lines, line{Title: clean(l.Title), Facts: strings.Join(facts, "; "),
				Link: m.config.BaseURL + l.ID.Path()})
		}
		if more := list.Count - len(list.Lines); more > 0 {
			p.More = crash.Counted(int64(more), "more", "more")
			p.Link = m.config.BaseURL + r.Scope.Path(r.First) + "&only=" + string(list.Part)
		}
		t.Parts = append(t.Parts, p)
	}
	return t, nil
}

// link returns the address of the page on which to act on an event, else of the inbox.
func (m *Mailer) link(e crash.Event) string { return m.config.BaseURL + cmp.Or(e.Path(), PathInbox) }

func facts(e crash.Event) string {
	parts := []string{strings.TrimSpace(clean(e.Package) + " " + clean(e.Version)), clean(string(e.Release))}
	if e.Machines > 0 {
		parts = append(parts, crash.Counted(e.Machines, "machine", "machines"))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

func why(notices []crash.Notice) string {
	var reasons []string
	for _, n := range notices {
		if reason := clean(n.Reason); reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	return mailWhy(reasons)
}

// path is an absolute path, of which only the last part stays. Titles of problems can begin with
// the path of a program.
var path = regexp.MustCompile(`(^|[^\w/.:])(?:~|[A-Za-z]:)?((?:[/\\][\w.+@%~-]+)+)[/\\]?`)

// clean removes private data, paths and line breaks from a text of an event.
func clean(s string) string {
	s = privacy.Redactor{}.Text(oneLine(s))
	s = path.ReplaceAllStringFunc(s, func(m string) string {
		parts := path.FindStringSubmatch(m)
		return parts[1] + parts[2][strings.LastIndexAny(parts[2], `/\`)+1:]
	})
	if runes := []rune(s); len(runes) > maxTitle {
		s = string(runes[:maxTitle-1]) + "…"
	}
	return s
}

// oneLine replaces control characters and line breaks by spaces, and removes hidden characters.
func oneLine(s string) string {
	return strings.Join(strings.Fields(crash.OneLine(strings.ToValidUTF8(s, "?"))), " ")
}

var plain = template.Must(template.New("plain").Parse(`{{.Heading}}
{{range .Lead}}
{{.}}
{{end}}
{{range .Lines}}* {{.Kind}}: {{.Title}}{{with .Facts}} ({{.}}){{end}} {{.Link}}
{{end}}{{if .Lines}}
{{end}}{{range .Parts}}{{.Heading}}
{{range .Lines}}* {{.Title}}{{with .Facts}} ({{.}}){{end}} {{.Link}}
{{end}}{{with .More}}* {{.}}{{end}}{{if .More}}: {{.Link}}
{{end}}
{{end}}{{.Label}}: {{.Link}}

-- 
{{.Why}}
{{with .Settings}}Change what you get: {{.}}
{{end}}{{with .Unsubscribe}}Unsubscribe: {{.}}
{{end}}`))

func plainMail(t texts, w *bytes.Buffer) error { return plain.Execute(w, t) }

func mailWhy(reasons []string) string {
	const most = 3
	switch n := len(reasons); {
	case n == 0:
		return "You get this because you have an account on this site."
	case n > most:
		reasons = append(append([]string{}, reasons[:most]...), "for "+crash.Counted(int64(n-most), "other reason",
			"other reasons"))
	}
	return "You get this because " + crash.JoinAnd(reasons) + "."
}

// Relay is the SMTP server that accepts mail.
type Relay struct {
	host, user, password string
	port                 int
	implicit             bool // TLS from the start (smtps)
	local                bool // on this machine
	policy               gomail.TLSPolicy
	roots                *x509.CertPool // that sign certificates of relays; nil: those of the machine
}

// TLSModes are the values of smtp_tls: TLS is required, is used if the relay offers it, or is off.
var TLSModes = map[string]gomail.TLSPolicy{
	"require": gomail.TLSMandatory, "opportunistic": gomail.TLSOpportunistic, "off": gomail.NoTLS,
}

// Errors of ParseRelay. Their texts contain no part of the address, which may hold a password.
var (
	errRelay      = errors.New("not an address such as smtps://user:password@relay.example.org")
	errRelayPlain = errors.New(`expected "require" or "opportunistic" for a relay on another machine, got "off"`)
	errRelayTLS   = errors.New(`expected "require" with an smtps address, which is always encrypted, got "off"`)
)

// ParseRelay parses the address of a relay, smtp://user:password@host:port or smtps://…, and a key
// of TLSModes. Without a port it is 25, or 465 with smtps. TLS can be off only to this machine.
func ParseRelay(address, mode string) (*Relay, error) {
	u, err := url.Parse(address)
	policy, known := TLSModes[mode]
	if err != nil || !known || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errRelay
	}
	r := &Relay{host: u.Hostname(), user: u.User.Username(), implicit: u.Scheme == "smtps",
		local:  isLoopback(u.Hostname()),
		policy: policy, port: 25}
	r.password, _ = u.User.Password()
	if r.implicit {
		r.port = 465
	}
	if text := u.Port(); text != "" {
		if r.port, err = strconv.Atoi(text); err != nil || r.port < 1 || r.port > 65535 {
			return nil, errRelay
		}
	}
	switch {
	case policy == gomail.NoTLS && r.implicit:
		return nil, errRelayTLS
	case policy == gomail.NoTLS && !r.local:
		return nil, errRelayPlain
	}
	return r, nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Address returns the host and port of the relay, without secrets.
func (r *Relay) Address() string { return r.host + ":" + strconv.Itoa(r.port) }

// localMechanisms are the ways of signing in to a relay on this machine, also without encryption,
// the best first.
var localMechanisms = []gomail.SMTPAuthType{gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthSCRAMSHA1,
	gomail.SMTPAuthCramMD5,
	gomail.SMTPAuthPlainNoEnc, gomail.SMTPAuthLoginNoEnc}

// client returns a client for one connection. helo is the name that it tells the relay: go-mail
// would tell the name of this machine, which relays write into mails.
func (r *Relay) client(helo string, timeout time.Duration) (*gomail.Client, error) {
	options := []gomail.Option{
		gomail.WithPort(r.port), gomail.WithTimeout(timeout), gomail.WithHELO(helo), gomail.WithoutNoop(),
		gomail.WithoutRset(), gomail.WithTLSPolicy(r.policy),
		gomail.WithTLSConfig(&tls.Config{ServerName: r.host, MinVersion: tls.VersionTLS12, RootCAs: r.roots}),
	}
	if r.implicit {
		options = append(options, gomail.WithSSL())
	}
	if r.user != "" {
		// Without encryption, SMTPAuthAutoDiscover accepts only mechanisms that do not send the password.
		method := gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover)
		if r.local && !r.implicit && r.policy != gomail.TLSMandatory {
			method = gomail.WithOpportunisticSMTPAuth(localMechanisms...)
		}
		options = append(options, method, gomail.WithUsername(r.user), gomail.WithPassword(r.password))
	}
	return gomail.NewClient(r.host, options...)
}

// connection sends mails one after the other over one connection, which it opens when it needs it.
type connection struct {
	relay   *Relay
	helo    string
	timeout time.Duration // of one mail
	client  *gomail.Client
	open    *smtp.Client // nil: not connected
}

func (c *connection) connect(ctx context.Context) (err error) {
	if c.open != nil {
		return nil
	}
	if c.client, err = c.relay.client(c.helo, c.timeout); err != nil {
		return err
	}
	c.open, err = c.client.DialToSMTPClientWithContext(ctx)
	return err
}

// Check connects to the relay as for a mail, signs in if the address has a user, and sends nothing.
// helo is the name that it tells the relay. encrypted reports whether the connection uses TLS.
func (r *Relay) Check(ctx context.Context, helo string, timeout time.Duration) (encrypted bool, err error) {
	c := &connection{relay: r, helo: helo, timeout: timeout}
	if err := c.connect(ctx); err != nil {
		return false, errors.New(replyOf(r.explain(err)))
	}
	_, err = c.open.GetTLSConnectionState()
	c.close()
	return err == nil, nil
}

func (c *connection) close() {
	if c.open != nil {
		_ = c.client.CloseWithSMTPClient(c.open) // the relay has answered about every mail
		c.drop()
	}
}

func (c *connection) drop() {
	if c.open != nil {
		_ = c.open.Close()
		c.open = nil
	}
}

type sending struct {
	accepted  bool
	permanent bool   // the relay will never accept it
	lost      bool   // there is no connection any more, or never was
	reply     string // of the relay, or why there was none
}

func (s sending) failure() error {
	switch {
	case s.accepted:
		return nil
	case s.lost:
		return errNoConnection
	}
	return errNotAccepted
}

var (
	errNoConnection = &crash.Error{Kind: crash.Unavailable, Code: "no_connection"}
	errNotAccepted  = &crash.Error{Kind: crash.Refused, Code: "not_accepted"}
)

func (c *connection) send(ctx context.Context, message *gomail.Msg) sending {
	if err := c.connect(ctx); err != nil {
		return sending{lost: true, reply: replyOf(fmt.Errorf("connecting to %s: %w", c.relay.Address(),
			c.relay.explain(err)))}
	}
	err := c.client.SendWithSMTPClient(c.open, message)
	if message.IsDelivered() { // go-mail also returns errors that come after the relay has accepted a mail
		if err != nil {
			c.drop()
		}
		return sending{accepted: true, reply: strings.TrimSpace(message.ServerResponse())}
	}
	out := sending{reply: replyOf(err)}
	refusal, ok := errors.AsType[*gomail.SendError](err)
	if !ok || refusal.ErrorCode() == 0 || refusal.ErrorCode() == 421 {
		out.lost = true
		c.drop()
	}
	// A time-out is not temporary for IsTemp, so that only replies of the relay count as refusals.
	out.permanent = ok && !refusal.IsTemp() && refusal.ErrorCode() >= 500
	return out
}

// explain adds to an error of a connection what to do about it, if that is known.
func (r *Relay) explain(err error) error {
	var advice string
	text := err.Error()
	name, wrongName := errors.AsType[x509.HostnameError](err)
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	refusal, refused := errors.AsType[*textproto.Error](err)
	switch {
	case wrongName && name.Certificate != nil:
		advice = "The certificate belongs to another name. Put a name of the certificate into smtp_url."
	case isInvalid && invalid.Reason == x509.Expired:
		advice = "The certificate is not valid at this time. Renew it, or correct the clock of this machine."
	case unknown:
		advice = "No authority that this machine trusts has signed the certificate. SSL_CERT_FILE can add one."
	case notTLS:
		advice = "The relay does not speak TLS from the start on this port. Use smtp:// instead of smtps:// in smtp_url."
	case strings.Contains(text, "does not support STARTTLS"):
		return errors.New("the relay does not offer STARTTLS, so nothing was sent. Use smtps:// if it has a port for that, " +
			`or smtp_tls = "opportunistic" to send mail without encryption`)
	case errors.Is(err, gomail.ErrNoSupportedAuthDiscovered):
		return errors.New("the relay offers no way of signing in that is safe on this connection, so the password was " +
			"not sent. Encrypt the connection: smtps:// in smtp_url, or smtp_tls = \"require\"")
	case strings.Contains(text, "does not support SMTP AUTH"):
		return errors.New("the relay does not offer to sign in on this connection. Remove the user from smtp_url, or use " +
			"another port of the relay")
	case refused && refusal.Code == 535:
		advice = "The relay rejects the user or the password of smtp_url."
	}
	if advice == "" {
		return err
	}
	return fmt.Errorf("%w. %s", err, advice)
}

// quotedReply is a reply in an error: go-mail quotes its text.
var quotedReply = regexp.MustCompile(`\b([245]\d\d) ("(?:[^"\\]|\\.)*")`)

// replyOf returns the words of the relay in an error, or what went wrong, as one short line.
func replyOf(err error) string {
	if err == nil {
		return ""
	}
	reply, _, _ := strings.Cut(err.Error(), ", affected ")
	reply = quotedReply.ReplaceAllStringFunc(reply, func(m string) string {
		if text, err := strconv.Unquote(m[4:]); err == nil {
			return m[:4] + text
		}
		return m
	})
	return crash.Truncate(oneLine(reply), 500)
}
