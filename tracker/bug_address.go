package tracker

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"mishap/crash"
)

var (
	plainNumber = regexp.MustCompile(`(?i)^(?:lp:?|bug)?\s*#?\s*([0-9]+)$`)
	bugAddress  = regexp.MustCompile(`/(?:bugs|\+bug)/([0-9]+)(?:/.*)?$`)
)

var (
	errNoBugNumber = crash.Errorf(crash.Unprocessable, "not_a_bug",
		"This is neither a bug number nor the address of a bug.")
	errOtherTracker = crash.Errorf(crash.Unprocessable, "not_this_tracker",
		"This address belongs to another tracker.")
)

// BugNumber parses what a person enters for a bug: a number such as "123", "#123" or "LP: #123", or
// the address of one of its pages. It returns Unprocessable for anything else.
func (c *Client) BugNumber(text string) (int64, error) {
	text = strings.TrimSpace(text)
	digits := ""
	if m := plainNumber.FindStringSubmatch(text); m != nil {
		digits = m[1]
	} else {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return 0, errNoBugNumber
		}
		if !c.onTracker(u) {
			return 0, errOtherTracker
		}
		if m = bugAddress.FindStringSubmatch(u.Path); m == nil {
			return 0, errNoBugNumber
		}
		digits = m[1]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > maxBugNumber {
		return 0, errNoBugNumber
	}
	return n, nil
}

// maxBugNumber has 18 digits, like the longest number that bugPath matches.
const maxBugNumber = 999_999_999_999_999_999

// onTracker reports whether u is an address of the tracker: of its pages, of its pages for bugs
// ("bugs." before the host), or of its API.
func (c *Client) onTracker(u *url.URL) bool {
	for _, address := range []string{c.cfg.URL, c.cfg.APIURL} {
		own, err := url.Parse(address)
		if err == nil && (strings.EqualFold(u.Host, own.Host) || strings.EqualFold(u.Host, "bugs."+own.Host)) {
			return true
		}
	}
	return false
}

// BugURL returns the address of the page of a bug.
func (c *Client) BugURL(number int64) string { return c.cfg.bugURL(number) }

var bugPath = regexp.MustCompile(`/bugs/([1-9][0-9]{0,17})$`)

// bugNumber returns the number in the API's address of a bug, which must be on the tracker.
func (c *Client) bugNumber(address string) (int64, bool) {
	base, err := url.Parse(c.cfg.APIURL)
	if err != nil || address == "" {
		return 0, false
	}
	u, err := base.Parse(address)
	if err != nil || !c.cfg.sameOrigin(u) || u.RawQuery != "" || u.Fragment != "" {
		return 0, false
	}
	m := bugPath.FindStringSubmatch(u.EscapedPath())
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	return n, err == nil
}
