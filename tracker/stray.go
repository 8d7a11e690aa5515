package tracker

import (
	"context"
	"regexp"
	"slices"
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

// StrayBugs returns the bugs without a link that our account has filed at a site and that have changed since a time. It
// omits bugs that our account may not see. The errors are those of Explain.
func (s *Site) StrayBugs(ctx context.Context, since time.Time, linked LinkedBugs) ([]Stray, error) {
	numbers, err := s.Tracker.Changed(ctx, since)
	if err != nil {
		return nil, s.explained(err)
	}
	slices.Sort(numbers)
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
		stray := Stray{Number: n, URL: s.Tracker.BugURL(n)}
		r, err := s.Tracker.ReadState(ctx, n)
		if err != nil {
			return nil, s.explained(err)
		}
		if r.Hidden {
			continue
		}
		stray.Title = r.Title
		stray.Bucket, stray.Marker = s.ProblemIn(r.Description)
		if stray.Marker == "" { // or the kind reads no descriptions
			_, err = s.Tracker.HasComment(ctx, n, func(text string) bool {
				stray.Bucket, stray.Marker = s.ProblemIn(text)
				return stray.Marker != ""
			})
			if err != nil {
				return nil, s.explained(err)
			}
		}
		out = append(out, stray)
	}
	return out, nil
}

var problemAddress = regexp.MustCompile(`https?://[^\s<>"]{1,200}/problem/([0-9a-f]{40})\b`)

// ProblemIn returns the permanent address of a problem in a text, and its bucket. It prefers an
// address of this installation to one of another, which may be a former address of this one.
func (c Config) ProblemIn(text string) (crash.BucketID, string) {
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
