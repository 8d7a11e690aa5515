package web

import (
	"net/http"

	"mishap/crash"
	"mishap/views"
	"mishap/views/text"
)

// banner returns the warning that admins see on every page while the tracker does not accept mishap,
// and triagers while it does not accept their own account. Both see it while nothing is sent after a
// restore. Everyone whose rights have expired is asked to sign in again. It is empty for all others.
func (s *Kit) banner(r *http.Request) views.Banner {
	u := CurrentUser(r)
	if u.GroupsExpired {
		return views.Banner{Text: crash.ErrGroupsExpired.Message, Href: signInPath(ReturnPath(r)), Link: text.SignIn}
	}
	if !u.Role.Allows(crash.RoleTriager) {
		return views.Banner{}
	}
	key, configured := s.Creds.Configured()
	state, err := s.Filings.TrackerState(r.Context(), key, u.ID, configured)
	if err != nil {
		return views.Banner{} // the page reports the error itself
	}
	admin := u.Role.Allows(crash.RoleAdmin)
	if restored := state.Restored; !restored.At.IsZero() {
		banner := views.Banner{Text: text.BannerRestored(restored.BackupTaken)}
		if admin {
			banner.Href, banner.Link = PathAdmin, text.BannerMore
		}
		return banner
	}
	message := ""
	switch {
	case !s.Config.AllowBugFiling:
		return views.Banner{}
	case state.OwnRejected:
		return views.Banner{
			Text: text.BannerOwnRejected(s.Config.TrackerName), Href: PathAccount, Link: text.BannerReconnect,
		}
	case !admin:
		return views.Banner{}
	case !state.Connected:
		message = text.BannerNotConnected(s.Config.TrackerName)
	case state.Rejected:
		message = text.BannerRejected(s.Config.TrackerName)
	default:
		return views.Banner{}
	}
	if state.Waiting > 0 {
		message += text.BannerWaiting(state.Waiting)
	}
	return views.Banner{Text: message, Href: PathTracker, Link: text.BannerConnect}
}
