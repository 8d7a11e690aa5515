package debian

import (
	"bytes"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// message is a mail with a plain text.
type message struct {
	from, to string
	id       string // Message-ID with brackets
	thread   string // Message-ID of the mail that it answers; empty: none
	subject  string // one line
	text     string
	date     time.Time
	agent    string
}

// maxLine is the longest line of a mail, in bytes without its end [RFC 5322, 2.1.1].
const maxLine = 998

var plainID = regexp.MustCompile(`^<[!-;=?-~]{1,250}>$`)

// bytes returns the mail as it travels. The text is encoded only if it has to be, since debbugs decodes it, but not
// everybody who reads it does.
func (m message) bytes() []byte {
	var out bytes.Buffer
	header := func(name, value string) { out.WriteString(name + ": " + value + "\r\n") }
	header("From", (&mail.Address{Address: m.from}).String())
	header("To", (&mail.Address{Address: m.to}).String())
	header("Subject", strings.ReplaceAll(mime.QEncoding.Encode("utf-8", m.subject), "?= =?", "?=\r\n =?"))
	header("Date", m.date.Format(time.RFC1123Z))
	header("Message-ID", m.id)
	if plainID.MatchString(m.thread) {
		header("In-Reply-To", m.thread)
		header("References", m.thread)
	}
	header("User-Agent", m.agent)
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	text := plainText(m.text)
	if needsEncoding(text) {
		header("Content-Transfer-Encoding", "quoted-printable")
		out.WriteString("\r\n")
		w := quotedprintable.NewWriter(&out)
		_, _ = w.Write([]byte(text)) // a Buffer takes everything
		_ = w.Close()
	} else {
		header("Content-Transfer-Encoding", "7bit")
		out.WriteString("\r\n" + strings.ReplaceAll(text, "\n", "\r\n"))
	}
	return out.Bytes()
}

func needsEncoding(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) > maxLine || strings.HasPrefix(line, "From ") {
			return true
		}
	}
	return strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0
}

// plainText returns a text without control characters, with an end of line at its end.
func plainText(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' || r == '\uFEFF' {
			return -1
		}
		return r
	}, s)
	return strings.TrimRight(s, "\n") + "\n"
}

// guard stands before a text whose first line debbugs would read as a command.
const guard = " "

// command matches a text that debbugs does not take as it is: lines such as "Control: close 7" at the beginning are
// commands, and a signed text loses lines [scripts/process].
var command = regexp.MustCompile(`^([\w-]+:|-----BEGIN)`)

// harmless returns a comment that debbugs takes as it is. Blank lines at its beginning are lost.
func harmless(text string) string {
	text = strings.TrimLeftFunc(plainText(text), unicode.IsSpace)
	if command.MatchString(text) {
		return guard + text
	}
	return text
}
