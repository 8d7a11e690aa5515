package tracker

import (
	"regexp"
	"strings"
	"unicode"

	"mishap/crash"
)

// maxWords bounds stored texts of the tracker, since a refusal repeats the whole refused text.
const maxWords = 400

// Clean returns outside text as one line of at most limit characters. The line is valid UTF-8
// without control or direction-changing characters; "; " joins the original lines.
func Clean(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\r", "\n"), "\n") {
		if line = strings.Join(strings.Fields(strings.Map(printable, line)), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return crash.Shorten(strings.Join(lines, "; "), limit)
}

// printable returns r if it is visible, a blank for white space, and -1 for the rest.
func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
		return -1
	}
	return r
}

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>(.{0,200}?)</title>`)

// wordsOf returns the text of an answer, or the title of an HTML page, without secrets.
func wordsOf(contentType string, body []byte, secrets ...crash.Secret) string {
	s := string(body)
	if strings.Contains(contentType, "html") || strings.HasPrefix(strings.TrimSpace(s), "<") {
		s = ""
		if m := htmlTitle.FindSubmatch(body); m != nil {
			s = string(m[1])
		}
	}
	return Clean(scrub(s, secrets...), maxWords)
}

// scrub replaces our secrets, which an answer may repeat.
func scrub(s string, secrets ...crash.Secret) string {
	for _, secret := range secrets {
		if secret != "" {
			s = strings.ReplaceAll(s, string(secret), secret.String())
			s = strings.ReplaceAll(s, escape(string(secret)), secret.String())
		}
	}
	return s
}
