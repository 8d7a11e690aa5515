package account

import (
	"context"
	"net/http"

	"mishap/crash"
	"mishap/handlers/web"
	"mishap/views"
)

// ownAccount returns the part of the page about the person's own account at the tracker, or nil if
// the person may not file bugs.
func (s *Pages) ownAccount(r *http.Request) (*views.OwnAccountView, error) {
	u := web.CurrentUser(r)
	if !u.Role.Allows(crash.RoleTriager) || !s.Config.AllowBugFiling {
		return nil, nil
	}
	own, err := s.Filer.OwnAccount(r.Context(), u.ID)
	if err != nil {
		return nil, err
	}
	v := &views.OwnAccountView{Own: own, Tracker: s.Config.TrackerName, Shell: s.BareShell(r, "")}
	if own.Account != "" {
		v.TokensURL = s.Filer.TokensURL(own.Account)
	}
	if rt, expires, ok := web.OwnRequest.Token(s.Kit, r); ok {
		v.AuthorizeURL, v.Expires = s.Tracker.AuthorizeURL(rt.Key), expires
	}
	return v, nil
}

// sendOwnProblem sends the page with the error of an action about the person's own account.
func (s *Pages) sendOwnProblem(w http.ResponseWriter, r *http.Request, failed error) error {
	a := web.AnswerTo(r, failed)
	s.LogError(r, failed, a)
	a.Headers(w)
	page := views.AccountPage{
		Tracker: s.Config.TrackerName, Name: web.CurrentUser(r).TrackerName, OwnProblem: a.Message,
	}
	return s.sendAccount(w, r, a.Status, page, views.NewTokenForm())
}

// toOwnAccount redirects to the part of the page, with a message.
func (s *Pages) toOwnAccount(w http.ResponseWriter, r *http.Request, message string) error {
	if message != "" {
		if err := s.Flash(r, views.FlashDone, message); err != nil {
			return err
		}
	}
	return web.Redirect(w, r, web.PathAccount)
}

// BeginConnecting asks the tracker for a request token.
func (s *Pages) BeginConnecting(w http.ResponseWriter, r *http.Request) error {
	if !s.Config.AllowBugFiling {
		return errFilingOff
	}
	if err := web.OwnRequest.Begin(s.Kit, r); err != nil {
		return s.sendOwnProblem(w, r, err)
	}
	return s.toOwnAccount(w, r, "")
}

var errFilingOff = crash.Errorf(crash.Forbidden, "filing_off", "Creating bugs is turned off (allow_bug_filing).")

// FinishConnecting exchanges the request token for the access token. The tracker sends it only
// once, so the rest runs to its end even if the person leaves the page.
func (s *Pages) FinishConnecting(w http.ResponseWriter, r *http.Request) error {
	r = r.WithContext(context.WithoutCancel(r.Context()))
	token, err := web.OwnRequest.Finish(s.Kit, r)
	if err != nil {
		return s.sendOwnProblem(w, r, err)
	}
	//nolint:contextcheck // it is the context of the request
	account, err := s.Filer.ConnectOwnAccount(r.Context(), web.CurrentUser(r), token)
	if err != nil {
		return s.sendOwnProblem(w, r, err)
	}
	return s.toOwnAccount(w, r, ownConnectedAs(s.Config.TrackerName, account))
}

// CheckConnection tests the person's own account, and has bugs filed with it again if it works.
func (s *Pages) CheckConnection(w http.ResponseWriter, r *http.Request) error {
	account, err := s.Filer.CheckOwnAccount(context.WithoutCancel(r.Context()), web.CurrentUser(r))
	if err != nil {
		return s.sendOwnProblem(w, r, err)
	}
	return s.toOwnAccount(w, r, ownConnectedAs(s.Config.TrackerName, account))
}

// Disconnect deletes the access token of the person's own account.
func (s *Pages) Disconnect(w http.ResponseWriter, r *http.Request) error {
	own, err := s.Filer.OwnAccount(r.Context(), web.CurrentUser(r).ID)
	if err != nil {
		return err
	}
	if err := s.Filer.DisconnectOwnAccount(r.Context(), web.CurrentUser(r)); err != nil {
		return err
	}
	web.OwnRequest.Remove(s.Kit, r)
	message := "Disconnected. Your access token has been deleted."
	if own.Account != "" {
		message = "Disconnected. Your access token has been deleted here. You can revoke it at " +
			s.Filer.TokensURL(own.Account) + "."
	}
	return s.toOwnAccount(w, r, message)
}

// PreferOwn sets whether the person's bugs are filed with their own account by default.
func (s *Pages) PreferOwn(w http.ResponseWriter, r *http.Request) error {
	preferred := r.PostFormValue("preferred") != ""
	if err := s.Filer.PreferOwnAccount(r.Context(), web.CurrentUser(r), preferred); err != nil {
		return err
	}
	return s.toOwnAccount(w, r, "Saved.")
}

// ownConnectedAs confirms that the connection works.
func ownConnectedAs(tracker, account string) string {
	return "Your bugs can be filed as ~" + account + " at " + tracker + "."
}
