package problems

import (
	"fmt"
	"net/http"
	"net/url"

	"mishap/crash/index"
	"mishap/views"
)

// The functions below return the part of a query that a public page depends on, in a canonical
// form. Unknown parameters and equivalent queries therefore create no further cache entries.

// NoQuery returns the query of pages without parameters.
func NoQuery(*http.Request) (string, error) { return "", nil }

// ListQuery returns the query of the front page. Its errors are those of readChoice.
func (s *Lists) ListQuery(r *http.Request) (string, error) {
	q := r.URL.Query()
	choice, err := s.readChoice(r.Context(), q)
	if err != nil {
		return "", err
	}
	return choiceQuery(choice, q.Get("after"), views.ListChoice{Period: defaultPeriod})
}

// SearchQuery returns the query of a search. The page itself reports an invalid query or choice.
func (s *Lists) SearchQuery(r *http.Request) (string, error) {
	text, err := searchText(r)
	if err != nil || text == "" {
		return "", err
	}
	choice, err := s.searchChoice(r, text)
	if err != nil {
		return "", err
	}
	return choiceQuery(choice, r.URL.Query().Get("after"), views.ListChoice{})
}

// choiceQuery encodes a choice and a cursor. It encodes the usual choice as "".
func choiceQuery(choice views.ListChoice, after string, usual views.ListChoice) (string, error) {
	cursor, err := readCursor(after)
	if err != nil {
		return "", err
	}
	if cursor == nil && choice == usual {
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
	return q.Encode(), nil
}

// cursorText formats a cursor for readCursor, which ignores the number in the middle.
func cursorText(p index.Cursor) string { return fmt.Sprintf("%d.0.%s", p.Position, p.ID) }
