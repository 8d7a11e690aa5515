package problems

import (
	"context"
	"strings"

	"mishap/crash/index"
	"mishap/db"
	"mishap/handlers/web"
	"mishap/views"
)

// choices reads which problems and reports a list shows.
type choices struct{ *web.Kit }

// chosen turns a choice into a filter for the index. The notice says what cannot be shown yet.
func (s *choices) chosen(ctx context.Context, choice views.ListChoice) (*index.Index, index.Filter, string, error) {
	filter, notice := choice.FilterOn(s.Now()), ""
	if oldest := s.Now().UTC().AddDate(0, 0, -db.IndexDays); filter.Since < index.DayOf(oldest) {
		notice = "Lists go back to " + views.Date(oldest, s.Now()) + "; what was counted before is in the API."
	}
	if choice.Ranged {
		notice = "Choose the days from which and up to which reports count; until then these are those of the past week."
	}
	for _, of := range []struct {
		name, what string
		names      func() ([]string, bool, error)
	}{
		{choice.Set, "package set", func() ([]string, bool, error) { return s.Bugs.PackagesOfSet(ctx, choice.Release, choice.Set) }},
		{choice.Person, "person or team", func() ([]string, bool, error) { return s.Bugs.PackagesOfPerson(ctx, choice.Person) }},
	} {
		if of.name == "" {
			continue
		}
		names, known, err := of.names()
		if err != nil {
			return nil, filter, "", err
		}
		if !known {
			notice = "The packages of the " + of.what + " " + of.name + " are being asked of the tracker: look again in a moment."
		}
		if filter.Some {
			names = both(strings.Fields(filter.Packages), names)
		}
		filter.Some, filter.Packages = true, strings.Join(names, " ")
	}
	open := s.Store.Index
	if filter.State != "" || filter.Sort == index.ByBug || choice.Query != "" {
		open = s.Store.IndexWithStates
	}
	b, err := open(ctx)
	return b, filter, notice, err
}
