package web

import (
	"net/http"
	"strings"
	"time"

	"mishap/crash"
	"mishap/db/people"
	"mishap/handlers/proxies"
	"mishap/tracker"
	"mishap/views/layout"
	peopleview "mishap/views/people"
)

const (
	// PathSignIn is the sign-in page.
	PathSignIn = "/login"
	// pathSignOut ends the session.
	pathSignOut = "/logout"
	// PathSignInCode is the page of the second step of signing in.
	PathSignInCode = PathSignIn + "/code"

	// CookieBrowser marks a browser that has signed in before, whose attempts are throttled
	// separately. Browsers send it only to the sign-in page.
	CookieBrowser = "known_browser"

	// PathOpenID starts signing in with OpenID 2.0.
	PathOpenID = PathSignIn + "/openid"
	// PathOIDC starts signing in with OpenID Connect.
	PathOIDC = PathSignIn + "/oidc"
	// PathSignInReturn is where the other site sends people back, below PathOpenID or PathOIDC.
	PathSignInReturn = "/return"
	// PathOIDCLogout is where an OpenID Connect provider says that a person has signed out.
	PathOIDCLogout = PathOIDC + "/logout"
)

// isSignIn reports whether a path signs people in.
func isSignIn(path string) bool { return path == PathSignIn || strings.HasPrefix(path, PathSignIn+"/") }

// SendSignIn sends the sign-in page with the ways to sign in that are configured.
func (s *Kit) SendSignIn(w http.ResponseWriter, r *http.Request, status int, form peopleview.SignInForm) error {
	if s.Config.OpenID.URL != "" {
		form.Methods = append(form.Methods, peopleview.SignInMethod{Path: PathOpenID, Name: s.Config.OpenID.Name})
	}
	if s.Config.OIDC.Issuer != "" {
		form.Methods = append(form.Methods, peopleview.SignInMethod{Path: PathOIDC, Name: s.Config.OIDC.Name})
	}
	form.Local = s.Config.LocalSignIn
	form.Open = r.URL.Path == PathSignIn && r.Method == http.MethodPost
	if form.Local == crash.LocalHidden && len(form.Methods) == 0 && s.Config.Proxy.Header == "" {
		form.Local = crash.LocalShown // it is the only way
	}
	return s.Page(w, r, status, peopleview.SignInPage(s.SignInShell(r), form))
}

// SignInShell returns the shell of the sign-in page, whose own "Sign in" has no path to return to.
func (s *Kit) SignInShell(r *http.Request) layout.Shell {
	shell := s.Shell(r, "Sign in")
	shell.Path = PathSignIn
	return shell
}

// ProxyConfig configures signing in by a header that a reverse proxy sets.
type ProxyConfig struct {
	Header       string           // that names the person; empty: off
	GroupsHeader string           // that lists the groups of the person, separated by commas; empty: none
	Peers        proxies.Networks // of the proxies that are believed
}

// sessionProxy is the session value of a person whom a proxy has identified: the name and the groups of
// the headers.
const sessionProxy = "proxy"

// signInByProxy signs in the person whom a trusted proxy names. It ends the session of another person,
// and starts a new one whenever the person or the groups change. Sessions that began with a password or
// at another site stay as they are. Only the address of the TCP peer decides whether the header counts,
// because everything else in a request can be forged.
func (s *Kit) signInByProxy(r *http.Request) error {
	c := s.Config.Proxy
	if c.Header == "" {
		return nil
	}
	if !c.Peers.ContainsPeer(r) {
		if r.Header.Values(c.Header) != nil || c.GroupsHeader != "" && r.Header.Values(c.GroupsHeader) != nil {
			s.Log.WarnContext(r.Context(), "dropped a header that signs people in, because it did not come from proxy_auth_from",
				"request_id", RequestID(r), "peer", r.RemoteAddr)
			r.Header.Del(c.Header)
			r.Header.Del(c.GroupsHeader)
		}
		return s.endProxySession(r)
	}
	names := r.Header.Values(c.Header)
	if len(names) == 0 || len(names) == 1 && strings.TrimSpace(names[0]) == "" {
		return s.endProxySession(r)
	}
	var groups []string
	if c.GroupsHeader != "" {
		groups = r.Header.Values(c.GroupsHeader)
	}
	if len(names) > 1 || len(groups) > 1 {
		return crash.Errorf(crash.Invalid, "doubled_proxy_header",
			"The proxy in front of this site sent the header that names you more than once, so nobody was signed in. "+
				"(Administrators: the proxy has to replace these headers of browsers, not to add its own.)")
	}
	in := crash.Identity{Source: crash.SourceProxy, Subject: strings.TrimSpace(names[0])}
	in.Name = in.Subject
	for group := range strings.SplitSeq(strings.Join(groups, ""), ",") {
		if group = strings.TrimSpace(group); group != "" {
			in.Groups = append(in.Groups, group)
		}
	}
	return s.continueProxySession(r, in)
}

// continueProxySession makes the session that of the person whom the proxy names, unless it is so. It
// stores the groups again when they get old.
func (s *Kit) continueProxySession(r *http.Request, in crash.Identity) error {
	ctx := r.Context()
	state := in.Subject + "\n" + strings.Join(in.Groups, ",")
	current := s.Sessions.GetString(ctx, sessionProxy)
	if current == state && s.began(r) <= GroupsDue ||
		current == "" && s.Sessions.GetString(ctx, people.SessionUser) != "" {
		return nil
	}
	signed, err := s.people.SignInIdentity(ctx, in)
	if err != nil {
		if ended := s.endProxySession(r); ended != nil {
			return ended
		}
		return err
	}
	if current == state {
		s.begins(r)
		return nil
	}
	if err := s.BeginSession(r, SessionOwner{User: signed.UserID, Identity: signed.IdentityID}); err != nil {
		return err
	}
	s.Sessions.Put(ctx, sessionProxy, state)
	return nil
}

// endProxySession ends the session if a proxy has signed the person in.
func (s *Kit) endProxySession(r *http.Request) error {
	if s.Sessions.GetString(r.Context(), sessionProxy) == "" {
		return nil
	}
	return s.Sessions.Destroy(r.Context())
}

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
