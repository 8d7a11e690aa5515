package mail

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"mishap/crash"
	"mishap/crash/redact"
	"mishap/views/text"
)

// texts is everything that a mail says.
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

// line is one event in a summary or digest.
type line struct {
	Kind, Title, Facts, Link string
}

// maxLines is the largest number of events that one mail lists.
const maxLines = 20

const maxTitle = 200 // runes of a title or a sentence

// write says what is in a mail.
func (m *Mailer) write(key []byte, mail crash.Mail, notices []crash.Notice) (texts, error) {
	base := m.config.BaseURL
	switch mail.Kind {
	case crash.MailConfirm:
		return texts{Subject: text.MailConfirmSubject, Heading: text.MailConfirmSubject,
			Lead:  []string{text.MailConfirmLead(oneLine(mail.Name), base), text.MailConfirmIgnore},
			Link:  base + m.confirmPath(key, mail.User, mail.Address, mail.Created.Add(confirmFor)),
			Label: text.MailConfirmLink, Why: text.MailConfirmWhy}, nil
	case crash.MailTest:
		return texts{Subject: text.MailTestSubject, Heading: text.MailTestSubject, Lead: []string{text.MailTestLead(base)},
			Link: base + PathSettings, Label: text.MailSettings, Why: text.MailTestWhy}, nil
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
	t.Subject, t.Heading, t.Thread = clean(cmp.Or(e.Thread, e.Heading())), text.EventKind(e.Kind)+": "+title, m.thread(e)
	if e.Bucket == nil {
		t.Subject = t.Heading
	}
	if said := clean(e.Text); said != "" {
		t.Lead = append(t.Lead, said)
	}
	if f := facts(e); f != "" {
		t.Lead = append(t.Lead, f)
	}
	t.Link, t.Label = m.link(e), text.MailOpen
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
	t.Heading = text.MailDigestHeading(n)
	if mail.Kind == crash.MailSummary {
		t.Heading = text.MailSummaryHeading(n)
		t.Lead = []string{text.MailSummaryLead(crash.MailsPerHour)}
	}
	t.Subject = t.Heading + ": " + strings.ToLower(text.EventKind(worst.Kind)) + ": " + clean(worst.Heading())
	for _, notice := range notices[:min(len(notices), maxLines)] {
		e := notice.Event
		t.Lines = append(t.Lines, line{text.EventKind(e.Kind), clean(e.Heading()), facts(e), m.link(e)})
	}
	t.Link, t.Label = fmt.Sprintf("%s%s?mail=%d", m.config.BaseURL, PathInbox, mail.ID), text.MailOpenAll
	if n > maxLines {
		t.Label = text.MailOpenMore(n - maxLines)
	}
}

// link returns the address of the page on which to act on an event, else of the inbox.
func (m *Mailer) link(e crash.Event) string { return m.config.BaseURL + cmp.Or(e.Path(), PathInbox) }

// facts returns the package, version, release and machines of an event in a few words.
func facts(e crash.Event) string {
	parts := []string{strings.TrimSpace(clean(e.Package) + " " + clean(e.Version)), clean(string(e.Release))}
	if e.Machines > 0 {
		parts = append(parts, text.Counted(e.Machines, "machine", "machines"))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// why says in one line why a person gets a mail.
func why(notices []crash.Notice) string {
	var reasons []string
	for _, n := range notices {
		if reason := clean(n.Reason); reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	return text.MailWhy(reasons)
}

// path is an absolute path, of which only the last part stays. Titles of problems can begin with
// the path of a program.
var path = regexp.MustCompile(`(^|[^\w/.:])(?:~|[A-Za-z]:)?((?:[/\\][\w.+@%~-]+)+)[/\\]?`)

// clean removes private data, paths and line breaks from a text of an event.
func clean(s string) string {
	s = redact.Redactor{}.Text(oneLine(s))
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

// plainMail writes the text for programs that show no HTML.
func plainMail(t texts, w *bytes.Buffer) error { return plain.Execute(w, t) }
