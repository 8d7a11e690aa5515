package web

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"mishap/crash"
	"mishap/tracker"
	"mishap/views/layout"
	peopleview "mishap/views/people"
)

// ListSize is the number of rows on a page of a list.
const ListSize = 50

// MaxQueryText is the maximum length of a text in the query, in characters.
const MaxQueryText = 200

// Part sends a part of a page and removes old messages from the page.
func (s *Kit) Part(w http.ResponseWriter, r *http.Request, c templ.Component) error {
	return s.Page(w, r, http.StatusOK, templ.Join(c, layout.NoFlashes()))
}

// errBadPath is the error for a name in the path that is not valid text.
var errBadPath = crash.Errorf(crash.Invalid, "bad_path",
	"The address contains invalid characters.")

// PathText returns a part of the path, which may contain any text, even slashes. The router returns
// it undecoded if the address has a raw path. PathText returns Invalid for NUL and for invalid
// UTF-8, which PostgreSQL does not store.
func PathText(r *http.Request, name string) (string, error) {
	text := chi.URLParam(r, name)
	if r.URL.RawPath != "" {
		if decoded, err := url.PathUnescape(text); err == nil {
			text = decoded
		}
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", errBadPath
	}
	return text, nil
}

// QueryText returns a text of the query without surrounding blanks. It returns Invalid for a text
// that is too long or not valid.
func QueryText(q url.Values, name string) (string, error) {
	text := strings.TrimSpace(q.Get(name))
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) || utf8.RuneCountInString(text) > MaxQueryText {
		return "", crash.Errorf(crash.Invalid, "bad_"+name,
			"The %s in the address contains invalid characters, or more than %d characters.", name, MaxQueryText)
	}
	return text, nil
}

// QueryOops returns the report below which a page of a list begins, or zero for the first page.
func QueryOops(q url.Values, name string) (crash.OopsID, error) {
	if q.Get(name) == "" {
		return crash.OopsID{}, nil
	}
	id, err := crash.ParseOopsID(q.Get(name))
	if err != nil {
		return id, ErrBadCursor
	}
	return id, nil
}

// ErrBadCursor is the error for a position in a list that does not exist.
var ErrBadCursor = crash.Errorf(crash.Invalid, "bad_after",
	"This page of the list does not exist. Start at the first page.")

// LastDays returns the first and the last of the n UTC days that end today.
func (s *Kit) LastDays(n int) (since, until time.Time) {
	return crash.LastDays(s.Now(), n)
}

// IDInPath returns the number {id} in the address of a request, or 0, which nothing has, if it is
// none.
func IDInPath(r *http.Request) int64 {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// ReadTeam reads the fields of a team from a form.
func ReadTeam(r *http.Request) crash.Team {
	return crash.Team{Source: crash.Source(r.PostFormValue("source")),
		Name: strings.TrimPrefix(strings.TrimSpace(crash.Truncate(r.PostFormValue("team"), 300)), "~")}
}

// ReadTokenForm reads the form for a new API token. It returns Invalid for an unknown scope.
func ReadTokenForm(r *http.Request) (peopleview.TokenForm, error) {
	days, _ := strconv.Atoi(r.PostFormValue("days")) // 0, if it is not a number, is not offered
	form := peopleview.TokenForm{Name: crash.Truncate(r.PostFormValue("name"), 100), Days: days}
	for _, word := range r.PostForm["scope"] {
		scope, err := crash.ParseScope(word)
		if err != nil {
			return form, err
		}
		if !slices.Contains(form.Scopes, scope) {
			form.Scopes = append(form.Scopes, scope)
		}
	}
	return form, nil
}

// ExportTypes are the media types of files and feeds by the ending of their address. Every list is
// also served at its own address if Accept prefers one of these types.
var ExportTypes = map[string]string{
	"csv":  "text/csv; charset=utf-8",
	"json": "application/json",
	"atom": "application/atom+xml; charset=utf-8",
}

// The media types of pages.
const (
	mediaHTML  = "text/html"
	mediaXHTML = "application/xhtml+xml"
)

// AcceptedExport returns the export format that Accept prefers to a page, or "" if it prefers a
// page.
func AcceptedExport(r *http.Request) string {
	if WantsPart(r) {
		return ""
	}
	accept := r.Header.Values("Accept")
	switch Preferred(accept, mediaHTML, mediaXHTML, "text/csv", "application/json", "application/atom+xml") {
	case "text/csv":
		return "csv"
	case "application/json":
		return "json"
	case "application/atom+xml":
		return "atom"
	}
	return ""
}

// asksForFile reports whether the answer is a file instead of a page, by the ending of the path or the
// header Accept.
func asksForFile(r *http.Request) bool {
	_, ending := CutFormat(r.URL.Path)
	return ending != "" || AcceptedExport(r) != ""
}

// ForFile reports whether a request is for a file or feed, by its address or by Accept.
func ForFile(r *http.Request) bool {
	_, ending := CutFormat(r.URL.Path)
	report := strings.HasPrefix(r.URL.Path, "/oops/") && strings.HasSuffix(r.URL.Path, ".crash")
	lines := r.URL.Path == layout.PathAudit+".jsonl" || strings.HasSuffix(r.URL.Path, "/dump.jsonl")
	return SafeMethods[r.Method] && (ending != "" || report || lines || AcceptedExport(r) != "")
}

// CutFormat splits a name, which may contain dots, from the ending of its export format.
func CutFormat(name string) (base, format string) {
	if at := strings.LastIndexByte(name, '.'); at > 0 && ExportTypes[name[at+1:]] != "" {
		return name[:at], name[at+1:]
	}
	return name, ""
}

// ReadJSON returns the body of a request, whose size the middleware limits. It returns otherMedia if the
// request does not say that the body is JSON, unreadable if reading fails, and TooLarge.
func ReadJSON(r *http.Request, otherMedia, unreadable *crash.Error) ([]byte, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, otherMedia
	}
	body, err := io.ReadAll(r.Body)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, ErrTooLarge
	}
	if err != nil {
		return nil, unreadable.Because(fmt.Errorf("read body: %w", err))
	}
	return body, nil
}

// When a form is refused because the session has ended, the sign-in form carries what was typed,
// and the person gets it back after signing in. A few forms hold long texts: GET on their path
// shows them again, also after their token has changed. All others are sent again from PathResume,
// except those with secrets.

// PathResume is the page from which people send a form again after signing in.
const PathResume = PathSignIn + "/resume"

// MaxTextBytes is the limit of a request with a long text. 50,000 characters of any script fit,
// escaped.
const MaxTextBytes = 1 << 20

const sessionSavedForm = "kept" // the value is in sessions that exist already

// HoldsLongText reports whether the form at a path holds a long text.
func HoldsLongText(path string) bool {
	return strings.HasPrefix(path, "/problem/") && strings.HasSuffix(path, "/review") ||
		path == layout.PathTemplates || path == layout.PathRoutes
}

// requestLimit returns the largest size of a request to a path, in bytes.
func requestLimit(path string) int64 {
	if HoldsLongText(path) || isSignIn(path) {
		return MaxTextBytes
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
		IsForm(r) && hasOrigin && s.IsFromThisSite(r) && r.ParseForm() == nil && !holdsSecret(r)
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
	path, form, found := SavedForm(s, r)
	if !found || path != r.URL.Path {
		return nil, false
	}
	s.Sessions.Remove(r.Context(), sessionSavedForm)
	return form, true
}
