package web

import (
	"net/http"
	"strings"

	"mishap/crash"
	"mishap/views/layout"
	peopleview "mishap/views/people"
)

const (
	// PathSignIn is the sign-in page.
	PathSignIn = "/login"
	// pathSignOut ends the session.
	pathSignOut = "/logout"
	// PathSignInCode is the page of the second step of signing in.
	PathSignInCode = PathSignIn + "/code"

	// CookieBrowser marks a browser that has signed in before, whose attempts are throttled
	// separately. Browsers send it only to the sign-in page.
	CookieBrowser = "known_browser"

	// PathOpenID starts signing in with OpenID 2.0.
	PathOpenID = PathSignIn + "/openid"
	// PathOIDC starts signing in with OpenID Connect.
	PathOIDC = PathSignIn + "/oidc"
	// PathSignInReturn is where the other site sends people back, below PathOpenID or PathOIDC.
	PathSignInReturn = "/return"
	// PathOIDCLogout is where an OpenID Connect provider says that a person has signed out.
	PathOIDCLogout = PathOIDC + "/logout"
)

// isSignIn reports whether a path signs people in.
func isSignIn(path string) bool { return path == PathSignIn || strings.HasPrefix(path, PathSignIn+"/") }

// SendSignIn sends the sign-in page with the ways to sign in that are configured.
func (s *Kit) SendSignIn(w http.ResponseWriter, r *http.Request, status int, form peopleview.SignInForm) error {
	if s.Config.OpenID.URL != "" {
		form.Methods = append(form.Methods, peopleview.SignInMethod{Path: PathOpenID, Name: s.Config.OpenID.Name})
	}
	if s.Config.OIDC.Issuer != "" {
		form.Methods = append(form.Methods, peopleview.SignInMethod{Path: PathOIDC, Name: s.Config.OIDC.Name})
	}
	form.Local = s.Config.LocalSignIn
	form.Open = r.URL.Path == PathSignIn && r.Method == http.MethodPost
	if form.Local == crash.LocalHidden && len(form.Methods) == 0 && s.Config.Proxy.Header == "" {
		form.Local = crash.LocalShown // it is the only way
	}
	return s.Page(w, r, status, peopleview.SignInPage(s.SignInShell(r), form))
}

// SignInShell returns the shell of the sign-in page, whose own "Sign in" has no path to return to.
func (s *Kit) SignInShell(r *http.Request) layout.Shell {
	shell := s.Shell(r, "Sign in")
	shell.Path = PathSignIn
	return shell
}
