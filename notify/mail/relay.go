package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/textproto"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"mishap/crash"
)

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
