package mail

import (
	"context"
	"fmt"
	"time"

	"mishap/crash"
)

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

// retryAfter lists the delays before the next attempts. The last one repeats.
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

// send writes a mail and hands it to the relay.
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

// settle records what became of a mail, even if ctx has ended.
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

// outcome says what to record about an attempt.
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

// testTime is the time limit of a test, which a person waits for.
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
