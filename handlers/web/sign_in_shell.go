package web

import (
	"net/http"
	"net/url"

	"mishap/views"
	"mishap/views/text"
)

const (
	// PathSignIn is the sign-in page.
	PathSignIn = "/login"

	// CookieBrowser marks a browser that has signed in before, whose attempts are throttled
	// separately. Browsers send it only to the sign-in page.
	CookieBrowser = "known_browser"
)

// signInPath returns the address of the sign-in page that leads to the local path next.
func signInPath(next string) string { return PathSignIn + "?next=" + url.QueryEscape(next) }

// SignInShell returns the shell of the sign-in page, whose own "Sign in" has no path to return to.
func (s *Kit) SignInShell(r *http.Request) views.Shell {
	shell := s.Shell(r, text.SignIn)
	shell.Path = PathSignIn
	return shell
}
