// Package mailtest runs an SMTP server for tests, which records mails and fails in the ways that a
// test asks for.
package mailtest

import (
	"bytes"
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // CRAM-MD5 is what some relays offer
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Errors by which OnData makes the server fail without a reply.
var (
	ErrHang = errors.New("hang")                      // until the test ends
	ErrDrop = errors.New("accept the mail, and drop") // the mail is recorded, but the client gets no reply
)

// Temporary and Permanent are refusals as a greylisting server and one without the mailbox reply.
var (
	Temporary = &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "Greylisted, try later"}
	Permanent = &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "No such mailbox"}
)

// Server is an SMTP server.
type Server struct {
	URL string // such as smtp://127.0.0.1:2525

	mu          sync.Mutex
	onRcpt      func(to string) error
	onData      func(to string) error
	mails       []Mail
	connections int
	names       []string
	received    bytes.Buffer
	stop        chan struct{}
}

// Options change what a server offers. The zero value is a server without encryption that needs no
// password.
type Options struct {
	TLS      *tls.Config // nil: no encryption
	Implicit bool        // encrypt from the start, instead of offering STARTTLS
	// Mechanisms are the ways of signing in: PLAIN, LOGIN and CRAM-MD5. The server accepts User and
	// Password, and no mail without them. nil: it accepts mail from anybody.
	Mechanisms     []string
	User, Password string
}

// Mail is a mail that the server has accepted.
type Mail struct {
	From, To, Raw string
}

// New starts a server that accepts everything, without encryption.
func New(t testing.TB) *Server {
	t.Helper()
	return Start(t, Options{})
}

// NewTLS starts a server that accepts everything and offers STARTTLS.
func NewTLS(t testing.TB, c *tls.Config) *Server {
	t.Helper()
	return Start(t, Options{TLS: c})
}

// Start starts a server.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{stop: make(chan struct{})}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.connections++
		s.names = append(s.names, c.Hostname())
		plain := &session{server: s, conn: c}
		if o.Mechanisms != nil {
			return &authSession{session: plain, options: o}, nil
		}
		return plain, nil
	}))
	server.Domain = "relay.example.org"
	server.AllowInsecureAuth = true
	if !o.Implicit {
		server.TLSConfig = o.TLS
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	s.URL = "smtp://" + listener.Addr().String()
	listener = recorder{listener, s}
	if o.Implicit {
		s.URL = "smtps://" + listener.Addr().String()
		listener = tls.NewListener(listener, o.TLS)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() {
		close(s.stop)
		_ = server.Close()
		_ = listener.Close() // Serve may not have told the server about it yet
		serving.Wait()
	})
	return s
}

// OnRcpt sets what the server replies to a recipient; nil accepts it.
func (s *Server) OnRcpt(f func(to string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onRcpt = f
}

// OnData sets what the server replies to a mail; nil accepts it.
func (s *Server) OnData(f func(to string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onData = f
}

// Mails returns the mails that the server has accepted.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail{}, s.mails...)
}

// Connections returns how many connections there were, and the names that their clients gave.
func (s *Server) Connections() (int, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections, append([]string{}, s.names...)
}

// Received returns all bytes that clients have sent, as they travel over the network.
func (s *Server) Received() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received.String()
}

// recorder is a listener whose connections record what they receive.
type recorder struct {
	net.Listener
	server *Server
}

// Accept returns the next connection.
func (r recorder) Accept() (net.Conn, error) {
	conn, err := r.Listener.Accept()
	return recorded{conn, r.server}, err
}

type recorded struct {
	net.Conn
	server *Server
}

// Read reads and records.
func (r recorded) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	r.server.received.Write(b[:n])
	return n, err
}

type session struct {
	server *Server
	conn   *smtp.Conn
	mail   Mail
}

// Reset forgets the present mail.
func (s *session) Reset() { s.mail = Mail{} }

// Logout ends the session.
func (*session) Logout() error { return nil }

// Mail begins a mail.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.mail = Mail{From: from}
	return nil
}

// Rcpt sets the recipient.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.To = to
	s.server.mu.Lock()
	reply := s.server.onRcpt
	s.server.mu.Unlock()
	if reply == nil {
		return nil
	}
	return s.fail(reply(to))
}

// Data reads the mail.
func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.mail.Raw = string(raw)
	s.server.mu.Lock()
	reply := s.server.onData
	s.server.mu.Unlock()
	if reply != nil {
		err = reply(s.mail.To)
	}
	if err == nil || errors.Is(err, ErrDrop) {
		s.server.mu.Lock()
		s.server.mails = append(s.server.mails, s.mail)
		s.server.mu.Unlock()
	}
	return s.fail(err)
}

func (s *session) fail(err error) error {
	switch {
	case errors.Is(err, ErrHang):
		<-s.server.stop
	case errors.Is(err, ErrDrop):
		_ = s.conn.Conn().Close()
	}
	return err
}

// authSession is a connection on which the client must sign in.
type authSession struct {
	*session
	options  Options
	signedIn bool
}

// AuthMechanisms returns the ways of signing in.
func (s *authSession) AuthMechanisms() []string { return s.options.Mechanisms }

// Auth begins signing in.
func (s *authSession) Auth(mechanism string) (sasl.Server, error) {
	if !slices.Contains(s.options.Mechanisms, mechanism) {
		return nil, smtp.ErrAuthUnknownMechanism
	}
	switch mechanism {
	case sasl.Plain:
		return sasl.NewPlainServer(func(_, user, password string) error { return s.signIn(user, password) }), nil
	case sasl.Login:
		return &loginServer{session: s}, nil
	default:
		return &cramServer{session: s}, nil
	}
}

func (s *authSession) signIn(user, password string) error {
	s.signedIn = user == s.options.User && password == s.options.Password
	if !s.signedIn {
		return smtp.ErrAuthFailed
	}
	return nil
}

// Mail begins a mail.
func (s *authSession) Mail(from string, o *smtp.MailOptions) error {
	if !s.signedIn {
		return smtp.ErrAuthRequired
	}
	return s.session.Mail(from, o)
}

type loginServer struct {
	session *authSession
	step    int
	user    string
}

// Next handles an answer of the client.
func (l *loginServer) Next(response []byte) (challenge []byte, done bool, err error) {
	l.step++
	switch l.step {
	case 1:
		return []byte("Username:"), false, nil
	case 2:
		l.user = string(response)
		return []byte("Password:"), false, nil
	}
	return nil, true, l.session.signIn(l.user, string(response))
}

type cramServer struct {
	session *authSession
	asked   bool
}

const cramChallenge = "<1896.697170952@relay.example.org>"

// Next handles an answer of the client.
func (c *cramServer) Next(response []byte) (challenge []byte, done bool, err error) {
	if !c.asked {
		c.asked = true
		return []byte(cramChallenge), false, nil
	}
	o := c.session.options
	hash := hmac.New(md5.New, []byte(o.Password))
	hash.Write([]byte(cramChallenge))
	if string(response) != o.User+" "+hex.EncodeToString(hash.Sum(nil)) {
		return nil, true, smtp.ErrAuthFailed
	}
	return nil, true, c.session.signIn(o.User, o.Password)
}
