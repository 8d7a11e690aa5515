package tracker

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"mishap/crash"
)

// Stray is a bug that our account has filed and that no bucket knows.
type Stray struct {
	Number int64
	Title  string
	URL    string
	Bucket crash.BucketID // whose permanent address the description holds; zero: none
	Marker string         // that address
}

// StrayBugs goes through all bugs that our account has ever filed under the target, closed and duplicate ones included, and
// returns those that known does not tell, by number. What our account may not see, private bugs perhaps, is left out. The
// errors are sentences for people, as those of Check.
func (c *Client) StrayBugs(ctx context.Context, known func(context.Context, []int64) ([]int64, error)) ([]Stray, error) {
	me, err := c.Check(ctx)
	if err != nil {
		return nil, err
	}
	strays, err := c.strays(ctx, me, known)
	if e, ok := errors.AsType[*CallError](err); ok {
		return nil, sentence(e)
	}
	return strays, err
}

func (c *Client) strays(ctx context.Context, me string, known func(context.Context, []int64) ([]int64, error)) ([]Stray, error) {
	numbers, err := c.ownBugs(ctx, me)
	if err != nil {
		return nil, err
	}
	told, err := known(ctx, numbers)
	if err != nil {
		return nil, err
	}
	skip := map[int64]bool{}
	for _, n := range told {
		skip[n] = true
	}
	var out []Stray
	for _, n := range numbers {
		if skip[n] {
			continue
		}
		skip[n] = true // a bug with several tasks is listed once for each
		bug, err := c.ReadBug(ctx, n)
		if e, ok := errors.AsType[*CallError](err); ok && e.Status == http.StatusNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		stray := Stray{Number: n, Title: Clean(bug.Title, maxWords), URL: c.cfg.bugURL(n)}
		stray.Bucket, stray.Marker = c.cfg.marked(bug.Description)
		out = append(out, stray)
	}
	return out, nil
}

func (c *Client) ownBugs(ctx context.Context, me string) ([]int64, error) {
	links, err := c.filedBy(ctx, me, "/"+c.cfg.Target, time.Time{})
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, 0, len(links))
	for _, link := range links {
		n, ok := c.bugNumber(link)
		if !ok {
			return nil, c.record(ctx, &CallError{Operation: "search", Outcome: OutcomeUnknown, Words: "the search names a bug that is not the tracker's own"})
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

var problemAddress = regexp.MustCompile(`https?://[^\s<>"]{1,200}/problem/([0-9a-f]{40})\b`)

// marked finds the permanent address of a problem in a text: one of our own rather than one of another address, which may
// be what ours was before.
func (c Config) marked(text string) (crash.BucketID, string) {
	var marker, hash string
	for _, m := range problemAddress.FindAllStringSubmatch(text, -1) {
		ours := strings.HasPrefix(m[0], c.BaseURL+"/problem/")
		if marker == "" || ours {
			marker, hash = m[0], m[1]
		}
		if ours {
			break
		}
	}
	if marker == "" {
		return crash.BucketID{}, ""
	}
	id, err := crash.ParseBucketID(hash)
	if err != nil {
		return crash.BucketID{}, ""
	}
	return id, marker
}
