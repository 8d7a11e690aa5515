package layout

import (
	"net/url"
	"strings"

	"mishap/crash/index"
)

// Via is the query parameter that holds the list from which a page was opened.
const Via = "via"

// WithVia adds the list to the address of a page. An empty list changes nothing.
func WithVia(path, list string) string {
	if list == "" {
		return path
	}
	return path + "?" + url.Values{Via: {list}}.Encode()
}

// Pager holds the links from a page to its neighbours in the list from which it was opened.
type Pager struct {
	Via            string // address of the list; empty: the page was opened otherwise
	List           string // contents of the list, in words
	Chosen         string // filter within the list; empty: all
	Previous, Next string // addresses; empty: there is none
	Place, Of      int    // position of the problem in the list; Place 0: it is no longer in the list

	PreviousProblem, NextProblem bool // the neighbour belongs to another problem
}

// Any reports whether there is anything to show.
func (p Pager) Any() bool { return p.Via != "" || p.Previous != "" || p.Next != "" }

// FilterText describes the reports that pass a filter; empty: all.
func FilterText(f index.Filter) string {
	var parts []string
	if f.Version != "" {
		parts = append(parts, "version "+Cut(f.Version, 60))
	}
	for _, part := range []string{string(f.Release), f.Architecture} {
		if part != "" {
			parts = append(parts, Cut(part, 60))
		}
	}
	if f.Complete {
		parts = append(parts, "with a trace")
	}
	return strings.Join(parts, ", ")
}
