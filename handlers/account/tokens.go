package account

import (
	"net/http"
	"slices"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// CreateToken creates an API token and shows it. mishap never shows it again.
func (s *Pages) CreateToken(w http.ResponseWriter, r *http.Request) error {
	u := web.CurrentUser(r)
	form, err := web.ReadTokenForm(r)
	if err != nil {
		return err
	}
	page := views.AccountPage{Tracker: s.Config.TrackerName, Name: u.TrackerName}
	if !slices.Contains(views.TokenDays, form.Days) {
		form.Problem = "Choose when the token expires."
		return s.sendAccount(w, r, http.StatusUnprocessableEntity, page, form)
	}
	token, _, err := s.People.AddToken(r.Context(), u, form.Name, form.Scopes,
		s.Now().AddDate(0, 0, form.Days))
	switch crash.KindOf(err) {
	case crash.Invalid, crash.Conflict:
		form.Problem = web.AnswerTo(r, err).Message
		return s.sendAccount(w, r, http.StatusUnprocessableEntity, page, form)
	default:
		if err != nil {
			return err
		}
	}
	page.Tokens.Made = token
	return s.sendAccount(w, r, http.StatusCreated, page, views.NewTokenForm())
}

// RevokeToken revokes one of the person's own tokens.
func (s *Pages) RevokeToken(w http.ResponseWriter, r *http.Request) error {
	if err := s.People.RevokeToken(r.Context(), web.CurrentUser(r), web.IDInPath(r)); err != nil {
		return err
	}
	if err := s.Flash(r, views.FlashDone, "Token revoked."); err != nil {
		return err
	}
	return web.Redirect(w, r, web.PathAccount)
}
