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

// searchMargin is how long before the first sending a search begins, since clocks differ.
const searchMargin = 24 * time.Hour

// maxPages bounds the pages of one search.
const maxPages = 200

// Statuses of the tracker. A search without a list finds open bugs only. Some trackers do not know
// the newer statuses, and refuse a search with an unknown one.
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

// FindBug searches for the bug of an intent. The bug's description contains the intent's marker,
// and one of our accounts, present or former, or one of the senders filed it since a given time.
//
// FindBug includes closed bugs and duplicates, and skips the bugs in others. It searches the target
// first, then the whole tracker, because a person may have moved the bug. It returns the lowest
// number, or 0 if there is certainly no such bug. After an error the result is unknown. The error
// is a *CallError, or Unavailable with the code tracker_credentials.
func (c *Client) FindBug(
	ctx context.Context, in crash.Intent, since time.Time, others []int64, senders ...string,
) (int64, error) {
	me, err := c.Me(ctx)
	if err != nil {
		return 0, err
	}
	accounts, err := c.creds.accounts(ctx, me)
	if err != nil {
		return 0, err
	}
	for _, account := range senders {
		if !slices.Contains(accounts, account) {
			accounts = append(accounts, account)
		}
	}
	seen := map[int64]bool{}
	for _, n := range others {
		seen[n] = true
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
			number, err := c.marked(ctx, links, in.Marker, seen)
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

// gone reports whether a search failed because a former account, or the package, is no longer in
// the tracker.
func gone(err error, former, onTarget bool) bool {
	e, ok := errors.AsType[*CallError](err)
	return ok && (former && e.Status == http.StatusBadRequest && strings.HasPrefix(e.Text, "bug_reporter:") ||
		onTarget && e.Status == http.StatusNotFound)
}

// marked returns the lowest number of the bugs whose description holds the marker, or 0. It skips
// the bugs in seen, and adds those that it reads.
func (c *Client) marked(
	ctx context.Context, links []string, marker string, seen map[int64]bool,
) (found int64, err error) {
	for _, link := range links {
		number, ok := c.bugNumber(link)
		if !ok {
			return 0, c.unusable(ctx, "search", "the search names a bug that is not the tracker's own")
		}
		if found != 0 && number >= found || seen[number] {
			continue
		}
		seen[number] = true
		bug, err := c.ReadBug(ctx, number)
		if e, ok := errors.AsType[*CallError](err); ok && e.Status == http.StatusNotFound {
			continue // hidden since the search, so not a public filing
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

// filedBy returns the links of the bugs that an account has filed on a target since a time; zero
// stands for all.
func (c *Client) filedBy(ctx context.Context, account, target string, since time.Time) ([]string, error) {
	links, err := c.search(ctx, account, target, since, allStatuses)
	if e, ok := errors.AsType[*CallError](err); ok && e.Status == http.StatusBadRequest {
		return c.search(ctx, account, target, since, oldStatuses)
	}
	return links, err
}

func (c *Client) search(
	ctx context.Context, account, target string, since time.Time, statuses []string,
) ([]string, error) {
	query := url.Values{
		"ws.op":           {"searchTasks"},
		"bug_reporter":    {encodeJSON(c.cfg.link("/~" + account))},
		"omit_duplicates": {"false"},
		"order_by":        {encodeJSON([]string{"id"})},
		"status":          {encodeJSON(statuses)},
	}
	if since.IsZero() {
		query.Set("ws.size", "300") // the maximum
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
			return nil, c.unusable(ctx, "search", "the next page of the search is not on the tracker")
		}
		next = page.Next
	}
	return nil, c.unusable(ctx, "search", "the search has no end")
}
