package crash

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// FollowKind says what a person follows.
type FollowKind string

// The kinds.
const (
	FollowPackage FollowKind = "package" // a binary or source package
	FollowPerson  FollowKind = "person"  // the packages of a person or team of the tracker
	FollowSet     FollowKind = "set"     // the packages of a package set
)

// Follow is one thing that a person follows.
type Follow struct {
	Kind  FollowKind
	Name  string
	Since time.Time
}

// String is the thing in one word: "package:zsh".
func (f Follow) String() string { return string(f.Kind) + ":" + f.Name }

// maxFollowName is how many characters a name has that can be followed.
const maxFollowName = 200

// NewFollow reads what is to be followed; names of people may begin with the tilde that their addresses have. It returns
// Invalid for an unknown kind and for a text that nothing is called.
func NewFollow(kind, name string) (Follow, error) {
	f := Follow{Kind: FollowKind(kind), Name: strings.TrimSpace(name)}
	switch f.Kind {
	case FollowPackage, FollowSet:
	case FollowPerson:
		f.Name = strings.TrimPrefix(f.Name, "~")
	default:
		return f, Errorf(Invalid, "unknown_kind", "Packages, people or teams, and package sets can be followed; %.40q is none of these.", kind)
	}
	bad := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	switch {
	case f.Name == "":
		return f, Errorf(Invalid, "empty_name", "Write the name of what you want to follow.")
	case !utf8.ValidString(f.Name) || utf8.RuneCountInString(f.Name) > maxFollowName || strings.ContainsFunc(f.Name, bad):
		return f, Errorf(Invalid, "bad_name", "That cannot be a name: it has at most %d characters, and no blanks.", maxFollowName)
	}
	return f, nil
}

// Visit is when a person looked at what they follow.
type Visit struct {
	Seen time.Time // the end of the visit before, what came later is new; zero: there was none
	Last time.Time // this look
}
