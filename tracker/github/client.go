// Package github files and reads bugs in a repository of GitHub, over its REST API. The number of a bug is the
// issue's number in the repository. Rules come from the pages "REST API endpoints for issues" and "Best practices
// for using the REST API" of GitHub's documentation.
package github

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// Settle is how long GitHub's lists may lack a new issue. Until then, FindBug proves only that there is a bug, not
// that there is none.
const Settle = 15 * time.Minute

// Client makes single calls to GitHub. It never repeats a call. It is safe for concurrent use, and is a
// [tracker.Tracker].
type Client struct {
	cfg   tracker.Config
	creds *tracker.Credentials
	call  *tracker.Caller
}

// New returns a client for the repository that cfg.Target names, such as "systemd/systemd". It signs each call
// with the secret of the current token of creds, which may write issues.
func New(cfg tracker.Config, creds *tracker.Credentials) *Client {
	c := &Client{cfg: cfg.WithDefaults(), creds: creds}
	c.call = tracker.NewCaller(c.cfg, creds, tracker.Auth{Sign: sign, Dead: deadToken, Busy: c.busy})
	return c
}

func sign(req *http.Request, token crash.AccessToken) {
	req.Header.Set("Authorization", "Bearer "+string(token.Secret))
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
}

// deadToken reports whether an answer says that the access token is invalid, expired or revoked. A missing
// permission has status 403 or 404.
func deadToken(a tracker.Answer) bool { return a.Status == http.StatusUnauthorized }

// resetMargin is the wait after a limit whose end the answer does not name, and is added to one that it names,
// since clocks differ.
const resetMargin = time.Minute

// busy reports whether an answer is about a limit of requests. GitHub refuses with 403 or 429: for the limit per
// hour it names the time of its end, for others it may name a wait.
func (c *Client) busy(a tracker.Answer) (wait time.Duration, ok bool) {
	if a.Status != http.StatusForbidden && a.Status != http.StatusTooManyRequests {
		return 0, false
	}
	if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil && seconds > 0 {
		return min(time.Duration(seconds)*time.Second, time.Hour), true
	}
	if a.Header.Get("X-Ratelimit-Remaining") == "0" {
		reset, _ := strconv.ParseInt(a.Header.Get("X-Ratelimit-Reset"), 10, 64) // 0: long ago
		return min(max(time.Unix(reset, 0).Sub(c.cfg.Now()), 0)+resetMargin, time.Hour), true
	}
	return resetMargin, strings.Contains(strings.ToLower(string(a.Body)), "rate limit")
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

// Probe reads the scopes of the access token, which GitHub tells for classic ones only, and the repository.
func (c *Client) Probe(ctx context.Context) ([]tracker.Concern, error) {
	const operation = "probe"
	address := c.cfg.APIURL + "/user"
	if c.cfg.Target != "" {
		address = strings.TrimSuffix(c.issues(), "/issues")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	a, err := c.call.Read(operation, req)
	if err == nil && a.Status != http.StatusOK {
		err = c.call.Failed(ctx, operation, a)
	}
	if err != nil {
		return tracker.ConcernOr(c.cfg.Target, err)
	}
	scopes := strings.Split(strings.ReplaceAll(a.Header.Get("X-Oauth-Scopes"), " ", ""), ",")
	if a.Header["X-Oauth-Scopes"] != nil && !slices.Contains(scopes, "repo") && !slices.Contains(scopes, "public_repo") {
		return []tracker.Concern{{Text: "the access token lacks the scope “public_repo” or “repo”", Key: "token"}}, nil
	}
	return tracker.OpenRepository(c.cfg.Target, a.Body), nil
}

// BugURL returns the address of the page of an issue.
func (c *Client) BugURL(number int64) string {
	return c.cfg.URL + "/" + c.cfg.Target + "/issues/" + itoa(number)
}

// issues returns the address of the issues of the repository, or of one of them.
func (c *Client) issues(number ...int64) string {
	owner, name, _ := strings.Cut(c.cfg.Target, "/")
	address := c.cfg.APIURL + "/repos/" + tracker.Escape(owner) + "/" + tracker.Escape(name) + "/issues"
	for _, n := range number {
		address += "/" + itoa(n)
	}
	return address
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

const (
	maxName  = 300 // characters of a name or title
	pageSize = 50  // issues in one answer, whose size is bounded
	// pageOfComments is the number of comments in one answer, the most that GitHub sends.
	pageOfComments = 100
)

type user struct {
	Name string `json:"login"`
}

type issue struct {
	Number      int64     `json:"number"`
	Title       string    `json:"title"`
	Body        string    `json:"body"`
	State       string    `json:"state"`        // "open" or "closed"
	Reason      string    `json:"state_reason"` // of a closed issue: "completed", "not_planned", "duplicate"
	Closed      time.Time `json:"closed_at"`
	Author      user      `json:"user"`
	Assignees   []user    `json:"assignees"`
	Comments    int64     `json:"comments"`
	PullRequest *struct{} `json:"pull_request"` // lists of issues include these
	Milestone   struct {
		Title string `json:"title"`
	} `json:"milestone"`
}

// Create files an issue, with the tags as labels, which GitHub leaves out if our account may not set them. It
// refuses private bugs, because repositories have no private issues. The intent's target does not matter, since all
// bugs are in one repository.
func (c *Client) Create(ctx context.Context, in crash.Intent, sendBy time.Duration) (int64, error) {
	const operation = "create"
	if in.InformationType.Private() {
		return 0, &tracker.CallError{Operation: operation, Outcome: tracker.OutcomeRefused, Text: "GitHub has no private " +
			"issues. Report the problem as a security advisory of the repository, and link that here."}
	}
	body := struct {
		Title  string   `json:"title"`
		Body   string   `json:"body"`
		Labels []string `json:"labels,omitempty"`
	}{tracker.PlainTitle(in.Title), c.cfg.Markdown(in.Description), in.Tags}
	var filed issue
	if err := c.call.Post(ctx, operation, c.issues(), body, &filed, http.StatusCreated, sendBy); err != nil {
		return 0, err
	}
	if filed.Number < 1 {
		return 0, c.call.Unusable(ctx, operation, "the answer does not say which bug was filed")
	}
	return filed.Number, nil
}

// FindBug searches the list of issues of the repository by creator, never a search for words, whose index lags
// longer. See [Settle] for when an answer is sure.
func (c *Client) FindBug(
	ctx context.Context, in crash.Intent, since time.Time, others []int64, senders ...string,
) (int64, error) {
	filed := func(account string, present bool) ([]tracker.ListedBug, error) {
		list, err := c.list(ctx, "search", account, since.Add(-tracker.SearchMargin))
		if tracker.AnswerStatus(err) == http.StatusUnprocessableEntity && !present {
			return nil, nil // an account that is gone
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
		"creator": {account}, "since": {since.UTC().Format(time.RFC3339)}, "state": {"all"},
		"sort": {"created"}, "direction": {"asc"}, "per_page": {itoa(pageSize)},
	}
	list, err := tracker.Pages[issue](ctx, c.call, operation, c.issues()+"?"+query.Encode())
	for _, i := range list {
		if i.PullRequest == nil {
			bugs = append(bugs, tracker.ListedBug{Number: i.Number, Author: i.Author.Name, Description: i.Body})
		}
	}
	return bugs, err
}

// Changed lists the issues of our account that have changed since a time.
func (c *Client) Changed(ctx context.Context, since time.Time) ([]int64, error) {
	return tracker.ChangedListed(ctx, c, func(account string) ([]tracker.ListedBug, error) {
		return c.list(ctx, "changes", account, since)
	})
}

// missing reports whether GitHub answered that an issue does not exist, was deleted, or is not for our account.
func missing(err error) bool {
	return tracker.AnswerStatus(err) == http.StatusNotFound || tracker.AnswerStatus(err) == http.StatusGone
}

func (c *Client) read(ctx context.Context, number int64) (issue, error) {
	const operation = "bug"
	var i issue
	err := c.call.Get(ctx, operation, c.issues(number), &i)
	if err == nil && i.Number != number {
		err = c.call.Unusable(ctx, operation, "the answer is about another bug")
	}
	return i, err
}

// ReadState reads an issue as a bug with one task, for the repository.
//
// A closed issue is complete. GitHub says whether it was closed as completed, but not in which version, and people
// close issues as completed that have no fix. So the status is never [crash.FixReleased], and there are no fixes.
// The API does not name the issue that a duplicate is of. An issue that was moved to another repository has the
// status Moved and is not complete, since it goes on where we do not follow it.
func (c *Client) ReadState(ctx context.Context, number int64) (crash.BugReading, error) {
	t := crash.BugTask{Target: c.cfg.Target, Name: c.cfg.Target, Status: "Open"}
	i, err := c.read(ctx, number)
	switch {
	case missing(err):
		return crash.BugReading{Number: number, Hidden: true}, nil
	case tracker.AnswerStatus(err) == http.StatusMovedPermanently:
		t.Status = "Moved"
		return crash.BugReading{Number: number, Tasks: []crash.BugTask{t}}, nil
	case err != nil:
		return crash.BugReading{}, err
	}
	t.Milestone = tracker.Clean(i.Milestone.Title, maxName)
	if i.State == "closed" {
		t.Status, t.Complete, t.Closed = crash.PlainlyClosed, true, i.Closed.UTC()
		switch i.Reason {
		case "not_planned":
			t.Status = "Not planned"
		case "duplicate":
			t.Status = "Duplicate"
		}
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
	var added comment
	err := c.call.Post(ctx, operation, c.issues(number)+"/comments",
		map[string]string{"body": c.cfg.Markdown(text)}, &added, http.StatusCreated, tracker.MaxSending)
	if err == nil && added.ID < 1 {
		return c.call.Unusable(ctx, operation, "the answer does not say whether the comment was added")
	}
	return err
}

// HasComment reports whether match returns true for one of the last 100 to 200 comments of an issue. GitHub lists
// the oldest first, so that their number tells which pages are the last.
func (c *Client) HasComment(ctx context.Context, number int64, match func(text string) bool) (bool, error) {
	i, err := c.read(ctx, number)
	if missing(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	last := i.Comments/pageOfComments + 1
	for page := max(last-1, 1); page <= last; page++ {
		query := url.Values{"per_page": {itoa(pageOfComments)}, "page": {itoa(page)}}
		var list []comment
		if err := c.call.Get(ctx, "messages", c.issues(number)+"/comments?"+query.Encode(), &list); err != nil {
			return false, err
		}
		if slices.ContainsFunc(list, func(n comment) bool { return match(tracker.PlainText(n.Body)) }) {
			return true, nil
		}
	}
	return false, nil
}

// Subscribe does nothing for the account of the access token, which GitHub subscribes to its own issues. An account
// cannot subscribe others, which gives an error with the outcome refused.
func (c *Client) Subscribe(ctx context.Context, _ int64, account string) error {
	me, err := c.Me(ctx)
	if err == nil && !strings.EqualFold(me, account) {
		err = &tracker.CallError{Operation: "subscribe", Outcome: tracker.OutcomeRefused,
			Text: "GitHub lets nobody subscribe others to an issue"}
	}
	return err
}

// Hook reads a call of a webhook. The header X-Hub-Signature-256 signs its body.
func Hook(h http.Header, body []byte, secret crash.Secret) (tracker.Change, error) {
	given, _ := strings.CutPrefix(h.Get("X-Hub-Signature-256"), "sha256=")
	if err := tracker.CheckMAC(given, body, secret); err != nil {
		return tracker.Change{}, err
	}
	return tracker.RepositoryCall(h.Get("X-GitHub-Delivery"), h.Get("X-GitHub-Event"), body)
}
