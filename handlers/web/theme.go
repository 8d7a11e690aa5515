package web

import (
	"net/http"
	"time"

	"mishap/crash"
	"mishap/views/layout"
)

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
