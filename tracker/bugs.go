package tracker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"mishap/crash"
)

// TrackerBug is a bug as the API returns it.
type TrackerBug struct {
	Number      int64    `json:"id"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Private     bool     `json:"private"`
	DuplicateOf string   `json:"duplicate_of_link"` // link of the original bug; empty: not a duplicate

	InformationType string `json:"information_type"`
	MessageCount    int    `json:"message_count"`
	ETag            string `json:"http_etag"` // for ChangeDescription
}

// ReadBug reads one bug. A bug that is missing, or that our account may not see, is a *CallError
// with status 404. The texts are raw: Clean or escape them before showing them.
func (c *Client) ReadBug(ctx context.Context, number int64) (TrackerBug, error) {
	var bug TrackerBug
	err := c.get(ctx, "bug", c.cfg.link("/bugs/"+itoa(number)), &bug)
	return bug, err
}

// ChangeDescription replaces the description of a bug, unless anyone has changed the bug since it was
// read with this entity tag. The error is a *CallError, or as for Comment. With status 412, the bug
// has changed. With OutcomeUnknown, the description may have been replaced; reading tells.
func (c *Client) ChangeDescription(ctx context.Context, number int64, etag, description string) error {
	const operation = "change"
	body, err := json.Marshal(map[string]string{"description": description})
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, c.cfg.link("/bugs/"+itoa(number)), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	req.GetBody = nil // never repeated
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("If-Match", etag)
	a, err := c.signed(newWriter(maxSending), operation, req, maxSending)
	if err != nil {
		return err
	}
	var changed TrackerBug
	if a.status >= 200 && a.status < 300 {
		// A page of a proxy is no answer: only the changed bug is.
		if a.broken != nil || json.Unmarshal(a.body, &changed) != nil || changed.Number != number {
			return c.record(ctx, malformed(operation, a, "the answer does not say whether the description was changed"))
		}
		c.done(ctx, operation)
		return nil
	}
	return c.record(ctx, failure(operation, a, c.creds.secrets()...))
}

// Subscribe subscribes an account of the tracker to a bug. It may be repeated.
func (c *Client) Subscribe(ctx context.Context, number int64, account string) error {
	const operation = "subscribe"
	form := url.Values{"ws.op": {"subscribe"}, "person": {encodeJSON(c.cfg.link("/~" + url.PathEscape(account)))}}
	a, err := c.post(ctx, operation, c.cfg.link("/bugs/"+itoa(number)), form, maxSending)
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return c.record(ctx, failure(operation, a, c.creds.secrets()...))
	}
	c.done(ctx, operation)
	return nil
}

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

var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]{0,99}$`)

// Account looks up an account of the tracker by its name, "ada" or "~ada", and returns the plain
// name. It returns Unprocessable if there is no such account, and the errors of Check if the call
// fails.
func (c *Client) Account(ctx context.Context, name string) (string, error) {
	name = strings.TrimPrefix(strings.TrimSpace(name), "~")
	if !accountName.MatchString(name) {
		return "", crash.Errorf(crash.Unprocessable, "bad_account",
			"This is not a valid account name: names have lower-case letters, digits, plus signs, dots and hyphens.")
	}
	var person struct {
		Name string `json:"name"`
	}
	err := c.get(ctx, "person", c.cfg.link("/~"+url.PathEscape(name)), &person)
	e, failed := errors.AsType[*CallError](err)
	switch {
	case failed && e.Status == http.StatusNotFound:
		return "", crash.Errorf(crash.Unprocessable, "unknown_account", "The tracker has no account with the name %s.", name)
	case failed:
		return "", sentence(e)
	case err != nil:
		return "", err
	case person.Name != name:
		return "", crash.Errorf(crash.Unprocessable, "unknown_account", "The tracker has no account with the name %s.", name)
	}
	return name, nil
}
