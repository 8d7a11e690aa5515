package crash

import (
	"path"
	"slices"
	"strings"
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

	// RolePrivate is the right to read private data. Grants give it beside a role, so it has no rank and
	// is never the role of a person.
	RolePrivate Role = "private"
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
	Names []string // names and patterns such as linux-*, sorted; without effect if All
}

// patternRunes are the characters that only patterns contain.
const patternRunes = `*?[\`

// Include reports whether a source package is among p. An unknown source package is only among all.
func (p Packages) Include(source string) bool {
	if p.All || source == "" {
		return p.All
	}
	if _, found := slices.BinarySearch(p.Names, source); found {
		return true
	}
	return slices.ContainsFunc(p.Names, func(name string) bool {
		if !strings.ContainsAny(name, patternRunes) {
			return false
		}
		ok, err := path.Match(name, source)
		return ok && err == nil
	})
}

// Some reports whether p can include any package.
func (p Packages) Some() bool { return p.All || len(p.Names) > 0 }

// Add returns p with the packages of a grant.
func (p Packages) Add(scope GrantScope, members []string) Packages {
	switch scope.Kind {
	case GrantAll:
		p.All = true
	case GrantPackage:
		members = []string{scope.Name}
		fallthrough
	case GrantSet, GrantTeam:
		p.Names = append(slices.Clone(p.Names), members...)
		slices.Sort(p.Names)
		p.Names = slices.Compact(p.Names)
	}
	return p
}

// ReservedNames are words that stand for people in searches, forms and the API, in place of a name. No new
// account gets one of them as its name.
var ReservedNames = []string{"any", "everyone", "me", "nobody", "none"}

// ReservedName reports whether a name is one of ReservedNames, whatever the case.
func ReservedName(name string) bool {
	return slices.ContainsFunc(ReservedNames, func(word string) bool { return strings.EqualFold(word, name) })
}

// User is the account of a person.
type User struct {
	ID        int64
	Name      string
	Role      Role // the highest role for all packages; viewer if the person has rights for some packages only
	Manual    Role // given by hand
	Disabled  bool
	Created   time.Time
	LastLogin time.Time // zero: never

	HasPassword bool // can sign in with a password
	HasApp      bool // signing in with the password needs a code of an authenticator app
	Team        Team // that owns the service account; zero: the account of a person

	TrackerName string // name of the person's account at the tracker; empty: unknown

	GroupsExpired bool // signing in again where the person has groups may give rights that have expired

	Triage  Packages // for whose problems the person may decide and file bugs; all if Role allows that
	Private Packages // whose private data the person may read
	// Embargoed are those of Private whose embargoed problems the person may see, too: all except those
	// of grants that an upgrade gave and nobody has confirmed.
	Embargoed Packages
}

// Service reports whether the account is a service account: nobody can sign in to it, and its
// tokens are managed by its team.
func (u User) Service() bool { return u.Team.Name != "" }

// MayTriage reports whether the person may decide about problems of a source package and file bugs
// for them.
func (u User) MayTriage(source string) bool {
	return u.Role.Allows(RoleTriager) || u.Triage.Include(source)
}

// MayTriageSome reports whether the person may decide about problems of at least one package.
func (u User) MayTriageSome() bool { return u.Role.Allows(RoleTriager) || u.Triage.Some() }

// MayReadCore reports whether the person may read core dumps of a source package. They hold the
// memory of programs, so that needs both rights.
func (u User) MayReadCore(source string) bool {
	return u.Private.Include(source) && u.MayTriage(source)
}

// CheckTriage returns Forbidden, with whom to ask, if the person may not decide about problems of a
// source package, or ErrGroupsExpired if signing in again may change that.
func (u User) CheckTriage(source string) error {
	if u.MayTriage(source) {
		return nil
	}
	if u.GroupsExpired {
		return ErrGroupsExpired
	}
	return Errorf(Forbidden, "role_of_package", "You may not decide about problems of %s: that needs the role triager "+
		"for this package. Somebody who is an administrator here can give it to you.", packageOrAll(source))
}

// HiddenField is the field of a report in files and answers that lists the names of hidden fields.
const HiddenField = "MishapHidden"

// The fields of stored reports in which mishap lists the names of removed fields, one a line.
const (
	DroppedField = "MishapDropped" // secret fields, which were never stored or are stored no longer
	ExpiredField = "MishapExpired" // private fields that were removed because of their age
)

// HiddenSystem stands for a machine that a person may not know.
const HiddenSystem SystemID = "(private)"

// VisibleSystem returns the machine of a report if the person may know it.
func (u User) VisibleSystem(system SystemID, source string) SystemID {
	if system == "" || u.Private.Include(source) {
		return system
	}
	return HiddenSystem
}

// CheckPrivate returns Forbidden, with whom to ask, if the person may not read private data of a
// source package.
func (u User) CheckPrivate(source string) error {
	if u.Private.Include(source) {
		return nil
	}
	return Errorf(Forbidden, "private", "This needs the right to private data of %s. Somebody who is an administrator "+
		"here can give it to you.", packageOrAll(source))
}

// CheckField returns Forbidden, with whom to ask, because the person may not read a field in reports of
// a source package. Nobody may read secret fields.
func (u User) CheckField(source string) error {
	if err := u.CheckPrivate(source); err != nil {
		return err
	}
	return Errorf(Forbidden, "secret_field", "This field is secret. mishap does not store it.")
}

func packageOrAll(source string) string {
	if source == "" {
		return "all packages"
	}
	return source
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
