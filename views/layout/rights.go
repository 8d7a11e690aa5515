package layout

import (
	"strings"

	"mishap/crash"
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
	case crash.SourceAccount:
		return "account"
	}
	return string(s)
}

// TeamName names a team with the place that knows it.
func TeamName(t crash.Team) string { return t.Name + " (" + SourceName(t.Source) + ")" }

// WhyRole says why somebody has a role.
func WhyRole(r crash.RoleReason) string {
	role := RoleFor(r.Role, r.Scope)
	switch {
	case r.ByHand:
		return role + ": given by hand"
	case r.Source == "":
		return role + ": everyone who signs in"
	}
	return role + ": member of " + r.Group + " (" + SourceName(r.Source) + ")"
}

// GroupsText lists groups, or says that there are none.
func GroupsText(groups []string) string {
	if len(groups) == 0 {
		return "none"
	}
	return strings.Join(groups, ", ")
}

// RoleFor names a role with its packages, if it does not apply to all.
func RoleFor(role crash.Role, scope crash.GrantScope) string {
	if scope.Kind == crash.GrantAll && role != crash.RolePrivate {
		return string(role)
	}
	return string(role) + " for " + ScopeName(scope)
}

// GroupsExpired says what to do about rights from groups that have expired.
const GroupsExpired = "Expired: they count again after signing in there."

// ScopeName names the packages of a grant within a sentence.
func ScopeName(s crash.GrantScope) string {
	switch s.Kind {
	case crash.GrantPackage:
		return s.Name
	case crash.GrantSet:
		return "the package set " + s.Name
	case crash.GrantTeam:
		return "the packages of " + s.Name
	case crash.GrantAll:
	}
	return "all packages"
}
