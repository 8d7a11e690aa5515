package crash

import (
	"slices"
	"time"
)

// Source is a way of signing in other than a name and password.
type Source string

// The sources.
const (
	SourceLaunchpad Source = "launchpad" // OpenID 2.0 with teams
	SourceOIDC      Source = "oidc"      // OpenID Connect
	SourceProxy     Source = "proxy"     // a header that a reverse proxy sets
)

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
}

// The limits of an identity.
const (
	MaxSubject = 500 // bytes of a subject
	MaxGroups  = 1000
	MaxGroup   = 200 // bytes of the name of a group
)

// Grant gives a role to the members of a group.
type Grant struct {
	ID      int64
	Source  Source
	Group   string
	Role    Role
	By      string // account that added it; empty: the command line
	Created time.Time
}

// StoredIdentity is an identity as of its last sign-in.
type StoredIdentity struct {
	ID     int64
	UserID int64
	Identity
	LastSignIn time.Time
}

// RoleReason is a reason why a person has a role.
type RoleReason struct {
	Role   Role
	Source Source // empty: given by hand, or to everyone
	Group  string // empty: as Source
	ByHand bool
}

// RoleReasons returns why a person has the role, the highest first. everyone is the role of people who
// have no other.
func RoleReasons(u User, identities []StoredIdentity, grants []Grant, everyone Role) []RoleReason {
	var reasons []RoleReason
	if u.Manual != RoleNone {
		reasons = append(reasons, RoleReason{Role: u.Manual, ByHand: true})
	}
	for _, identity := range identities {
		for _, group := range identity.Groups {
			for _, g := range grants {
				if g.Source == identity.Source && g.Group == group {
					reasons = append(reasons, RoleReason{Role: g.Role, Source: g.Source, Group: g.Group})
				}
			}
		}
	}
	if everyone != RoleNone {
		reasons = append(reasons, RoleReason{Role: everyone})
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

// CodeSignInAgain is the code of the error that ends the second step of signing in.
const CodeSignInAgain = "sign_in_again"
