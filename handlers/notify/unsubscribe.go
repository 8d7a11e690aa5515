package notify

import (
	"net/http"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// maxUnsubscribeBytes is the largest body of a request to unsubscribe; the largest valid one is a
// multipart form with one short field.
const maxUnsubscribeBytes = 4 << 10

var errUnsubscribeBody = crash.Errorf(crash.Invalid, "bad_unsubscribe", "%s", "This address accepts only "+
	"List-Unsubscribe=One-Click.")

// ShowUnsubscribe asks whether to unsubscribe. It changes nothing, because programs that scan mail
// open links.
func (s *Pages) ShowUnsubscribe(w http.ResponseWriter, r *http.Request) error {
	return s.sendUnsubscribe(w, r, false)
}

// Unsubscribe unsubscribes the person in the token, as RFC 8058 describes: without cookies, a CSRF
// token or a redirect, and as often as the mail program likes. The token is signed, so no other site
// can make up a request.
func (s *Pages) Unsubscribe(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxUnsubscribeBytes)
	if !web.IsForm(r) {
		return errUnsubscribeBody
	}
	if err := r.ParseMultipartForm(maxUnsubscribeBytes); err != nil && r.PostForm == nil {
		return errUnsubscribeBody
	}
	if got := r.PostForm["List-Unsubscribe"]; len(r.PostForm) != 1 || len(got) != 1 || got[0] != "One-Click" {
		return errUnsubscribeBody
	}
	user, err := s.Mailer.Unsubscribed(r.Context(), r.PathValue("token"))
	if err != nil {
		return err
	}
	if err := s.Events.Unsubscribe(r.Context(), user); err != nil {
		return err
	}
	return s.sendUnsubscribe(w, r, true)
}

func (s *Pages) sendUnsubscribe(w http.ResponseWriter, r *http.Request, done bool) error {
	if _, err := s.Mailer.Unsubscribed(r.Context(), r.PathValue("token")); err != nil {
		return err
	}
	w.Header().Set("Referrer-Policy", "no-referrer") // the address is a key to the subscription
	return s.Page(w, r, http.StatusOK, views.Unsubscribe(views.UnsubscribePage{
		Shell: s.BareShell(r, "Unsubscribe"), Path: r.URL.EscapedPath(), Done: done,
	}))
}
