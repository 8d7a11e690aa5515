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

// People are accounts of the tracker with which people file bugs through mishap.
type People struct {
	Accounts []string
	Since    time.Time // bugs that they filed earlier are not searched for
}

// StrayBugs returns the bugs without a link that our account has ever filed under the target, and
// those of people that name a problem of this installation. It includes closed bugs and duplicates,
// but not bugs that our account may not see. The errors are those of Check.
func (c *Client) StrayBugs(ctx context.Context, linked LinkedBugs, people People) ([]Stray, error) {
	me, err := c.Check(ctx)
	if err != nil {
		return nil, err
	}
	strays, err := c.strays(ctx, me, linked, people)
	if e, ok := errors.AsType[*CallError](err); ok {
		return nil, sentence(e)
	}
	return strays, err
}

func (c *Client) strays(ctx context.Context, me string, linked LinkedBugs, people People) ([]Stray, error) {
	numbers, err := c.bugsOf(ctx, me, time.Time{})
	if err != nil {
		return nil, err
	}
	own := len(numbers)
	for _, account := range people.Accounts {
		of, err := c.bugsOf(ctx, account, people.Since)
		if gone(err, account != me, false) {
			continue
		}
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, of...)
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
	for i, n := range numbers {
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
		if i >= own && !strings.HasPrefix(stray.Marker, c.cfg.BaseURL+"/") {
			continue // people file bugs by hand, too
		}
		out = append(out, stray)
	}
	return out, nil
}

// bugsOf returns the bugs that an account has filed under the target since a time, or ever.
func (c *Client) bugsOf(ctx context.Context, account string, since time.Time) ([]int64, error) {
	links, err := c.filedBy(ctx, account, "/"+c.cfg.Target, since)
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
