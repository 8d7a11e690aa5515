// Package launchpad makes calls to Launchpad, or a tracker that speaks its protocol, signed with OAuth 1.0
// PLAINTEXT. It files, reads, searches and changes bugs, connects accounts, and reads facts about the archive of
// packages.
package launchpad

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// Client makes single calls to Launchpad. It never repeats a call. It is safe for concurrent use, and is a
// [tracker.Tracker].
type Client struct {
	cfg   tracker.Config
	creds *tracker.Credentials
	call  *tracker.Caller
}

// New returns a client that signs each call with the current token of creds.
func New(cfg tracker.Config, creds *tracker.Credentials) *Client {
	c := &Client{cfg: cfg.WithDefaults(), creds: creds}
	c.call = tracker.NewCaller(c.cfg, creds, tracker.Auth{Sign: c.sign, Dead: deadToken})
	return c
}

// As returns a client with other credentials.
func (c *Client) As(creds *tracker.Credentials) tracker.Tracker {
	return &Client{cfg: c.cfg, creds: creds, call: c.call.As(creds)}
}

// Credentials returns those that calls are signed with.
func (c *Client) Credentials() *tracker.Credentials { return c.creds }

func (c *Client) link(path string) string { return c.cfg.APIURL + path }

// post sends one operation. encodeJSON has encoded its values.
func (c *Client) post(
	ctx context.Context, operation, address string, form url.Values, sendBy time.Duration,
) (tracker.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return tracker.Answer{}, fmt.Errorf("%s: %w", operation, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.call.Change(operation, req, sendBy)
}

// Me returns the name of the account that the access token acts for. The error is a *tracker.CallError, or
// Unavailable with the code tracker_credentials if there is no token.
func (c *Client) Me(ctx context.Context) (string, error) {
	const operation = "me"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.link("/people/+me"), nil)
	if err != nil {
		return "", fmt.Errorf("%s: %w", operation, err)
	}
	a, err := c.call.Read(operation, req)
	if err != nil {
		return "", err
	}
	if a.Status != http.StatusSeeOther {
		return "", c.call.Failed(ctx, operation, a)
	}
	location, err := req.URL.Parse(a.Header.Get("Location"))
	if err != nil || !c.cfg.OnAPI(location) {
		return "", c.call.Malformed(ctx, operation, a, "the answer leads away from the tracker")
	}
	name, ok := strings.CutPrefix(path.Base(location.Path), "~")
	if !ok || tracker.Clean(name, 100) != name || name == "" {
		return "", c.call.Malformed(ctx, operation, a, "the answer names no account")
	}
	c.call.Done(ctx, operation, name)
	return name, nil
}

// Create sends one bug, once, and returns its number. The error is a *tracker.CallError; with
// tracker.OutcomeUnknown the bug may have been filed, with any other outcome it was not. Without a token
// the error is Unavailable with the code tracker_credentials, and nothing was sent.
func (c *Client) Create(ctx context.Context, in crash.Intent, sendBy time.Duration) (int64, error) {
	const operation = "create"
	form := url.Values{
		"ws.op":       {"createBug"},
		"title":       {encodeJSON(in.Title)},
		"description": {encodeJSON(in.Description)},
		"target":      {encodeJSON(c.link(in.Target))},
	}
	if len(in.Tags) > 0 {
		form.Set("tags", encodeList(in.Tags))
	}
	if in.InformationType != crash.InformationDefault {
		form.Set("information_type", string(in.InformationType)) // one of fixed words, not JSON
	}
	a, err := c.post(ctx, operation, c.link("/bugs"), form, sendBy)
	if err != nil {
		return 0, err
	}
	number, ok := c.bugNumber(a.Header.Get("Location"))
	if a.Status == http.StatusCreated && !ok {
		return 0, c.call.Malformed(ctx, operation, a, "the answer does not say which bug was filed")
	}
	err = c.call.Confirm(ctx, operation, a, http.StatusCreated, "the answer does not say whether a bug was filed")
	if err != nil {
		return 0, err
	}
	return number, nil
}

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

// sign adds the header that signs an API request. Each value is percent-encoded once, except for unreserved
// characters: "+" would mean a plus here. The signature is "&" and the secret, since consumers have no secret.
func (c *Client) sign(req *http.Request, token crash.AccessToken) {
	api := c.cfg.API()
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails
	req.Header.Set("Authorization", `OAuth realm="`+api.Scheme+`://`+api.Host+`/"`+
		`, oauth_consumer_key="`+tracker.Escape(c.cfg.ConsumerKey)+`"`+
		`, oauth_token="`+tracker.Escape(token.Token)+`"`+
		`, oauth_signature_method="PLAINTEXT"`+
		`, oauth_signature="`+tracker.Escape("&"+string(token.Secret))+`"`+
		`, oauth_timestamp="`+itoa(c.cfg.Now().Unix())+`"`+
		`, oauth_nonce="`+hex.EncodeToString(nonce)+`"`+
		`, oauth_version="1.0"`)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// deadTexts are the beginnings of Launchpad's answers to invalid credentials. A 401 with any other
// text means a missing permission.
var deadTexts = []string{
	"Unknown consumer (", "Unknown access token (", "Expired token (", "Unauthorized token (", "Invalid token",
	"Invalid signature.", "Inactive account.", "You need to be logged in to view this URL.",
}

// deadToken reports whether an answer says that the access token is invalid.
func deadToken(a tracker.Answer) bool {
	s := strings.TrimSpace(string(a.Body))
	return a.Status == http.StatusUnauthorized &&
		slices.ContainsFunc(deadTexts, func(text string) bool { return strings.HasPrefix(s, text) })
}

const (
	maxTaskPages    = 5
	messagesAtOnce  = 25  // per answer, whose size is bounded
	lastMessages    = 100 // number of the last comments that may name a fix
	janitor         = "janitor"
	maxName         = 300
	maxFixes        = 20
	redactedValue   = "tag:launchpad.net:2008:redacted"
	informationText = 40
)

type page[T any] struct {
	Next    string `json:"next_collection_link"`
	Entries []T    `json:"entries"`
}

// collect reads at most limit pages of a collection. whole reports whether these are all.
func collect[T any](
	ctx context.Context, c *Client, operation, address string, limit int,
) (list []T, whole bool, err error) {
	for range limit {
		var p page[T]
		if err := c.call.Get(ctx, operation, address, &p); err != nil {
			return nil, false, err
		}
		list = append(list, p.Entries...)
		if p.Next == "" {
			return list, true, nil
		}
		u, err := url.Parse(p.Next)
		if err != nil || !c.cfg.OnAPI(u) {
			return nil, false, c.call.Unusable(ctx, operation, "the next page is not on the tracker")
		}
		address = p.Next
	}
	return list, false, nil
}

type taskEntry struct {
	TargetLink string    `json:"target_link"`
	Name       string    `json:"bug_target_display_name"`
	Status     string    `json:"status"`
	Importance string    `json:"importance"`
	Assignee   string    `json:"assignee_link"`
	Milestone  string    `json:"milestone_link"`
	Complete   bool      `json:"is_complete"`
	Closed     time.Time `json:"date_closed"`
	Released   time.Time `json:"date_fix_released"`
}

type messageEntry struct {
	Owner   string `json:"owner_link"`
	Content string `json:"content"`
}

// ReadState reads the state of a bug: its tasks, and the versions that have the fix if there is
// one. A bug that our account may not see gives a reading with Hidden. All texts are cleaned and
// bounded. The errors are those of ReadBug.
func (c *Client) ReadState(ctx context.Context, number int64) (crash.BugReading, error) {
	bug, err := c.ReadBug(ctx, number)
	if missing(err) {
		return crash.BugReading{Number: number, Hidden: true}, nil
	}
	if err != nil {
		return crash.BugReading{}, err
	}
	r := crash.BugReading{
		Number: number, Title: tracker.Clean(bug.Title, maxName), Private: bug.Private,
		InformationType: tracker.Clean(bug.InformationType, informationText),
	}
	if bug.Private {
		r.Title = ""
	} else {
		r.Description = bug.Description
	}
	if master, ok := c.bugNumber(bug.DuplicateOf); ok && master != number {
		r.DuplicateOf = master
	}
	entries, _, err := collect[taskEntry](ctx, c, "tasks", c.link("/bugs/"+itoa(number)+"/bug_tasks"), maxTaskPages)
	if missing(err) {
		return crash.BugReading{Number: number, Hidden: true}, nil
	}
	if err != nil {
		return crash.BugReading{}, err
	}
	for _, e := range entries {
		r.Tasks = append(r.Tasks, c.task(e))
	}
	if slices.ContainsFunc(r.Tasks, func(t crash.BugTask) bool { return t.Status == crash.FixReleased }) {
		r.Fixes, err = c.fixes(ctx, number, bug.MessageCount)
	}
	return r, err
}

// missing reports whether the tracker answered that an entry does not exist, or not for our
// account.
func missing(err error) bool {
	return tracker.AnswerStatus(err) == http.StatusNotFound || tracker.AnswerStatus(err) == http.StatusGone
}

func (c *Client) task(e taskEntry) crash.BugTask {
	t := crash.BugTask{
		Target: tracker.Clean(c.path(e.TargetLink), maxName), Name: tracker.Clean(e.Name, maxName),
		Status: tracker.Clean(e.Status, informationText), Importance: tracker.Clean(e.Importance, informationText),
		Complete: e.Complete,
		Assignee: strings.TrimPrefix(c.name(e.Assignee), "~"), Milestone: c.name(e.Milestone),
	}
	if t.Complete {
		if t.Closed = e.Closed.UTC(); t.Closed.IsZero() {
			t.Closed = e.Released.UTC()
		}
	}
	return t
}

func (c *Client) name(link string) string {
	p := c.path(link)
	return tracker.Clean(p[strings.LastIndexByte(p, '/')+1:], 100)
}

// path returns the path of a link below the root of the API. It returns "" for any other link,
// including a hidden one.
func (c *Client) path(link string) string {
	u, err := url.Parse(link)
	if link == "" || link == redactedValue || err != nil || !c.cfg.OnAPI(u) {
		return ""
	}
	return strings.TrimPrefix(u.Path, c.cfg.API().Path)
}

var (
	fixedIn = regexp.MustCompile(
		`^This bug was fixed in the package ([a-z0-9][a-z0-9+.-]+) - ([0-9A-Za-z.+:~-]{1,128})\s`)
	uploaded = regexp.MustCompile(`(?m)^\s*[a-z0-9][a-z0-9+.-]+ \([^()\s]+\) ([a-z]+)(-[a-z]+)*; urgency=`)
)

// fixes returns the versions named in messages of the tracker's own account, which closes a bug
// after an upload. It returns none for an invalid answer, because a reading is useful without
// fixes.
func (c *Client) fixes(ctx context.Context, number int64, count int) ([]crash.BugFix, error) {
	messages, err := c.messages(ctx, number, count)
	if tracker.AnswerStatus(err) == http.StatusOK || missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []crash.BugFix
	for _, m := range messages {
		if c.path(m.Owner) != "/~"+janitor {
			continue // any other account may write the same text
		}
		content := strings.ReplaceAll(m.Content, "\r\n", "\n") + "\n"
		fix := fixedIn.FindStringSubmatch(content)
		if fix == nil || len(out) >= maxFixes {
			continue
		}
		f := crash.BugFix{Package: fix[1], Version: fix[2]}
		if to := uploaded.FindStringSubmatch(content); to != nil {
			f.Series = to[1]
		}
		out = append(out, f)
	}
	return out, nil
}

func (c *Client) messages(ctx context.Context, number int64, count int) ([]messageEntry, error) {
	query := url.Values{"ws.size": {itoa(messagesAtOnce)}}
	if count > lastMessages {
		query.Set("ws.start", itoa(int64(count-lastMessages)))
	}
	address := c.link("/bugs/" + itoa(number) + "/messages?" + query.Encode())
	list, _, err := collect[messageEntry](ctx, c, "messages", address, lastMessages/messagesAtOnce+1)
	return list, err
}

// HasComment reports whether match returns true for one of the last messages of a bug, whoever wrote
// it. A bug that our account may not see has none. The errors are those of ReadBug.
func (c *Client) HasComment(ctx context.Context, number int64, match func(text string) bool) (bool, error) {
	bug, err := c.ReadBug(ctx, number)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	messages, err := c.messages(ctx, number, bug.MessageCount)
	if missing(err) {
		return false, nil
	}
	return slices.ContainsFunc(messages, func(m messageEntry) bool {
		return match(strings.ReplaceAll(m.Content, "\r\n", "\n"))
	}), err
}

// Changed lists the bugs that our account filed on the target and that have changed since a time,
// including closed bugs and duplicates.
func (c *Client) Changed(ctx context.Context, since time.Time) ([]int64, error) {
	me, err := c.Me(ctx)
	if err != nil {
		return nil, err
	}
	tasks, _, err := c.searchTasks(ctx, "changes", "/"+c.cfg.Target, maxPages, url.Values{
		"bug_reporter":   {encodeJSON(c.link("/~" + me))},
		"modified_since": {encodeJSON(since.UTC().Format(timeFormat))},
		"order_by":       {encodeJSON([]string{"id"})},
	})
	var numbers []int64
	for _, t := range tasks {
		if n, ok := c.bugNumber(t.Bug); ok && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers, err
}

// Comment adds a message to a bug, and sends it once. The error is a *tracker.CallError; with
// tracker.OutcomeUnknown the message may have been added. Without a token the error is Unavailable with the
// code tracker_credentials, and nothing was sent.
func (c *Client) Comment(ctx context.Context, number int64, text string) error {
	const operation = "comment"
	form := url.Values{"ws.op": {"newMessage"}, "content": {encodeJSON(text)}}
	a, err := c.post(ctx, operation, c.link("/bugs/"+itoa(number)), form, tracker.MaxSending)
	if err != nil {
		return err
	}
	return c.call.Confirm(ctx, operation, a, http.StatusCreated, "the answer does not say whether the message was added")
}
