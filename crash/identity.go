package crash

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Source is a way of signing in other than a name and password.
type Source string

// The sources.
const (
	SourceLaunchpad Source = "launchpad" // OpenID 2.0 with teams
	SourceOIDC      Source = "oidc"      // OpenID Connect
	SourceProxy     Source = "proxy"     // a header that a reverse proxy sets
)

// SourceAccount stands for one account in place of a group of a source. It is no way of signing in.
const SourceAccount Source = "account"

// Sources lists all sources.
var Sources = []Source{SourceLaunchpad, SourceOIDC, SourceProxy}

// ParseSource parses launchpad, oidc or proxy. It returns an error of kind Invalid for any other text.
func ParseSource(s string) (Source, error) {
	for _, source := range Sources {
		if s == string(source) {
			return source, nil
		}
	}
	return "", Errorf(Invalid, "unknown_source", "%q is not a way of signing in; they are launchpad, oidc and proxy.", s)
}

// OpenIDConfig configures signing in with OpenID 2.0.
type OpenIDConfig struct {
	URL  string // of the provider, without a slash at the end; empty: off
	Name string // for people
}

// OIDCConfig configures signing in with OpenID Connect.
type OIDCConfig struct {
	Issuer       string // empty: off
	Name         string // for people
	ClientID     string
	ClientSecret Secret
	GroupsClaim  string // claim that holds the groups
}

// ErrSignInCancelled means that a person chose at another site not to sign in.
var ErrSignInCancelled = Errorf(Unauthenticated, "sign_in_cancelled", "You have cancelled signing in.")

// Identity is a person as a source identifies them. Source, Issuer and Subject together never change.
type Identity struct {
	Source  Source
	Issuer  string   // address of the site; empty for a proxy
	Subject string   // identifier at that site
	Name    string   // nickname at that site, for people to read; it may change and is not unique
	Groups  []string // all groups that the source states
	Session string   // session at that site (sid of OpenID Connect); empty: unknown
	Refresh Secret   // refresh token, by which the site states the groups again; empty: none
	Offline bool     // Refresh stays valid when the person signs out there
}

// RightsConfig configures what people may do without a role that an administrator has given to them.
type RightsConfig struct {
	Everyone     Role          // role of people who have no other
	GroupsMaxAge time.Duration // how long groups count after a source has stated them; 0: GroupsMaxAge
}

// GroupsMaxAge is how long groups count unless configured otherwise.
const GroupsMaxAge = 30 * 24 * time.Hour

// ErrGroupsExpired means that a right is missing which groups may give once the person signs in again.
var ErrGroupsExpired = Errorf(Unauthenticated, "groups_expired", "Rights from groups count for a limited time, and "+
	"yours have expired, because your groups were last checked too long ago. Sign in here again where you have these "+
	"groups; then this works again, also with your API tokens.")

// The limits of an identity.
const (
	MaxSubject = 500 // bytes of a subject
	MaxGroups  = 1000
	MaxGroup   = 200 // bytes of the name of a group
)

// GrantScopeKind is the kind of packages for which a grant gives a right.
type GrantScopeKind string

// The kinds of scopes, as in rules.
const (
	GrantAll     GrantScopeKind = "everything"
	GrantPackage GrantScopeKind = "package" // a source package, or a pattern such as linux-*
	GrantSet     GrantScopeKind = "set"     // the source packages of a package set of the tracker
	GrantTeam    GrantScopeKind = "team"    // to whose bugs a person or team is subscribed at the tracker
)

// GrantScopeKinds lists all kinds of scopes.
var GrantScopeKinds = []GrantScopeKind{GrantAll, GrantPackage, GrantSet, GrantTeam}

// GrantScope says for which source packages a grant gives a right.
type GrantScope struct {
	Kind GrantScopeKind
	Name string // empty for all packages
}

// archiveName is the form of names of packages, sets and teams.
var archiveName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]*$`)

// maxScopeName is the maximum number of bytes in the name of a scope.
const maxScopeName = 100

// Check returns an error of kind Invalid if there cannot be such a scope.
func (s GrantScope) Check() error {
	if s.Kind == GrantAll && s.Name == "" {
		return nil
	}
	bad := s.Name == "" || len(s.Name) > maxScopeName
	switch s.Kind {
	case GrantPackage:
		_, err := path.Match(s.Name, "x")
		plain := strings.Map(func(r rune) rune {
			if strings.ContainsRune(patternRunes+"]^", r) {
				return 'x'
			}
			return r
		}, s.Name)
		bad = bad || err != nil || !archiveName.MatchString(plain)
	case GrantSet, GrantTeam:
		bad = bad || !archiveName.MatchString(s.Name)
	case GrantAll:
		bad = true
	default:
		return Errorf(Invalid, "unknown_scope", "%q is no kind of packages; they are everything, package, set and team.",
			string(s.Kind))
	}
	if bad {
		return Errorf(Invalid, "bad_scope", "%q is not the name of a package, a pattern such as linux-*, "+
			"a package set or a team.", s.Name)
	}
	return nil
}

// Grant gives a role to the members of a group or to one account.
type Grant struct {
	ID      int64
	Source  Source // SourceAccount: the grant is to one account
	Group   string // with SourceAccount: name of the account
	Role    Role   // a role, or RolePrivate
	Scope   GrantScope
	By      string // account that added it; empty: the command line
	Created time.Time
	// Unconfirmed grants of RolePrivate come from an upgrade, and do not show embargoed problems.
	Unconfirmed bool
}

// Check returns an error of kind Invalid if there cannot be such a grant.
func (g Grant) Check() error {
	if g.Source != SourceAccount {
		if _, err := ParseSource(string(g.Source)); err != nil {
			return err
		}
	}
	if g.Role != RolePrivate {
		if _, err := ParseRole(string(g.Role)); err != nil {
			return Errorf(Invalid, "unknown_role", "%q is not a role; groups and accounts can get viewer, triager, admin and "+
				"private.", string(g.Role))
		}
	}
	if err := g.Scope.Check(); err != nil {
		return err
	}
	if g.Scope.Kind != GrantAll && g.Role != RoleTriager && g.Role != RolePrivate {
		return Errorf(Invalid, "role_for_all", "The role %s applies to all packages. For some packages there are triager "+
			"and private.", g.Role)
	}
	return nil
}

// StoredIdentity is an identity as of its last sign-in. It has no groups if they have expired.
type StoredIdentity struct {
	ID     int64
	UserID int64
	Identity
	LastSignIn time.Time
	GroupsRead time.Time // when the source stated the groups last; zero: it has refused to state them again
	Expired    bool      // the groups are too old to count
}

// RoleReason is a reason why a person has a role, or the right to private data.
type RoleReason struct {
	Role   Role
	Source Source // empty: given by hand, or to everyone
	Group  string // empty: as Source
	ByHand bool
	Scope  GrantScope
}

// RoleReasons returns why a person has the role, the highest first. everyone is the role of people who
// have no other.
func RoleReasons(u User, identities []StoredIdentity, grants []Grant, everyone Role) []RoleReason {
	var reasons []RoleReason
	if u.Manual != RoleNone {
		reasons = append(reasons, RoleReason{Role: u.Manual, ByHand: true, Scope: GrantScope{Kind: GrantAll}})
	}
	for _, g := range grants {
		if g.Source == SourceAccount && g.Group == u.Name {
			reasons = append(reasons, RoleReason{Role: g.Role, ByHand: true, Scope: g.Scope})
		}
	}
	for _, identity := range identities {
		for _, group := range identity.Groups {
			for _, g := range grants {
				if g.Source == identity.Source && g.Group == group {
					reasons = append(reasons, RoleReason{Role: g.Role, Source: g.Source, Group: g.Group, Scope: g.Scope})
				}
			}
		}
	}
	if everyone != RoleNone && !u.Service() {
		reasons = append(reasons, RoleReason{Role: everyone, Scope: GrantScope{Kind: GrantAll}})
	}
	slices.SortStableFunc(reasons, func(a, b RoleReason) int { return roleRank[b.Role] - roleRank[a.Role] })
	return reasons
}

// PersonAccess is an account with the reasons for its role.
type PersonAccess struct {
	User       User
	Identities []StoredIdentity
	Reasons    []RoleReason
}

// AccessOf returns the accounts with the reasons for their roles, in the order of users.
func AccessOf(users []User, identities []StoredIdentity, grants []Grant, everyone Role) []PersonAccess {
	byUser := map[int64][]StoredIdentity{}
	for _, i := range identities {
		byUser[i.UserID] = append(byUser[i.UserID], i)
	}
	people := make([]PersonAccess, len(users))
	for i, u := range users {
		people[i] = PersonAccess{u, byUser[u.ID], RoleReasons(u, byUser[u.ID], grants, everyone)}
	}
	return people
}

// Team is a group of a source that owns service accounts. Its members are those of their last
// sign-in.
type Team struct {
	Source Source
	Name   string // empty: no team
}

// ParseTeam parses text such as oidc:crash-team. It returns an error of kind Invalid for any other
// text.
func ParseTeam(s string) (Team, error) {
	word, name, _ := strings.Cut(s, ":")
	team := Team{Source(word), strings.TrimPrefix(strings.TrimSpace(name), "~")}
	return team, team.Check()
}

// Check returns an error of kind Invalid if there cannot be such a team.
func (t Team) Check() error {
	if _, err := ParseSource(string(t.Source)); err != nil {
		return err
	}
	if t.Name == "" || len(t.Name) > MaxGroup || strings.ToValidUTF8(t.Name, "") != t.Name ||
		strings.ContainsFunc(t.Name, unicode.IsControl) {
		return Errorf(Invalid, "bad_team", "A team needs the name of a group, of at most %d bytes on one line.", MaxGroup)
	}
	return nil
}

// String returns the team in the form that ParseTeam parses, or an empty string for no team.
func (t Team) String() string {
	if t.Name == "" {
		return ""
	}
	return string(t.Source) + ":" + t.Name
}

// Has reports whether one of the identities is a member of the team.
func (t Team) Has(identities []StoredIdentity) bool {
	return t.Name != "" && slices.ContainsFunc(identities, func(i StoredIdentity) bool {
		return i.Source == t.Source && slices.Contains(i.Groups, t.Name)
	})
}

// ServiceAccount is a service account with numbers about it.
type ServiceAccount struct {
	Name     string
	Team     Team
	Disabled bool
	Created  time.Time
	Members  int       // people of the team, as of their last sign-in, whose accounts are not disabled
	Tokens   int       // that are valid
	Expires  time.Time // the next of them; zero: none
	LastUsed time.Time // of any token; zero: never
}

// Session is a browser in which a person is signed in.
type Session struct {
	ID      string
	Created time.Time // sign-in; year 1970: unknown
	Used    time.Time // last request, to within five minutes; year 1970: unknown
	Address string    // from which the person signed in; empty: unknown
	Browser string    // as it describes itself; empty: unknown
	Source  Source    // empty: a name and password
}

// SecondFactor is the authenticator app of an account with a password.
type SecondFactor struct {
	HasPassword   bool      // only accounts with a password can have an app
	Since         time.Time // when it was switched on; zero: it is off
	Secret        Secret    // of an app that is not confirmed yet; empty: none
	RecoveryCodes int       // that have not been used
}

// On reports whether signing in needs a code of the app.
func (f SecondFactor) On() bool { return !f.Since.IsZero() }

// AppPolicy says which people must have an authenticator app to sign in with a password.
type AppPolicy string

// The policies. AppForEveryone applies to everyone with a role.
const (
	AppOptional    AppPolicy = "none"
	AppForAdmins   AppPolicy = "admins"
	AppForEveryone AppPolicy = "everyone"
)

// Requires reports whether a person must set up an app before anything else.
func (p AppPolicy) Requires(u User) bool {
	switch {
	case !u.HasPassword || u.HasApp:
		return false
	case p == AppForAdmins:
		return u.Role.Allows(RoleAdmin)
	}
	return p == AppForEveryone && u.Role != RoleNone
}

// LocalSignIn says whether people can sign in with a name and password.
type LocalSignIn string

// The values. With LocalHidden, the form is folded if there is another way to sign in.
const (
	LocalShown  LocalSignIn = "shown"
	LocalHidden LocalSignIn = "hidden"
	LocalOff    LocalSignIn = "off"
)

// CodeSignInAgain is the code of the error that ends the second step of signing in.
const CodeSignInAgain = "sign_in_again"
