package accounts

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
)

const (
	// KnownBrowserFor is how long a browser stays known after its last sign-in.
	KnownBrowserFor = 365 * 24 * time.Hour

	maxKnownAccounts = 8 // of one browser; further ones replace the one that signed in longest ago
	browserIDLength  = 26
)

// account holds the fields of an account that signing in needs.
type account struct {
	id       int64
	hash     string // salted hash of the password
	disabled bool

	needsCode bool   // a second factor must confirm sign-ins
	proof     string // hash of hash
}

// A browser stores one entry for each account that has signed in there, newest first, separated by
// ".". An entry consists of an id of the browser, an expiry time, and a signature of both. The key
// of the signature is the stored password hash of the account: all instances have it, and it
// contains 128 random bits. It changes with the password, so a new password makes all browsers
// unknown. An entry does not reveal its account.

// knownBrowser returns the browser's id if one of the entries is valid for this account, and
// otherwise an empty id. No entry is valid for an account that does not exist: the hash that stands
// in for its password is public.
func (a account) knownBrowser(entries string, now time.Time) string {
	if a.id == 0 {
		return ""
	}
	for _, entry := range splitEntries(entries) {
		id, rest, _ := strings.Cut(entry, "~")
		until, _, _ := strings.Cut(rest, "~")
		seconds, err := strconv.ParseInt(until, 36, 64)
		if err == nil && now.Before(time.Unix(seconds, 0)) && hmac.Equal([]byte(entry), []byte(a.entry(id, until))) {
			return id
		}
	}
	return ""
}

// addEntry puts a new entry for this account in front of the entries. id is the id in the account's
// old entry, or empty if there is none.
func (a account) addEntry(entries, id string, now time.Time) string {
	if id == "" {
		id = rand.Text()
	}
	all := []string{a.entry(id, strconv.FormatInt(now.Add(KnownBrowserFor).Unix(), 36))}
	for _, entry := range splitEntries(entries) {
		if old, _, _ := strings.Cut(entry, "~"); old != id && len(all) < maxKnownAccounts {
			all = append(all, entry)
		}
	}
	return strings.Join(all, ".")
}

// entry returns a signed entry.
func (a account) entry(id, until string) string {
	mac := hmac.New(sha256.New, []byte(a.hash))
	_, _ = fmt.Fprintf(mac, "mishap: known browser\n%d\n%s\n%s", a.id, id, until) // a hash never fails
	return id + "~" + until + "~" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// splitEntries splits a text into entries. It omits malformed ones, because a browser can send
// anything.
func splitEntries(entries string) []string {
	var all []string
	for entry := range strings.SplitSeq(crash.Truncate(entries, 4096), ".") {
		id, rest, _ := strings.Cut(entry, "~")
		if len(id) == browserIDLength && len(rest) < 100 && len(all) < maxKnownAccounts {
			all = append(all, entry)
		}
	}
	return all
}
