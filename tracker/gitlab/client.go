// Package gitlab files and reads bugs in a project of GitLab, over its REST API v4. The number of a bug is the
// issue's number in the project (iid).
package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"mishap/crash"
	"mishap/tracker"
)

// Client makes single calls to GitLab. It never repeats a call. It is safe for concurrent use, and is a
// [tracker.Tracker].
type Client struct {
	cfg   tracker.Config
	creds *tracker.Credentials
	call  *tracker.Caller
}

// New returns a client for the project that cfg.Target names, such as "GNOME/mutter". It signs each call with
// the secret of the current token of creds, which has the scope "api".
func New(cfg tracker.Config, creds *tracker.Credentials) *Client {
	c := &Client{cfg: cfg.WithDefaults(), creds: creds}
	c.call = tracker.NewCaller(c.cfg, creds, tracker.Auth{Sign: sign, Dead: deadToken})
	return c
}

func sign(req *http.Request, token crash.AccessToken) {
	req.Header.Set("Private-Token", string(token.Secret))
}

// deadToken reports whether an answer says that the access token is invalid, expired or revoked. A missing scope
// or permission has status 403.
func deadToken(a tracker.Answer) bool {
	return a.Status == http.StatusUnauthorized &&
		(strings.Contains(string(a.Body), `"invalid_token"`) || strings.Contains(string(a.Body), `"401 Unauthorized"`))
}

// As returns a client with other credentials.
func (c *Client) As(creds *tracker.Credentials) tracker.Tracker {
	return &Client{cfg: c.cfg, creds: creds, call: c.call.As(creds)}
}

// Credentials returns those that calls are signed with.
func (c *Client) Credentials() *tracker.Credentials { return c.creds }

// Me returns the name of the account that the access token acts for.
func (c *Client) Me(ctx context.Context) (string, error) {
	return c.call.Account(ctx, c.cfg.APIURL+"/user", "username")
}

// expiring is how long before the end of an access token Probe says so.
const expiring = 14 * 24 * time.Hour

// Probe reads the scopes of the access token, which old versions of GitLab do not tell, and the project.
func (c *Client) Probe(ctx context.Context) ([]tracker.Concern, error) {
	const operation = "probe"
	var token struct {
		Scopes  []string `json:"scopes"`
		Expires string   `json:"expires_at"`
	}
	err := c.call.Get(ctx, operation, c.cfg.APIURL+"/personal_access_tokens/self", &token)
	if err != nil && !missing(err) && tracker.AnswerStatus(err) != http.StatusForbidden {
		return nil, err
	}
	if err == nil && !slices.Contains(token.Scopes, "api") {
		return []tracker.Concern{{Text: "the access token lacks the scope “api”", Key: "token"}}, nil
	}
	var found []tracker.Concern
	if ends, err := time.Parse(time.DateOnly, token.Expires); err == nil && ends.Sub(c.cfg.Now()) < expiring {
		found = append(found, tracker.Concern{
			Text: "the access token expires on " + ends.Format(time.DateOnly), Key: "token", Minor: true,
		})
	}
	if c.cfg.Target == "" {
		return found, nil
	}
	var project struct {
		Issues string `json:"issues_access_level"` // empty in old versions
	}
	err = c.call.Get(ctx, operation, strings.TrimSuffix(c.issues(), "/issues"), &project)
	if err == nil && project.Issues == "disabled" {
		found = append(found, tracker.Concern{Text: "the project " + c.cfg.Target + " has no issues", Key: "target"})
	}
	if err != nil {
		none, err := tracker.ConcernOr(c.cfg.Target, err)
		return append(found, none...), err
	}
	return found, nil
}

// BugURL returns the address of the page of an issue.
func (c *Client) BugURL(number int64) string {
	return c.cfg.URL + "/" + c.cfg.Target + "/-/issues/" + itoa(number)
}

// issues returns the address of the issues of the project, or of one of them.
func (c *Client) issues(number ...int64) string {
	address := c.cfg.APIURL + "/projects/" + tracker.Escape(c.cfg.Target) + "/issues"
	for _, n := range number {
		address += "/" + itoa(n)
	}
	return address
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

const (
	maxName  = 300 // characters of a name or title
	pageSize = 50  // issues in one answer, whose size is bounded
	// lastNotes is the number of comments that HasComment reads, the most in one answer.
	lastNotes = 100
)

type user struct {
	Name string `json:"username"`
}

type issue struct {
	Number       int64     `json:"iid"`
	Project      int64     `json:"project_id"`
	Title        string    `json:"title"`
	Description  string    `json:"description"`
	State        string    `json:"state"` // "opened" or "closed"
	Confidential bool      `json:"confidential"`
	Closed       time.Time `json:"closed_at"`
	MovedTo      int64     `json:"moved_to_id"` // id of the issue in another project; 0: it was not moved
	Author       user      `json:"author"`
	Assignees    []user    `json:"assignees"`
	Subscribed   bool      `json:"subscribed"` // our account is
	Milestone    struct {
		Title string `json:"title"`
	} `json:"milestone"`
	Links struct {
		DuplicateOf string `json:"closed_as_duplicate_of"` // address in the API; empty in older versions
	} `json:"_links"`
}

// Create files an issue, with the tags as labels. A private bug becomes a confidential issue. The intent's target
// does not matter, since all bugs are in one project. GitLab creates missing labels if our account may do that,
// and else leaves them out.
func (c *Client) Create(ctx context.Context, in crash.Intent, sendBy time.Duration) (int64, error) {
	const operation = "create"
	body := struct {
		Title        string `json:"title"`
		Description  string `json:"description"`
		Labels       string `json:"labels,omitempty"`
		Confidential bool   `json:"confidential"`
	}{tracker.PlainTitle(in.Title), c.markdown(in.Description), strings.Join(in.Tags, ","), in.InformationType.Private()}
	var filed issue
	err := c.call.Post(ctx, operation, c.issues(), body, &filed, http.StatusCreated, sendBy)
	if err != nil {
		return 0, err
	}
	if filed.Number < 1 {
		return 0, c.call.Unusable(ctx, operation, "the answer does not say which bug was filed")
	}
	return filed.Number, nil
}

// command matches a line that GitLab may execute as a quick action with the rights of our account: a slash and a
// word, at the beginning of a line. Paths of files have a second slash.
var command = regexp.MustCompile(`(?m)^([ \t]*)(/[^\s/]+(?:\s|$))`)

// markdown returns the Markdown of a text, with a backslash before commands: GitLab sees them in some blocks of code.
func (c *Client) markdown(text string) string {
	return command.ReplaceAllString(c.cfg.Markdown(text), `$1\$2`)
}

// FindBug searches the list of issues of the project, which GitLab reads from its database. It never uses a search
// for words, which may read a lagging index. A confidential issue is found if our account sees it. An issue that
// was moved to another project stays in the list.
func (c *Client) FindBug(
	ctx context.Context, in crash.Intent, since time.Time, others []int64, senders ...string,
) (int64, error) {
	filed := func(account string, _ bool) ([]tracker.ListedBug, error) {
		list, err := c.list(ctx, "search", account, "created_after", since.Add(-tracker.SearchMargin))
		return list, err
	}
	return tracker.FindListed(ctx, c, in, others, senders, filed)
}

// list returns the issues of an account, of any state, since a time of creation or change.
func (c *Client) list(
	ctx context.Context, operation, account, filter string, since time.Time,
) (bugs []tracker.ListedBug, err error) {
	query := url.Values{
		"author_username": {account}, filter: {since.UTC().Format(time.RFC3339)}, "scope": {"all"}, "state": {"all"},
		"order_by": {"created_at"}, "sort": {"asc"}, "per_page": {itoa(pageSize)},
	}
	list, err := tracker.Pages[issue](ctx, c.call, operation, c.issues()+"?"+query.Encode())
	for _, i := range list {
		bugs = append(bugs, tracker.ListedBug{Number: i.Number, Author: i.Author.Name, Description: i.Description})
	}
	return bugs, err
}

// Changed lists the issues of our account that have changed since a time.
func (c *Client) Changed(ctx context.Context, since time.Time) ([]int64, error) {
	return tracker.ChangedListed(ctx, c, func(account string) ([]tracker.ListedBug, error) {
		return c.list(ctx, "changes", account, "updated_after", since)
	})
}

// missing reports whether GitLab answered that an issue does not exist, or not for our account.
func missing(err error) bool { return tracker.AnswerStatus(err) == http.StatusNotFound }

func (c *Client) read(ctx context.Context, number int64) (issue, error) {
	const operation = "bug"
	var i issue
	err := c.call.Get(ctx, operation, c.issues(number), &i)
	if err == nil && i.Number != number {
		err = c.call.Unusable(ctx, operation, "the answer is about another bug")
	}
	return i, err
}

// ReadState reads an issue as a bug with one task, for the project.
//
// A closed issue is complete, with the status Closed. GitLab does not say whether it was closed with a fix, nor in
// which version: the milestone is a plan, and labels mean what a project likes. So the status is never
// [crash.FixReleased], and there are no fixes. An issue that was moved to another project has the status Moved and
// is not complete, since it goes on where we cannot follow it. An issue that was closed as a duplicate names the
// other one if that is in the same project and the version of GitLab is new enough to say so.
func (c *Client) ReadState(ctx context.Context, number int64) (crash.BugReading, error) {
	i, err := c.read(ctx, number)
	if missing(err) {
		return crash.BugReading{Number: number, Hidden: true}, nil
	}
	if err != nil {
		return crash.BugReading{}, err
	}
	r := crash.BugReading{Number: number, Private: i.Confidential, DuplicateOf: c.duplicateOf(i)}
	if !i.Confidential {
		r.Title, r.Description = tracker.Clean(i.Title, maxName), i.Description
	}
	t := crash.BugTask{
		Target: c.cfg.Target, Name: c.cfg.Target, Status: "Open", Milestone: tracker.Clean(i.Milestone.Title, maxName),
	}
	switch {
	case i.MovedTo != 0:
		t.Status = "Moved"
	case i.State == "closed":
		t.Status, t.Complete, t.Closed = crash.PlainlyClosed, true, i.Closed.UTC()
	}
	if len(i.Assignees) > 0 {
		t.Assignee = tracker.Clean(i.Assignees[0].Name, maxName)
	}
	r.Tasks = []crash.BugTask{t}
	return r, nil
}

var issuePath = regexp.MustCompile(`^/projects/([0-9]+)/issues/([1-9][0-9]{0,17})$`)

// duplicateOf returns the number of the issue of the same project that an issue duplicates, or 0.
func (c *Client) duplicateOf(i issue) int64 {
	u, err := url.Parse(i.Links.DuplicateOf)
	if err != nil || !c.cfg.OnAPI(u) || u.RawQuery != "" {
		return 0
	}
	m := issuePath.FindStringSubmatch(strings.TrimPrefix(u.Path, c.cfg.API().Path))
	if m == nil || m[1] != itoa(i.Project) {
		return 0
	}
	n, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil || n == i.Number {
		return 0
	}
	return n
}

type note struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
}

// Comment adds a comment to an issue, and sends it once.
func (c *Client) Comment(ctx context.Context, number int64, text string) error {
	const operation = "comment"
	body := map[string]string{"body": c.markdown(text)}
	var added note
	err := c.call.Post(ctx, operation, c.issues(number)+"/notes", body, &added, http.StatusCreated, tracker.MaxSending)
	if err == nil && added.ID < 1 {
		return c.call.Unusable(ctx, operation, "the answer does not say whether the comment was added")
	}
	return err
}

// HasComment reports whether match returns true for one of the last 100 comments of an issue.
func (c *Client) HasComment(ctx context.Context, number int64, match func(text string) bool) (bool, error) {
	query := url.Values{
		"order_by": {"created_at"}, "sort": {"desc"}, "per_page": {itoa(lastNotes)}, "activity_filter": {"only_comments"},
	}
	var notes []note
	err := c.call.Get(ctx, "messages", c.issues(number)+"/notes?"+query.Encode(), &notes)
	if missing(err) {
		return false, nil
	}
	return slices.ContainsFunc(notes, func(n note) bool {
		return match(tracker.PlainText(n.Body))
	}), err
}

// Subscribe subscribes the account of the access token, which the author of an issue is from the beginning. An
// account cannot subscribe others, which gives an error with the outcome refused.
func (c *Client) Subscribe(ctx context.Context, number int64, account string) error {
	const operation = "subscribe"
	me, err := c.Me(ctx)
	if err != nil {
		return err
	}
	if !strings.EqualFold(me, account) {
		return &tracker.CallError{Operation: operation, Outcome: tracker.OutcomeRefused,
			Text: fmt.Sprintf("GitLab lets %s subscribe only itself to an issue", me)}
	}
	i, err := c.read(ctx, number)
	if err != nil || i.Subscribed {
		return err
	}
	address := c.issues(number) + "/subscribe"
	return c.call.Post(ctx, operation, address, struct{}{}, &i, http.StatusCreated, tracker.MaxSending)
}

// minSigning is the shortest secret that is used as a signing token, which has the prefix "whsec_" and 32 bytes in
// base64.
const minSigning = 30

// Hook reads a call of a webhook. If the secret is a signing token, the call has a signature of Standard Webhooks.
// Otherwise the header X-Gitlab-Token holds the secret itself.
func Hook(h http.Header, body []byte, secret crash.Secret) (tracker.Change, error) {
	err := tracker.CheckToken(h.Get("X-Gitlab-Token"), secret)
	if strings.HasPrefix(string(secret), "whsec_") && len(secret) >= minSigning &&
		h.Get(standardwebhooks.HeaderWebhookSignature) != "" {
		err = checkSignature(h, body, secret)
	}
	if err != nil {
		return tracker.Change{}, err
	}
	var in struct {
		Kind  string `json:"object_kind"`
		Issue struct {
			Number int64 `json:"iid"`
		} `json:"object_attributes"`
		Project struct {
			Path string `json:"path_with_namespace"`
		} `json:"project"`
	}
	// Before 17.4, GitLab sends only the id of the event.
	id := cmp.Or(h.Get(standardwebhooks.HeaderWebhookID), h.Get("Idempotency-Key"), h.Get("X-Gitlab-Event-UUID"))
	err = tracker.ReadCall(id, body, &in)
	if err != nil || in.Kind != "issue" && in.Kind != "work_item" {
		return tracker.Change{Call: id}, err
	}
	return tracker.Change{Call: id, Project: in.Project.Path, Number: in.Issue.Number}, nil
}

func checkSignature(h http.Header, body []byte, secret crash.Secret) error {
	verifier, err := standardwebhooks.NewWebhook(string(secret))
	if err == nil {
		err = verifier.Verify(body, h)
	}
	if err != nil {
		e := crash.Errorf(crash.Unauthenticated, "bad_signature", "This call has no valid signature that was made within "+
			"five minutes. Use the signing token as webhook_secret, and check the clocks of both servers.")
		e.Err = err
		return e
	}
	return nil
}
