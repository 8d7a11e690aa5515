package mail

import (
	"net/mail"
	"strings"
	"unicode/utf8"

	"mishap/crash"
)

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
