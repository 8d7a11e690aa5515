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
	// KnownBrowserFor is how long after its last sign-in a browser stays known.
	KnownBrowserFor = 365 * 24 * time.Hour

	maxKnownAccounts = 8 // of one browser; the one that signed in longest ago goes first
	browserIDLength  = 26
)

// account is what signing in needs to know of one.
type account struct {
	id       int64
	hash     string // of the password, with its salt
	disabled bool
}

// A browser that has signed in holds one entry for each of its accounts, newest first and joined by ".": the browser's id
// there, until when it is known, and a signature of both. The key of the signature is the stored hash of the account's
// password: every instance has it, it holds 128 random bits, and it changes with the password, which makes all browsers
// unknown that came in with the old one. An entry does not tell whose it is.

// knownBrowser returns the id of the browser when one of its entries is for this account, else nothing. It knows none of an
// account that does not exist: the hash in its stead is no secret.
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

// rememberBrowser returns the entries with a new one for this account. id is that of its old one, or empty.
func (a account) rememberBrowser(entries, id string, now time.Time) string {
	if id == "" {
		id = rand.Text()
	}
	kept := []string{a.entry(id, strconv.FormatInt(now.Add(KnownBrowserFor).Unix(), 36))}
	for _, entry := range splitEntries(entries) {
		if old, _, _ := strings.Cut(entry, "~"); old != id && len(kept) < maxKnownAccounts {
			kept = append(kept, entry)
		}
	}
	return strings.Join(kept, ".")
}

// entry writes an entry with its signature.
func (a account) entry(id, until string) string {
	mac := hmac.New(sha256.New, []byte(a.hash))
	_, _ = fmt.Fprintf(mac, "mishap: known browser\n%d\n%s\n%s", a.id, id, until) // a hash does not fail
	return id + "~" + until + "~" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// splitEntries leaves out what cannot be an entry: a browser can send anything.
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
