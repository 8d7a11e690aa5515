package web

import (
	"errors"
	"fmt"
	"io"
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
	"mishap/handlers/negotiate"
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
	"The address names a page of the list that does not exist. Start at the first page.")

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
	switch negotiate.Preferred(accept, mediaHTML, mediaXHTML, "text/csv", "application/json", "application/atom+xml") {
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
