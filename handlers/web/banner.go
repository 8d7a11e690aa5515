package web

import (
	"fmt"
	"net/http"

	"mishap/crash"
	"mishap/views"
)

// banner returns the warning that admins see on every page while the tracker does not accept
// mishap. It is empty for everyone else.
func (s *Kit) banner(r *http.Request) views.Banner {
	if !s.Config.AllowBugFiling || !CurrentUser(r).Role.Allows(crash.RoleAdmin) {
		return views.Banner{}
	}
	c, err := s.Creds.Status(r.Context())
	if err != nil {
		return views.Banner{} // the page reports the error itself
	}
	text := ""
	switch {
	case c.Source == crash.NotConnected:
		text = "mishap is not connected to " + s.Config.TrackerName + ": no bugs are created."
	case c.Dead:
		text = "mishap's access token is no longer accepted by " + s.Config.TrackerName + ": no bugs are created."
	default:
		return views.Banner{}
	}
	if totals, err := s.Filings.FilingTotals(r.Context()); err == nil {
		if n := totals.States[crash.FilingQueued] + totals.States[crash.FilingUncertain]; n > 0 {
			text += fmt.Sprintf(" %s; nothing is lost.", views.Counted(n, "filing waits", "filings wait"))
		}
	}
	return views.Banner{Text: text, Href: PathTracker, Link: "Connect"}
}
