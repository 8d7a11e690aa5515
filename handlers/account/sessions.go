package account

import (
	"net/http"

	"mishap/crash"
	"mishap/db/people"
	"mishap/handlers/web"
	"mishap/views"
)

// EndSession ends a session of the person, or all but the present one.
func (s *Pages) EndSession(w http.ResponseWriter, r *http.Request) error {
	u, id := web.CurrentUser(r), r.PostFormValue("session")
	current := people.SessionID(s.Sessions.Token(r.Context()))
	message := "Signed out there."
	switch id {
	case current:
		return s.SignOut(w, r)
	case "others":
		message = "Signed out everywhere else."
		if err := s.People.EndOtherSessions(r.Context(), u.ID, current); err != nil {
			return err
		}
	default:
		if err := s.People.EndSession(r.Context(), u.ID, id); err != nil {
			return err
		}
	}
	if err := s.Flash(r, views.FlashDone, message); err != nil {
		return err
	}
	return web.Redirect(w, r, web.PathAccount)
}

// ChangePassword changes the person's password, and ends all other sessions.
func (s *Pages) ChangePassword(w http.ResponseWriter, r *http.Request) error {
	u, err := web.CurrentUser(r), error(nil)
	switch {
	case !u.HasPassword || s.Config.LocalSignIn == crash.LocalOff:
		return crash.Errorf(crash.Conflict, "no_password", "Your account has no password that you could sign in with.")
	case r.PostFormValue("new") != r.PostFormValue("again"):
		err = crash.Errorf(crash.Invalid, "passwords_differ", "%s", "The two new passwords differ.")
	default:
		err = s.People.CheckPassword(r.Context(), s.passwordOf(r))
	}
	if err == nil {
		err = s.People.SetPassword(r.Context(), u.Name, u.Name, r.PostFormValue("new"))
	}
	if err != nil {
		a := web.AnswerTo(r, err)
		if !a.ForPerson() {
			return err
		}
		a.Headers(w)
		if a.Kind == crash.Unauthenticated || a.Kind == crash.Invalid {
			a.Status = http.StatusUnprocessableEntity
		}
		page := views.AccountPage{Tracker: s.Config.TrackerName, Name: u.TrackerName, PasswordProblem: a.Message}
		return s.sendAccount(w, r, a.Status, page, views.NewTokenForm())
	}
	if err := s.Sessions.RenewToken(r.Context()); err != nil { // the old token has ended with all others
		return err
	}
	web.RenewCSRFToken(w, r)
	if err := s.Flash(r, views.FlashDone, "Password changed. You are signed out everywhere else."); err != nil {
		return err
	}
	return web.Redirect(w, r, web.PathAccount)
}
