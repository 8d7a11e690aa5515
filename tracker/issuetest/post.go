package issuetest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/emersion/go-smtp"

	"mishap/notify/mail"
	"mishap/tracker"
)

// post takes mail for a kind of tracker. It is a relay, the queue behind it, and the tracker in one.
//
// The faults happen at these steps: Busy, Limit, Expired and Forbidden are replies to the recipient, Refused to the
// mail. Others concern the reply to the mail; ErrorBefore and ErrorAfter are replies that ask to send it again.
type post struct {
	*Server
	// operation returns what a mail to an address does; empty: there is no such address.
	operation func(to string) string
	// process carries out a mail, with the lock held.
	process func(to string, mail []byte)

	late bool // mails wait in queue
	wait []func()
}

// HoldMail lets accepted mails wait until DeliverMail.
func (s *Server) HoldMail() { s.locked(func() { s.post.late = true }) }

// DeliverMail processes the mails that wait, and new ones at once.
func (s *Server) DeliverMail() {
	s.locked(func() {
		for _, process := range s.post.wait {
			process()
		}
		s.post.late, s.post.wait = false, nil
	})
}

// ServeMail serves SMTP on this machine until stop is called, and sets Relay, if the kind gets mail.
func (s *Server) ServeMail(ctx context.Context) (stop func(), err error) {
	if s.post == nil {
		return func() {}, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.Relay = "smtp://" + l.Addr().String()
	server := smtp.NewServer(s.post)
	server.Domain, server.ReadTimeout = "relay.example.org", time.Minute
	server.ErrorLog = silent{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // ends when it is closed
	}()
	return func() {
		_ = server.Close()
		_ = l.Close() // Serve may not have told the server about it yet
		<-ended
	}, nil
}

// silent is a log of nothing: a test expects the errors of connections.
type silent struct{}

// Printf does nothing.
func (silent) Printf(string, ...any) {}

// Println does nothing.
func (silent) Println(...any) {}

// Mailer returns a client of the relay, or nil if there is none. A mail that the relay of this server lets hang fails
// at once, as with TimeOutHung.
func (s *Server) Mailer() tracker.Mailer {
	if m := MailerTo(s.Relay); m != nil {
		return &mailer{m, s}
	}
	return nil
}

// MailerTo returns a client of the relay of any server, or nil without an address.
func MailerTo(relay string) tracker.Mailer {
	r, err := mail.ParseRelay(relay, "off")
	if err != nil {
		return nil
	}
	return r.Sender("mishap.example", 0)
}

// mailCall is the name of the call that sends a mail. A queue sends one at a time.
const mailCall = "mail"

type mailer struct {
	tracker.Mailer
	server *Server
}

// SendMail sends a mail.
func (m *mailer) SendMail(ctx context.Context, from, to string, message []byte) error {
	ctx, end := m.server.await(ctx, mailCall)
	defer end()
	return m.Mailer.SendMail(ctx, from, to, message)
}

// NewSession begins a connection.
func (p *post) NewSession(c *smtp.Conn) (smtp.Session, error) {
	if err := p.step("hello", c); err != nil {
		return nil, err
	}
	return &postSession{post: p, conn: c}, nil
}

// step fails if the next fault of a step says so.
func (p *post) step(operation string, c *smtp.Conn) error {
	var fault Fault
	p.locked(func() { fault = p.nextFault(operation) })
	if fault == DropBefore {
		_ = c.Conn().Close()
	}
	return replies[fault]
}

// replies are the replies of a relay that does not accept a mail.
var replies = map[Fault]error{
	DropBefore:  errors.New("dropped"),
	Busy:        said(450, 7, "Greylisted, try again later"),
	Limit:       said(452, 3, "Too many mails"),
	Expired:     said(530, 7, "Authentication required"),
	Forbidden:   said(550, 7, "Relaying denied"),
	Refused:     said(554, 6, "This looks like spam"),
	ErrorBefore: said(451, 3, "Queue file write error"),
	ErrorAfter:  said(451, 4, "Lost connection to filter"),
}

func said(code, subject int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, subject, 0}, Message: text}
}

type postSession struct {
	*post
	conn          *smtp.Conn
	to, operation string
	fault         Fault
}

// Reset forgets the present mail.
func (s *postSession) Reset() {}

// Logout ends the session.
func (s *postSession) Logout() error { return nil }

// Mail begins a mail.
func (s *postSession) Mail(string, *smtp.MailOptions) error { return s.step("sender", s.conn) }

// Rcpt sets the recipient.
func (s *postSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to, s.operation = to, s.post.operation(to)
	if s.operation == "" {
		return said(550, 1, "No such address")
	}
	s.locked(func() { s.fault = s.nextFault(s.operation) })
	switch s.fault {
	case Busy, Limit, Expired, Forbidden:
		s.record(nil)
		return replies[s.fault]
	default:
		return nil
	}
}

func (s *postSession) record(mail []byte) {
	r := Request{Operation: s.operation, Method: "MAIL", Path: s.to, Header: http.Header{}, Body: mail}
	s.locked(func() { s.requests = append(s.requests, r) })
}

// Data reads the mail, and processes it.
func (s *postSession) Data(r io.Reader) error {
	mail, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.record(mail)
	s.pause(s.operation)
	if s.fault == "" || s.fault.Done() {
		s.locked(func() {
			process := func() {
				s.process(s.to, mail)
				s.save()
			}
			if s.late {
				s.wait = append(s.wait, process)
			} else {
				process()
			}
		})
	}
	s.pause(s.operation)
	answer := ""
	switch s.fault {
	case HangBefore, HangAfter:
		s.hang(mailCall)
		<-s.done
	case PageAfter:
		answer = proxyPage + "\r\n"
	case CutAfter:
		answer = "25"
	case DropBefore, DropAfter:
	default:
		return replies[s.fault]
	}
	_, _ = io.WriteString(s.conn.Conn(), answer) // the client may have gone
	_ = s.conn.Conn().Close()
	return errors.New("dropped")
}
