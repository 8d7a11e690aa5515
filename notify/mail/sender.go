package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"time"

	"mishap/crash"
)

// Sender sends mails that others have composed, each once and over its own connection. It is safe for concurrent
// use.
type Sender struct {
	relay   *Relay
	helo    string
	timeout time.Duration
}

// Sender returns a Sender. helo is the name that it tells the relay, and timeout the time limit of one mail; 0
// stands for a minute.
func (r *Relay) Sender(helo string, timeout time.Duration) *Sender {
	if timeout == 0 {
		timeout = usualTimeout
	}
	return &Sender{relay: r, helo: helo, timeout: timeout}
}

// greylisted is when to send a mail again that the relay refused for now.
const greylisted = 5 * time.Minute

// SendMail sends a mail with all its headers, and does not begin its last line after the deadline of ctx, by any
// clock. It returns Refused if the relay will never accept the mail, and Unavailable if it certainly has not
// accepted it, with RetryAfter if the relay asks to send it later. After any other error, the relay may have
// accepted it: a relay, or a filter behind it, may accept a mail whose answer is lost or says that something failed
// for now.
func (s *Sender) SendMail(ctx context.Context, from, to string, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	until, _ := ctx.Deadline() // it has one
	c := &connection{relay: s.relay, helo: s.helo, timeout: time.Until(until)}
	if err := c.connect(ctx); err != nil {
		e := notAccepted(fmt.Errorf("connecting to %s: %w", s.relay.Address(), s.relay.explain(err)))
		e.Kind = crash.Unavailable // such as a wrong password of the relay, which is no matter of the mail
		return e
	}
	defer c.drop()
	defer context.AfterFunc(ctx, func() { _ = c.open.Text.Close() })()
	if err := c.open.Mail("<" + from + ">"); err != nil {
		return notAccepted(err)
	}
	if err := c.open.Rcpt("<" + to + ">"); err != nil {
		return notAccepted(err)
	}
	w, err := c.open.Data()
	if err != nil {
		return notAccepted(err)
	}
	if _, err := w.Write(message); err != nil {
		return notAccepted(err)
	}
	if now := time.Now(); ctx.Err() != nil || now.After(until) || now.Round(0).After(until.Round(0)) {
		return notAccepted(errors.New("connecting and sending took too long"))
	}
	err = w.Close() // sends the last line, after which the relay may accept the mail
	if reply, ok := errors.AsType[*textproto.Error](err); ok && reply.Code/100 == 5 {
		return notAccepted(err)
	}
	if err != nil {
		return fmt.Errorf("the relay got the whole mail: %w", err)
	}
	return nil
}

// notAccepted returns the error for a mail that the relay has not accepted.
func notAccepted(err error) *crash.Error {
	words := replyOf(err)
	switch {
	case errors.Is(err, io.EOF):
		words = "the relay closed the connection without an answer"
	case errors.Is(err, os.ErrDeadlineExceeded):
		words = "the relay gave no answer in time"
	}
	e := crash.Errorf(crash.Unavailable, "mail_not_sent", "%s", words)
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		switch reply.Code / 100 {
		case 4:
			e.RetryAfter = greylisted
		case 5:
			e.Kind = crash.Refused
		}
	}
	return e.Because(err)
}
