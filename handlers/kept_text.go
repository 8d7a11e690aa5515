package handlers

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"mishap/crash"
	"mishap/tracker"
	"mishap/views"
)

// People write at length in a few forms. When the session ends meanwhile, or its token has changed, what they wrote goes
// along to the sign-in form and comes back when they have signed in; the address of such a form shows the form itself.

// maxTextBytes is the limit of requests with such a text: 50,000 characters of any script, escaped, fit.
const maxTextBytes = 1 << 20

const sessionKept = "kept"

// keepsText reports whether the form at a path is one of those.
func keepsText(path string) bool {
	return strings.HasPrefix(path, "/problem/") && strings.HasSuffix(path, "/review") || path == views.PathTemplates
}

// requestLimit is how large a request to a path may be.
func requestLimit(path string) int64 {
	if keepsText(path) || path == pathSignIn {
		return maxTextBytes
	}
	return maxRequestBytes
}

// draftIn reads the fields of a form that a person goes over a bug in.
func draftIn(form url.Values) crash.Draft {
	return tracker.TidyDraft(crash.Draft{
		Title: form.Get("title"), Description: form.Get("description"), Tags: crash.ReadTags(form.Get("tags")),
		Package: form.Get("package"), OnDistribution: form.Get("target") == "distribution",
		Information: crash.InformationType(form.Get("information_type")), Subscribe: form.Get("subscribe") != "",
	})
}

// keepable reports whether a refused request is a form with a text that the person would lose. What other sites may have
// sent is not kept: the browser has to say that it came from here.
func (s *Server) keepable(r *http.Request) bool {
	said := r.Header.Get("Sec-Fetch-Site") == "same-origin" || r.Header.Get("Origin") != "" || r.Header.Get("Referer") != ""
	return r.Method == http.MethodPost && keepsText(r.URL.Path) && !wantsPart(r) && isForm(r) && said && s.fromHere(r) &&
		r.ParseForm() == nil
}

// pack writes a form for one hidden field.
func pack(form url.Values) string {
	form = maps.Clone(form)
	form.Del("csrf_token")
	return base64.RawURLEncoding.EncodeToString([]byte(form.Encode()))
}

// keepText answers a form that was refused with a way to get back to it with what was typed.
func (s *Server) keepText(w http.ResponseWriter, r *http.Request) error {
	if currentUser(r).ID == 0 {
		return s.keepForSignIn(w, r)
	}
	return s.keepInSession(w, r, r.URL.Path, pack(r.PostForm))
}

// keepForSignIn answers a form whose session has ended with the sign-in form, which carries what was typed.
func (s *Server) keepForSignIn(w http.ResponseWriter, r *http.Request) error {
	form := views.SignInForm{
		Next: r.URL.Path, Kept: pack(r.PostForm), Problem: "The session has ended. Sign in again; what you wrote comes back.",
	}
	return s.page(w, r, http.StatusUnauthorized, views.SignInPage(s.signInShell(r), form))
}

// keepInSession keeps what was typed for the form at a path, and leads there.
func (s *Server) keepInSession(w http.ResponseWriter, r *http.Request, path, packed string) error {
	s.sessions.Put(r.Context(), sessionKept, path+" "+packed)
	return redirect(w, r, path)
}

// takeKept gives back, once, what was typed into the form at this address before.
func (s *Server) takeKept(r *http.Request) (url.Values, bool) {
	path, packed, found := strings.Cut(s.sessions.GetString(r.Context(), sessionKept), " ")
	if !found || path != r.URL.Path {
		return nil, false
	}
	s.sessions.Remove(r.Context(), sessionKept)
	raw, err := base64.RawURLEncoding.DecodeString(packed)
	if err != nil {
		return nil, false
	}
	form, err := url.ParseQuery(string(raw))
	return form, err == nil
}
