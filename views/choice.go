package views

import (
	"fmt"
	"net/url"
	"time"

	"mishap/crash"
)

// ListChoice is what the controls of the front page say.
type ListChoice struct {
	Period  crash.Period
	Release crash.Release // empty: all
	Package string        // empty: all
}

// periods are the choices of the front page, shortest first.
var periods = []struct {
	period crash.Period
	words  string
}{
	{crash.PeriodDay, "the past day"},
	{crash.PeriodWeek, "the past week"},
	{crash.PeriodMonth, "the past month"},
	{crash.PeriodYear, "the past year"},
}

// words is the period as it stands in a sentence.
func (c ListChoice) words() string {
	for _, p := range periods {
		if p.period == c.Period {
			return p.words
		}
	}
	return string(c.Period)
}

// URL is the address of the first page of this choice.
func (c ListChoice) URL() string { return c.url(nil) }

// NextURL is the address of the rows below the given one, whose rank is given too.
func (c ListChoice) NextURL(rank int, last crash.Problem) string {
	return c.url(url.Values{"after": {fmt.Sprintf("%d.%d.%s", rank, last.Count, last.ID)}})
}

func (c ListChoice) url(q url.Values) string {
	if q == nil {
		q = url.Values{}
	}
	q.Set("period", string(c.Period))
	if c.Release != "" {
		q.Set("release", string(c.Release))
	}
	if c.Package != "" {
		q.Set("package", c.Package)
	}
	return "/?" + q.Encode()
}

// widened is the choice with all packages and releases.
func (c ListChoice) widened() ListChoice { return ListChoice{Period: c.Period} }

// narrowed reports whether the choice leaves anything out but by time.
func (c ListChoice) narrowed() bool { return c.Release != "" || c.Package != "" }

// longer is the address of the same choice over the longest period; empty when it is that already.
func (c ListChoice) longer() string {
	if c.Period == crash.PeriodYear {
		return ""
	}
	c.Period = crash.PeriodYear
	return c.URL()
}

// since is the first day that the list looks at.
func (c ListChoice) since(now time.Time) time.Time {
	return now.UTC().AddDate(0, 0, 1-c.Period.Days())
}
