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
	Path      string    // path and query of this page: where sign-in comes back to
	FilingOn  bool      // whether bugs can be filed at all
	Now       time.Time // for "3 min ago"
}

// SignedIn reports whether somebody is signed in.
func (s Shell) SignedIn() bool { return s.User.Role.Allows(crash.RoleViewer) }

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
}

func (s Shell) documentTitle() string {
	if s.Title == "" {
		return "mishap"
	}
	return s.Title + " · mishap"
}
