package handlers

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"mishap/crash"
	"mishap/db/accounts"
	"mishap/handlers/proxies"
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

// showSignIn is the form; somebody who is signed in already is sent on.
func (s *Server) showSignIn(w http.ResponseWriter, r *http.Request) error {
	next := localPath(r.URL.Query().Get("next"))
	if currentUser(r).ID != 0 {
		return redirect(w, r, next)
	}
	return s.page(w, r, http.StatusOK, views.SignInPage(s.signInShell(r), views.SignInForm{Next: next}))
}

// signIn checks name and password and starts a session. What was typed, but the password, is kept when they are wrong.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) error {
	form := views.SignInForm{Name: r.PostFormValue("username"), Next: localPath(r.PostFormValue("next")), Kept: r.PostFormValue("kept")}
	in := accounts.SignIn{Name: form.Name, Password: r.PostFormValue("password"), Address: proxies.Client(r)}
	if c, err := r.Cookie(cookieBrowser); err == nil {
		in.Browsers = c.Value
	}
	signed, err := s.accounts.SignIn(r.Context(), in)
	if kind := crash.KindOf(err); kind == crash.Unauthenticated || kind == crash.TooMany {
		return s.refuseSignIn(w, r, form, err)
	}
	if err != nil {
		return err
	}
	// What another account left in the session of this browser goes, and so does its token.
	if err := errors.Join(s.sessions.Clear(r.Context()), s.sessions.RenewToken(r.Context())); err != nil {
		return err
	}
	s.sessions.Put(r.Context(), accounts.SessionUser, strconv.FormatInt(signed.User.ID, 10))
	http.SetCookie(w, &http.Cookie{
		Name: cookieBrowser, Value: signed.Browsers, Path: pathSignIn, MaxAge: int(accounts.KnownBrowserFor.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.base.Scheme == "https",
	})
	renewToken(w, r)
	if form.Kept != "" && holdsLongText(form.Next) {
		return s.saveInSession(w, r, form.Next, form.Kept)
	}
	return redirect(w, r, form.Next)
}

func (s *Server) refuseSignIn(w http.ResponseWriter, r *http.Request, form views.SignInForm, err error) error {
	a := answerTo(r, err)
	if a.Kind == crash.Unauthenticated {
		a.status = http.StatusUnprocessableEntity // the form is at fault; 401 is for requests that need somebody signed in
	}
	a.headers(w)
	form.Problem = a.Message
	if len(form.Name) > 128 {
		form.Name = ""
	}
	return s.page(w, r, a.status, views.SignInPage(s.signInShell(r), form))
}

// signInShell is a shell whose own "Sign in" leads where this one would have led.
func (s *Server) signInShell(r *http.Request) views.Shell {
	shell := s.shell(r, "Sign in")
	shell.Path = pathSignIn
	return shell
}

// signOut ends the session.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) error {
	if err := s.sessions.Destroy(r.Context()); err != nil {
		return err
	}
	renewToken(w, r)
	return redirect(w, r, "/")
}
