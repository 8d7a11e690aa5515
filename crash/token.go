package crash

import (
	"slices"
	"time"
)

// Scope is what an API token may be used for.
type Scope string

// The scopes. A token never may more than its person's role.
const (
	ScopeRead Scope = "read" // reports and traces
	ScopeFile Scope = "file" // create bugs
)

// scopes are all of them.
var scopes = []Scope{ScopeRead, ScopeFile}

// ParseScope reads read or file; anything else is Invalid.
func ParseScope(s string) (Scope, error) {
	if slices.Contains(scopes, Scope(s)) {
		return Scope(s), nil
	}
	return "", Errorf(Invalid, "unknown_scope", "%.40q is not a scope; the scopes are read and file.", s)
}

// APIToken is what a script signs in with, without the token itself, which only its person has.
type APIToken struct {
	ID       int64
	Name     string // what its person calls it
	Hint     string // how it begins
	Scopes   []Scope
	Created  time.Time
	Expires  time.Time
	LastUsed time.Time // to the minute; zero: never
}

// Allows reports whether the token may be used for something.
func (t APIToken) Allows(s Scope) bool { return slices.Contains(t.Scopes, s) }

// PersonToken is a token and whose it is.
type PersonToken struct {
	APIToken
	Person string // name of the account
}
