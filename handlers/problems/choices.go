package problems

import (
	"context"
	"strings"
	"time"

	"mishap/crash/index"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/handlers/web"
	"mishap/views"
)

// choices reads the selection of problems and reports that a list shows.
type choices struct{ *web.Kit }

// listFilter converts a choice to a filter of the index. The notice explains which part of the
// choice has no data yet.
func (s *choices) listFilter(ctx context.Context, choice views.ListChoice) (*index.Index, index.Filter, string, error) {
	filter, notice, err := choiceFilter(ctx, s.Bugs, s.Now(), choice)
	if err != nil {
		return nil, filter, "", err
	}
	oldest := s.Now().UTC().AddDate(0, 0, -db.IndexDays)
	switch {
	case notice != "":
	case choice.Ranged:
		notice = "Choose the days from which and up to which reports count; until then these are those of the past week."
	case filter.Since < index.DayOf(oldest):
		notice = "Lists go back to " + views.Date(oldest, s.Now()) + "; what was counted before is in the API."
	}
	open := s.Store.IndexWithTriage
	if filter.State != "" || filter.Sort == index.ByBug || choice.Query != "" {
		open = s.Store.IndexWithStates
	}
	b, err := open(ctx)
	return b, filter, notice, err
}

// choiceFilter converts a choice to a filter of the index. The notice says that the tracker has not
// told the packages of the set or person yet.
func choiceFilter(ctx context.Context, facts *bugs.Store, now time.Time, choice views.ListChoice) (
	filter index.Filter, notice string, err error,
) {
	filter = choice.FilterOn(now)
	for _, group := range []struct {
		name, kind string
		packages   func() ([]string, bool, error)
	}{
		{choice.Set, "package set", func() ([]string, bool, error) {
			return facts.PackagesOfSet(ctx, choice.Release, choice.Set)
		}},
		{choice.Person, "person or team", func() ([]string, bool, error) {
			return facts.PackagesOfPerson(ctx, choice.Person)
		}},
	} {
		if group.name == "" {
			continue
		}
		names, known, err := group.packages()
		if err != nil {
			return filter, "", err
		}
		if !known {
			notice = "The packages of the " + group.kind + " " + group.name +
				" are being asked of the tracker: look again in a moment."
		}
		if filter.ByPackages {
			names = intersection(strings.Fields(filter.Packages), names)
		}
		filter.ByPackages, filter.Packages = true, strings.Join(names, " ")
	}
	return filter, notice, nil
}
