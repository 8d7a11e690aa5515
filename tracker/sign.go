package tracker

import (
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// authorization returns the header that signs an API request. Each value is percent-encoded once,
// except for unreserved characters: "+" would mean a plus here. The signature is "&" and the
// secret, since consumers have no secret.
func authorization(realm, consumer string, token crash.AccessToken, now time.Time) string {
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails
	return `OAuth realm="` + realm + `"` +
		`, oauth_consumer_key="` + escape(consumer) + `"` +
		`, oauth_token="` + escape(token.Token) + `"` +
		`, oauth_signature_method="PLAINTEXT"` +
		`, oauth_signature="` + escape("&"+string(token.Secret)) + `"` +
		`, oauth_timestamp="` + itoa(now.Unix()) + `"` +
		`, oauth_nonce="` + hex.EncodeToString(nonce) + `"` +
		`, oauth_version="1.0"`
}

// escape percent-encodes all bytes except the unreserved ones of RFC 3986.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
