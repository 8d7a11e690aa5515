package text

import (
	"strings"

	"mishap/crash"
)

// Texts about roles and where they come from.
const (
	AccountGroups = "Groups there"
	GroupsAsOf    = "when you last signed in,"
)

// RoleName returns the name of a role, or "none".
func RoleName(r crash.Role) string {
	if r == crash.RoleNone {
		return "none"
	}
	return string(r)
}

// SourceName names a way of signing in.
func SourceName(s crash.Source) string {
	switch s {
	case crash.SourceLaunchpad:
		return "Launchpad"
	case crash.SourceOIDC:
		return "OpenID Connect"
	case crash.SourceProxy:
		return "Proxy"
	}
	return string(s)
}

// NoRights says what a person without a role can do.
func NoRights(name string) string {
	return "You are signed in as " + name + ", but you have no rights here yet. " +
		"Ask somebody who is an administrator here to give you or one of your groups a role."
}

// RoleReason says why a person has a role.
func RoleReason(r crash.RoleReason) string {
	switch {
	case r.ByHand:
		return string(r.Role) + ": given to you by an administrator"
	case r.Source == "":
		return string(r.Role) + ": everyone who signs in"
	}
	return string(r.Role) + ": member of " + r.Group + " (" + SourceName(r.Source) + ")"
}

// Groups lists groups, or says that there are none.
func Groups(groups []string) string {
	if len(groups) == 0 {
		return "none"
	}
	return strings.Join(groups, ", ")
}
