package web

import (
	"net/http"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// requestTokenLifetime is how long the tracker accepts a request token: two hours at Launchpad.
const requestTokenLifetime = 2 * time.Hour

// TrackerRequest is where a session stores the request token while a person connects an account of
// the tracker. The value is the beginning of the keys.
type TrackerRequest string

// The accounts that can be connected.
const (
	ApplicationRequest TrackerRequest = "tracker_request" // the application's account
	OwnRequest         TrackerRequest = "own_request"     // the person's own account
)

// sealContext returns the context that binds a sealed secret to its request token.
func (t TrackerRequest) sealContext(key string) string {
	if t == ApplicationRequest {
		return "request token of the tracker\x00" + key
	}
	return string(t) + "\x00" + key
}

// Token returns the request token that the session stores, and when it expires. It returns
// false if there is none or it has expired.
func (t TrackerRequest) Token(s *Kit, r *http.Request) (tracker.RequestToken, time.Time, bool) {
	made, err := time.Parse(time.RFC3339Nano, s.Sessions.GetString(r.Context(), string(t)+"_made"))
	if err != nil || s.Now().Sub(made) > requestTokenLifetime {
		return tracker.RequestToken{}, time.Time{}, false
	}
	key := s.Sessions.GetString(r.Context(), string(t)+"_key")
	secret, err := s.store.OpenSecret(s.Sessions.GetString(r.Context(), string(t)+"_secret"), t.sealContext(key))
	if err != nil {
		return tracker.RequestToken{}, time.Time{}, false // sealed with an earlier database password
	}
	return tracker.RequestToken{Key: key, Made: made, Secret: secret}, made.Add(requestTokenLifetime), true
}

var errNoRequest = crash.Errorf(crash.Conflict, "oauth_no_request", "This session has no pending request, or the "+
	"request is older than two hours. Start over.")

// Begin asks the tracker for a request token and stores it in the session.
func (t TrackerRequest) Begin(s *Kit, r *http.Request) error {
	rt, err := s.tracker.RequestToken(r.Context())
	if err != nil {
		return err
	}
	return t.save(s, r, rt)
}

// Finish exchanges the request token of the session for the access token, which the tracker sends only
// once. It removes the request token unless the person can still authorise it. It returns Conflict if
// there is none.
func (t TrackerRequest) Finish(s *Kit, r *http.Request) (crash.AccessToken, error) {
	rt, _, ok := t.Token(s, r)
	if !ok {
		t.Remove(s, r)
		return crash.AccessToken{}, errNoRequest
	}
	token, err := s.tracker.AccessToken(r.Context(), rt)
	if err == nil || tracker.StartOver(err) {
		t.Remove(s, r)
	}
	return token, err
}

// save stores a request token in the session, with its secret sealed.
func (t TrackerRequest) save(s *Kit, r *http.Request, rt tracker.RequestToken) error {
	sealed, err := s.store.SealSecret(rt.Secret, t.sealContext(rt.Key))
	if err != nil {
		return err
	}
	s.Sessions.Put(r.Context(), string(t)+"_key", rt.Key)
	s.Sessions.Put(r.Context(), string(t)+"_secret", sealed)
	s.Sessions.Put(r.Context(), string(t)+"_made", rt.Made.UTC().Format(time.RFC3339Nano))
	return nil
}

// Remove removes the request token from the session.
func (t TrackerRequest) Remove(s *Kit, r *http.Request) {
	for _, key := range []string{"_key", "_secret", "_made"} {
		s.Sessions.Remove(r.Context(), string(t)+key)
	}
}
