package web

import (
	"net/http"

	"mishap/crash"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
)

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
