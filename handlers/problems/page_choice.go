package problems

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/views"
)

// parameterIgnored names the parameters that a page has ignored, separated by blanks. The queries of
// cached pages have it instead of the invalid values.
const parameterIgnored = "ignored"

// choiceParameters are the parameters that a page ignores if their values are invalid.
var choiceParameters = []string{
	"release", "package", "source", "version", "pkg_arch", "type", "state", "period", "from", "to", "sort", "columns",
	"packageset", "user", "muted", "after",
}

// wrongParameters are the parameters that errors of readChoice and readCursor are about, by code.
// The code "bad_" and the name of a parameter is about that one.
var wrongParameters = map[string][]string{
	"unknown_release": {"release"}, "unknown_period": {"period"}, "unknown_state": {"state"},
	"unknown_column": {"sort"}, "bad_days": {"from", "to"}, "bad_day": {"from", "to"},
}

// readPageChoice is like readChoice and readCursor, for a page: it ignores invalid values, and
// returns the names of their parameters. With strict, they are an error, as for a part, which a
// form on the page has requested.
func (s *choices) readPageChoice(r *http.Request, q url.Values, strict bool) (
	choice views.ListChoice, cursor *index.Cursor, ignored []string, err error,
) {
	for _, name := range strings.Fields(q.Get(parameterIgnored)) {
		if slices.Contains(choiceParameters, name) {
			ignored = append(ignored, name)
		}
	}
	q = maps.Clone(q)
	for {
		if choice, err = s.readChoice(r, q); err == nil {
			cursor, err = readCursor(q.Get("after"))
		}
		wrong := wrongIn(q, err)
		if strict || len(wrong) == 0 {
			slices.Sort(ignored)
			return choice, cursor, slices.Compact(ignored), err
		}
		for _, name := range wrong {
			q.Del(name)
		}
		ignored = append(ignored, wrong...)
	}
}

// wrongIn returns the parameters of q that an error is about.
func wrongIn(q url.Values, err error) []string {
	invalid, ok := errors.AsType[*crash.Error](err)
	if !ok || invalid.Kind != crash.Invalid {
		return nil
	}
	names := wrongParameters[invalid.Code]
	if name, bad := strings.CutPrefix(invalid.Code, "bad_"); bad && slices.Contains(choiceParameters, name) {
		names = []string{name}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !q.Has(name) })
}

// ignoredNotice returns the sentence about ignored parameters, or an empty text.
func ignoredNotice(ignored []string) string {
	if len(ignored) == 0 {
		return ""
	}
	return "Invalid " + crash.Plural(int64(len(ignored)), "value", "values") + " in the address ignored: " +
		strings.Join(ignored, ", ") + "."
}
