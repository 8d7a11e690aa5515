package mail_test

import (
	"strings"
	"testing"

	"mishap/notify/mail"
)

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
