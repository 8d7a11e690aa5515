package crash

import "time"

// Role is what a signed-in person may do. Roles are ordered: a higher one may do all that a lower one may.
type Role string

// The roles, lowest first. RoleNone is a visitor who has not signed in.
const (
	RoleNone    Role = ""
	RoleViewer  Role = "viewer"  // sees reports and traces
	RoleTriager Role = "triager" // files and links bugs
	RoleAdmin   Role = "admin"   // connects the tracker, sees /admin
)

var roleRank = map[Role]int{RoleNone: 0, RoleViewer: 1, RoleTriager: 2, RoleAdmin: 3}

// Allows reports whether a person of role r may do what needs role need.
func (r Role) Allows(need Role) bool {
	have, ok := roleRank[r]
	return ok && have >= roleRank[need]
}

// ParseRole reads viewer, triager or admin; anything else is Invalid.
func ParseRole(s string) (Role, error) {
	if r := Role(s); r != RoleNone && roleRank[r] > 0 {
		return r, nil
	}
	return RoleNone, Errorf(Invalid, "unknown_role", "%q is not a role; the roles are viewer, triager and admin.", s)
}

// User is a local account.
type User struct {
	ID        int64
	Name      string
	Role      Role
	Disabled  bool
	Created   time.Time
	LastLogin time.Time // zero: never

	TrackerName string // of the person's account at the tracker; empty: not told
}
