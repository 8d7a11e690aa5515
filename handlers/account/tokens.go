package account

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
	"mishap/views/text"
)

// newTokenForm returns the form with its defaults.
func newTokenForm() views.TokenForm {
	return views.TokenForm{Scopes: []crash.Scope{crash.ScopeRead}, Days: 90}
}

// CreateToken creates an API token and shows it. mishap never shows it again.
func (s *Pages) CreateToken(w http.ResponseWriter, r *http.Request) error {
	u := web.CurrentUser(r)
	days, _ := strconv.Atoi(r.PostFormValue("days")) // 0, if it is not a number, is not offered
	form := views.TokenForm{Name: crash.Truncate(r.PostFormValue("name"), 100), Days: days}
	for _, word := range r.PostForm["scope"] {
		scope, err := crash.ParseScope(word)
		if err != nil {
			return err
		}
		if !slices.Contains(form.Scopes, scope) {
			form.Scopes = append(form.Scopes, scope)
		}
	}
	page := views.AccountPage{Tracker: s.Config.TrackerName, Name: u.TrackerName}
	if !slices.Contains(views.TokenDays, days) {
		form.Problem = text.TokenChooseDays
		return s.sendAccount(w, r, http.StatusUnprocessableEntity, page, form)
	}
	token, _, err := s.Accounts.AddToken(r.Context(), u, form.Name, form.Scopes,
		s.Now().Add(time.Duration(days)*24*time.Hour))
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
	return s.sendAccount(w, r, http.StatusCreated, page, newTokenForm())
}

// RevokeToken revokes one of the person's own tokens.
func (s *Pages) RevokeToken(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return crash.Errorf(crash.NotFound, "unknown_token", "You have no such token.")
	}
	if err := s.Accounts.RevokeToken(r.Context(), web.CurrentUser(r), id); err != nil {
		return err
	}
	if err := s.Flash(r, views.FlashDone, text.TokenRevoked); err != nil {
		return err
	}
	return web.Redirect(w, r, web.PathAccount)
}
