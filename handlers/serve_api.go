package handlers

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/httprate"

	"mishap/crash"
	"mishap/handlers/api"
	"mishap/handlers/bugs"
	"mishap/handlers/proxies"
	"mishap/handlers/web"
)

// serveAPI answers by the table of package api.
func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) error {
	v := web.VisitOf(r)
	caller := api.Caller{Role: v.User.Role, Read: v.Token == nil || v.Token.Allows(crash.ScopeRead)}
	err := s.api.Serve(w, r, caller)
	if e, ok := errors.AsType[*api.MethodError](err); ok {
		w.Header().Set("Allow", e.Allow)
		return &web.MethodError{}
	}
	return err
}

// ifNoToken serves requests without an API token by next as other makes it, and those with one by next itself.
func (s *Server) ifNoToken(other func(http.Handler) http.Handler, next http.Handler) http.Handler {
	without := other(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if web.VisitOf(r).Token != nil {
			next.ServeHTTP(w, r)
			return
		}
		without.ServeHTTP(w, r)
	})
}

// byToken finds out whose API token a request has. A token that is not good is refused, whatever else the request has.
func (s *Server) byToken(next http.Handler) http.Handler {
	return s.Do(func(w http.ResponseWriter, r *http.Request) error {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			next.ServeHTTP(w, r)
			return nil
		}
		u, t, err := s.Accounts.ByToken(r.Context(), strings.TrimSpace(token))
		if err != nil {
			return err
		}
		v := web.VisitOf(r)
		v.User, v.Token = u, &t
		next.ServeHTTP(w, r)
		return nil
	})
}

// exportsByToken lets scripts ask for files and feeds with an API token of the scope read, as they ask the API: within its
// limits, and without a session. Pages are for people who sign in.
func (s *Server) exportsByToken(next http.Handler) http.Handler {
	byToken := s.byToken(s.limited(s.Do(func(w http.ResponseWriter, r *http.Request) error {
		if t := web.VisitOf(r).Token; t != nil && !t.Allows(crash.ScopeRead) {
			return crash.Errorf(crash.Forbidden, "scope", "This API token does not have the scope read.")
		}
		next.ServeHTTP(w, r)
		return nil
	})))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" && web.ForFile(r) {
			byToken.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limited bounds how many requests a minute one API token, or one address without a token, may send.
func (s *Server) limited(next http.Handler) http.Handler {
	limit := func(most int) http.Handler {
		if most == 0 {
			return next
		}
		return httprate.LimitBy(most, time.Minute, limitKey, httprate.WithLimitHandler(s.Do(
			func(http.ResponseWriter, *http.Request) error {
				return crash.Errorf(crash.TooMany, "too_many_requests", "Too many requests: at most %d a minute. Go on later.", most)
			})))(next)
	}
	byToken, byAddress := limit(s.Config.APIRatePerToken), limit(s.Config.APIRatePerAddress)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if web.VisitOf(r).Token != nil {
			byToken.ServeHTTP(w, r)
			return
		}
		byAddress.ServeHTTP(w, r)
	})
}

func limitKey(r *http.Request) (string, error) {
	if t := web.VisitOf(r).Token; t != nil {
		return "token:" + strconv.FormatInt(t.ID, 10), nil
	}
	return "address:" + proxies.Key(proxies.Client(r)), nil
}

// createByAPI serves Create to programs and pages. An API token stands for its person, and no page
// of another site can send it, so it needs no CSRF token; a session does.
func (s *Server) createByAPI() http.Handler {
	create := s.Need(crash.RoleTriager)(s.Do(s.bugs.CreateBug))
	return s.ifNoToken(func(http.Handler) http.Handler { return s.WithSession(s.Recognise(s.Guard(create))) },
		s.Do(func(w http.ResponseWriter, r *http.Request) error {
			switch {
			case !web.VisitOf(r).Token.Allows(crash.ScopeFile):
				return crash.Errorf(crash.Forbidden, "scope", "This API token does not have the scope file.")
			case web.IsForm(r) || web.WantsPart(r):
				return bugs.ErrMedia
			}
			r.Body = http.MaxBytesReader(w, r.Body, web.MaxRequestBytes)
			create.ServeHTTP(w, r)
			return nil
		}))
}
