// Package views draws the pages: the shell around each, one component per page, parts that are also sent alone, and the
// formatting of dates, counts and signatures. It asks no questions: everything that is shown comes in as a value. It
// knows neither requests nor sessions nor the database.
package views

import (
	"time"

	"mishap/crash"
)

// Shell is what every page needs besides its content.
type Shell struct {
	Title     string // of the document, without the name of the product
	User      crash.User
	CSRFToken string
	Flash     []Flash
	Banner    Banner      // what an admin must know on every page
	Path      string      // path and query of this page: where sign-in comes back to
	Also      []Alternate // other forms of what the page shows
	Search    string      // what stands in the search box
	FilingOn  bool        // whether bugs can be filed at all
	Now       time.Time   // for "3 min ago"
}

// SignedIn reports whether somebody is signed in.
func (s Shell) SignedIn() bool { return s.User.Role.Allows(crash.RoleViewer) }

// Banner is a sentence at the top of every page until what it tells of is over.
type Banner struct {
	Text string // empty: none
	Href string // where it can be put right
	Link string // text of the link
}

// FlashKind says how a message is drawn.
type FlashKind string

// The kinds.
const (
	FlashDone  FlashKind = "done"
	FlashError FlashKind = "error"
)

// Flash is a message shown once at the top of a page.
type Flash struct {
	Kind FlashKind
	Text string
	Undo *Undo // how to take it back; nil: it cannot be, or need not
}

// Undo is a form that takes back what a message is about.
type Undo struct {
	Action    string
	Field     string // what says what is meant, with its value
	Value     string
	CSRFToken string `json:"-"` // of the request that shows it
}

func (s Shell) documentTitle() string {
	if s.Title == "" {
		return "mishap"
	}
	return s.Title + " · mishap"
}
