package problems

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"mishap/crash/index"
	"mishap/handlers/web"
	"mishap/views"
)

// The functions below return the part of a query that a public page depends on, in a canonical
// form. Unknown parameters and equivalent queries therefore create no further cache entries.

// NoQuery returns the query of pages without parameters.
func NoQuery(*http.Request) (string, error) { return "", nil }

// CompareQuery returns the query of the page of a package: the two versions that it compares.
func CompareQuery(r *http.Request) (string, error) {
	a, b, err := comparedVersions(r)
	if err != nil || a == "" && b == "" {
		return "", err
	}
	return url.Values{"a": {a}, "b": {b}}.Encode(), nil
}

// ListQuery returns the query of the front page.
func (s *Lists) ListQuery(r *http.Request) (string, error) {
	choice, cursor, ignored, err := s.readPageChoice(r, r.URL.Query(), web.WantsPart(r))
	if err != nil {
		return "", err
	}
	return choiceQuery(choice, cursor, ignored, views.ListChoice{Period: defaultPeriod})
}

// SearchQuery returns the query of a search. The page itself reports an invalid query or choice.
func (s *Lists) SearchQuery(r *http.Request) (string, error) {
	text, err := searchText(r)
	if err != nil || text == "" {
		return "", err
	}
	choice, cursor, ignored, err := s.searchPageChoice(r, text)
	if err != nil {
		return "", err
	}
	return choiceQuery(choice, cursor, ignored, views.ListChoice{})
}

// choiceQuery encodes a choice, a cursor and the names of ignored parameters. It encodes the usual
// choice as "".
func choiceQuery(
	choice views.ListChoice, cursor *index.Cursor, ignored []string, usual views.ListChoice,
) (string, error) {
	if cursor == nil && len(ignored) == 0 && choice == usual {
		return "", nil
	}
	u, err := url.Parse(choice.URL())
	if err != nil {
		return "", fmt.Errorf("address of a choice: %w", err)
	}
	q := u.Query()
	if cursor != nil {
		q.Set("after", cursorText(*cursor))
	}
	if len(ignored) > 0 {
		q.Set(parameterIgnored, strings.Join(ignored, " "))
	}
	return q.Encode(), nil
}

// cursorText formats a cursor for readCursor, which ignores the number in the middle.
func cursorText(p index.Cursor) string { return fmt.Sprintf("%d.0.%s", p.Position, p.ID) }
