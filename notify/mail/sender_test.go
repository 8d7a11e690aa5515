package mail_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	mishapmail "mishap/notify/mail"
	"mishap/notify/mail/mailtest"
)

const rawMail = "From: a@example.org\r\nSubject: x\r\n\r\ntext\r\n.\r\n..dots\r\n"

// TestSender sends mails that others composed, and checks when it is certain that the relay has not accepted one.
func TestSender(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for name, tt := range map[string]struct {
		rcpt, data error
		kind       crash.Kind // of the error; 0: none is certain
		wait       bool       // it asks to send it later
		mails      int
	}{
		"accepted":             {mails: 1},
		"refused recipient":    {rcpt: mailtest.Permanent, kind: crash.Refused},
		"greylisted recipient": {rcpt: mailtest.Temporary, kind: crash.Unavailable, wait: true},
		"lost at recipient":    {rcpt: mailtest.ErrDrop, kind: crash.Unavailable},
		"refused mail":         {data: mailtest.Permanent, kind: crash.Refused},
		"failed mail":          {data: failed, kind: crash.Refused},
		"postponed mail":       {data: mailtest.Temporary},
		"lost answer":          {data: mailtest.ErrDrop, mails: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := mailtest.New(t)
			server.OnRcpt(func(string) error { return tt.rcpt })
			server.OnData(func(string) error { return tt.data })
			relay, err := mishapmail.ParseRelay(server.URL, "off")
			checktest.NoError(t, err)
			err = relay.Sender("mishap.example", 0).SendMail(t.Context(), "a@example.org", "b@example.org", []byte(rawMail))
			if (err == nil) != (name == "accepted") {
				t.Fatalf("got %v", err)
			}
			e, ok := errors.AsType[*crash.Error](err)
			if ok != (tt.kind != 0) || ok && (e.Kind != tt.kind || (e.RetryAfter > 0) != tt.wait || e.Message == "") {
				t.Errorf("got %#v, want the kind %v", err, tt.kind)
			}
			mails := server.Mails()
			if len(mails) != tt.mails {
				t.Fatalf("got %d mails, want %d", len(mails), tt.mails)
			}
			for _, m := range mails {
				if m.From != "a@example.org" || m.To != "b@example.org" || m.Raw != rawMail {
					t.Errorf("got the mail %+v", m)
				}
			}
		})
	}
}

// TestSenderDeadline ends sendings that take too long, and those whose caller gives up.
func TestSenderDeadline(t *testing.T) {
	t.Parallel()
	server := mailtest.New(t)
	relay, err := mishapmail.ParseRelay(server.URL, "off")
	checktest.NoError(t, err)
	sender := relay.Sender("mishap.example", 0)
	for _, late := range []time.Duration{-time.Hour, 0} {
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(late))
		err := sender.SendMail(ctx, "a@example.org", "b@example.org", []byte(rawMail))
		cancel()
		checktest.Equal(t, "kind", crash.KindOf(err), crash.Unavailable)
	}
	checktest.Equal(t, "mails", len(server.Mails()), 0)

	ctx, cancel := context.WithCancel(t.Context())
	server.OnData(func(string) error { cancel(); return mailtest.ErrHang })
	err = sender.SendMail(ctx, "a@example.org", "b@example.org", []byte(rawMail))
	if _, certain := errors.AsType[*crash.Error](err); err == nil || certain {
		t.Errorf("got %v, want an error that leaves open whether the mail was accepted", err)
	}
	for _, address := range []string{"a@example.org>\r\nRCPT TO:<x@example.org", "a@example.org\nQUIT"} {
		err = sender.SendMail(t.Context(), address, "b@example.org", []byte(rawMail))
		checktest.Equal(t, "kind", crash.KindOf(err), crash.Unavailable)
	}
	if strings.Contains(server.Received(), "x@example.org") {
		t.Error("an address became a command")
	}
}

// TestSenderPassword checks that a wrong password of the relay does not count as a refusal of the mail.
func TestSenderPassword(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, mailtest.Options{Mechanisms: []string{"PLAIN"}, User: "a", Password: "b"})
	relay, err := mishapmail.ParseRelay(strings.Replace(server.URL, "smtp://", "smtp://a:wrong@", 1), "off")
	checktest.NoError(t, err)
	err = relay.Sender("mishap.example", 0).SendMail(t.Context(), "a@example.org", "b@example.org", []byte(rawMail))
	if crash.KindOf(err) != crash.Unavailable || !strings.Contains(err.Error(), "rejects the user or the password") {
		t.Errorf("got %v, want it to be sent later", err)
	}
}
