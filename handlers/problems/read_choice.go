package problems

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/handlers/web"
	"mishap/views"
)

// defaultPeriod is a week, so that the front page has content early in the day and after a quiet
// weekend.
const defaultPeriod = crash.PeriodWeek

// readChoice reads the filters of the front page. The names come from errors.ubuntu.com:
// release, package, version, pkg_arch, period, from, to, packageset, user. Added are source,
// type, state, new, muted, sort, order and columns. The period is "range" if from and to replace it; shown is
// the previous value of the control. An unknown value, or a release without counted reports, is
// Invalid.
func (s *choices) readChoice(r *http.Request, q url.Values) (views.ListChoice, error) {
	choice, err := readFilters(q)
	if err != nil || choice.Release == "" {
		return choice, err
	}
	has, err := s.Problems.HasRelease(r.Context(), choice.Release)
	if err == nil && (!has || web.SeenLabel(r, choice.Release) != choice.Release) {
		err = crash.Errorf(crash.Invalid, "unknown_release", "No counted report came from the release %q.", choice.Release)
	}
	return choice, err
}

// readFilters reads the filters without checking the release in the database.
func readFilters(q url.Values) (views.ListChoice, error) {
	choice := views.ListChoice{Period: defaultPeriod}
	var release, period, previous, from, to, sort, columns string
	for name, target := range map[string]*string{
		"release": &release, "period": &period, "shown": &previous, "from": &from, "to": &to, "sort": &sort,
		"package": &choice.Package, "source": &choice.Source, "version": &choice.Version,
		"pkg_arch": &choice.PackageArchitecture, "type": &choice.Type, "state": &choice.State,
		"packageset": &choice.Set, "user": &choice.Person, "columns": &columns,
	} {
		text, err := web.QueryText(q, name)
		if err != nil {
			return choice, err
		}
		*target = text
	}
	switch {
	case period == views.PeriodRange:
		choice.Ranged = from == "" && to == ""
	case period != "":
		choice.Period = crash.Period(period)
		if previous != "" && previous != period {
			from, to = "", "" // the visitor chose another period instead of the days
		}
	}
	if choice.Period.Days() == 0 {
		return choice, crash.Errorf(crash.Invalid, "unknown_period",
			"%q is not a period; the periods are day, week, month and year.", period)
	}
	choice.Release = crash.Release(release)
	isState := func(s struct{ State, Label string }) bool { return s.State == choice.State }
	if choice.State != "" && !slices.ContainsFunc(views.ProblemStates, isState) {
		return choice, crash.Errorf(crash.Invalid, "unknown_state", "%q is not a state of problems.", choice.State)
	}
	var err error
	if choice.ShowMuted, err = readMuted(q); err != nil {
		return choice, err
	}
	if choice.From, err = readDay("from", from); err != nil {
		return choice, err
	}
	if choice.To, err = readDay("to", to); err != nil {
		return choice, err
	}
	if !choice.From.IsZero() && !choice.To.IsZero() && choice.To.Before(choice.From) {
		return choice, crash.Errorf(crash.Invalid, "bad_days", "The last day, %s, is before the first, %s.", to, from)
	}
	sortable := []index.Column{index.ByCount, index.ByPackage, index.ByFirst, index.ByLast, index.ByProblem, index.ByBug}
	if sort != "" && !slices.Contains(sortable, index.Column(sort)) {
		return choice, crash.Errorf(crash.Invalid, "unknown_column",
			"%q is not a column that the list can be sorted by.", sort)
	}
	if choice.Sort = index.Column(sort); choice.Sort == index.ByCount {
		choice.Sort = ""
	}
	choice.First = columns == views.ColumnFirst
	choice.Ascending, choice.New = q.Get("order") == "up", q.Get("new") == "1"
	return choice, nil
}

// errBadMuted is the code of the error for an unknown choice of muted problems.
const errBadMuted = "bad_muted"

// readMuted reads what a list does with muted problems: empty (hide them), show or only.
func readMuted(q url.Values) (string, error) {
	m := q.Get("muted")
	if m != "" && m != views.MutedShow && m != views.MutedOnly {
		return "", crash.Errorf(crash.Invalid, errBadMuted,
			"%.40q is not a choice of muted problems; the choices are show and only.", m)
	}
	return m, nil
}

// mutedInFile reads what a file does with muted problems.
func mutedInFile(r *http.Request) (index.MutedChoice, error) {
	m, err := readMuted(r.URL.Query())
	return views.ListChoice{ShowMuted: m}.MutedFilter(), err
}

// readDay parses "2026-05-18" or "20260518", and returns the zero time for an empty text.
func readDay(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.DateOnly, "20060102"} {
		if day, err := time.Parse(form, text); err == nil && day.Year() >= 2000 && day.Year() < 2179 {
			return day, nil
		}
	}
	return time.Time{}, crash.Errorf(crash.Invalid, "bad_day",
		"The %s in the address, %q, is not a day like 2026-05-18.", name, text)
}

// readCursor parses a position in a list: "50.17.9f3a…" is after the 50th row, which had 17
// reports and this id.
func readCursor(text string) (*index.Cursor, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // from the start
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, web.ErrBadCursor
	}
	position, positionErr := strconv.Atoi(parts[0])
	count, countErr := strconv.ParseInt(parts[1], 10, 64)
	id, idErr := hex.DecodeString(parts[2])
	if positionErr != nil || countErr != nil || idErr != nil || position < 1 || count < 0 ||
		len(id) != len(crash.BucketID{}) {
		return nil, web.ErrBadCursor
	}
	return &index.Cursor{Position: position, ID: crash.BucketID(id)}, nil
}
