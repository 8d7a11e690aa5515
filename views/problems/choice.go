package problems

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/views/layout"
)

// ListChoice holds the controls of the front page, and thereby the address of a list. Its filter
// has no days, which come from the period or from From and To. It has no Packages either; Set and
// Person stand for these. Query is the text of a search; if it is set, the list is at /search.
type ListChoice struct {
	index.Filter

	Period   crash.Period
	From, To time.Time // UTC days, both included, which replace the period; zero: not set
	Ranged   bool      // the person chose days instead of a period; the period applies until they enter some
	Set      string    // package set; empty: any
	Person   string    // person or team of the tracker, whose packages are listed; empty: any

	// ShowMuted is empty if the list hides muted problems; else MutedShow or MutedOnly.
	ShowMuted string
}

// periods lists the periods of the front page, shortest first.
var periods = []struct {
	period crash.Period
	label  string
}{
	{crash.PeriodDay, "the past day"},
	{crash.PeriodWeek, "the past week"},
	{crash.PeriodMonth, "the past month"},
	{crash.PeriodYear, "the past year"},
}

// PeriodRange is the value of the period control for a range of days.
const PeriodRange = "range"

// shown returns the value of the period control.
func (c ListChoice) shown() string {
	if c.dated() || c.Ranged {
		return PeriodRange
	}
	return string(c.Period)
}

// ProblemStates lists the states by which a list can be filtered, with their labels.
var ProblemStates = problemStates()

func problemStates() []struct{ State, Label string } {
	states := []struct{ State, Label string }{{"none", "without a bug"}, {"bug", "with a bug"}}
	for _, word := range crash.StateWords {
		states = append(states, struct{ State, Label string }{string(word), string(word)})
	}
	return states
}

// dated reports whether the list has a range of days instead of a period.
func (c ListChoice) dated() bool { return !c.From.IsZero() || !c.To.IsZero() }

// phrase returns the period as part of a sentence.
func (c ListChoice) phrase() string {
	switch {
	case !c.From.IsZero() && !c.To.IsZero():
		return "the days from " + IsoDay(c.From) + " to " + IsoDay(c.To)
	case !c.From.IsZero():
		return "the days since " + IsoDay(c.From)
	case !c.To.IsZero():
		return "the year up to " + IsoDay(c.To)
	}
	for _, p := range periods {
		if p.period == c.Period {
			return p.label
		}
	}
	return string(c.Period)
}

// IsoDay formats a UTC day as 2006-01-02; empty: none.
func IsoDay(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// Days returns the first and the last day of the list.
func (c ListChoice) Days(now time.Time) (since, until time.Time) {
	today := midnight(now)
	if !c.dated() {
		return crash.LastDays(now, c.Period.Days())
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

// FilterOn returns the filter of the choice with its days. The caller adds the packages of Set and
// Person, and the query.
func (c ListChoice) FilterOn(now time.Time) index.Filter {
	since, until := c.Days(now)
	f := c.Filter
	f.Since, f.Until, f.Query = index.DayOf(since), index.DayOf(until), ""
	f.Muted = c.MutedFilter()
	return f
}

// MutedFilter returns what the list does with muted problems.
func (c ListChoice) MutedFilter() index.MutedChoice {
	switch c.ShowMuted {
	case MutedShow:
		return index.MutedShown
	case MutedOnly:
		return index.MutedOnly
	}
	return index.MutedHidden
}

// URL returns the address of the first page of the list.
func (c ListChoice) URL() string { return c.url(url.Values{}) }

// NextURL returns the address of the rows after the given one, which is at that place.
func (c ListChoice) NextURL(place int, last crash.ProblemCursor) string {
	return c.url(url.Values{"after": {fmt.Sprintf("%d.%d.%s", place, last.Count, last.ID)}})
}

// SortURL returns the address of the list sorted by a column. If it is sorted by that column
// already, the order is reversed.
func (c ListChoice) SortURL(by index.Column) string {
	same := cmp.Or(c.Sort, index.ByCount) == by
	c.Sort, c.Ascending = by, same && !c.Ascending
	return c.URL()
}

func (c ListChoice) url(q url.Values) string {
	c.encode(q)
	return c.path() + "?" + q.Encode()
}

// path returns the address of the page that has the list.
func (c ListChoice) path() string {
	if c.Query != "" {
		return layout.PathSearch
	}
	return "/"
}

func (c ListChoice) encode(q url.Values) {
	if c.dated() {
		set(q, "from", IsoDay(c.From))
		set(q, "to", IsoDay(c.To))
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
	set(q, "muted", c.ShowMuted)
	if c.New {
		q.Set("new", "1")
	}
	if c.Sort != "" && c.Sort != index.ByCount {
		q.Set("sort", string(c.Sort))
	}
	if c.Ascending {
		q.Set("order", "up")
	}
	set(q, "q", c.Query)
}

// kept returns the filters that stay when the text of the search changes.
func (c ListChoice) kept() []hiddenField {
	q, own := url.Values{}, []string{"q"}
	if c.shown() == string(crash.PeriodYear) { // as without a period
		own = append(own, "period")
	}
	c.encode(q)
	return hiddenFields(q, own)
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// widened returns the choice without any filter except time.
func (c ListChoice) widened() ListChoice { return ListChoice{Period: c.Period, From: c.From, To: c.To} }

// more reports whether one of the folded controls has a value. Of a search, the terms above the list show some.
func (c ListChoice) more() bool {
	return c.dated() || c.Ranged || c.Source != "" || c.Set != "" || c.Person != "" || c.New || c.ShowMuted != "" ||
		c.Query == "" && (c.Version != "" || c.Type != "" || c.State != "")
}

// narrowed reports whether the choice has any filter except time.
func (c ListChoice) narrowed() bool {
	c.Period, c.From, c.To, c.Ranged = "", time.Time{}, time.Time{}, false
	c.Sort, c.Ascending = "", false
	return c != ListChoice{}
}

// longer returns the address of the list over the longest period, or an empty string if it has that
// already.
func (c ListChoice) longer() string {
	if c.Period == crash.PeriodYear && !c.dated() {
		return ""
	}
	return c.over(crash.PeriodYear)
}

func (c ListChoice) withMuted() string {
	c.ShowMuted = MutedShow
	return c.URL()
}

func (c ListChoice) over(period crash.Period) string {
	c.Period, c.From, c.To, c.Ranged = period, time.Time{}, time.Time{}, false
	return c.URL()
}

func (c ListChoice) length(now time.Time) int64 {
	since, until := c.Days(now)
	return int64(until.Sub(since)/(24*time.Hour)) + 1
}

// daysText describes the days of the list: "since 15 Nov", "20 Oct – 5 Nov".
func (c ListChoice) daysText(now time.Time) string {
	since, until := c.Days(now)
	if c.To.IsZero() {
		return "since " + layout.Date(since, now)
	}
	return layout.Date(since, now) + " – " + layout.Date(until, now)
}

func packageURL(name, muted string) string {
	return ListChoice{Period: crash.PeriodYear, Filter: index.Filter{Package: name}, ShowMuted: muted}.URL()
}

// FacetsView holds the comparison of a problem's reports by one field.
type FacetsView struct {
	Bodies  crash.Bodies // of the problem
	Choice  ReportChoice
	Package string
	Facet   *stats.Facet // nil: no field is chosen
	Problem string       // why there is no comparison; empty: there is
	Names   []string     // suggested fields
}

const (
	facetsID            = "facets"
	facetsTarget        = "#" + facetsID
	reportSectionID     = "report-section"
	reportSectionTarget = "#" + reportSectionID
	stackID             = "stack"
)

// ParamReport is the parameter of the page of a problem that names the report whose stack it shows.
const ParamReport = "report"

// IsStackTarget reports whether the request header HX-Target names StackPart.
func IsStackTarget(header string) bool { return header == "section#"+stackID }

// IsFacetsTarget reports whether the request header HX-Target names FacetsPart.
func IsFacetsTarget(header string) bool { return header == "section#"+facetsID }

// IsReportSectionTarget reports whether the request header HX-Target names ReportSection.
func IsReportSectionTarget(header string) bool { return header == "section#"+reportSectionID }

// other returns the chosen field if it has no button of its own.
func (v FacetsView) other() string {
	if slices.Contains(stats.FacetFields, v.Choice.Facet) {
		return ""
	}
	return string(v.Choice.Facet)
}

// inFull qualifies reports whose fields were read.
func inFull(b crash.Bodies) string {
	if b.Limited() {
		return " that are stored in full"
	}
	return ""
}

func (v FacetsView) caption() string {
	caption := "The newest " + crash.Counted(int64(v.Facet.Here), "report", "reports") + " of this problem" +
		inFull(v.Bodies)
	if v.Facet.There == 0 {
		return caption
	}
	return caption + ", compared with " + crash.Counted(int64(v.Facet.There), "report", "reports") +
		" of other problems of " + v.Package
}

func percentOf(n, of int) string { return strconv.Itoa((100*n + of/2) / max(of, 1)) }

// NoReportsStored says that there is nothing to show.
const NoReportsStored = "Reports of this problem are no longer stored."
