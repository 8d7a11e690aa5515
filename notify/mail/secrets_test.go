package mail_test

import (
	"strings"
	"testing"

	"mishap/crash/crashtest"
	"mishap/notify/mail"
)

// TestSecretsInMails checks that subjects, headings and sentences of mails have no private data and no
// hidden characters.
func TestSecretsInMails(t *testing.T) {
	t.Parallel()
	for _, s := range crashtest.Secrets() {
		for _, hide := range s.Hide {
			if got := mail.Clean("harbor: " + s.Text); strings.Contains(got, hide) {
				t.Errorf("%s: got %q, which has %q", s.Kind, got, hide)
			}
		}
	}
	if got := mail.Clean("tide\u202ewatch\u200b \x1b[31m\nfdp.exe"); got != "tidewatch [31m fdp.exe" {
		t.Errorf("got %q", got)
	}
}
