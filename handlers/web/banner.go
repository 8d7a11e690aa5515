package web

import (
	"net/http"

	"mishap/crash"
	"mishap/views"
	"mishap/views/text"
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
	message := ""
	switch {
	case c.Source == crash.NotConnected:
		message = text.BannerNotConnected(s.Config.TrackerName)
	case c.Dead:
		message = text.BannerRejected(s.Config.TrackerName)
	default:
		return views.Banner{}
	}
	if totals, err := s.Filings.FilingTotals(r.Context()); err == nil {
		if n := totals.States[crash.FilingQueued] + totals.States[crash.FilingUncertain]; n > 0 {
			message += text.BannerWaiting(n)
		}
	}
	return views.Banner{Text: message, Href: PathTracker, Link: text.BannerConnect}
}
