package mail

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// A link in a mail holds what it is for, its details, and a signature of both, so that nobody can
// invent one. Links to unsubscribe never expire, because people use them years later.

// Purposes of links. The signature covers them, so that one link cannot be used as another.
const (
	purposeUnsubscribe = "unsubscribe"
	purposeConfirm     = "confirm"
)

// subscription is what a link to unsubscribe ends. There is one: all mail about events.
const subscription = "mail"

// confirmFor is how long a link that confirms an address is valid.
const confirmFor = 3 * 24 * time.Hour

// Errors of links.
var (
	errBadLink = crash.Errorf(crash.NotFound, "bad_mail_link",
		"This link is incomplete or was not made here. Copy it completely from the mail.")
	errOldLink = crash.Errorf(crash.Conflict, "old_mail_link",
		"This link has expired. Ask for a new one in your settings of notifications.")
)

// sign returns a signed text for a link.
func sign(key []byte, purpose string, details ...string) string {
	text := strings.Join(details, "\n")
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(text)) + "." + encode(signature(key, purpose, text))
}

func signature(key []byte, purpose, text string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte("mishap mail: " + purpose + "\n" + text)) // never fails
	return mac.Sum(nil)[:16]
}

// verify returns the details of a signed text.
func verify(key []byte, purpose, token string, details int) ([]string, error) {
	encoded, signed, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	mac, err2 := base64.RawURLEncoding.Strict().DecodeString(signed)
	if err != nil || err2 != nil || !hmac.Equal(mac, signature(key, purpose, string(text))) {
		return nil, errBadLink
	}
	found := strings.Split(string(text), "\n")
	if len(found) != details {
		return nil, errBadLink
	}
	return found, nil
}

// unsubscribePath returns the path at which a person unsubscribes.
func unsubscribePath(key []byte, user int64) string {
	return PathUnsubscribe + sign(key, purposeUnsubscribe, strconv.FormatInt(user, 10), subscription)
}

// Paths of links in mails.
const (
	PathUnsubscribe = "/unsubscribe/" // and the token
	PathSettings    = "/account/notifications"
	PathConfirm     = PathSettings + "/confirm/" // and the token
	PathInbox       = "/inbox"
)

// Unsubscribed returns the person who unsubscribes with this token. It returns NotFound for a
// token that is not valid.
func (m *Mailer) Unsubscribed(ctx context.Context, token string) (user int64, err error) {
	key, err := m.secret(ctx)
	if err != nil {
		return 0, err
	}
	details, err := verify(key, purposeUnsubscribe, token, 2)
	if err != nil {
		return 0, err
	}
	user, err = strconv.ParseInt(details[0], 10, 64)
	if err != nil || details[1] != subscription {
		return 0, errBadLink
	}
	return user, nil
}

func (m *Mailer) confirmPath(key []byte, user int64, address string, until time.Time) string {
	return PathConfirm + sign(key, purposeConfirm, strconv.FormatInt(user, 10), address,
		strconv.FormatInt(until.Unix(), 10))
}

// Confirmed returns the person and the address that a token confirms. It returns NotFound for a
// token that is not valid, and Conflict for one that has expired.
func (m *Mailer) Confirmed(ctx context.Context, token string) (user int64, address string, err error) {
	key, err := m.secret(ctx)
	if err != nil {
		return 0, "", err
	}
	details, err := verify(key, purposeConfirm, token, 3)
	if err != nil {
		return 0, "", err
	}
	user, err = strconv.ParseInt(details[0], 10, 64)
	until, err2 := strconv.ParseInt(details[2], 10, 64)
	switch {
	case err != nil || err2 != nil:
		return 0, "", errBadLink
	case m.config.Now().After(time.Unix(until, 0)):
		return 0, "", errOldLink
	}
	return user, details[1], nil
}
