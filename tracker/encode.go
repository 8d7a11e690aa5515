package tracker

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

// encodeJSON encodes a parameter for the API. The tracker parses each parameter as JSON, and treats
// it as text only if that fails. So an unquoted 24.10 would become 24.1.
func encodeJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // never fails for strings and lists of them
	return strings.TrimSuffix(b.String(), "\n")
}

// encodeList encodes a list of strings. The tracker parses each item of a list as JSON a second
// time. So encodeList encodes items that look like JSON twice; otherwise "24.10" would become 24.1.
func encodeList(items []string) string {
	out := make([]string, len(items))
	for i, item := range items {
		if out[i] = item; looksLikeJSON(item) {
			out[i] = encodeJSON(item)
		}
	}
	return encodeJSON(out)
}

// looksLikeJSON reports whether Python's parser, which the tracker uses, accepts s as JSON.
func looksLikeJSON(s string) bool {
	switch strings.TrimSpace(s) {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	return json.Valid([]byte(s))
}

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
