package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"

	"mishap/crash"
	"mishap/db/people"
	"mishap/handlers/proxies"
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
		sw := &sessionWriter{ResponseWriter: w, save: func() error { return s.saveSession(ctx, w) }}
		next.ServeHTTP(sw, r)
		sw.begin()
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

// sessionWriter stores the session before the first byte, and discards the answer if that fails.
type sessionWriter struct {
	http.ResponseWriter
	save  func() error
	begun bool
	err   error
}

func (w *sessionWriter) begin() {
	if !w.begun {
		w.begun = true
		w.err = w.save()
	}
}

func (w *sessionWriter) WriteHeader(status int) {
	if w.begin(); w.err == nil {
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *sessionWriter) Write(b []byte) (int, error) {
	if w.begin(); w.err != nil {
		return len(b), nil //nolint:nilerr // WithSession answers with the error
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap implements the interface that [http.ResponseController] uses.
func (w *sessionWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

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
				return askToSignInAgain(s, w, r, crash.ErrGroupsExpired)
			case u.ID != 0 && u.Role == crash.RoleNone:
				return errNoRights(u)
			case u.Role != crash.RoleNone:
				return crash.Errorf(crash.Forbidden, "role",
					"This needs the role %s; yours is %s. "+
						"Somebody who is an administrator here can change that.",
					role, u.Role)
			case formatOf(r) == formatPage && SafeMethods[r.Method]:
				return Redirect(w, r, layout.SignInURL(ReturnPath(r)))
			case s.saveable(r):
				return s.saveForm(w, r)
			}
			return ErrNotSignedIn
		})
	}
}
