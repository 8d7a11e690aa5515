package crash

import (
	"slices"
	"time"
)

// Scope is a purpose for which an API token may be used.
type Scope string

// The scopes. A token never grants more than the role of its person.
const (
	ScopeRead   Scope = "read"   // reports and traces
	ScopeFile   Scope = "file"   // create bugs
	ScopeUpload Scope = "upload" // upload symbols
)

// scopes lists every scope.
var scopes = []Scope{ScopeRead, ScopeFile, ScopeUpload}

// MayUse reports whether the rights of a person include a scope of tokens. Uploading symbols needs the
// role triager for all packages, since symbols belong to no package.
func (u User) MayUse(s Scope) bool {
	switch s {
	case ScopeRead:
		return true
	case ScopeFile:
		return u.MayTriageSome()
	case ScopeUpload:
		return u.Role.Allows(RoleTriager)
	}
	return false
}

// ParseScope parses read, file or upload. It returns an error of kind Invalid for any other text.
func ParseScope(s string) (Scope, error) {
	if slices.Contains(scopes, Scope(s)) {
		return Scope(s), nil
	}
	return "", Errorf(Invalid, "unknown_scope", "%.40q is not a scope; the scopes are read, file and upload.", s)
}

// APIToken describes a key for scripts. It does not contain the key itself, which only its person
// has.
type APIToken struct {
	ID       int64
	Name     string // name that its person chose
	Hint     string // first characters of the key
	Scopes   []Scope
	Created  time.Time
	Expires  time.Time
	LastUsed time.Time // to the minute; zero: never
}

// Allows reports whether the token has the scope.
func (t APIToken) Allows(s Scope) bool { return slices.Contains(t.Scopes, s) }

// PersonToken is an API token with its owner.
type PersonToken struct {
	APIToken
	Person string // name of the account
}
