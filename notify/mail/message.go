package mail

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"

	gomail "github.com/wneessen/go-mail"

	"mishap/crash"
)

// message returns a mail in the form in which it is sent.
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

// thread returns the reference that all mails about a problem share.
func (m *Mailer) thread(e crash.Event) string {
	if e.Bucket == nil {
		return ""
	}
	return "<problem." + e.Bucket.String() + "@" + m.host + ">"
}
