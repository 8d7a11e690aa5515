package admin

import (
	"context"
	"errors"
	"net/http"
	"path"

	"mishap/crash"
	"mishap/handlers/web"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
)

// sessionUnwritten is the session's key for the key of the access token that is not in the file.
const sessionUnwritten = "tracker_unwritten"

// ShowTracker shows the page with the connection to the tracker.
func (s *Pages) ShowTracker(w http.ResponseWriter, r *http.Request) error {
	return s.sendTrackerPage(w, r, nil)
}

// sendTrackerPage sends the page. If failed is not nil, it shows that error and uses its status.
func (s *Pages) sendTrackerPage(w http.ResponseWriter, r *http.Request, failed error,
	lines ...bugsview.ConfigLine) error {
	connection, err := s.Creds.Status(r.Context())
	if err != nil {
		return errors.Join(failed, err)
	}
	updates, err := s.Store.UpdateRules(r.Context())
	if err != nil {
		return errors.Join(failed, err)
	}
	p := s.trackerPage(connection)
	p.Updates, p.Lines = updates, lines
	p.Unwritten = s.web.Sessions.GetString(r.Context(), sessionUnwritten) != ""
	if rt, expires, ok := web.ApplicationRequest.Token(s.web, r); ok {
		p.AuthorizeURL, p.Expires = s.Tracker.AuthorizeURL(rt.Key), expires
	}
	status := http.StatusOK
	if failed != nil {
		a := web.AnswerTo(r, failed)
		s.web.LogError(r, failed, a)
		a.Headers(w)
		status, p.Problem, p.Pressed = a.Status, a.Message, path.Base(r.URL.Path)
	}
	p.Shell = s.web.Shell(r, "Bug tracker")
	return s.web.Page(w, r, status, bugsview.AdminTrackerPage(p))
}

// trackerPage returns the page with what the configuration and the connection say.
func (s *Pages) trackerPage(c crash.Connection) bugsview.TrackerPage {
	return bugsview.TrackerPage{
		Tracker: s.web.Config.TrackerName, Connection: c, ConfigFile: s.web.Config.ConfigFile,
		FromEnvironment: s.web.Config.TokensFromEnvironment,
	}
}

// BeginConnecting asks the tracker for a request token.
func (s *Pages) BeginConnecting(w http.ResponseWriter, r *http.Request) error {
	if err := web.ApplicationRequest.Begin(s.web, r); err != nil {
		return s.sendTrackerPage(w, r, err)
	}
	return web.Redirect(w, r, web.PathTracker)
}

// FinishConnecting exchanges the request token for the access token. The tracker sends it only
// once, so the rest runs to its end even if the admin leaves the page.
func (s *Pages) FinishConnecting(w http.ResponseWriter, r *http.Request) error {
	ctx := context.WithoutCancel(r.Context())
	token, err := web.ApplicationRequest.Finish(s.web, r.WithContext(ctx))
	if err != nil {
		return s.sendTrackerPage(w, r, err)
	}
	s.web.Sessions.Remove(ctx, sessionUnwritten)
	written := s.Write(ctx, token)
	if err := s.Creds.SaveToken(ctx, token, web.CurrentUser(r).Name); err != nil {
		return s.sendTrackerPage(w, r, errors.Join(err, written))
	}
	if written != nil {
		s.web.Sessions.Put(ctx, sessionUnwritten, token.Token)
		if err := s.web.Flash(r, layout.FlashError, s.writeFailure(r, written)); err != nil {
			return err
		}
	}
	return s.TryConnection(w, r)
}

// writeFailure returns the reason why the configuration file was not written, and logs the details.
func (s *Pages) writeFailure(r *http.Request, err error) string {
	s.web.Log.WarnContext(r.Context(), "configuration file not written", "request_id", web.RequestID(r), "error", err)
	if e, ok := errors.AsType[*crash.Error](err); ok {
		return e.Message
	}
	return "The configuration file could not be written."
}

// TryConnection checks the connection by asking the tracker for its account name.
func (s *Pages) TryConnection(w http.ResponseWriter, r *http.Request) error {
	account, err := s.Tracker.Check(context.WithoutCancel(r.Context()))
	if err != nil {
		return s.sendTrackerPage(w, r, err)
	}
	return s.web.Done(w, r, web.PathTracker, "Connected to "+s.web.Config.TrackerName+" as "+account+".")
}

// ShowToken shows the lines for the configuration file, only to the admin whose session has made
// the connection.
func (s *Pages) ShowToken(w http.ResponseWriter, r *http.Request) error {
	token, err := s.Creds.Current(r.Context())
	if err != nil {
		return s.sendTrackerPage(w, r, err)
	}
	if token.IsZero() || token.Token != s.web.Sessions.GetString(r.Context(), sessionUnwritten) {
		return s.sendTrackerPage(w, r, crash.Errorf(crash.Conflict, "not_yours", "This session did not create the access "+
			"token, so it is not shown. Reconnect to get one of your own."))
	}
	if err := s.web.AuditDownload(r, "read.tracker-secret", s.web.Config.TrackerName); err != nil {
		return err
	}
	return s.sendTrackerPage(w, r, nil, bugsview.ConfigLine{Key: "tracker_oauth_token", Value: token.Token},
		bugsview.ConfigLine{Key: "tracker_oauth_secret", Value: string(token.Secret)})
}

// ForgetToken removes the access token from the database. An instance with a token in its
// configuration stays connected, and the message says so.
func (s *Pages) ForgetToken(w http.ResponseWriter, r *http.Request) error {
	if err := s.Creds.DeleteToken(r.Context(), web.CurrentUser(r).Name); err != nil {
		return err
	}
	s.web.Sessions.Remove(r.Context(), sessionUnwritten)
	connection, err := s.Creds.Status(r.Context())
	if err != nil {
		return err
	}
	message := "Disconnected. The access token has been removed from the database."
	if connection.Source != crash.NotConnected {
		message = "The access token has been removed from the database. This instance stays connected with the token " +
			"from " + s.trackerPage(connection).Origin() + "."
	}
	return s.web.Done(w, r, web.PathTracker, message)
}
