package account

import (
	"net/http"

	"mishap/db/accounts"
	"mishap/handlers/web"
	"mishap/views"
	"mishap/views/text"
)

// EndSession ends a session of the person, or all but the present one.
func (s *Pages) EndSession(w http.ResponseWriter, r *http.Request) error {
	u, id := web.CurrentUser(r), r.PostFormValue("session")
	current := accounts.SessionID(s.Sessions.Token(r.Context()))
	message := text.SessionEndedThere
	switch id {
	case current:
		return s.SignOut(w, r)
	case "others":
		message = text.SessionsEnded
		if err := s.Accounts.EndOtherSessions(r.Context(), u.ID, current); err != nil {
			return err
		}
	default:
		if err := s.Accounts.EndSession(r.Context(), u.ID, id); err != nil {
			return err
		}
	}
	if err := s.Flash(r, views.FlashDone, message); err != nil {
		return err
	}
	return web.Redirect(w, r, web.PathAccount)
}
