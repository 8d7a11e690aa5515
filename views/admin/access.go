// Package admin renders pages for administrators.
package admin

import (
	"mishap/crash"
	"mishap/views/layout"
)

// Granted says what a group or an account has now.
func Granted(g crash.Grant) string {
	if g.Role == crash.RolePrivate {
		return grantees(g) + " the right to private data and embargoed problems of " + layout.ScopeName(g.Scope) + " now."
	}
	return grantees(g) + " the role " + layout.RoleFor(g.Role, g.Scope) + " now."
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
	return who + right + " for " + layout.ScopeName(g.Scope) + "."
}

// ServiceTeamSet confirms a change of the team.
func ServiceTeamSet(name string, team crash.Team) string {
	return name + " belongs to " + layout.TeamName(team) + " now."
}

// TokensRevoked says how many tokens were revoked.
func TokensRevoked(n int) string {
	if n == 0 {
		return "There was no such token."
	}
	return crash.Counted(int64(n), "token", "tokens") + " revoked."
}

// grantees names who has a grant, with the verb "have".
func grantees(g crash.Grant) string {
	if g.Source == crash.SourceAccount {
		return "The account " + g.Group + " has"
	}
	return "Members of " + g.Group + " have"
}
