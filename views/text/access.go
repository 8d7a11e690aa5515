package text

import (
	"cmp"
	"strconv"
	"strings"

	"mishap/crash"
)

// Texts about roles and where they come from.
const (
	AccountGroups = "Groups there"
	GroupsAsOf    = "last stated"
	GroupsExpired = "Expired: they count again after signing in there."

	AccessHeading = "Roles"
	AccessMeans   = "People have the highest of the roles that an administrator and their groups give them. Groups are " +
		"those of the last sign-in. triager and private can be limited to some packages; such people are viewers of " +
		"all others. " +
		"private is the right to read environment, command lines, logs, machines and, for triagers, core dumps, and to " +
		"see embargoed problems."
	UnconfirmedMeans = "Before there was a right to private data, everyone with a role could read private data, and the " +
		"upgrade did not change that. But nobody decided that these people may see embargoed problems. Confirm that " +
		"they may, or remove the right."
	GrantUnconfirmed = "without embargoed problems"
	GrantConfirm     = "Include embargoed problems"

	AccessGrants   = "Groups and accounts with rights"
	AccessNoGrants = "No group has a right yet, and no account has one by itself."
	AccessGroup    = "Group or account"
	AccessSource   = "Of"
	AccessPackages = "Packages"
	AccessAdded    = "Added"
	AccessRevoke   = "Remove"
	AccessOf       = "of"
	AccessGets     = "gets the role"
	AccessFor      = "for"
	AccessName     = "Name or pattern"
	AccessGrant    = "Add"
	AccessPeople   = "People"
	AccessFind     = "Find"
	AccessNobody   = "Nobody has such a name."
	AccessWhy      = "Why"
	AccessLast     = "Last sign-in"
	AccessDisabled = "disabled"
	AccessMore     = "There are more people. Search for a name to see them."
	AccessHand     = "The role of one person for all packages can also be given on the command line:"

	CommandUserRole = "mishap user role NAME viewer|triager|admin|none"
)

// GrantedBy says who has added a grant.
func GrantedBy(name string) string {
	if name == "" {
		return "on the command line,"
	}
	return "by " + name + ","
}

// ScopeKindName names a kind of packages within a sentence.
func ScopeKindName(k crash.GrantScopeKind) string {
	return map[crash.GrantScopeKind]string{crash.GrantAll: "all packages", crash.GrantPackage: "a package or pattern",
		crash.GrantSet: "a package set", crash.GrantTeam: "the packages of a team"}[k]
}

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

// roleFor names a role with its packages, if it does not apply to all.
func roleFor(role crash.Role, scope crash.GrantScope) string {
	if scope.Kind == crash.GrantAll && role != crash.RolePrivate {
		return string(role)
	}
	return string(role) + " for " + ScopeName(scope)
}

// RevokeRole labels the button that takes a grant away.
func RevokeRole(g crash.Grant) string { return "Remove " + roleFor(g.Role, g.Scope) + " of " + g.Group }

// Unconfirmed says how many grants come from an upgrade and need a decision.
func Unconfirmed(n int64) string {
	return crash.Counted(n, "right to private data comes", "rights to private data come") + " from an upgrade."
}

// ConfirmGrant labels the button that adds the view of embargoed problems to a grant.
func ConfirmGrant(g crash.Grant) string {
	return GrantConfirm + " for " + g.Group + ": " + ScopeName(g.Scope)
}

// grantees names who has a grant, with the verb "have".
func grantees(g crash.Grant) string {
	if g.Source == crash.SourceAccount {
		return "The account " + g.Group + " has"
	}
	return "Members of " + g.Group + " have"
}

// Granted says what a group or an account has now.
func Granted(g crash.Grant) string {
	if g.Role == crash.RolePrivate {
		return grantees(g) + " the right to private data and embargoed problems of " + ScopeName(g.Scope) + " now."
	}
	return grantees(g) + " the role " + roleFor(g.Role, g.Scope) + " now."
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

// EveryoneHas says which role everyone has who signs in.
func EveryoneHas(role crash.Role) string {
	return "Everyone who signs in has at least the role " + string(role) + " (sign_in_role in the configuration)."
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

// NoRights says what a person without a role can do.
func NoRights(name string) string {
	return "You are signed in as " + name + ", but you have no rights here yet. " +
		"Ask somebody who is an administrator here to give you or one of your groups a role."
}

// RoleReason says why a person has a role.
func RoleReason(r crash.RoleReason) string {
	if r.ByHand {
		return roleFor(r.Role, r.Scope) + ": given to you by an administrator"
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

// RowsRefused says that some of the selected problems were left as they are, and why.
func RowsRefused(n int64) string {
	return crash.Counted(n, "problem was", "problems were") + " left unchanged, because you are not a triager of " +
		crash.Plural(n, "its package", "their packages") + ". Somebody who is an administrator here can change that."
}

// OldGroups says why a person must sign in again before a change.
const OldGroups = "Your role comes from your groups, which were last checked more than 12 hours ago. Nothing " +
	"was changed. " +
	"Sign in again to continue."

// Private stands in place of a machine that a person may not know.
const Private = "private"

// MachinesPrivate says why a list of reports does not show machines.
const MachinesPrivate = "Machines are private. Somebody who is an administrator here can give you the right to " +
	"private data " +
	"of this package."

// PrivateOf says that private data of a package is hidden, and whom to ask.
func PrivateOf(source string) string {
	return "Only people with the right to private data of " + cmp.Or(source, "all packages") + " can see this. " +
		"Somebody who is an administrator here can give it to you."
}

// ReportHidden is the heading of the list of hidden fields.
func ReportHidden(n int) string {
	return crash.Counted(int64(n), "field is hidden", "fields are hidden")
}

// MachineHidden says how many reports of a machine are hidden.
func MachineHidden(n int64) string {
	return crash.Counted(n, "report", "reports") + " on this page " + crash.Plural(n, "is", "are") + " hidden: " +
		crash.Plural(n, "it belongs to a package", "they belong to packages") + " whose private data you may not read. " +
		"Somebody who is an administrator here can give you that right."
}

// Texts about service accounts.
const (
	ServicesHeading = "Service accounts"
	ServicesMean    = "A service account belongs to a team instead of a person. Nobody can sign in to it: " +
		"programs use its " +
		"API tokens, which keep working when somebody leaves the team."
	ServicesNone    = "There is no service account yet."
	ServiceAdd      = "Create service account"
	ServiceTeam     = "Team"
	ServiceTokens   = "Valid tokens"
	ServiceExpires  = "Next expires"
	ServiceMeans    = "The people of the team see, renew and revoke the tokens. Administrators create them."
	ServiceSetTeam  = "Change team"
	ServiceRights   = "Give the account rights for some packages, or to private data, at"
	ServiceNoTokens = "This account has no token yet. An administrator can create one."

	TeamPeople      = "People of the team"
	TeamPeopleMeans = "As of their last sign-in."
	TeamEmpty       = "nobody"
	TeamEmptyMeans  = "Nobody of this team has signed in with an account that works. The tokens keep working; only " +
		"administrators can renew or revoke them."

	TokenRenew      = "Renew"
	TokenChange     = "Change"
	TokenRenewed    = "The new token. Copy it now: it will not be shown again. Revoke the old one when this one is in use."
	TokenMadeOf     = "The new token. Copy it now: it will not be shown again."
	TokenRenewMeans = "Renewing creates a token with the same purpose, scopes and lifetime. The old one works until it " +
		"expires or is revoked."

	AccountServices = "Service accounts of your teams"
)

// ServiceHeading names a service account.
func ServiceHeading(name string) string { return "Service account " + name }

// TeamName names a team with the place that knows it.
func TeamName(t crash.Team) string { return t.Name + " (" + SourceName(t.Source) + ")" }

// ServiceOf says whose service account it is.
func ServiceOf(t crash.Team) string { return "service account of " + TeamName(t) }

// TeamSize says how many people of a team are known.
func TeamSize(n int) string { return Counted(int64(n), "person", "people") }

// ServiceCreated confirms a new service account.
func ServiceCreated(name string) string {
	return "The service account " + name + " is created. Create a token for it."
}

// ServiceTeamSet confirms a change of the team.
func ServiceTeamSet(name string, team crash.Team) string {
	return name + " belongs to " + TeamName(team) + " now."
}

// ServiceDisabled says that a service account is disabled.
func ServiceDisabled(name string) string {
	return "This account is disabled, so its tokens do not work. An administrator can enable it: mishap user enable " +
		name
}

// RenewToken labels the button that renews a token.
func RenewToken(name string) string { return "Renew " + name }

// Texts about the tokens of all accounts.
const (
	AllTokensHeading  = "API tokens"
	AllTokensMean     = "Tokens of all people and service accounts. A token never has more rights than its account."
	AllTokensNone     = "There is no such token."
	AllTokensMore     = "There are more tokens. Narrow the list to see them, or use “mishap token list”."
	TokenFilterText   = "Account, team or name"
	TokenAnyScope     = "any"
	TokenState        = "State"
	TokenOwner        = "Account"
	TokenCreated      = "Created"
	TokensRevokeMany  = "Revoke together"
	TokensRevokeMeans = "Revoked tokens no longer work and cannot be restored. Each leaves a record in the " +
		"audit log."
)

// TokenStateName names a state of tokens.
func TokenStateName(s crash.TokenState) string {
	return map[crash.TokenState]string{
		crash.TokensNotRevoked: "not revoked", crash.TokensValid: "valid", crash.TokensSoon: "expires soon",
		crash.TokensExpired: "expired", crash.TokensUnused: unusedDays, crash.TokensRevoked: "revoked",
		crash.TokensAll: "all",
	}[s]
}

var unusedDays = "unused for " + strconv.Itoa(int(crash.TokenUnused.Hours()/24)) + " days"

// TokensRevokeAll labels the button that revokes all tokens of a state.
func TokensRevokeAll(s crash.TokenState) string {
	if s == crash.TokensExpired {
		return "Revoke expired tokens"
	}
	return "Revoke unused tokens"
}

// TokensRevoked says how many tokens were revoked.
func TokensRevoked(n int) string {
	if n == 0 {
		return "There was no such token."
	}
	return crash.Counted(int64(n), "token", "tokens") + " revoked."
}

// TokenOfRevoked confirms that a token of an account was revoked.
func TokenOfRevoked(person string) string { return "Token of " + person + " revoked." }

// RevokeTokenOf labels the button that revokes a token of an account.
func RevokeTokenOf(name, person string) string { return "Revoke " + name + " of " + person }
