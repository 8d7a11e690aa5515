package problems

import (
	"fmt"
	"net/http"
	"net/url"

	"mishap/crash/index"
	"mishap/views"
)

// The functions below return the part of a query that a public page depends on, always written the same way. Parameters
// that a page does not know, and other ways to write the same, make no further entries in the cache.

// NoQuery is for pages that know no parameters.
func NoQuery(*http.Request) (string, error) { return "", nil }

// ListQuery reads the choice of the front page. Errors are as of readChoice.
func (s *Lists) ListQuery(r *http.Request) (string, error) {
	q := r.URL.Query()
	choice, err := s.readChoice(r.Context(), q)
	if err != nil {
		return "", err
	}
	return choiceQuery(choice, q.Get("after"), views.ListChoice{Period: defaultPeriod})
}

// SearchQuery reads what a search wants. What is no query, or no choice, is left to the page itself.
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

// choiceQuery writes a choice and the place where the list goes on; the usual choice is written as nothing.
func choiceQuery(choice views.ListChoice, after string, usual views.ListChoice) (string, error) {
	place, err := readPlace(after)
	if err != nil {
		return "", err
	}
	if place == nil && choice == usual {
		return "", nil
	}
	u, err := url.Parse(choice.URL())
	if err != nil {
		return "", fmt.Errorf("address of a choice: %w", err)
	}
	q := u.Query()
	if place != nil {
		q.Set("after", placeText(*place))
	}
	return q.Encode(), nil
}

// placeText writes a place as readPlace reads it. The number in the middle is for people only.
func placeText(p index.Cursor) string { return fmt.Sprintf("%d.0.%s", p.Behind, p.ID) }
