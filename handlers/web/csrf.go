package web

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/justinas/nosurf"

	"mishap/crash"
)

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
		"Unauthorized: the page that this came from is out of date, or cookies of this site are not allowed. Reload it, "+
			"then try again. (Scripts: send the value of the %s cookie as %s.)", cookieCSRF, headerCSRF)
	errNoOrigin = crash.Errorf(crash.Unauthenticated, "no_origin",
		"Unauthorized: the browser did not say from which page this came, so it cannot be told from a trick. "+
			"Allow it to send the Referer to this site, then try again.")
	ErrTooLarge = crash.Errorf(crash.TooLarge, "too_large", "The request is larger than %d KiB.", MaxRequestBytes>>10)
)

func (s *Kit) errForeignOrigin() error {
	return crash.Errorf(crash.Unauthenticated, "foreign_origin",
		"Unauthorized: the request came from a page of another site. Open %s and try again there. "+
			"(Administrators: base_url has to be the address by which people reach this site.)", s.Base)
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
		case !s.isFromThisSite(r):
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
		err = r.ParseMultipartForm(maxTextBytes) // all in memory
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return "", false, ErrTooLarge
	}
	if err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return "", false, crash.Errorf(crash.Invalid, "bad_form", "The form could not be read.").
			Because(fmt.Errorf("parse form: %w", err))
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

// isFromThisSite reports whether every header that names the origin of a request names this site.
// It returns true if there is no such header.
func (s *Kit) isFromThisSite(r *http.Request) bool {
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

// isOwnOrigin reports whether u has the origin of the base address.
func (s *Kit) isOwnOrigin(u *url.URL) bool { return u.Scheme == s.Base.Scheme && u.Host == s.Base.Host }

// isRequestedOrigin reports whether u has the origin that the request was sent to.
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
