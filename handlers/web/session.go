package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/alexedwards/scs/v2"

	"mishap/crash"
	"mishap/db/accounts"
)

const (
	cookieSession   = "sessionid"
	saveTime        = 10 * time.Second
	sessionLifetime = 14 * 24 * time.Hour // from sign-in on; it does not grow with use
)

func (s *Kit) newSessions() *scs.SessionManager {
	m := scs.New()
	m.Store = accounts.NewSessions(s.Store)
	m.Codec = accounts.SessionCodec{}
	m.HashTokenInStore = true // who reads the table cannot become anybody
	m.Lifetime = sessionLifetime
	m.Cookie = scs.SessionCookie{
		Name: cookieSession, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Persist: true,
		Secure: s.Base.Scheme == "https",
	}
	return m
}

// WithSession loads the session of a request and stores it, when it was changed, before the answer begins. The session
// manager's own middleware goes on with the answer when storing fails; this one answers with the error.
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

// saveSession also works when the visitor has left: what happened is not undone by that.
func (s *Kit) saveSession(ctx context.Context, w http.ResponseWriter) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
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

// sessionWriter stores the session before the first byte, and swallows the answer when that fails.
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
		return len(b), nil //nolint:nilerr // this answer is given up; withSession sends another
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *sessionWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Recognise finds out who is signed in. It asks the database each time, so that a changed role and a disabled account take
// effect with the next request; visitors without a session cost no query.
func (s *Kit) Recognise(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := VisitOf(r)
		id, err := strconv.ParseInt(s.Sessions.GetString(r.Context(), accounts.SessionUser), 10, 64)
		if err != nil {
			next.ServeHTTP(w, r)
			return
		}
		u, err := s.Accounts.ByID(r.Context(), id)
		if err != nil && crash.KindOf(err) != crash.NotFound {
			s.serveError(w, r, err)
			return
		}
		if err != nil || u.Disabled {
			if err := s.Sessions.Destroy(r.Context()); err != nil {
				s.serveError(w, r, err)
				return
			}
			u = crash.User{}
		}
		v.User = u
		next.ServeHTTP(w, r)
	})
}

// Need lets only people of at least this role through. Visitors are asked to sign in; others are told whom to ask.
func (s *Kit) Need(role crash.Role) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return s.Do(func(w http.ResponseWriter, r *http.Request) error {
			u := CurrentUser(r)
			switch {
			case u.Role.Allows(role):
				next.ServeHTTP(w, r)
				return nil
			case u.Role != crash.RoleNone:
				return crash.Errorf(crash.Forbidden, "role",
					"This needs the role %s; yours is %s. Somebody who is an administrator here can change that.", role, u.Role)
			case ShapeOf(r) == ShapePage && SafeMethods[r.Method]:
				return Redirect(w, r, signInPath(ComeBackTo(r)))
			case s.saveable(r):
				return s.saveForm(w, r)
			}
			return ErrNotSignedIn
		})
	}
}
