package handlers

import (
	"net/http"
	"net/url"

	"mishap/views"
)

const (
	pathSignIn = "/login"

	// cookieBrowser tells later attempts to sign in that this browser has done so before; they are throttled by themselves.
	// Only the sign-in page gets it.
	cookieBrowser = "known_browser"
)

// signInPath is the sign-in page that leads back to a local path.
func signInPath(next string) string { return pathSignIn + "?next=" + url.QueryEscape(next) }

// signInShell is a shell whose own "Sign in" leads where this one would have led.
func (s *Kit) signInShell(r *http.Request) views.Shell {
	shell := s.shell(r, "Sign in")
	shell.Path = pathSignIn
	return shell
}
