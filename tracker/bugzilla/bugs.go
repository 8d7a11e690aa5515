package bugzilla

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

const (
	maxName      = 300
	maxStatus    = 80
	maxPages     = 200
	pageSize     = 100
	maxFixes     = 20
	lastComments = 100

	timeFormat = "2006-01-02T15:04:05Z"
)

// Names of the fields to read. Unknown ones are ignored.
const (
	listFields  = "id,creator,creation_time"
	stateFields = listFields + ",product,component,summary,status,resolution,is_open,dupe_of,assigned_to,groups," +
		"severity,priority,target_milestone,cf_last_closed,cf_fixed_in"
)

type bug struct {
	ID         int64           `json:"id"`
	Creator    string          `json:"creator"`
	Created    time.Time       `json:"creation_time"`
	Product    string          `json:"product"`
	Component  json.RawMessage `json:"component"` // Red Hat's: a list with one name
	Summary    string          `json:"summary"`
	Status     string          `json:"status"`
	Resolution string          `json:"resolution"`
	Open       *bool           `json:"is_open"`
	DupeOf     int64           `json:"dupe_of"`
	Assignee   string          `json:"assigned_to"`
	Groups     []string        `json:"groups"`
	Severity   string          `json:"severity"`
	Priority   string          `json:"priority"`
	Milestone  string          `json:"target_milestone"`
	LastClosed string          `json:"cf_last_closed"` // Red Hat's and Mozilla's
	FixedIn    string          `json:"cf_fixed_in"`    // Red Hat's: free text, mostly a name, version and release
}

// get reads one bug by its number or alias, from the database and not from a replica that lags, since there is a
// login [Bugzilla/WebService/Bug.pm, get].
func (c *Client) get(ctx context.Context, operation, path, fields string) (bug, error) {
	var answer struct {
		Bugs []bug `json:"bugs"`
	}
	err := c.call.Get(ctx, operation, c.link(path, url.Values{"include_fields": {fields}}), &answer)
	if err == nil && (len(answer.Bugs) != 1 || answer.Bugs[0].ID <= 0) {
		return bug{}, c.call.Unusable(ctx, operation, "the answer has not the bug that was asked for")
	}
	if err != nil {
		return bug{}, err
	}
	return answer.Bugs[0], nil
}

// list reads all bugs of a search, lowest number first. It reads until a page is empty, because an administrator may
// have set a lower limit than ours [max_search_results].
func (c *Client) list(ctx context.Context, operation string, query url.Values) ([]bug, error) {
	query.Set("include_fields", listFields)
	query.Set("order", "bug_id")
	query.Set("limit", strconv.Itoa(pageSize))
	var all []bug
	for range maxPages {
		query.Set("offset", strconv.Itoa(len(all)))
		var page struct {
			Bugs []bug `json:"bugs"`
		}
		if err := c.call.Get(ctx, operation, c.link("/bug", query), &page); err != nil {
			return nil, err
		}
		if len(page.Bugs) == 0 {
			return all, nil
		}
		all = append(all, page.Bugs...)
	}
	return nil, c.call.Unusable(ctx, operation, "the search has no end")
}

// comments returns the texts of a bug, first its description. The tracker may read them from a replica.
func (c *Client) comments(ctx context.Context, operation string, number int64) ([]string, error) {
	var answer struct {
		Bugs map[string]struct {
			Comments []struct {
				Text string `json:"text"`
			} `json:"comments"`
		} `json:"bugs"`
	}
	address := c.link(bugPath(number)+"/comment", url.Values{"include_fields": {"text"}})
	if err := c.call.Get(ctx, operation, address, &answer); err != nil {
		return nil, err
	}
	var texts []string
	for _, comment := range answer.Bugs[strconv.FormatInt(number, 10)].Comments {
		texts = append(texts, strings.ReplaceAll(comment.Text, "\r\n", "\n"))
	}
	return texts, nil
}

// missing reports whether the tracker answered that a bug does not exist.
func missing(err error) bool { return codeOf(err) == codeNoAlias || codeOf(err) == codeNoBug }

// hidden reports whether the tracker answered that a bug does not exist, or not for our account.
func hidden(err error) bool { return missing(err) || codeOf(err) == codeHidden }

// FindBug searches for the bug of an intent. It reads the bugs with the aliases of the intent first, and then, as
// some installations have no aliases, the first comments of bugs that our accounts have filed since then.
func (c *Client) FindBug(
	ctx context.Context, in crash.Intent, since time.Time, others []int64, senders ...string,
) (int64, error) {
	me, err := c.Me(ctx)
	if err != nil {
		return 0, err
	}
	accounts, err := c.creds.Accounts(ctx, me, senders...)
	if err != nil {
		return 0, err
	}
	s := search{accounts: accounts, since: since.Add(-tracker.SearchMargin), others: others}
	number, free, err := c.byAlias(ctx, in.Marker, s)
	if number != 0 || err != nil {
		return number, err
	}
	if number, err = c.byText(ctx, in.Marker, s); number == 0 && err == nil {
		c.aliases.learn(in.Marker, free)
	}
	return number, err
}

// search says which bugs a search may find.
type search struct {
	accounts []string
	since    time.Time
	others   []int64
}

// finds reports whether a bug may be found. A search of the tracker for a creator returns those, too, whose name
// only contains the wanted one [Bugzilla/WebService/Bug.pm, search].
func (s search) finds(b bug) bool {
	return !b.Created.Before(s.since) && !slices.Contains(s.others, b.ID) &&
		slices.ContainsFunc(s.accounts, func(account string) bool { return strings.EqualFold(account, b.Creator) })
}

// byAlias returns the bug with one of the aliases for a marker, or 0, and which of them is free. All are looked at,
// because a person may have removed one.
func (c *Client) byAlias(ctx context.Context, marker string, s search) (number int64, free int, err error) {
	free = maxAliases + 1
	for n := maxAliases; n >= 1; n-- {
		b, err := c.get(ctx, "search", "/bug/"+aliasOf(marker, n), listFields)
		switch {
		case missing(err):
			free = n
		case err != nil: // also a hidden one, which may be ours
			return 0, 0, err
		case s.finds(b):
			return b.ID, 0, nil
		}
	}
	return 0, free, nil
}

func (c *Client) byText(ctx context.Context, marker string, s search) (found int64, err error) {
	for _, account := range s.accounts {
		query := url.Values{"creator": {account}, "creation_time": {s.since.UTC().Format(timeFormat)}}
		bugs, err := c.list(ctx, "search", query)
		if err != nil {
			return 0, err
		}
		for _, b := range bugs {
			if !s.finds(b) || found != 0 && b.ID >= found {
				continue
			}
			texts, err := c.comments(ctx, "search", b.ID)
			if err != nil && !hidden(err) {
				return 0, err
			}
			if len(texts) > 0 && strings.Contains(texts[0], marker) {
				found = b.ID
			}
		}
	}
	return found, nil
}

// ReadState reads the state of a bug. A bug that our account may not see gives a reading with Hidden. It does not
// read the description, which nothing needs here.
func (c *Client) ReadState(ctx context.Context, number int64) (crash.BugReading, error) {
	b, err := c.get(ctx, "bug", bugPath(number), stateFields)
	if hidden(err) {
		return crash.BugReading{Number: number, Hidden: true}, nil
	}
	if err != nil {
		return crash.BugReading{}, err
	}
	r := crash.BugReading{
		Number: number, Title: tracker.Clean(b.Summary, maxName), Private: len(b.Groups) > 0,
		InformationType: string(crash.InformationPublic), Tasks: []crash.BugTask{b.task()},
	}
	if r.Private {
		r.Title, r.InformationType = "", tracker.Clean(strings.Join(b.Groups, ", "), maxStatus)
	}
	if b.DupeOf > 0 && b.DupeOf != number {
		r.DuplicateOf = b.DupeOf
	}
	task := &r.Tasks[0]
	if task.Complete {
		if task.Closed, err = c.closed(ctx, b); err != nil {
			return crash.BugReading{}, err
		}
	}
	if task.Status == crash.FixReleased {
		r.Fixes = fixes(b.FixedIn)
	}
	return r, nil
}

// fixed lists the resolutions that mean that there is a fix, and that it has reached people as far as the tracker
// knows. Not those of Red Hat's that promise a fix elsewhere: NEXTRELEASE, RAWHIDE and UPSTREAM.
var fixed = []string{"FIXED", "ERRATA", "CURRENTRELEASE"}

func (b bug) task() crash.BugTask {
	component := b.component()
	t := crash.BugTask{
		Target: tracker.Clean(target{product: b.Product, component: component}.String(), maxName),
		Name:   tracker.Clean(component+" ("+b.Product+")", maxName), Complete: b.Resolution != "",
		Status:   tracker.Clean(strings.TrimSpace(b.Status+" "+b.Resolution), maxStatus),
		Assignee: tracker.Clean(b.Assignee, maxName), Milestone: tracker.Clean(b.Milestone, maxName),
		Importance: tracker.Clean(b.Severity+" "+b.Priority, maxStatus),
	}
	if b.Open != nil {
		t.Complete = !*b.Open
	}
	if t.Milestone == "---" {
		t.Milestone = ""
	}
	if t.Complete && slices.Contains(fixed, b.Resolution) {
		t.Status = crash.FixReleased
	}
	return t
}

func (b bug) component() string {
	var one string
	var list []string
	if json.Unmarshal(b.Component, &one) != nil && json.Unmarshal(b.Component, &list) == nil && len(list) > 0 {
		one = list[0]
	}
	return one
}

// closed returns when a closed bug got its resolution, or the zero time if the tracker does not say it.
func (c *Client) closed(ctx context.Context, b bug) (at time.Time, err error) {
	if at, err := time.Parse(time.RFC3339, b.LastClosed); err == nil {
		return at.UTC(), nil
	}
	var answer struct {
		Bugs []struct {
			History []struct {
				When    time.Time `json:"when"`
				Changes []struct {
					Field string `json:"field_name"`
					Added string `json:"added"`
				} `json:"changes"`
			} `json:"history"`
		} `json:"bugs"`
	}
	err = c.call.Get(ctx, "history", c.link(bugPath(b.ID)+"/history", nil), &answer)
	if hidden(err) || tracker.AnswerStatus(err) == http.StatusOK {
		return at, nil // a reading is useful without the time
	}
	for _, bug := range answer.Bugs {
		for _, set := range bug.History {
			for _, change := range set.Changes {
				if change.Field == "resolution" && change.Added != "" {
					at = crash.Later(at, set.When.UTC())
				}
			}
		}
	}
	return at, err
}

// nameVersionRelease matches the name of a built RPM package, without the architecture.
var nameVersionRelease = regexp.MustCompile(
	`^([A-Za-z0-9][A-Za-z0-9+._-]{0,99})-([0-9][0-9A-Za-z.+~^]{0,63}-[0-9A-Za-z.+~]{1,63})$`)

// fixes returns the packages that a text names as having the fix.
func fixes(text string) []crash.BugFix {
	var out []crash.BugFix
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;\r\n\t", r) }) {
		if m := nameVersionRelease.FindStringSubmatch(word); m != nil && len(out) < maxFixes {
			out = append(out, crash.BugFix{Package: m[1], Version: m[2]})
		}
	}
	return out
}

// Changed lists the bugs that our account filed and that have changed since a time, including closed bugs and
// duplicates.
func (c *Client) Changed(ctx context.Context, since time.Time) ([]int64, error) {
	me, err := c.Me(ctx)
	if err != nil {
		return nil, err
	}
	bugs, err := c.list(ctx, "changes", url.Values{
		"creator": {me}, "last_change_time": {since.UTC().Format(timeFormat)},
	})
	var numbers []int64
	for _, b := range bugs {
		if strings.EqualFold(b.Creator, me) && !slices.Contains(numbers, b.ID) {
			numbers = append(numbers, b.ID)
		}
	}
	return numbers, err
}

// Comment adds a comment to a bug, and sends it once. With OutcomeUnknown it may have been added.
func (c *Client) Comment(ctx context.Context, number int64, text string) error {
	var added any
	return c.call.Post(ctx, "comment", c.link(bugPath(number)+"/comment", nil), map[string]string{"comment": text},
		&added, http.StatusCreated, tracker.MaxSending)
}

// HasComment reports whether match returns true for one of the last comments of a bug, whoever wrote it.
func (c *Client) HasComment(ctx context.Context, number int64, match func(text string) bool) (bool, error) {
	texts, err := c.comments(ctx, "comments", number)
	if hidden(err) {
		return false, nil
	}
	return slices.ContainsFunc(texts[max(0, len(texts)-lastComments):], match), err
}

// Subscribe adds an account to the CC list of a bug. It may be repeated.
func (c *Client) Subscribe(ctx context.Context, number int64, account string) error {
	body := map[string]any{"cc": map[string]any{"add": []string{account}}}
	var changed any
	return c.call.Put(ctx, "subscribe", c.link(bugPath(number), nil), body, &changed, http.StatusOK, tracker.MaxSending)
}

// Forward adds the address of an upstream bug to the list See Also, which takes addresses of known kinds of trackers
// only. It may be repeated.
func (c *Client) Forward(ctx context.Context, number int64, address string) error {
	body := map[string]any{"see_also": map[string]any{"add": []string{address}}}
	var changed any
	return c.call.Put(ctx, "forward", c.link(bugPath(number), nil), body, &changed, http.StatusOK, tracker.MaxSending)
}
