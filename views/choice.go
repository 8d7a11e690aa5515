package views

import (
	"cmp"
	"fmt"
	"net/url"
	"time"

	"mishap/crash"
	"mishap/crash/index"
)

// ListChoice is what the controls of the front page say, and the address of a list. Its filter has
// no days, which come from the period or from From and To, and no Packages, which Set and Person
// stand for. Query is the text of a search: the list stands at /search then.
type ListChoice struct {
	index.Filter

	Period   crash.Period
	From, To time.Time // UTC days, both included, in place of the period; zero: not chosen
	Ranged   bool      // days are wanted in place of the period, which stands until they are given
	Set      string    // package set
	Person   string    // of whose packages, a person or team of the tracker
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

// PeriodRange is what the control says when days are chosen in place of a period.
const PeriodRange = "range"

// shown is what the control of the period says.
func (c ListChoice) shown() string {
	if c.dated() || c.Ranged {
		return PeriodRange
	}
	return string(c.Period)
}

// ProblemStates are the states that a list can be narrowed to, with what they are called.
var ProblemStates = problemStates()

func problemStates() []struct{ State, Words string } {
	states := []struct{ State, Words string }{{"none", "without a bug"}, {"bug", "with a bug"}}
	for _, word := range crash.StateWords {
		words := string(word)
		if word == crash.StateUnread {
			words = "not read yet"
		}
		states = append(states, struct{ State, Words string }{string(word), words})
	}
	return states
}

// dated reports whether days were chosen in place of a period.
func (c ListChoice) dated() bool { return !c.From.IsZero() || !c.To.IsZero() }

// words is the period as it stands in a sentence.
func (c ListChoice) words() string {
	switch {
	case !c.From.IsZero() && !c.To.IsZero():
		return "the days from " + isoDay(c.From) + " to " + isoDay(c.To)
	case !c.From.IsZero():
		return "the days since " + isoDay(c.From)
	case !c.To.IsZero():
		return "the year up to " + isoDay(c.To)
	}
	for _, p := range periods {
		if p.period == c.Period {
			return p.words
		}
	}
	return string(c.Period)
}

func isoDay(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// Days are the first and the last day that the list looks at.
func (c ListChoice) Days(now time.Time) (since, until time.Time) {
	today := midnight(now)
	if !c.dated() {
		return today.AddDate(0, 0, 1-c.Period.Days()), today
	}
	until = c.To
	if until.IsZero() {
		until = today
	}
	since = c.From
	if since.IsZero() {
		since = until.AddDate(0, 0, 1-crash.PeriodYear.Days())
	}
	return since, until
}

// FilterOn returns the filter of the choice with its days. The packages behind Set and Person, and
// the query, are for the caller to add.
func (c ListChoice) FilterOn(now time.Time) index.Filter {
	since, until := c.Days(now)
	f := c.Filter
	f.Since, f.Until, f.Query = index.DayOf(since), index.DayOf(until), ""
	return f
}

// URL is the address of the first page of this choice.
func (c ListChoice) URL() string { return c.url(url.Values{}) }

// NextURL is the address of the rows behind the given one, which stands at that place.
func (c ListChoice) NextURL(place int, last crash.Problem) string {
	return c.url(url.Values{"after": {fmt.Sprintf("%d.%d.%s", place, last.Count, last.ID)}})
}

// SortURL is the address of the same choice, sorted by a column; the other way round when it is that already.
func (c ListChoice) SortURL(by index.Column) string {
	same := cmp.Or(c.Sort, index.ByCount) == by
	c.Sort, c.Ascending = by, same && !c.Ascending
	return c.URL()
}

func (c ListChoice) url(q url.Values) string {
	if c.dated() {
		set(q, "from", isoDay(c.From))
		set(q, "to", isoDay(c.To))
	} else {
		q.Set("period", c.shown())
	}
	set(q, "release", string(c.Release))
	set(q, "package", c.Package)
	set(q, "source", c.Source)
	set(q, "version", c.Version)
	set(q, "pkg_arch", c.PackageArchitecture)
	set(q, "type", c.Type)
	set(q, "state", c.State)
	set(q, "packageset", c.Set)
	set(q, "user", c.Person)
	if c.New {
		q.Set("new", "1")
	}
	if c.Sort != "" && c.Sort != index.ByCount {
		q.Set("sort", string(c.Sort))
	}
	if c.Ascending {
		q.Set("order", "up")
	}
	if c.Query != "" {
		q.Set("q", c.Query)
		return PathSearch + "?" + q.Encode()
	}
	return "/?" + q.Encode()
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// widened is the choice with nothing left out but by time.
func (c ListChoice) widened() ListChoice { return ListChoice{Period: c.Period, From: c.From, To: c.To} }

// more reports whether one of the controls that are folded away says something.
func (c ListChoice) more() bool {
	return c.dated() || c.Ranged || c.Source != "" || c.Version != "" || c.Type != "" || c.State != "" || c.Set != "" || c.Person != "" || c.New
}

// narrowed reports whether the choice leaves anything out but by time.
func (c ListChoice) narrowed() bool {
	c.Period, c.From, c.To, c.Ranged, c.Sort, c.Ascending = "", time.Time{}, time.Time{}, false, "", false
	return c != ListChoice{}
}

// longer is the address of the same choice over the longest period; empty when it is that already.
func (c ListChoice) longer() string {
	if c.Period == crash.PeriodYear && !c.dated() {
		return ""
	}
	c.Period, c.From, c.To, c.Ranged = crash.PeriodYear, time.Time{}, time.Time{}, false
	return c.URL()
}

// over is the address of the same choice over another period.
func (c ListChoice) over(period crash.Period) string {
	c.Period, c.From, c.To, c.Ranged = period, time.Time{}, time.Time{}, false
	return c.URL()
}

// daysWords are the days that the list looks at: "since 15 Nov", "20 Oct – 5 Nov".
func (c ListChoice) daysWords(now time.Time) string {
	since, until := c.Days(now)
	if c.To.IsZero() {
		return "since " + Date(since, now)
	}
	return Date(since, now) + " – " + Date(until, now)
}
