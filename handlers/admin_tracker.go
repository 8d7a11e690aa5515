package handlers

import (
	"context"
	"errors"
	"net/http"
	"path"
	"time"

	"mishap/crash"
	"mishap/tracker"
	"mishap/views"
)

// What the session keeps between the steps of connecting.
const (
	sessionRequestKey    = "tracker_request_key"
	sessionRequestSecret = "tracker_request_secret" // sealed
	sessionRequestMade   = "tracker_request_made"
	sessionUnwritten     = "tracker_unwritten" // public half of the token that is not in the file
)

// requestLife is how long the tracker takes a request token: two hours at Launchpad.
const requestLife = 2 * time.Hour

// showTracker is the page on which an admin sees and makes the connection.
func (s *adminPages) showTracker(w http.ResponseWriter, r *http.Request) error {
	return s.trackerPage(w, r, nil)
}

// trackerPage shows the page, with what a button met: then with its status.
func (s *adminPages) trackerPage(w http.ResponseWriter, r *http.Request, failed error, lines ...views.ConfigLine) error {
	connection, err := s.creds.Status(r.Context())
	if err != nil {
		return errors.Join(failed, err)
	}
	comments, err := s.commentsView(r)
	if err != nil {
		return errors.Join(failed, err)
	}
	p := views.TrackerPage{
		Tracker: s.config.TrackerName, Connection: connection, Comments: comments,
		ConfigFile: s.config.ConfigFile, FromEnvironment: s.config.TokensFromEnvironment,
		Unwritten: s.sessions.GetString(r.Context(), sessionUnwritten) != "", Lines: lines,
	}
	if rt, ok := s.requestToken(r); ok {
		p.AuthorizeURL, p.Expires = s.tracker.AuthorizeURL(rt.Key), rt.Made.Add(requestLife)
	}
	status := http.StatusOK
	if failed != nil {
		a := answerTo(r, failed)
		s.logError(r, failed, a)
		a.headers(w)
		status, p.Problem, p.Pressed = a.status, a.Message, path.Base(r.URL.Path)
	}
	p.Shell = s.shell(r, "Bug tracker")
	return s.page(w, r, status, views.AdminTrackerPage(p))
}

// requestToken is the request that is under way in this session.
func (s *adminPages) requestToken(r *http.Request) (tracker.RequestToken, bool) {
	made, err := time.Parse(time.RFC3339Nano, s.sessions.GetString(r.Context(), sessionRequestMade))
	if err != nil || s.now().Sub(made) > requestLife {
		return tracker.RequestToken{}, false
	}
	key := s.sessions.GetString(r.Context(), sessionRequestKey)
	secret, err := s.store.OpenSecret(s.sessions.GetString(r.Context(), sessionRequestSecret), requestContext(key))
	if err != nil {
		return tracker.RequestToken{}, false // begun before the password of the database changed: it has to be begun again
	}
	return tracker.RequestToken{Key: key, Made: made, Secret: secret}, true
}

// requestContext binds the sealed secret to its request token.
func requestContext(key string) string { return "request token of the tracker\x00" + key }

func (s *adminPages) dropRequest(r *http.Request) {
	for _, key := range []string{sessionRequestKey, sessionRequestSecret, sessionRequestMade} {
		s.sessions.Remove(r.Context(), key)
	}
}

// beginConnecting asks the tracker for a request token.
func (s *adminPages) beginConnecting(w http.ResponseWriter, r *http.Request) error {
	rt, err := s.tracker.RequestToken(r.Context())
	if err != nil {
		return s.trackerPage(w, r, err)
	}
	sealed, err := s.store.SealSecret(rt.Secret, requestContext(rt.Key))
	if err != nil {
		return err
	}
	s.sessions.Put(r.Context(), sessionRequestKey, rt.Key)
	s.sessions.Put(r.Context(), sessionRequestSecret, sealed)
	s.sessions.Put(r.Context(), sessionRequestMade, rt.Made.UTC().Format(time.RFC3339Nano))
	return redirect(w, r, pathTracker)
}

var errNoRequest = crash.Errorf(crash.Conflict, "oauth_no_request",
	"There is no request under way in this session, or it is older than two hours. Begin again.")

// finishConnecting exchanges the request token for the access token. The tracker gives that once only, so what follows does
// not end when the admin leaves the page.
func (s *adminPages) finishConnecting(w http.ResponseWriter, r *http.Request) error {
	ctx := context.WithoutCancel(r.Context())
	rt, ok := s.requestToken(r)
	if !ok {
		s.dropRequest(r)
		return s.trackerPage(w, r, errNoRequest)
	}
	token, err := s.tracker.AccessToken(ctx, rt)
	if err != nil {
		if tracker.StartOver(err) {
			s.dropRequest(r)
		}
		return s.trackerPage(w, r, err)
	}
	s.dropRequest(r)
	s.sessions.Remove(ctx, sessionUnwritten)
	written := s.write(ctx, token)
	if err := s.creds.Remember(ctx, token, currentUser(r).Name); err != nil {
		return s.trackerPage(w, r, errors.Join(err, written))
	}
	if written != nil {
		s.sessions.Put(ctx, sessionUnwritten, token.Token)
		if err := s.flash(r, views.FlashError, s.unwritten(r, written)); err != nil {
			return err
		}
	}
	return s.tryConnection(w, r)
}

// unwritten says why the file was not written, without what only the log should hold.
func (s *adminPages) unwritten(r *http.Request, err error) string {
	s.log.WarnContext(r.Context(), "configuration file not written", "request_id", requestID(r), "error", err)
	if e, ok := errors.AsType[*crash.Error](err); ok {
		return e.Message
	}
	return "The configuration file could not be written."
}

// tryConnection asks the tracker who we are there.
func (s *adminPages) tryConnection(w http.ResponseWriter, r *http.Request) error {
	account, err := s.tracker.Check(context.WithoutCancel(r.Context()))
	if err != nil {
		return s.trackerPage(w, r, err)
	}
	if err := s.flash(r, views.FlashDone, "Connected to "+s.config.TrackerName+" as "+account+"."); err != nil {
		return err
	}
	return redirect(w, r, pathTracker)
}

// showToken shows the lines for the configuration file to the admin whose session has just made the connection.
func (s *adminPages) showToken(w http.ResponseWriter, r *http.Request) error {
	token, err := s.creds.Current(r.Context())
	if err != nil {
		return s.trackerPage(w, r, err)
	}
	if token.IsZero() || token.Token != s.sessions.GetString(r.Context(), sessionUnwritten) {
		return s.trackerPage(w, r, crash.Errorf(crash.Conflict, "not_yours",
			"The access token was not made in this session, so it is not shown. Connect again to get one of your own."))
	}
	return s.trackerPage(w, r, nil, views.ConfigLine{Key: "tracker_oauth_token", Value: token.Token},
		views.ConfigLine{Key: "tracker_oauth_secret", Value: string(token.Secret)})
}

// forgetToken drops the access token that the database remembers.
func (s *adminPages) forgetToken(w http.ResponseWriter, r *http.Request) error {
	if err := s.creds.Forget(r.Context(), currentUser(r).Name); err != nil {
		return err
	}
	s.sessions.Remove(r.Context(), sessionUnwritten)
	if err := s.flash(r, views.FlashDone, "The access token in the database is forgotten."); err != nil {
		return err
	}
	return redirect(w, r, pathTracker)
}
