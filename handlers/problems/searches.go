package problems

import (
	"context"
	"net/url"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/query"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/views"
)

// Searches reads saved searches for rules, which notify the people who follow them. It reads the same
// addresses in the same way as the pages do.
type Searches struct {
	facts *bugs.Store
	now   func() time.Time
}

// NewSearches returns a reader of saved searches.
func NewSearches(facts *bugs.Store, now func() time.Time) *Searches { return &Searches{facts, now} }

// Read returns the filter and the query of a saved search by its address. A period such as the past
// week does not count, since a rule concerns the present in any case; days in the address do. ok is
// false if the search finds nothing: its address is not valid any more, or the tracker does not know
// the person or the package set.
func (s *Searches) Read(ctx context.Context, path string) (f index.Filter, q query.Query, ok bool, err error) {
	address, err := url.Parse(path)
	if err != nil {
		return f, q, false, nil //nolint:nilerr // nobody can see such a list
	}
	values, search := address.Query(), ""
	if address.Path == views.PathSearch {
		search = strings.TrimSpace(values.Get("q"))
		setSearchPeriod(values)
	}
	choice, err := readFilters(values)
	if err == nil {
		q, err = query.Parse(search)
	}
	if err != nil {
		return f, q, false, nil //nolint:nilerr // nobody can see such a list
	}
	f, _, err = choiceFilter(ctx, s.facts, s.now(), choice)
	if crash.KindOf(err) == crash.NotFound {
		return f, q, false, nil
	}
	if choice.From.IsZero() && choice.To.IsZero() && !choice.New {
		f.Since = index.DayOf(s.now().UTC().AddDate(0, 0, -db.IndexDays))
	}
	return f, q, err == nil, err
}
