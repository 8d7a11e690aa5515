package web

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"mishap/crash"
	"mishap/tracker"
	"mishap/views/layout"
	peopleview "mishap/views/people"
)

// When a form is refused because the session has ended, the sign-in form carries what was typed,
// and the person gets it back after signing in. A few forms hold long texts: GET on their path
// shows them again, also after their token has changed. All others are sent again from PathResume,
// except those with secrets.

// PathResume is the page from which people send a form again after signing in.
const PathResume = PathSignIn + "/resume"

// maxTextBytes is the limit of a request with a long text. 50,000 characters of any script fit,
// escaped.
const maxTextBytes = 1 << 20

const sessionSavedForm = "kept" // the value is in sessions that exist already

// HoldsLongText reports whether the form at a path holds a long text.
func HoldsLongText(path string) bool {
	return strings.HasPrefix(path, "/problem/") && strings.HasSuffix(path, "/review") || path == layout.PathTemplates
}

// requestLimit returns the largest size of a request to a path, in bytes.
func requestLimit(path string) int64 {
	if HoldsLongText(path) || isSignIn(path) {
		return maxTextBytes
	}
	return MaxRequestBytes
}

// DraftIn reads the fields of the form in which a person reviews a bug.
func DraftIn(form url.Values) crash.Draft {
	return tracker.TidyDraft(crash.Draft{
		Title: form.Get("title"), Description: form.Get("description"), Tags: crash.ReadTags(form.Get("tags")),
		Package: form.Get("package"), OnDistribution: form.Get("target") == "distribution",
		Information: crash.InformationType(form.Get("information_type")), Subscribe: form.Get("subscribe") != "",
	})
}

// holdsSecret reports whether a form contains a secret, or the id of something that is gone without
// the session.
func holdsSecret(r *http.Request) bool {
	for _, name := range []string{"password", "new", "code", "secret", "token", "session"} {
		if r.PostForm.Has(name) {
			return true
		}
	}
	return strings.HasPrefix(r.URL.Path, layout.PathEndpoints) || strings.HasPrefix(r.URL.Path,
		peopleview.PathSecondFactor)
}

// saveable reports whether a refused request is a form that the person would lose, without secrets.
// The browser must say that the form came from this site: forms that other sites may have sent are
// not saved.
func (s *Kit) saveable(r *http.Request) bool {
	hasOrigin := r.Header.Get("Sec-Fetch-Site") == "same-origin" ||
		r.Header.Get("Origin") != "" || r.Header.Get("Referer") != ""
	return r.Method == http.MethodPost && !isSignIn(r.URL.Path) && r.URL.Path != pathSignOut && !WantsPart(r) &&
		IsForm(r) && hasOrigin && s.isFromThisSite(r) && r.ParseForm() == nil && !holdsSecret(r)
}

// encodeForm encodes a form for one hidden field. The result is never empty: a form that only has a
// button must be sent again, too, because its address is no page.
func encodeForm(form url.Values) string {
	form = maps.Clone(form)
	form.Del("csrf_token")
	return base64.RawURLEncoding.EncodeToString([]byte(form.Encode() + "&"))
}

// saveForm answers a refused form so that the person gets back to it with what was typed.
func (s *Kit) saveForm(w http.ResponseWriter, r *http.Request) error {
	if CurrentUser(r).ID == 0 {
		return s.saveForSignIn(w, r)
	}
	return s.SaveInSession(w, r, r.URL.Path, encodeForm(r.PostForm))
}

// saveForSignIn answers a form whose session has ended with the sign-in form, which carries what
// was typed.
func (s *Kit) saveForSignIn(w http.ResponseWriter, r *http.Request) error {
	form := peopleview.SignInForm{
		Next: formPath(r), SavedForm: encodeForm(r.PostForm),
		Problem: "Your session has ended. Sign in again to get back what you wrote.",
	}
	return s.SendSignIn(w, r, http.StatusUnauthorized, form)
}

// formPath returns the address to which a form was sent. Those of long texts are also addresses of
// pages.
func formPath(r *http.Request) string {
	if HoldsLongText(r.URL.Path) {
		return r.URL.Path
	}
	return LocalPath(r.URL.RequestURI())
}

// AfterSignIn returns where a person continues who has signed in to get to next: at the page from
// which a saved form is sent again, if next is its address.
func AfterSignIn(s *Kit, r *http.Request, next string) string {
	path, _, found := strings.Cut(s.Sessions.GetString(r.Context(), sessionSavedForm), " ")
	if found && path == next && !HoldsLongText(path) {
		return PathResume
	}
	return next
}

// SavedForm returns the form in the session and the address to which it was sent.
func SavedForm(s *Kit, r *http.Request) (path string, form url.Values, found bool) {
	path, encoded, found := strings.Cut(s.Sessions.GetString(r.Context(), sessionSavedForm), " ")
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err == nil {
		form, err = url.ParseQuery(string(raw))
	}
	return LocalPath(path), form, found && err == nil
}

// SaveInSession stores what was typed into the form at a path in the session, and redirects there.
func (s *Kit) SaveInSession(w http.ResponseWriter, r *http.Request, path, encoded string) error {
	VisitOf(r).actor.MarkRecorded() // nothing changed
	s.StoreForm(r, path, encoded)
	return Redirect(w, r, AfterSignIn(s, r, path))
}

// StoreForm stores what was typed into the form at a path in the session.
func (s *Kit) StoreForm(r *http.Request, path, encoded string) {
	s.Sessions.Put(r.Context(), sessionSavedForm, path+" "+encoded)
}

// TakeSavedForm returns what was typed into the form at this path, and removes it from the session.
func (s *Kit) TakeSavedForm(r *http.Request) (url.Values, bool) {
	path, encoded, found := strings.Cut(s.Sessions.GetString(r.Context(), sessionSavedForm), " ")
	if !found || path != r.URL.Path {
		return nil, false
	}
	s.Sessions.Remove(r.Context(), sessionSavedForm)
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return nil, false
	}
	form, err := url.ParseQuery(string(raw))
	return form, err == nil
}
