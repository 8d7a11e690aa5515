package tracker

import (
	"context"
	"errors"
	"net/http"
	"net/url"
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

// FindBug looks for a bug that our account has filed since the given time and whose description holds the marker, closed and
// duplicate ones included: on the intent's target first, then wherever else in the tracker somebody may have moved it to.
// When we act for another account than before, bugs of that one count too. Bugs that others are known to be are passed over.
// It returns the lowest number, or 0 when there is certainly none. Any error means that it is not known: a *CallError, or
// Unavailable with the code tracker_credentials.
func (c *Client) FindBug(ctx context.Context, in crash.Intent, since time.Time, others []int64) (int64, error) {
	me, err := c.Me(ctx)
	if err != nil {
		return 0, err
	}
	accounts, err := c.creds.accounts(ctx, me)
	if err != nil {
		return 0, err
	}
	looked := map[int64]bool{}
	for _, n := range others {
		looked[n] = true
	}
	for _, target := range []string{in.Target, "/bugs"} {
		var found int64
		for _, account := range accounts {
			links, err := c.filedBy(ctx, account, target, since)
			if gone(err, account != me, target == in.Target) {
				continue
			}
			if err != nil {
				return 0, err
			}
			number, err := c.marked(ctx, links, in.Marker, looked)
			if err != nil {
				return 0, err
			}
			if number != 0 && (found == 0 || number < found) {
				found = number
			}
		}
		if found != 0 {
			return found, nil
		}
	}
	return 0, nil
}

// gone reports whether a search failed because what it asks about is no longer in the tracker: an account that we do not
// act for any more, or the package.
func gone(err error, former, onTarget bool) bool {
	e, ok := errors.AsType[*CallError](err)
	return ok && (former && e.Status == http.StatusBadRequest && strings.HasPrefix(e.Words, "bug_reporter:") ||
		onTarget && e.Status == http.StatusNotFound)
}

// marked returns the lowest number of those bugs whose description holds the marker; 0: none does. What it has looked at it
// notes, and does not look at again.
func (c *Client) marked(ctx context.Context, links []string, marker string, looked map[int64]bool) (found int64, err error) {
	for _, link := range links {
		number, ok := c.bugNumber(link)
		if !ok {
			return 0, c.record(ctx, &CallError{Operation: "search", Outcome: OutcomeUnknown, Words: "the search names a bug that is not the tracker's own"})
		}
		if found != 0 && number >= found || looked[number] {
			continue
		}
		looked[number] = true
		bug, err := c.ReadBug(ctx, number)
		if e, ok := errors.AsType[*CallError](err); ok && e.Status == http.StatusNotFound {
			continue // hidden from us since the search; not one that a public filing made
		}
		if err != nil {
			return 0, err
		}
		if strings.Contains(bug.Description, marker) {
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
