package mail_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/notify/mail"
)

// TestNotice checks the headers and both parts of a mail about one event, and that it contains
// nothing private.
func TestNotice(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	ada := p.reader("ada", nil)
	e := event(7, crash.EventRegressed)
	e.Title = "/home/wendeline/bin/tide crashed on wendeline@quay.example\r\nBcc: eve@example.org ✓"
	e.Text = "It is back in 5.9-6;\nsee /var/crash/_usr_bin_zsh.crash."
	p.publish(e, ada)
	e = event(7, crash.EventRising)
	p.publish(e, ada)
	m := p.mailer(p.store)
	p.round(m)
	p.round(m)
	mails := p.server.Mails()
	if len(mails) != 2 {
		t.Fatalf("got %d mails, want 2", len(mails))
	}
	if n, names := p.server.Connections(); n != 1 || names[0] != "crashes.example.org" {
		t.Errorf("got %d connections of %q, want one of crashes.example.org", n, names)
	}
	got := open(t, mails[0])
	if mails[0].To != "ada@example.org" || mails[0].From != "crashes@example.org" {
		t.Errorf("got an envelope from %q to %q", mails[0].From, mails[0].To)
	}
	thread := "<problem." + e.Bucket.String() + "@crashes.example.org>"
	for name, want := range map[string]string{
		"From": `"mishap" <crashes@example.org>`, "To": "<ada@example.org>", "References": thread, "In-Reply-To": thread,
		"Auto-Submitted": "auto-generated", "Precedence": "bulk",
		"List-Id": "mishap <notifications.crashes.example.org>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		"User-Agent": "", "X-Mailer": "", "Bcc": "", "Mime-Version": "1.0",
	} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("%s: got %q, want %q", name, value, want)
		}
	}
	if want := "[removed] crashed on [removed] Bcc: [removed] ✓"; got.subject() != want {
		t.Errorf("subject: got %q, want %q", got.subject(), want)
	}
	token := regexp.MustCompile(`^<` + base + `/unsubscribe/([\w.-]+)>$`).FindStringSubmatch(
		got.Header.Get("List-Unsubscribe"))
	if token == nil {
		t.Fatalf("List-Unsubscribe: got %q", got.Header.Get("List-Unsubscribe"))
	}
	if user, err := m.Unsubscribed(t.Context(), token[1]); err != nil || user != ada {
		t.Errorf("token: got %d, %v, want %d", user, err, ada)
	}
	for _, part := range []string{got.plain, got.html} {
		for _, want := range []string{"Regressed: ", "It is back in 5.9-6; see _usr_bin_zsh.crash.",
			"zsh 5.9-6, Ubuntu 24.04, 7 machines",
			base + e.Bucket.Path(), "You get this because you follow zsh.", base + "/account/notifications",
			base + "/unsubscribe/" + token[1]} {
			if !strings.Contains(part, want) {
				t.Errorf("got no %q in\n%s", want, part)
			}
		}
	}
	for _, private := range []string{"wendeline", "quay", "/home", "/var", "eve@"} {
		if strings.Contains(got.plain+got.html+got.subject(), private) {
			t.Errorf("found %q in the mail\n%s\n%s", private, got.subject(), got.plain)
		}
	}
	second := open(t, mails[1])
	if second.subject() != got.subject() || !strings.Contains(second.plain, "zsh crashed in f7()") {
		t.Errorf("the problem has another title now: got the subject %q, want %q", second.subject(), got.subject())
	}
	if second.Header.Get("References") != thread || second.Header.Get("Message-Id") == got.Header.Get("Message-Id") {
		t.Errorf("the second mail is not another one of the thread: %v", second.Header)
	}
}

// TestConfirm checks the mail that confirms an address, its link and its limits.
func TestConfirm(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	ada, eve := p.reader("ada", nil), p.reader("eve", nil)
	ask := func(user int64, address string) error { return p.store.AskForMailAddress(t.Context(), user, address) }
	checktest.NoError(t, ask(ada, "new@example.org"))
	m := p.mailer(p.store)
	p.round(m)
	mails := p.server.Mails()
	if len(mails) != 1 || mails[0].To != "new@example.org" {
		t.Fatalf("got %v, want one mail to the new address", mails)
	}
	got := open(t, mails[0])
	token := regexp.MustCompile(base + `/account/notifications/confirm/([\w.-]+)`).FindStringSubmatch(got.plain)
	if token == nil || got.Header.Get("List-Unsubscribe") != "" {
		t.Fatalf("got %v\n%s, want a link, and no list", got.Header, got.plain)
	}
	user, address, err := m.Confirmed(t.Context(), token[1])
	if err != nil || user != ada || address != "new@example.org" {
		t.Errorf("link: got %d, %q, %v", user, address, err)
	}
	for _, forged := range []string{"", "x", token[1] + "A", "A" + token[1], token[1][:10]} {
		if _, _, err := m.Confirmed(t.Context(), forged); crash.KindOf(err) != crash.NotFound {
			t.Errorf("%q: got %v, want NotFound", forged, err)
		}
		if _, err := m.Unsubscribed(t.Context(), token[1]); crash.KindOf(err) != crash.NotFound {
			t.Errorf("a link to confirm unsubscribes: %v", err)
		}
	}
	if err := p.store.ConfirmMailAddress(t.Context(), ada, "other@example.org"); crash.KindOf(err) != crash.Conflict {
		t.Errorf("another address: got %v, want Conflict", err)
	}
	for range 2 {
		if err := p.store.ConfirmMailAddress(t.Context(), ada, address); err != nil {
			t.Errorf("confirm: %v", err)
		}
	}
	for n := range 2 {
		if err := ask(eve, "New@example.org"); err != nil {
			t.Errorf("link %d of three: %v", n+2, err)
		}
	}
	if err := ask(eve, "new@example.org"); crash.KindOf(err) != crash.TooMany {
		t.Errorf("fourth link to an address: got %v, want TooMany", err)
	}
	for n := range 3 {
		if err := ask(eve, fmt.Sprintf("eve%d@example.org", n)); err != nil {
			t.Error(err)
		}
	}
	if err := ask(eve, "eve9@example.org"); crash.KindOf(err) != crash.TooMany {
		t.Errorf("sixth link of a person: got %v, want TooMany", err)
	}
	p.wait(4 * 24 * time.Hour)
	if _, _, err := m.Confirmed(t.Context(), token[1]); crash.KindOf(err) != crash.Conflict {
		t.Errorf("old link: got %v, want Conflict", err)
	}
}

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"ada@example.org", " a.b+c@example.org ", "ünï@example.org"} {
		if got, err := mail.ParseAddress(good); err != nil || got != strings.TrimSpace(good) {
			t.Errorf("%q: got %q, %v", good, got, err)
		}
	}
	for _, bad := range []string{"", "ada", "@example.org", "Ada <ada@example.org>", "a@b@example.org", "a b@example.org",
		`"a@b"@example.org`, "ada@example.org\r\nBcc: eve@example.org", "ada@example.org,eve@example.org",
		strings.Repeat("a", 65) + "@example.org", "ada@" + strings.Repeat("a", 250) + ".org", "ada@example.org\x00"} {
		if got, err := mail.ParseAddress(bad); err == nil {
			t.Errorf("%q: got %q, want an error", bad, got)
		}
	}
}

func TestParseRelay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ url, mode, want string }{
		{"smtp://relay.example.org", "require", "relay.example.org:25"},
		{"smtps://ada:hush@relay.example.org", "require", "relay.example.org:465"},
		{"smtp://ada:hush@relay.example.org:587/", "opportunistic", "relay.example.org:587"},
		{"smtp://localhost", "off", "localhost:25"}, {"smtp://127.0.0.2", "off", "127.0.0.2:25"},
		{"smtp://[::1]:2525", "off", "::1:2525"},
	} {
		r, err := mail.ParseRelay(tt.url, tt.mode)
		if err != nil || r.Address() != tt.want {
			t.Errorf("%s: got %v, %v, want %s", tt.url, r, err, tt.want)
		}
	}
	for _, tt := range []struct{ url, mode string }{
		{"", "require"}, {"relay.example.org", "require"}, {"http://relay.example.org", "require"}, {"smtp://", "require"},
		{"smtp://relay.example.org", "never"}, {"smtp://relay.example.org", "off"}, {"smtp://10.0.0.1", "off"},
		{"smtps://localhost", "off"}, {"smtp://relay.example.org:0", "require"}, {"smtp://h/path", "require"},
		{"smtp://ada:hush@h?x=1", "require"}, {"smtp://ada:hush@h:99999", "require"},
	} {
		if _, err := mail.ParseRelay(tt.url, tt.mode); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s, %s: got %v, want an error without the password", tt.url, tt.mode, err)
		}
	}
}

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
