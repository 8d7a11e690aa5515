package views

import (
	"net/url"
	"strings"

	"mishap/crash"
	"mishap/crash/index"
)

// Via is the parameter of an address that names the list by which a page was reached.
const Via = "via"

// WithVia is the address of a page that was reached by a list; an empty list changes nothing.
func WithVia(path, list string) string {
	if list == "" {
		return path
	}
	return path + "?" + url.Values{Via: {list}}.Encode()
}

// Way is the way on from a page through the list by which it was reached.
type Way struct {
	Via            string // address of the list; empty: the page was reached otherwise
	List           string // what is in the list, in words
	Chosen         string // which of them; empty: all
	Previous, Next string // addresses; empty: there is none
	Place, Of      int    // of the problem among those of the list; Place 0: it is not there any more

	PreviousProblem, NextProblem bool // what comes there is of another problem
}

// Any reports whether there is anything to say.
func (w Way) Any() bool { return w.Via != "" || w.Previous != "" || w.Next != "" }

// Name is what the list is called where somebody is led back to it.
func (c ListChoice) Name() string {
	if c.Query != "" {
		return "search: " + cut(c.Query, 80)
	}
	return "most common problems"
}

// FilterWords says which reports a filter lets through; empty: all.
func FilterWords(f index.Filter) string {
	var words []string
	for _, part := range []struct{ before, text string }{{"version ", f.Version}, {"", string(f.Release)}, {"", f.Architecture}} {
		if part.text != "" {
			words = append(words, part.before+cut(part.text, 60))
		}
	}
	if f.Complete {
		words = append(words, "with a stack, traceback or other text")
	}
	return strings.Join(words, ", ")
}

// problemPath leads to a problem of the list. The way through a search stands in the address for everybody, that through other
// lists for people who are signed in: visitors are more, and for them one page for each problem is kept.
func (p ListPage) problemPath(id crash.BucketID) string {
	if p.Choice.Query == "" && !p.Shell.SignedIn() {
		return id.Path()
	}
	return WithVia(id.Path(), p.Choice.URL())
}
