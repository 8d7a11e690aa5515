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

// Stray is a bug of our account that has no link to a bucket.
type Stray struct {
	Number int64
	Title  string
	URL    string
	Bucket crash.BucketID // the bucket that Marker names, or zero
	Marker string         // the permanent address of a problem in the description, or empty
}

// LinkedBugs returns those of the bugs that are linked to a bucket.
type LinkedBugs func(ctx context.Context, numbers []int64) ([]int64, error)

// StrayBugs returns the bugs without a link that our account has ever filed under the target. It
// includes closed bugs and duplicates, but not bugs that our account may not see. The errors are
// those of Check.
func (c *Client) StrayBugs(ctx context.Context, linked LinkedBugs) ([]Stray, error) {
	me, err := c.Check(ctx)
	if err != nil {
		return nil, err
	}
	strays, err := c.strays(ctx, me, linked)
	if e, ok := errors.AsType[*CallError](err); ok {
		return nil, sentence(e)
	}
	return strays, err
}

func (c *Client) strays(ctx context.Context, me string, linked LinkedBugs) ([]Stray, error) {
	numbers, err := c.ownBugs(ctx, me)
	if err != nil {
		return nil, err
	}
	withLink, err := linked(ctx, numbers)
	if err != nil {
		return nil, err
	}
	skip := map[int64]bool{}
	for _, n := range withLink {
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
			return nil, c.unusable(ctx, "search", "the search names a bug that is not the tracker's own")
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

var problemAddress = regexp.MustCompile(`https?://[^\s<>"]{1,200}/problem/([0-9a-f]{40})\b`)

// marked returns the permanent address of a problem in a text, and its bucket. It prefers an
// address of this installation to one of another, which may be a former address of this one.
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
