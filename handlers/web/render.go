package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/justinas/nosurf"

	"mishap/crash"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
)

// htmx sends this header and value to request a part of a page.
const (
	headerRequestType = "HX-Request-Type"
	requestTypePart   = "partial"
)

// WantsPart reports whether htmx will put the answer into an existing page. htmx sends HX-Request
// also for whole pages.
func WantsPart(r *http.Request) bool { return r.Header.Get(headerRequestType) == requestTypePart }

// IsForm reports whether a request has the media type of a form that a browser sends without
// scripts.
func IsForm(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && (media == "application/x-www-form-urlencoded" || media == "multipart/form-data")
}

// Page sends a page or a part of one. It renders everything before it writes the first byte, so
// that an error never leaves half a page.
func (s *Kit) Page(w http.ResponseWriter, r *http.Request, status int, c templ.Component) error {
	var b bytes.Buffer
	if err := c.Render(r.Context(), &b); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept, HX-Request-Type") // for files and feeds; for parts
	if CurrentUser(r).ID != 0 {
		h.Set("Cache-Control", "no-store") // Back must not show the page after signing out
	} else {
		h.Set("Cache-Control", "private, no-cache")
	}
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // an error means that the visitor has left
	return nil
}

// Redirect sends the visitor to a local path: browsers with status 303, htmx with a header.
func Redirect(w http.ResponseWriter, r *http.Request, path string) error {
	if WantsPart(r) {
		w.Header().Set("HX-Redirect", path)
		w.WriteHeader(http.StatusOK)
		return nil
	}
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}

// Shell returns what every page needs besides its content. It removes the pending messages from the
// session.
func (s *Kit) Shell(r *http.Request, title string) layout.Shell {
	shell := s.BareShell(r, title)
	shell.Flash = s.takeFlashes(r)
	shell.Banner = s.banner(r)
	shell.Unread = s.unread(r)
	return shell
}

// unread returns how many notices the current user has not read. Pages show 0 if the database is
// unavailable; what they are about reports the error.
func (s *Kit) unread(r *http.Request) int64 {
	if IsPublic(r) {
		return 0
	}
	n, err := s.events.Unread(r.Context(), CurrentUser(r).ID)
	if err != nil {
		return 0
	}
	return n
}

// BareShell is like Shell, but leaves the session unchanged.
func (s *Kit) BareShell(r *http.Request, title string) layout.Shell {
	return layout.Shell{
		Title: title, User: CurrentUser(r), CSRFToken: nosurf.Token(r), Path: ReturnPath(r),
		FilingOn: s.Config.AllowBugFiling, Now: s.Now(), Theme: ThemeOf(r),
	}
}

// ReturnPath returns the path to open after signing in: the requested page, or the page of the
// submitted form.
func ReturnPath(r *http.Request) string {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return LocalPath(r.URL.RequestURI())
	}
	if from, err := url.Parse(r.Referer()); err == nil && from.Host == r.Host {
		return LocalPath(from.RequestURI())
	}
	return "/"
}

// LocalPath returns path if it is within this site, else "/". It prevents open redirects.
func LocalPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || len(path) > 2048 ||
		!strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t\x00") {
		return "/"
	}
	return path
}

const sessionFlash = "flash"

// Flash stores a message for the next page of the current user. Without a user there is no session,
// and it drops the message.
func (s *Kit) Flash(r *http.Request, kind layout.FlashKind, text string) error {
	return s.flash(r, layout.Flash{Kind: kind, Text: text})
}

func (s *Kit) flash(r *http.Request, message layout.Flash) error {
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

// RedirectWith redirects to a local path, whose page shows a message if it has a text.
func (s *Kit) RedirectWith(w http.ResponseWriter, r *http.Request, path string, message layout.Flash) error {
	if message.Text != "" {
		if err := s.flash(r, message); err != nil {
			return err
		}
	}
	return Redirect(w, r, path)
}

// Done redirects to a local path, whose page says what was done.
func (s *Kit) Done(w http.ResponseWriter, r *http.Request, path, text string) error {
	return s.RedirectWith(w, r, path, layout.Flash{Kind: layout.FlashDone, Text: text})
}

func (s *Kit) takeFlashes(r *http.Request) []layout.Flash {
	if !VisitOf(r).session {
		return nil
	}
	var flashes []layout.Flash
	if text := s.Sessions.PopString(r.Context(), sessionFlash); text != "" {
		if err := json.Unmarshal([]byte(text), &flashes); err != nil {
			s.Log.ErrorContext(r.Context(), "cannot decode flash messages", "request_id", RequestID(r), "error", err)
		}
	}
	for _, f := range flashes {
		if f.Undo != nil {
			f.Undo.CSRFToken = nosurf.Token(r)
		}
	}
	return flashes
}

// banner returns the warning that admins see on every page while the tracker does not accept mishap,
// and triagers while it does not accept their own account. Both see it while nothing is sent after a
// restore. Everyone whose rights have expired is asked to sign in again. It is empty for all others.
func (s *Kit) banner(r *http.Request) layout.Banner {
	u := CurrentUser(r)
	if u.GroupsExpired {
		return layout.Banner{Text: crash.ErrGroupsExpired.Message, Href: layout.SignInURL(ReturnPath(r)), Link: "Sign in"}
	}
	if !u.Role.Allows(crash.RoleTriager) {
		return layout.Banner{}
	}
	key, configured := s.credentials.Configured()
	state, err := s.bugs.TrackerState(r.Context(), key, u.ID, configured)
	if err != nil {
		return layout.Banner{} // the page reports the error itself
	}
	admin := u.Role.Allows(crash.RoleAdmin)
	if restored := state.Restored; !restored.At.IsZero() {
		banner := layout.Banner{Text: "The database was restored from a backup of " +
			restored.BackupTaken.UTC().Format("2006-01-02 15:04 UTC") + ". mishap files no bugs and sends nothing until an " +
			"administrator has compared it with the tracker."}
		if admin {
			banner.Href, banner.Link = PathAdmin, "More"
		}
		return banner
	}
	message := ""
	switch {
	case !s.Config.AllowBugFiling:
		return layout.Banner{}
	case state.OwnRejected:
		return layout.Banner{
			Text: s.Config.TrackerName + " no longer accepts your own account: mishap’s account files your bugs.",
			Href: PathAccount, Link: "Reconnect",
		}
	case !admin:
		return layout.Banner{}
	case !state.Connected:
		message = "mishap is not connected to " + s.Config.TrackerName + ": no bugs are created."
	case state.Rejected:
		message = bugsview.BannerRejected(s.Config.TrackerName)
	default:
		return layout.Banner{}
	}
	if state.Waiting > 0 {
		message += " " + crash.Counted(state.Waiting, "bug is", "bugs are") + " waiting; nothing is lost."
	}
	return layout.Banner{Text: message, Href: PathTracker, Link: "Connect"}
}

const (
	cookieTheme    = "theme"
	themeCookieAge = 365 * 24 * time.Hour
)

// ThemeOf returns the theme that the browser of a request has chosen.
func ThemeOf(r *http.Request) layout.Theme {
	c, err := r.Cookie(cookieTheme)
	if err != nil {
		return layout.ThemeSystem
	}
	switch theme := layout.Theme(c.Value); theme {
	case layout.ThemeLight, layout.ThemeDark:
		return theme
	default:
		return layout.ThemeSystem
	}
}

// SetTheme stores the theme of a browser in a cookie and returns to the page it came from. Scripts
// may write the cookie, too. It is safe by GET: it changes nothing but colours.
func (s *Kit) SetTheme(w http.ResponseWriter, r *http.Request) error {
	c := &http.Cookie{
		Name: cookieTheme, Path: "/", SameSite: http.SameSiteLaxMode, Secure: s.Base.Scheme == "https",
		MaxAge: int(themeCookieAge.Seconds()),
	}
	switch theme := r.URL.Query().Get("theme"); theme {
	case "system":
		c.MaxAge = -1
	case string(layout.ThemeLight), string(layout.ThemeDark):
		c.Value = theme
	default:
		return crash.Errorf(crash.Invalid, "bad_theme", "%.40q is not a theme; the themes are system, light and dark.", theme)
	}
	http.SetCookie(w, c)
	w.Header().Set("Cache-Control", "no-store")
	return Redirect(w, r, LocalPath(r.URL.Query().Get("next")))
}
