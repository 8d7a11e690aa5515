package web

import (
	"net/http"
	"net/url"

	"mishap/views"
)

const (
	PathSignIn = "/login"

	// cookieBrowser tells later attempts to sign in that this browser has done so before; they are throttled by themselves.
	// Only the sign-in page gets it.
	CookieBrowser = "known_browser"
)

// signInPath is the sign-in page that leads back to a local path.
func signInPath(next string) string { return PathSignIn + "?next=" + url.QueryEscape(next) }

// SignInShell is a shell whose own "Sign in" leads where this one would have led.
func (s *Kit) SignInShell(r *http.Request) views.Shell {
	shell := s.Shell(r, "Sign in")
	shell.Path = PathSignIn
	return shell
}
