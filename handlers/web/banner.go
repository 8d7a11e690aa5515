package web

import (
	"net/http"

	"mishap/crash"
	"mishap/views"
	"mishap/views/text"
)

// banner returns the warning that admins see on every page while the tracker does not accept mishap,
// and triagers while it does not accept their own account. Both see it while nothing is sent after a
// restore. It is empty for everyone else.
func (s *Kit) banner(r *http.Request) views.Banner {
	u := CurrentUser(r)
	if !u.Role.Allows(crash.RoleTriager) {
		return views.Banner{}
	}
	if restored, err := s.Filings.Restored(r.Context()); err == nil && !restored.At.IsZero() {
		banner := views.Banner{Text: text.BannerRestored(restored.BackupTaken)}
		if u.Role.Allows(crash.RoleAdmin) {
			banner.Href, banner.Link = PathAdmin, text.BannerMore
		}
		return banner
	}
	if !s.Config.AllowBugFiling {
		return views.Banner{}
	}
	if own, err := s.Filer.OwnAccount(r.Context(), u.ID); err == nil && own.Dead {
		return views.Banner{
			Text: text.BannerOwnRejected(s.Config.TrackerName), Href: PathAccount, Link: text.BannerReconnect,
		}
	}
	if !u.Role.Allows(crash.RoleAdmin) {
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
