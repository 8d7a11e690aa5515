package mailtest

import (
	"crypto/hmac"
	"crypto/md5" //nolint:gosec // CRAM-MD5 is what some relays offer
	"encoding/hex"
	"slices"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

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
