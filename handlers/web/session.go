package web

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/justinas/nosurf"

	"mishap/crash"
	"mishap/db/people"
	"mishap/handlers/proxies"
	"mishap/tracker/launchpad"
	"mishap/views/layout"
	peopleview "mishap/views/people"
)

const (
	cookieSession      = "sessionid"
	sessionSaveTimeout = 10 * time.Second
	sessionLifetime    = 14 * 24 * time.Hour // from signing in; use does not extend it
)

func (s *Kit) newSessions() *scs.SessionManager {
	m := scs.New()
	m.Store = people.NewSessions(s.store)
	m.Codec = people.SessionCodec{}
	m.HashTokenInStore = true // a stolen copy of the table contains no valid token
	m.Lifetime = sessionLifetime
	m.Cookie = scs.SessionCookie{
		Name: cookieSession, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Persist: true,
		Secure: s.Base.Scheme == "https",
	}
	return m
}

// WithSession loads the session of a request, and stores it before the answer begins if it was
// changed. If storing fails, it answers with the error, which the middleware of scs does not.
func (s *Kit) WithSession(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Cookie")
		var token string
		if c, err := r.Cookie(cookieSession); err == nil {
			token = c.Value
		}
		ctx, err := s.Sessions.Load(r.Context(), token)
		if err != nil {
			s.serveError(w, r, err)
			return
		}
		r = r.WithContext(ctx)
		VisitOf(r).session = true
		sw := &beforeAnswer{ResponseWriter: w, do: func(int) error { return s.saveSession(ctx, w) }}
		next.ServeHTTP(sw, r)
		sw.begin(http.StatusOK)
		if sw.err != nil {
			w.Header().Del("Location")
			s.serveError(w, r, sw.err)
		}
	})
}

// saveSession stores a changed session and sets its cookie, even if the visitor has left.
func (s *Kit) saveSession(ctx context.Context, w http.ResponseWriter) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sessionSaveTimeout)
	defer cancel()
	switch s.Sessions.Status(ctx) {
	case scs.Modified:
		token, expiry, err := s.Sessions.Commit(ctx)
		if err != nil {
			return err
		}
		s.Sessions.WriteSessionCookie(ctx, w, token, expiry)
	case scs.Destroyed:
		s.Sessions.WriteSessionCookie(ctx, w, "", time.Time{})
	case scs.Unmodified:
	}
	return nil
}

// beforeAnswer calls do before the first byte of an answer, which it discards if that fails.
type beforeAnswer struct {
	http.ResponseWriter
	do    func(status int) error
	begun bool
	err   error
}

func (w *beforeAnswer) begin(status int) {
	if !w.begun && status >= http.StatusOK {
		w.begun = true
		w.err = w.do(status)
	}
}

func (w *beforeAnswer) WriteHeader(status int) {
	if w.begin(status); w.err == nil {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *beforeAnswer) Write(b []byte) (int, error) {
	if w.begin(http.StatusOK); w.err != nil {
		return len(b), nil //nolint:nilerr // WithSession answers with the error
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap implements the interface that [http.ResponseController] uses.
func (w *beforeAnswer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// SessionOwner is the person to whom a session belongs.
type SessionOwner struct {
	User     int64
	Identity int64  // that signed in; 0: a name and password
	Provider string // session at the site that identified the person; empty: unknown
}

// BeginSession gives the browser a new session that belongs to a person. It keeps the contents of a form
// that was refused, and nothing else.
func (s *Kit) BeginSession(r *http.Request, owner SessionOwner) error {
	ctx := r.Context()
	saved := s.Sessions.GetString(ctx, sessionSavedForm)
	if err := errors.Join(s.Sessions.Clear(ctx), s.Sessions.RenewToken(ctx)); err != nil {
		return err
	}
	s.Sessions.Put(ctx, people.SessionUser, strconv.FormatInt(owner.User, 10))
	s.begins(r)
	if owner.Identity != 0 {
		s.Sessions.Put(ctx, people.SessionIdentity, strconv.FormatInt(owner.Identity, 10))
		s.Sessions.Put(ctx, people.SessionProvider, owner.Provider)
	}
	if address := proxies.Client(r); address.IsValid() {
		s.Sessions.Put(ctx, people.SessionAddress, address.String())
	}
	s.Sessions.Put(ctx, people.SessionBrowser, strings.ToValidUTF8(crash.Truncate(r.UserAgent(), 200), ""))
	if saved != "" {
		s.Sessions.Put(ctx, sessionSavedForm, saved)
	}
	return nil
}

// Recognise loads the user of a session from the database. It does so for each request, so that a
// changed role or a disabled account takes effect at once. Visitors without a session cause no
// query.
func (s *Kit) Recognise(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.signInByProxy(r); err != nil {
			s.serveError(w, r, err)
			return
		}
		v := VisitOf(r)
		id, err := strconv.ParseInt(s.Sessions.GetString(r.Context(), people.SessionUser), 10, 64)
		if err != nil {
			next.ServeHTTP(w, r)
			return
		}
		u, err := s.people.ByID(r.Context(), id)
		if err != nil && crash.KindOf(err) != crash.NotFound {
			s.serveError(w, r, err)
			return
		}
		byPassword := s.Sessions.GetString(r.Context(), people.SessionIdentity) == ""
		if err != nil || u.Disabled || byPassword && s.Config.LocalSignIn == crash.LocalOff {
			if err := s.Sessions.Destroy(r.Context()); err != nil {
				s.serveError(w, r, err)
				return
			}
			u = crash.User{}
		}
		v.SignIn(u, nil)
		if byPassword && s.Config.RequireApp.Requires(u) && !worksWithoutApp(r.URL.Path) {
			s.Do(func(w http.ResponseWriter, r *http.Request) error { return demandApp(s, w, r) })(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sessionAppNext is the session value with the local path to continue at once an authenticator app
// is set up.
const sessionAppNext = "app_next"

// worksWithoutApp reports whether people who must set up an authenticator app may use an address
// before.
func worksWithoutApp(path string) bool {
	return path == peopleview.PathSecondFactor || strings.HasPrefix(path, peopleview.PathSecondFactor+"/") ||
		path == pathSignOut
}

// demandApp leads a person to the page of the authenticator app.
func demandApp(s *Kit, w http.ResponseWriter, r *http.Request) error {
	if formatOf(r) != formatPage || !SafeMethods[r.Method] || WantsPart(r) {
		return crash.Errorf(crash.Forbidden, "app_required", "%s", peopleview.AppRequired)
	}
	s.Sessions.Put(r.Context(), sessionAppNext, ReturnPath(r))
	return Redirect(w, r, peopleview.PathSecondFactor)
}

// AfterApp returns the local path to continue at after setting up an authenticator app that was
// required, once.
func AfterApp(s *Kit, r *http.Request) string {
	return s.Sessions.PopString(r.Context(), sessionAppNext)
}

// sessionBegan is the session value with the Unix time of the sign-in.
const sessionBegan = "began"

// began returns how long ago the person of the session signed in.
func (s *Kit) began(r *http.Request) time.Duration {
	at, _ := strconv.ParseInt(s.Sessions.GetString(r.Context(), sessionBegan), 10, 64) // 0 is long ago
	return s.Now().Sub(time.Unix(at, 0))
}

// begins sets the time of the sign-in to now.
func (s *Kit) begins(r *http.Request) {
	s.Sessions.Put(r.Context(), sessionBegan, strconv.FormatInt(s.Now().Unix(), 10))
}

// freshTime is how long a person need not sign in again to change ways of signing in.
const freshTime = 15 * time.Minute

// CheckPerson checks that the person of the session has just proved who they are: by the password
// in the form or, if the account has none, by signing in within freshTime, or by a proxy that names
// the person with each request.
func CheckPerson(s *Kit, r *http.Request) error {
	u := CurrentUser(r)
	if u.HasPassword && s.Config.LocalSignIn != crash.LocalOff {
		return s.people.CheckPassword(r.Context(), people.SignIn{Name: u.Name, Password: r.PostFormValue("password"),
			Address: proxies.Client(r)})
	}
	if s.began(r) <= freshTime || s.Sessions.GetString(r.Context(), sessionProxy) != "" {
		return nil
	}
	return crash.Errorf(crash.Unauthenticated, "old_session", "%s", "You signed in more than 15 minutes ago. Sign in "+
		"again, then change how you sign in.")
}

// NeedPerson returns middleware that requires signing in, with or without a role.
func (s *Kit) NeedPerson(next http.Handler) http.Handler {
	viewer := s.Need(crash.RoleViewer)(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if CurrentUser(r).ID != 0 {
			next.ServeHTTP(w, r)
			return
		}
		viewer.ServeHTTP(w, r)
	})
}

func errNoRights(u crash.User) error {
	return crash.Errorf(crash.Forbidden, "no_rights", "%s", peopleview.NoRights(u.Name))
}

// Need returns middleware that requires a role. It asks visitors and people whose groups have expired to
// sign in, and refuses users with a lesser role.
func (s *Kit) Need(role crash.Role) func(http.Handler) http.Handler {
	return s.need(role, func(u crash.User) bool { return u.Role.Allows(role) })
}

// need is like Need, for the people whom allows allows.
func (s *Kit) need(role crash.Role, allows func(crash.User) bool) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return s.Do(func(w http.ResponseWriter, r *http.Request) error {
			u := CurrentUser(r)
			switch {
			case allows(u):
				next.ServeHTTP(w, r)
				return nil
			case u.GroupsExpired:
				return AskToSignInAgain(s, w, r, crash.ErrGroupsExpired)
			case u.ID != 0 && u.Role == crash.RoleNone:
				return errNoRights(u)
			case u.Role != crash.RoleNone:
				return crash.Errorf(crash.Forbidden, "role",
					"This needs the role %s; yours is %s. Ask an administrator to change it.", role, u.Role)
			case formatOf(r) == formatPage && SafeMethods[r.Method]:
				return Redirect(w, r, layout.SignInURL(ReturnPath(r)))
			case s.saveable(r):
				return s.saveForm(w, r)
			}
			return ErrNotSignedIn
		})
	}
}

const (
	cookieCSRF    = "csrftoken"
	headerCSRF    = "X-CSRFToken" // as on errors.ubuntu.com, whose scripts send it
	rawTokenBytes = 32
	// MaxRequestBytes is the largest body of a request, except of forms with long texts.
	MaxRequestBytes = 256 << 10
	csrfCookieAge   = 364 * 24 * 60 * 60
)

// Errors of the CSRF check. Their status is 401 because they refuse a credential.
var (
	errBadToken = crash.Errorf(crash.Unauthenticated, "bad_csrf_token",
		"Unauthorized: the form is out of date, or your browser blocks cookies. Reload the page, then try again. "+
			"(Scripts: send the value of the %s cookie as %s.)", cookieCSRF, headerCSRF)
	errNoOrigin = crash.Errorf(crash.Unauthenticated, "no_origin",
		"Unauthorized: the browser did not say which page sent this. Allow it to send the Referer header to this "+
			"site, then try again.")
	ErrTooLarge = crash.Errorf(crash.TooLarge, "too_large", "The request is larger than %d KiB.", MaxRequestBytes>>10)
)

func (s *Kit) errForeignOrigin() error {
	return crash.Errorf(crash.Unauthenticated, "foreign_origin",
		"Unauthorized: the request came from another site. Open %s and try again there. (Administrators: base_url "+
			"must be the address that people use.)", s.Base)
}

// Guard returns a handler that passes on a changing request only if it comes from a page of this
// site and carries the token of its cookie. nosurf makes the decision; Guard translates what
// scripts send into what nosurf understands.
//
//   - The token is in X-CSRFToken, X-CSRF-Token or the form field csrf_token, masked or as in the
//     cookie.
//   - Each of Sec-Fetch-Site, Origin and Referer that is present must name this site. nosurf checks
//     only the first.
//   - A script that sends none of the three is accepted if its token is in a header, which no
//     foreign page can set.
func (s *Kit) Guard(next http.Handler) http.Handler {
	byScheme := map[bool]http.Handler{true: s.nosurf(next, true), false: s.nosurf(next, false)}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if SafeMethods[r.Method] {
			byScheme[s.Config.TrustedProxies.Secure(r)].ServeHTTP(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, requestLimit(r.URL.Path))
		token, inHeader, err := sentToken(r)
		if err != nil {
			s.serveError(w, r, err)
			return
		}
		r = r.Clone(r.Context())
		r.Header = maps.Clone(r.Header)
		r.Header.Set(nosurf.HeaderName, maskToken(token))
		switch {
		case !s.IsFromThisSite(r):
			// nosurf refuses this origin because no request can have it.
			r.Header.Set("Origin", "foreign:")
			r.Header.Del("Sec-Fetch-Site")
		case inHeader && r.Header.Get("Origin") == "" && r.Header.Get("Referer") == "":
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}
		byScheme[s.Config.TrustedProxies.Secure(r)].ServeHTTP(w, r)
	})
}

// SafeMethods are the methods of requests that change nothing.
var SafeMethods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodOptions: true, http.MethodTrace: true,
}

// nosurf returns the CSRF check for browsers that use HTTPS, or for those that do not.
func (s *Kit) nosurf(next http.Handler, tls bool) http.Handler {
	var h *nosurf.CSRFHandler
	h = nosurf.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		VisitOf(r).csrf = h
		next.ServeHTTP(w, r)
	}))
	h.SetBaseCookie(http.Cookie{
		Name: cookieCSRF, Path: "/", MaxAge: csrfCookieAge, SameSite: http.SameSiteLaxMode, Secure: tls,
		HttpOnly: false, // scripts read it
	})
	h.SetIsTLSFunc(func(*http.Request) bool { return tls })
	h.SetIsAllowedOriginFunc(s.isOwnOrigin)
	h.SetFailureHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		VisitOf(r).csrf = h
		switch {
		case errors.Is(nosurf.Reason(r), nosurf.ErrBadToken) && s.saveable(r) &&
			(HoldsLongText(r.URL.Path) || CurrentUser(r).ID == 0):
			s.Do(s.saveForm)(w, r)
		case CurrentUser(r).ID == 0 && !isSignIn(r.URL.Path):
			s.serveError(w, r, ErrNotSignedIn)
		case errors.Is(nosurf.Reason(r), nosurf.ErrBadToken):
			s.serveError(w, r, errBadToken)
		case errors.Is(nosurf.Reason(r), nosurf.ErrNoReferer):
			s.serveError(w, r, errNoOrigin)
		default:
			s.serveError(w, r, s.errForeignOrigin())
		}
	}))
	return h
}

// sentToken returns the token of a request and whether it was in a header. It returns TooLarge for
// a form over the limit.
func sentToken(r *http.Request) (token string, inHeader bool, err error) {
	for _, name := range []string{headerCSRF, nosurf.HeaderName} {
		if t := r.Header.Get(name); t != "" {
			return t, true, nil
		}
	}
	if !IsForm(r) {
		return "", false, nil
	}
	if err = r.ParseForm(); err == nil {
		err = r.ParseMultipartForm(MaxTextBytes) // all in memory
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return "", false, ErrTooLarge
	}
	if err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return "", false, ErrBadForm.Because(fmt.Errorf("parse form: %w", err))
	}
	// A plus sign that was not escaped arrives as a space.
	return strings.ReplaceAll(r.PostFormValue(nosurf.FormFieldName), " ", "+"), false, nil
}

// maskToken masks a token from the cookie with zeros. It returns any other text unchanged.
func maskToken(token string) string {
	raw, err := base64.StdEncoding.DecodeString(token)
	if err != nil || len(raw) != rawTokenBytes {
		return token
	}
	return base64.StdEncoding.EncodeToString(append(make([]byte, rawTokenBytes), raw...))
}

// IsFromThisSite reports whether every header that names the origin of a request names this site.
// It returns true if there is no such header.
func (s *Kit) IsFromThisSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return false
	}
	for _, name := range []string{"Origin", "Referer"} {
		for _, value := range r.Header.Values(name) {
			u, err := url.Parse(value)
			if err != nil || !s.isOwnOrigin(u) && !s.isRequestedOrigin(r, u) {
				return false
			}
		}
	}
	return true
}

func (s *Kit) isOwnOrigin(u *url.URL) bool { return u.Scheme == s.Base.Scheme && u.Host == s.Base.Host }

func (s *Kit) isRequestedOrigin(r *http.Request, u *url.URL) bool {
	scheme := "http"
	if s.Config.TrustedProxies.Secure(r) {
		scheme = "https"
	}
	return u.Scheme == scheme && u.Host == r.Host
}

// RenewCSRFToken gives the browser a new CSRF token, so that a token from before signing in is
// invalid afterwards.
func RenewCSRFToken(w http.ResponseWriter, r *http.Request) {
	if h := VisitOf(r).csrf; h != nil {
		h.RegenerateToken(w, r)
	}
}

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
			"You are not signed in: the proxy sent the header with your name more than once. (Administrators: the proxy "+
				"must replace these headers, not add to them.)")
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
func (t TrackerRequest) Token(s *Kit, r *http.Request) (launchpad.RequestToken, time.Time, bool) {
	made, err := time.Parse(time.RFC3339Nano, s.Sessions.GetString(r.Context(), string(t)+"_made"))
	if err != nil || s.Now().Sub(made) > requestTokenLifetime {
		return launchpad.RequestToken{}, time.Time{}, false
	}
	key := s.Sessions.GetString(r.Context(), string(t)+"_key")
	secret, err := s.store.OpenSecret(s.Sessions.GetString(r.Context(), string(t)+"_secret"), t.sealContext(key))
	if err != nil {
		return launchpad.RequestToken{}, time.Time{}, false // sealed with an earlier database password
	}
	return launchpad.RequestToken{Key: key, Made: made, Secret: secret}, made.Add(requestTokenLifetime), true
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
	if err == nil || launchpad.StartOver(err) {
		t.Remove(s, r)
	}
	return token, err
}

// save stores a request token in the session, with its secret sealed.
func (t TrackerRequest) save(s *Kit, r *http.Request, rt launchpad.RequestToken) error {
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
