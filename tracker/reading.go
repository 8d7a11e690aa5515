package tracker

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"mishap/crash"
)

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

// page is one page of a collection.
type page[T any] struct {
	Next    string `json:"next_collection_link"`
	Entries []T    `json:"entries"`
}

// collect reads at most limit pages of a collection.
func collect[T any](ctx context.Context, c *Client, operation, address string, limit int) ([]T, error) {
	var out []T
	for range limit {
		var p page[T]
		if err := c.get(ctx, operation, address, &p); err != nil {
			return nil, err
		}
		out = append(out, p.Entries...)
		if p.Next == "" {
			return out, nil
		}
		u, err := url.Parse(p.Next)
		if err != nil || !c.cfg.sameOrigin(u) {
			return nil, c.unusable(ctx, operation, "the next page is not on the tracker")
		}
		address = p.Next
	}
	return out, nil
}

// taskEntry is a bug_task of the API.
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

// messageEntry is a message of the API.
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
		Number: number, Title: Clean(bug.Title, maxName), Private: bug.Private,
		InformationType: Clean(bug.InformationType, informationText),
	}
	if bug.Private {
		r.Title = ""
	} else {
		r.Description = bug.Description
	}
	if master, ok := c.bugNumber(bug.DuplicateOf); ok && master != number {
		r.DuplicateOf = master
	}
	entries, err := collect[taskEntry](ctx, c, "tasks", c.cfg.link("/bugs/"+itoa(number)+"/bug_tasks"), maxTaskPages)
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

// AnswerStatus returns the HTTP status of the answer that caused err, or 0 if there was no answer.
func AnswerStatus(err error) int {
	if e, ok := errors.AsType[*CallError](err); ok {
		return e.Status
	}
	return 0
}

// missing reports whether the tracker answered that an entry does not exist, or not for our
// account.
func missing(err error) bool {
	return AnswerStatus(err) == http.StatusNotFound || AnswerStatus(err) == http.StatusGone
}

func (c *Client) task(e taskEntry) crash.BugTask {
	t := crash.BugTask{
		Target: Clean(c.path(e.TargetLink), maxName), Name: Clean(e.Name, maxName),
		Status: Clean(e.Status, informationText), Importance: Clean(e.Importance, informationText), Complete: e.Complete,
		Assignee: strings.TrimPrefix(c.name(e.Assignee), "~"), Milestone: c.name(e.Milestone),
	}
	if t.Complete {
		if t.Closed = e.Closed.UTC(); t.Closed.IsZero() {
			t.Closed = e.Released.UTC()
		}
	}
	return t
}

// name returns the last part of a link of the tracker, or an empty string.
func (c *Client) name(link string) string {
	p := c.path(link)
	return Clean(p[strings.LastIndexByte(p, '/')+1:], 100)
}

// path returns the path of a link below the root of the API. It returns "" for any other link,
// including a hidden one.
func (c *Client) path(link string) string {
	u, err := url.Parse(link)
	if link == "" || link == redactedValue || err != nil || !c.cfg.sameOrigin(u) {
		return ""
	}
	root, err := url.Parse(c.cfg.APIURL)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Path, root.Path)
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
	if AnswerStatus(err) == http.StatusOK || missing(err) {
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

// messages returns the last messages of a bug that has count of them.
func (c *Client) messages(ctx context.Context, number int64, count int) ([]messageEntry, error) {
	query := url.Values{"ws.size": {itoa(messagesAtOnce)}}
	if count > lastMessages {
		query.Set("ws.start", itoa(int64(count-lastMessages)))
	}
	address := c.cfg.link("/bugs/" + itoa(number) + "/messages?" + query.Encode())
	return collect[messageEntry](ctx, c, "messages", address, lastMessages/messagesAtOnce+1)
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
	numbers, err := c.changed(ctx, me, since, allStatuses)
	if AnswerStatus(err) == http.StatusBadRequest {
		numbers, err = c.changed(ctx, me, since, oldStatuses)
	}
	return numbers, err
}

func (c *Client) changed(ctx context.Context, account string, since time.Time, statuses []string) ([]int64, error) {
	query := url.Values{
		"ws.op":           {"searchTasks"},
		"bug_reporter":    {encodeJSON(c.cfg.link("/~" + account))},
		"modified_since":  {encodeJSON(since.UTC().Format("2006-01-02T15:04:05+00:00"))},
		"omit_duplicates": {"false"},
		"order_by":        {encodeJSON([]string{"id"})},
		"status":          {encodeJSON(statuses)},
	}
	type link struct {
		Bug string `json:"bug_link"`
	}
	links, err := collect[link](ctx, c, "changes", c.cfg.link("/"+c.cfg.Target)+"?"+query.Encode(), maxPages)
	if err != nil {
		return nil, err
	}
	var numbers []int64
	for _, l := range links {
		if n, ok := c.bugNumber(l.Bug); ok && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// Comment adds a message to a bug, and sends it once. The error is a *CallError; with
// OutcomeUnknown the message may have been added. Without a token the error is Unavailable with the
// code tracker_credentials, and nothing was sent.
func (c *Client) Comment(ctx context.Context, number int64, text string) error {
	const operation = "comment"
	form := url.Values{"ws.op": {"newMessage"}, "content": {encodeJSON(text)}}
	a, err := c.post(ctx, operation, c.cfg.link("/bugs/"+itoa(number)), form, maxSending)
	if err != nil {
		return err
	}
	if a.status != http.StatusCreated {
		e := failure(operation, a, c.creds.secrets()...)
		if a.status < 300 {
			e.Outcome, e.Text = OutcomeUnknown, "the answer does not say whether the message was added"
		}
		return c.record(ctx, e)
	}
	c.done(ctx, operation)
	return nil
}
