package crash

import (
	"slices"
	"time"
)

// Role determines what a signed-in person may do. Each role includes the rights of the roles below
// it.
type Role string

// The roles, lowest first. RoleNone is a visitor who has not signed in.
const (
	RoleNone    Role = ""
	RoleViewer  Role = "viewer"  // sees reports and traces
	RoleTriager Role = "triager" // files and links bugs
	RoleAdmin   Role = "admin"   // connects the tracker, sees /admin
)

var roleRank = map[Role]int{RoleNone: 0, RoleViewer: 1, RoleTriager: 2, RoleAdmin: 3}

// Allows reports whether role r includes the rights of role need.
func (r Role) Allows(need Role) bool {
	have, ok := roleRank[r]
	return ok && have >= roleRank[need]
}

// Higher returns the one of r and other that includes more rights.
func (r Role) Higher(other Role) Role {
	if other.Allows(r) {
		return other
	}
	return r
}

// ParseRole parses viewer, triager or admin. It returns an error of kind Invalid for any other
// text.
func ParseRole(s string) (Role, error) {
	if r := Role(s); r != RoleNone && roleRank[r] > 0 {
		return r, nil
	}
	return RoleNone, Errorf(Invalid, "unknown_role", "%q is not a role; the roles are viewer, triager and admin.", s)
}

// Packages are the source packages for which a person has a right.
type Packages struct {
	All   bool
	Names []string // sorted; without effect if All
}

// Include reports whether a source package is among p.
func (p Packages) Include(source string) bool {
	if p.All {
		return true
	}
	_, found := slices.BinarySearch(p.Names, source)
	return found
}

// User is the account of a person.
type User struct {
	ID        int64
	Name      string
	Role      Role // the highest of Manual, the roles of groups, and the role of everyone who signs in
	Manual    Role // given by hand
	Disabled  bool
	Created   time.Time
	LastLogin time.Time // zero: never

	TrackerName string // name of the person's account at the tracker; empty: unknown

	Private Packages // whose private data and embargoed problems the person may see
}

// Names returns the names by which problems are assigned to the person: that of the account and, if
// it is known, that at the tracker. mishap does not know the teams of a person.
func (u User) Names() []string {
	if u.Name == "" {
		return nil
	}
	names := []string{u.Name}
	if u.TrackerName != "" {
		names = append(names, "~"+u.TrackerName)
	}
	return names
}
