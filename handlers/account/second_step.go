package account

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"mishap/crash"
	"mishap/db/people"
	"mishap/handlers/web"
	"mishap/views"
)

// Values of the session of somebody who has entered the right password, and must still enter a code. Such
// a session belongs to nobody yet.
const (
	sessionCodeUser  = "code_user"  // id of the account
	sessionCodeProof = "code_proof" // see accounts.SignedIn
	sessionCodeSince = "code_since" // Unix time of the password
	sessionCodeNext  = "code_next"  // local path to continue at
)

// codeTime is how long after the password a code is accepted.
const codeTime = 10 * time.Minute

// askForCode begins the second step of signing in.
func (s *Pages) askForCode(w http.ResponseWriter, r *http.Request, form views.SignInForm, in people.SignedIn) error {
	ctx := r.Context()
	if err := errors.Join(s.Sessions.Clear(ctx), s.Sessions.RenewToken(ctx)); err != nil {
		return err
	}
	s.Sessions.Put(ctx, sessionCodeUser, strconv.FormatInt(in.User.ID, 10))
	s.Sessions.Put(ctx, sessionCodeProof, in.Proof)
	s.Sessions.Put(ctx, sessionCodeSince, strconv.FormatInt(s.Now().Unix(), 10))
	s.Sessions.Put(ctx, sessionCodeNext, form.Next)
	if form.SavedForm != "" {
		s.StoreForm(r, form.Next, form.SavedForm)
	}
	return web.Redirect(w, r, web.PathSignInCode)
}

// pendingUser returns the account of a sign-in that waits for a code, or 0 if none does.
func (s *Pages) pendingUser(r *http.Request) int64 {
	user, _ := strconv.ParseInt(s.Sessions.GetString(r.Context(), sessionCodeUser), 10, 64)
	since, _ := strconv.ParseInt(s.Sessions.GetString(r.Context(), sessionCodeSince), 10, 64)
	if s.Now().Sub(time.Unix(since, 0)) > codeTime {
		return 0
	}
	return user
}

// ShowCode shows the form for a code.
func (s *Pages) ShowCode(w http.ResponseWriter, r *http.Request) error {
	next := web.LocalPath(s.Sessions.GetString(r.Context(), sessionCodeNext))
	switch {
	case web.CurrentUser(r).ID != 0:
		return web.Redirect(w, r, next)
	case s.pendingUser(r) == 0:
		return s.SendSignIn(w, r, http.StatusOK, views.SignInForm{Next: next})
	}
	return s.Page(w, r, http.StatusOK, views.SignInCode(s.SignInShell(r), ""))
}

// SignInByCode checks a code and starts a session.
func (s *Pages) SignInByCode(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	if s.Config.LocalSignIn == crash.LocalOff {
		return errLocalOff
	}
	user, next := s.pendingUser(r), web.LocalPath(s.Sessions.GetString(ctx, sessionCodeNext))
	if user == 0 {
		return s.SendSignIn(w, r, http.StatusUnprocessableEntity, views.SignInForm{
			Next: next, Problem: "You entered your password too long ago. Sign in again."})
	}
	err := s.People.SignInWithCode(ctx, user, s.Sessions.GetString(ctx, sessionCodeProof), r.PostFormValue("code"))
	if err == nil {
		if err := s.BeginSession(r, web.SessionOwner{User: user}); err != nil {
			return err
		}
		web.RenewCSRFToken(w, r)
		return web.Redirect(w, r, web.AfterSignIn(s.Kit, r, next))
	}
	a := web.AnswerTo(r, err)
	if !a.ForPerson() {
		return err
	}
	a.Headers(w)
	if a.Code == crash.CodeSignInAgain {
		s.Sessions.Remove(ctx, sessionCodeUser)
		return s.SendSignIn(w, r, http.StatusUnprocessableEntity, views.SignInForm{Next: next, Problem: a.Message})
	}
	if a.Kind == crash.Unauthenticated {
		a.Status = http.StatusUnprocessableEntity // 401 would mean that this address requires signing in
	}
	return s.Page(w, r, a.Status, views.SignInCode(s.SignInShell(r), a.Message))
}
