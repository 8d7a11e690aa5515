package mail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"

	"mishap/crash"
	"mishap/crash/privacy"
)

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
	"This is not a mail address. It should look like name@example.org, without a display name.")

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
	Link, Label string // the one address to open
	Why         string
	Settings    string // address of the settings; empty: none
	Unsubscribe string // address; empty: this is not mail about events
	Thread      string // reference of the problem; empty: none
}

type line struct {
	Kind, Title, Facts, Link string
}

const maxLines = 20

const maxTitle = 200 // runes of a title or a sentence

func (m *Mailer) write(key []byte, mail crash.Mail, notices []crash.Notice) (texts, error) {
	base := m.config.BaseURL
	switch mail.Kind {
	case crash.MailConfirm:
		return texts{Subject: "Confirm your mail address", Heading: "Confirm your mail address",
			Lead: []string{oneLine(mail.Name) + " wants to get notifications from " + base + " at this address.", "If that " +
				"was not you, do nothing: without your confirmation this address gets no further mail."},
			Link:  base + m.confirmPath(key, mail.User, mail.Address, mail.Created.Add(confirmFor)),
			Label: "Confirm this address", Why: "You get this because somebody entered this address on the notifications " +
				"page."}, nil
	case crash.MailTest:
		return texts{Subject: "Test mail from mishap", Heading: "Test mail from mishap",
			Lead: []string{"Mail from " + base + " arrives here."},
			Link: base + PathSettings, Label: "Your notifications", Why: "You get this because somebody pressed “Send a " +
				"test mail”."}, nil
	case crash.MailNotice, crash.MailSummary, crash.MailDigest:
	}
	if len(notices) == 0 {
		return texts{}, fmt.Errorf("the events in mail %d have been deleted", mail.ID)
	}
	t := texts{Why: why(notices), Settings: base + PathSettings, Unsubscribe: base + unsubscribePath(key, mail.User)}
	if mail.Kind == crash.MailNotice {
		m.single(&t, notices[0].Event)
	} else {
		m.several(&t, mail, notices)
	}
	return t, nil
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
		t.Lead = []string{"You have had " + crash.Counted(crash.MailsPerHour, "mail", "mails") + " within an hour. These " +
			"notifications come as one mail."}
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
