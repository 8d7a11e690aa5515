// Package layout renders the shell around each page, and what pages of several areas share: parts, times,
// counts, signatures, addresses. Everything that the packages of views show comes in as a value. They have no
// access to requests, sessions or the database.
package layout

import (
	"time"

	"mishap/crash"
)

// Shell holds what every page needs besides its content.
type Shell struct {
	Title     string // of the document, without the name of the product
	User      crash.User
	CSRFToken string
	Flash     []Flash
	Banner    Banner      // message to admins on every page
	Path      string      // path and query of this page, to which sign-in returns
	Also      []Alternate // other formats of the page
	Search    string      // text of the search box
	Unread    int64       // notices that the user has not read, at most MaxUnread
	FilingOn  bool        // whether filing is switched on
	Now       time.Time   // for "3 min ago"
	Theme     Theme
}

// SignedIn reports whether the visitor is signed in.
func (s Shell) SignedIn() bool { return s.User.Role.Allows(crash.RoleViewer) }

// Banner is a sentence at the top of every page, shown while its cause lasts.
type Banner struct {
	Text string // empty: none
	Href string // page that fixes the cause or says more; empty: none
	Link string // text of the link
}

// FlashKind selects the style of a message.
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
	Undo *Undo // form that undoes the action; nil: none
}

// Undo is a form that undoes the action of a message.
type Undo struct {
	Action    string
	Field     string // name of the field that identifies the action, with its value
	Value     string
	CSRFToken string `json:"-"` // of the request that shows the message
}

func (s Shell) documentTitle() string {
	if s.Title == "" {
		return "mishap"
	}
	return crash.OneLine(s.Title) + " · mishap"
}
