// Package forgejo files and reads bugs in a repository of Forgejo or Gitea, over their API v1. The number of a bug
// is the issue's number in the repository.
package forgejo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// Client makes single calls to Forgejo. It never repeats a call. It is safe for concurrent use, and is a
// [tracker.Tracker].
type Client struct {
	cfg   tracker.Config
	creds *tracker.Credentials
	call  *tracker.Caller
}

// New returns a client for the repository that cfg.Target names, such as "tide/watch". It signs each call with the
// secret of the current token of creds, which has the scopes "write:issue" and "read:user".
func New(cfg tracker.Config, creds *tracker.Credentials) *Client {
	c := &Client{cfg: cfg.WithDefaults(), creds: creds}
	c.call = tracker.NewCaller(c.cfg, creds, tracker.Auth{Sign: sign, Dead: deadToken})
	return c
}

func sign(req *http.Request, token crash.AccessToken) {
	req.Header.Set("Authorization", "token "+string(token.Secret))
}

// deadToken reports whether an answer says that the access token is invalid. A missing scope or permission has
// status 403, and a proxy does not answer in JSON.
func deadToken(a tracker.Answer) bool {
	return a.Status == http.StatusUnauthorized && strings.Contains(string(a.Body), `"message"`)
}

// As returns a client with other credentials.
func (c *Client) As(creds *tracker.Credentials) tracker.Tracker {
	return &Client{cfg: c.cfg, creds: creds, call: c.call.As(creds)}
}

// Credentials returns those that calls are signed with.
func (c *Client) Credentials() *tracker.Credentials { return c.creds }

// Me returns the name of the account that the access token acts for.
func (c *Client) Me(ctx context.Context) (string, error) {
	return c.call.Account(ctx, c.cfg.APIURL+"/user", "login")
}

// Probe reads the repository. Forgejo does not tell the scopes of an access token.
func (c *Client) Probe(ctx context.Context) ([]tracker.Concern, error) {
	if c.cfg.Target == "" {
		return nil, nil
	}
	var repository json.RawMessage
	if err := c.call.Get(ctx, "probe", c.repository(""), &repository); err != nil {
		return tracker.ConcernOr(c.cfg.Target, err)
	}
	return tracker.OpenRepository(c.cfg.Target, repository), nil
}

// BugURL returns the address of the page of an issue.
func (c *Client) BugURL(number int64) string {
	return c.cfg.URL + "/" + c.cfg.Target + "/issues/" + itoa(number)
}

// repository returns the address in the API of what a path names in the repository.
func (c *Client) repository(path string) string {
	owner, name, _ := strings.Cut(c.cfg.Target, "/")
	return c.cfg.APIURL + "/repos/" + tracker.Escape(owner) + "/" + tracker.Escape(name) + path
}

func (c *Client) issue(number int64) string { return c.repository("/issues/" + itoa(number)) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

const (
	maxName = 300 // characters of a name or title
	// pageSize is the size of pages to ask for, the most that an installation allows by default.
	pageSize = "50"
)

type user struct {
	Name string `json:"login"`
}

type issue struct {
	Number    int64     `json:"number"`
	Title     string    `json:"title"`
	Body      string    `json:"body"`
	State     string    `json:"state"` // "open" or "closed"
	Closed    time.Time `json:"closed_at"`
	Author    user      `json:"user"`
	Assignees []user    `json:"assignees"`
	Milestone struct {
		Title string `json:"title"`
	} `json:"milestone"`
}

// Create files an issue. Before that, it reads the numbers of the labels that have the names of tags; it leaves out
// tags without a label. Forgejo ignores labels if our account may not set them. The intent's target does not matter,
// since all bugs are in one repository. A private bug is refused before anything is sent, since every issue of a
// public repository is public.
func (c *Client) Create(ctx context.Context, in crash.Intent, sendBy time.Duration) (int64, error) {
	const operation = "create"
	until := time.Now().Add(sendBy)
	if in.InformationType.Private() {
		return 0, &tracker.CallError{Operation: operation, Outcome: tracker.OutcomeRefused,
			Text: "Forgejo has no private issues. Make the bug public, or tell the project about it in another way"}
	}
	labels, err := c.labels(ctx, in.Tags, sendBy)
	if err != nil {
		return 0, err
	}
	left := min(time.Until(until), until.Round(0).Sub(time.Now().Round(0))) // by both clocks, as across a suspend
	if left <= 0 {
		return 0, &tracker.CallError{Operation: operation, Outcome: tracker.OutcomeNotSent,
			Text: "reading the labels took too long"}
	}
	body := struct {
		Title  string  `json:"title"`
		Body   string  `json:"body"`
		Labels []int64 `json:"labels,omitempty"`
	}{tracker.PlainTitle(in.Title), c.cfg.Markdown(in.Description), labels}
	var filed issue
	if err := c.call.Post(ctx, operation, c.repository("/issues"), body, &filed, http.StatusCreated, left); err != nil {
		return 0, err
	}
	if filed.Number < 1 {
		return 0, c.call.Unusable(ctx, operation, "the answer does not say which bug was filed")
	}
	return filed.Number, nil
}

// labels returns the ids of the repository's labels with these names. If our account may not read labels, there are
// none. No error has an unknown outcome, since nothing was filed.
func (c *Client) labels(ctx context.Context, names []string, timeout time.Duration) (ids []int64, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type label struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	}
	list, err := tracker.Pages[label](ctx, c.call, "labels", c.repository("/labels?limit="+pageSize))
	e, failed := errors.AsType[*tracker.CallError](err)
	if failed && e.Outcome == tracker.OutcomeRefused {
		return nil, nil
	}
	if failed && e.Outcome == tracker.OutcomeUnknown {
		unsent := *e
		unsent.Outcome = tracker.OutcomeNotSent
		return nil, &unsent
	}
	for _, l := range list {
		if slices.Contains(names, l.Name) {
			ids = append(ids, l.ID)
		}
	}
	return ids, err
}

// FindBug searches the list of issues of the repository. Without a word to search for, Forgejo reads the list from
// its database, and else from an index that lags. The list is of issues that have changed since a time, so it
// includes all that were filed since then.
func (c *Client) FindBug(
	ctx context.Context, in crash.Intent, since time.Time, others []int64, senders ...string,
) (int64, error) {
	filed := func(account string, present bool) ([]tracker.ListedBug, error) {
		list, err := c.list(ctx, "search", account, since.Add(-tracker.SearchMargin))
		if missing(err) && !present {
			return nil, nil // the account is gone or has another name now
		}
		return list, err
	}
	return tracker.FindListed(ctx, c, in, others, senders, filed)
}

// list returns the issues of an account, of any state, that have changed since a time.
func (c *Client) list(
	ctx context.Context, operation, account string, since time.Time,
) (bugs []tracker.ListedBug, err error) {
	query := url.Values{
		"state": {"all"}, "type": {"issues"}, "created_by": {account}, "since": {since.UTC().Format(time.RFC3339)},
		"limit": {pageSize},
	}
	list, err := tracker.Pages[issue](ctx, c.call, operation, c.repository("/issues?"+query.Encode()))
	for _, i := range list {
		bugs = append(bugs, tracker.ListedBug{Number: i.Number, Author: i.Author.Name, Description: i.Body})
	}
	return bugs, err
}

// Changed lists the issues of our account that have changed since a time.
func (c *Client) Changed(ctx context.Context, since time.Time) ([]int64, error) {
	return tracker.ChangedListed(ctx, c, func(account string) ([]tracker.ListedBug, error) {
		return c.list(ctx, "changes", account, since)
	})
}

// missing reports whether Forgejo answered that something does not exist, or not for our account.
func missing(err error) bool { return tracker.AnswerStatus(err) == http.StatusNotFound }

func (c *Client) read(ctx context.Context, number int64) (issue, error) {
	const operation = "bug"
	var i issue
	err := c.call.Get(ctx, operation, c.issue(number), &i)
	if err == nil && i.Number != number {
		err = c.call.Unusable(ctx, operation, "the answer is about another bug")
	}
	return i, err
}

// ReadState reads an issue as a bug with one task, for the repository.
//
// A closed issue is complete, with the status Closed. Forgejo does not say whether it was closed with a fix, nor in
// which version: the milestone is a plan, and labels mean what a project likes. So the status is never
// [crash.FixReleased], and there are no fixes. Nor does it say which issue another one duplicates.
func (c *Client) ReadState(ctx context.Context, number int64) (crash.BugReading, error) {
	i, err := c.read(ctx, number)
	if missing(err) {
		return crash.BugReading{Number: number, Hidden: true}, nil
	}
	if err != nil {
		return crash.BugReading{}, err
	}
	t := crash.BugTask{
		Target: c.cfg.Target, Name: c.cfg.Target, Status: "Open", Milestone: tracker.Clean(i.Milestone.Title, maxName),
	}
	if i.State == "closed" {
		t.Status, t.Complete, t.Closed = crash.PlainlyClosed, true, i.Closed.UTC()
	}
	if len(i.Assignees) > 0 {
		t.Assignee = tracker.Clean(i.Assignees[0].Name, maxName)
	}
	return crash.BugReading{
		Number: number, Title: tracker.Clean(i.Title, maxName), Description: i.Body, Tasks: []crash.BugTask{t},
	}, nil
}

type comment struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
}

// Comment adds a comment to an issue, and sends it once.
func (c *Client) Comment(ctx context.Context, number int64, text string) error {
	const operation = "comment"
	body, address := map[string]string{"body": c.cfg.Markdown(text)}, c.issue(number)+"/comments"
	var added comment
	err := c.call.Post(ctx, operation, address, body, &added, http.StatusCreated, tracker.MaxSending)
	if err == nil && added.ID < 1 {
		return c.call.Unusable(ctx, operation, "the answer does not say whether the comment was added")
	}
	return err
}

// HasComment reports whether match returns true for a comment of an issue. Forgejo returns all comments in one
// answer. The issue is read first, since Gitea answers with status 500 for comments of an issue that is missing.
func (c *Client) HasComment(ctx context.Context, number int64, match func(text string) bool) (bool, error) {
	_, err := c.read(ctx, number)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var comments []comment
	err = c.call.Get(ctx, "messages", c.issue(number)+"/comments", &comments)
	return slices.ContainsFunc(comments, func(m comment) bool {
		return match(tracker.PlainText(m.Body))
	}), err
}

// Subscribe subscribes the account of the access token. An account cannot subscribe others, which gives an error
// with the outcome refused.
func (c *Client) Subscribe(ctx context.Context, number int64, account string) error {
	const operation = "subscribe"
	me, err := c.Me(ctx)
	if err != nil {
		return err
	}
	if !strings.EqualFold(me, account) {
		return &tracker.CallError{Operation: operation, Outcome: tracker.OutcomeRefused,
			Text: "Forgejo lets " + me + " subscribe only itself to an issue"}
	}
	address := c.issue(number) + "/subscriptions/" + tracker.Escape(account)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, address, nil)
	if err != nil {
		return err
	}
	a, err := c.call.Change(operation, req, tracker.MaxSending)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if a.Status == http.StatusOK { // it was subscribed already
		status = http.StatusOK
	}
	return c.call.Confirm(ctx, operation, a, status, "the answer does not say whether the account was subscribed")
}

// Hook reads a call of a webhook of Forgejo or Gitea. The header X-Forgejo-Signature or X-Gitea-Signature signs its
// body.
func Hook(h http.Header, body []byte, secret crash.Secret) (tracker.Change, error) {
	either := func(name string) string { return cmp.Or(h.Get("X-Forgejo-"+name), h.Get("X-Gitea-"+name)) }
	if err := tracker.CheckMAC(either("Signature"), body, secret); err != nil {
		return tracker.Change{}, err
	}
	return tracker.RepositoryCall(either("Delivery"), either("Event"), body)
}
