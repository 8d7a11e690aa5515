package views

import (
	"cmp"
	"strings"

	"mishap/crash"
)

// Granted says what a group or an account has now.
func Granted(g crash.Grant) string {
	if g.Role == crash.RolePrivate {
		return grantees(g) + " the right to private data and embargoed problems of " + ScopeName(g.Scope) + " now."
	}
	return grantees(g) + " the role " + roleFor(g.Role, g.Scope) + " now."
}

// groupsText lists groups, or says that there are none.
func groupsText(groups []string) string {
	if len(groups) == 0 {
		return "none"
	}
	return strings.Join(groups, ", ")
}

const groupsExpired = "Expired: they count again after signing in there."

// PrivateOf says that private data of a package is hidden, and whom to ask.
func PrivateOf(source string) string {
	return "Only people with the right to private data of " + cmp.Or(source, "all packages") + " can see this. " +
		"Somebody who is an administrator here can give it to you."
}

// Revoked says what a group or an account has no longer.
func Revoked(g crash.Grant) string {
	right := "a role"
	if g.Role == crash.RolePrivate {
		right = "the right to private data"
	}
	who := "The group " + g.Group + " no longer gives "
	if g.Source == crash.SourceAccount {
		who = "The account " + g.Group + " no longer has "
	}
	return who + right + " for " + ScopeName(g.Scope) + "."
}

// RoleName returns the name of a role, or "none".
func RoleName(r crash.Role) string {
	if r == crash.RoleNone {
		return "none"
	}
	return string(r)
}

// ServiceTeamSet confirms a change of the team.
func ServiceTeamSet(name string, team crash.Team) string {
	return name + " belongs to " + TeamName(team) + " now."
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

// TokensRevoked says how many tokens were revoked.
func TokensRevoked(n int) string {
	if n == 0 {
		return "There was no such token."
	}
	return crash.Counted(int64(n), "token", "tokens") + " revoked."
}

// WhyRole says why somebody has a role.
func WhyRole(r crash.RoleReason) string {
	role := roleFor(r.Role, r.Scope)
	switch {
	case r.ByHand:
		return role + ": given by hand"
	case r.Source == "":
		return role + ": everyone who signs in"
	}
	return role + ": member of " + r.Group + " (" + SourceName(r.Source) + ")"
}

// grantees names who has a grant, with the verb "have".
func grantees(g crash.Grant) string {
	if g.Source == crash.SourceAccount {
		return "The account " + g.Group + " has"
	}
	return "Members of " + g.Group + " have"
}

// roleFor names a role with its packages, if it does not apply to all.
func roleFor(role crash.Role, scope crash.GrantScope) string {
	if scope.Kind == crash.GrantAll && role != crash.RolePrivate {
		return string(role)
	}
	return string(role) + " for " + ScopeName(scope)
}
