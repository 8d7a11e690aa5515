package tracker

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mishap/crash"
)

// searchMargin is how far before the first sending a search begins: far more than clocks differ.
const searchMargin = 24 * time.Hour

// maxPages bounds the walk through one search, should a tracker's pages never end.
const maxPages = 200

// The statuses of the tracker; without a list a search shows open bugs only. The newer ones are not known everywhere, and
// one unknown status spoils the whole search.
var (
	oldStatuses = []string{
		"New", "Incomplete", "Opinion", "Invalid", "Won't Fix", "Expired", "Confirmed", "Triaged", "In Progress",
		"Fix Committed", "Fix Released",
	}
	allStatuses = append([]string{"Deferred", "Does Not Exist", "Unknown"}, oldStatuses...)
)

// bugTasks is one page of a search.
type bugTasks struct {
	Next    string `json:"next_collection_link"`
	Entries []struct {
		BugLink string `json:"bug_link"`
	} `json:"entries"`
}

// FindBug looks for a bug that our account has filed on the intent's target since the given time and whose description
// holds the marker, closed and duplicate ones included. Bugs that others are known to be are passed over. It returns the
// lowest number, or 0 when there is certainly none. Any error means that it is not known: a *CallError, or Unavailable with
// the code tracker_credentials.
func (c *Client) FindBug(ctx context.Context, in crash.Intent, since time.Time, others []int64) (int64, error) {
	me, err := c.Me(ctx)
	if err != nil {
		return 0, err
	}
	links, err := c.filedBy(ctx, me, in.Target, since)
	if e, ok := errors.AsType[*CallError](err); ok && e.Status == http.StatusNotFound {
		// The tracker does not know the package (any more); then the bug can only be elsewhere in the distribution.
		if pillar := "/" + strings.Split(strings.TrimPrefix(in.Target, "/"), "/")[0]; pillar != in.Target {
			links, err = c.filedBy(ctx, me, pillar, since)
		}
	}
	if err != nil {
		return 0, err
	}
	var found int64
	for _, link := range links {
		number, ok := c.bugNumber(link)
		if !ok {
			return 0, c.record(ctx, &CallError{Operation: "search", Outcome: OutcomeUnknown, Words: "the search names a bug that is not the tracker's own"})
		}
		if found != 0 && number >= found || slices.Contains(others, number) {
			continue
		}
		bug, err := c.ReadBug(ctx, number)
		if e, ok := errors.AsType[*CallError](err); ok && e.Status == http.StatusNotFound {
			continue // hidden from us since the search; not one that a public filing made
		}
		if err != nil {
			return 0, err
		}
		if strings.Contains(bug.Description, in.Marker) {
			found = number
		}
	}
	return found, nil
}

// filedBy lists the links of the bugs that an account has filed on a target since the given time; zero: ever.
func (c *Client) filedBy(ctx context.Context, account, target string, since time.Time) ([]string, error) {
	links, err := c.search(ctx, account, target, since, allStatuses)
	if e, ok := errors.AsType[*CallError](err); ok && e.Status == http.StatusBadRequest {
		return c.search(ctx, account, target, since, oldStatuses)
	}
	return links, err
}

func (c *Client) search(ctx context.Context, account, target string, since time.Time, statuses []string) ([]string, error) {
	query := url.Values{
		"ws.op":           {"searchTasks"},
		"bug_reporter":    {encodeJSON(c.cfg.link("/~" + account))},
		"omit_duplicates": {"false"},
		"order_by":        {encodeJSON([]string{"id"})},
		"status":          {encodeJSON(statuses)},
	}
	if since.IsZero() {
		query.Set("ws.size", "300") // the most that a page may have
	} else {
		query.Set("created_since", encodeJSON(since.Add(-searchMargin).UTC().Format("2006-01-02T15:04:05+00:00")))
	}
	next := c.cfg.link(target) + "?" + query.Encode()
	var links []string
	for range maxPages {
		var page bugTasks
		if err := c.get(ctx, "search", next, &page); err != nil {
			return nil, err
		}
		for _, entry := range page.Entries {
			links = append(links, entry.BugLink)
		}
		if page.Next == "" {
			return links, nil
		}
		u, err := url.Parse(page.Next)
		if err != nil || !c.cfg.sameOrigin(u) {
			return nil, c.record(ctx, &CallError{Operation: "search", Outcome: OutcomeUnknown, Words: "the next page of the search is not on the tracker"})
		}
		next = page.Next
	}
	return nil, c.record(ctx, &CallError{Operation: "search", Outcome: OutcomeUnknown, Words: "the search has no end"})
}
