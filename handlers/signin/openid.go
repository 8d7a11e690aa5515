package signin

import (
	"net/http"
	"net/url"

	"mishap/crash"
	"mishap/handlers/web"
)

// StartOpenID sends a person to the OpenID provider.
func (s *Pages) StartOpenID(w http.ResponseWriter, r *http.Request) error {
	if s.openid == nil {
		return errNotConfigured()
	}
	teams, err := s.People.GrantedGroups(r.Context(), crash.SourceLaunchpad)
	if err != nil {
		return err
	}
	a := attempt{Source: crash.SourceLaunchpad, Groups: teams}
	if err := s.begin(r, &a); err != nil {
		return err
	}
	return s.leave(w, r, s.Config.OpenID.Name, s.openid.Begin(a.State, teams))
}

// FinishOpenID signs in a person whom the OpenID provider has sent back.
func (s *Pages) FinishOpenID(w http.ResponseWriter, r *http.Request) error {
	if s.openid == nil {
		return errNotConfigured()
	}
	return s.finish(w, r, crash.SourceLaunchpad, func(a attempt, query url.Values) (crash.Identity, error) {
		return s.openid.Finish(r.Context(), query, a.State, a.Groups)
	})
}

// maxReturn is the largest answer, in bytes, that ReceiveOpenID passes on in an address.
const maxReturn = 7000

// ReceiveOpenID accepts an answer that the provider sends as a form, because it is long. A form of
// another site brings no session cookie, so the browser comes again with the fields in the address.
// The check of CSRF tokens does not apply; nothing is changed here.
func (s *Pages) ReceiveOpenID(w http.ResponseWriter, r *http.Request) error {
	if s.openid == nil {
		return errNotConfigured()
	}
	r.Body = http.MaxBytesReader(w, r.Body, web.MaxRequestBytes)
	if !web.IsForm(r) || r.ParseForm() != nil {
		return crash.Errorf(crash.Invalid, "bad_form", "The form could not be read.")
	}
	query := r.URL.RawQuery
	if form := r.PostForm.Encode(); form != "" { // keeps fields that occur twice
		query += "&" + form
	}
	if len(query) > maxReturn {
		return crash.Errorf(crash.Unprocessable, "long_answer",
			"The answer of %s is too long. (Administrators: give roles to fewer teams; each is part of the answer.)",
			s.Config.OpenID.Name)
	}
	http.Redirect(w, r, web.PathOpenID+web.PathSignInReturn+"?"+query, http.StatusSeeOther)
	return nil
}
