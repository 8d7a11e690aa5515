package text

import (
	"strings"

	"mishap/crash"
)

// Texts about roles and where they come from.
const (
	AccountGroups = "Groups there"
	GroupsAsOf    = "when you last signed in,"

	AccessHeading = "Roles"
	AccessMeans   = "People have the highest of the roles that an administrator and their groups give them. Groups are " +
		"those of the last sign-in."
	AccessGrants   = "Groups with a role"
	AccessNoGrants = "No group gives a role yet."
	AccessGroup    = "Group"
	AccessSource   = "Of"
	AccessAdded    = "Added"
	AccessRevoke   = "Remove"
	AccessOf       = "of"
	AccessGets     = "gets the role"
	AccessGrant    = "Add"
	AccessPeople   = "People"
	AccessFind     = "Find"
	AccessNobody   = "Nobody has such a name."
	AccessWhy      = "Why"
	AccessLast     = "Last sign-in"
	AccessDisabled = "disabled"
	AccessMore     = "There are more people. Search for a name to see them."
	AccessHand     = "To give a role to one person, run:"

	CommandUserRole = "mishap user role NAME viewer|triager|admin|none"
)

// GrantedBy says who has added a grant.
func GrantedBy(name string) string {
	if name == "" {
		return "on the command line,"
	}
	return "by " + name + ","
}

// RevokeRole labels the button that takes the role of a group away.
func RevokeRole(group string) string { return "Remove the role of " + group }

// Granted says that a group has a role.
func Granted(group string, role crash.Role) string {
	return "Members of " + group + " have the role " + string(role) + " now."
}

// Revoked says that a group has no role any more.
func Revoked(group string) string { return "The group " + group + " gives no role any more." }

// EveryoneHas says which role everyone has who signs in.
func EveryoneHas(role crash.Role) string {
	return "Everyone who signs in has at least the role " + string(role) + " (sign_in_role in the configuration)."
}

// WhyRole says why somebody has a role.
func WhyRole(r crash.RoleReason) string {
	switch {
	case r.ByHand:
		return string(r.Role) + ": given by hand"
	case r.Source == "":
		return string(r.Role) + ": everyone who signs in"
	}
	return string(r.Role) + ": member of " + r.Group + " (" + SourceName(r.Source) + ")"
}

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
	if r.ByHand {
		return string(r.Role) + ": given to you by an administrator"
	}
	return WhyRole(r)
}

// Groups lists groups, or says that there are none.
func Groups(groups []string) string {
	if len(groups) == 0 {
		return "none"
	}
	return strings.Join(groups, ", ")
}
