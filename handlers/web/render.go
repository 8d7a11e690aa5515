package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/justinas/nosurf"

	"mishap/views"
)

// The header by which htmx asks for a part of a page.
const (
	headerRequestType = "HX-Request-Type"
	requestTypePart   = "partial"
)

// WantsPart reports whether htmx will put the answer into an existing page. HX-Request alone does not say so: it is sent for
// whole pages too.
func WantsPart(r *http.Request) bool { return r.Header.Get(headerRequestType) == requestTypePart }

// IsForm reports whether the request is what a browser sends for a form without scripts.
func IsForm(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && (media == "application/x-www-form-urlencoded" || media == "multipart/form-data")
}

// maxKeptPage is the largest buffer of a page that is kept for the next one, in bytes.
const maxKeptPage = 1 << 20

// Page sends a page or a part of one. It is rendered completely before the first byte goes out, so that an error in the
// middle becomes an error page and not half a page.
func (s *Kit) Page(w http.ResponseWriter, r *http.Request, status int, c templ.Component) error {
	b, ok := s.pages.Get().(*bytes.Buffer)
	if !ok {
		b = &bytes.Buffer{}
	}
	defer func() {
		if b.Cap() <= maxKeptPage {
			b.Reset()
			s.pages.Put(b)
		}
	}()
	if err := c.Render(r.Context(), b); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept, HX-Request-Type") // lists are files and feeds by Accept, parts of pages by the other
	if CurrentUser(r).ID != 0 {
		h.Set("Cache-Control", "no-store") // not to be found by Back after signing out
	} else {
		h.Set("Cache-Control", "private, no-cache")
	}
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // an error means that the visitor has gone
	return nil
}

// Redirect sends the visitor on to a local path: a browser by 303, a part of a page by telling htmx.
func Redirect(w http.ResponseWriter, r *http.Request, path string) error {
	if WantsPart(r) {
		w.Header().Set("HX-Redirect", path)
		w.WriteHeader(http.StatusOK)
		return nil
	}
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}

// Shell is what every page needs besides its content; it takes the waiting messages out of the session.
func (s *Kit) Shell(r *http.Request, title string) views.Shell {
	shell := s.BareShell(r, title)
	shell.Flash = s.takeFlashes(r)
	shell.Banner = s.banner(r)
	return shell
}

// BareShell is shell without touching the session.
func (s *Kit) BareShell(r *http.Request, title string) views.Shell {
	return views.Shell{
		Title: title, User: CurrentUser(r), CSRFToken: nosurf.Token(r), Path: ComeBackTo(r),
		FilingOn: s.Config.AllowBugFiling, Now: s.Now(),
	}
}

// ComeBackTo is where sign-in should lead from this request: to the page itself, or from a form to the page it stands on.
func ComeBackTo(r *http.Request) string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return LocalPath(r.URL.RequestURI())
	}
	if from, err := url.Parse(r.Referer()); err == nil && from.Host == r.Host {
		return LocalPath(from.RequestURI())
	}
	return "/"
}

// LocalPath returns path if it is one within this site, else "/": nobody is sent elsewhere by a link that begins here.
func LocalPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || len(path) > 2048 ||
		!strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t\x00") {
		return "/"
	}
	return path
}

const sessionFlash = "flash"

// Flash keeps a message for the next page that the visitor sees. Without somebody signed in there is no session to keep
// it in, and it is dropped.
func (s *Kit) Flash(r *http.Request, kind views.FlashKind, text string) error {
	return s.FlashUndo(r, views.Flash{Kind: kind, Text: text})
}

// FlashUndo is flash for a message that may have a way to take back what it is about.
func (s *Kit) FlashUndo(r *http.Request, message views.Flash) error {
	if CurrentUser(r).ID == 0 {
		return nil
	}
	b, err := json.Marshal(append(s.takeFlashes(r), message))
	if err != nil {
		return fmt.Errorf("flash: %w", err)
	}
	s.Sessions.Put(r.Context(), sessionFlash, string(b))
	return nil
}

func (s *Kit) takeFlashes(r *http.Request) []views.Flash {
	if !VisitOf(r).session {
		return nil
	}
	var flashes []views.Flash
	if text := s.Sessions.PopString(r.Context(), sessionFlash); text != "" {
		if err := json.Unmarshal([]byte(text), &flashes); err != nil {
			s.Log.ErrorContext(r.Context(), "unreadable flash", "request_id", RequestID(r), "error", err)
		}
	}
	for _, f := range flashes {
		if f.Undo != nil {
			f.Undo.CSRFToken = nosurf.Token(r)
		}
	}
	return flashes
}
