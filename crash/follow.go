package crash

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// FollowKind is the kind of object that a person follows.
type FollowKind string

// The kinds of objects to follow.
const (
	FollowPackage FollowKind = "package" // a binary or source package
	FollowPerson  FollowKind = "person"  // the packages of a person or team at the tracker
	FollowSet     FollowKind = "set"     // the packages of a package set
)

// Follow is one object that a person follows.
type Follow struct {
	Kind  FollowKind
	Name  string
	Since time.Time
}

// String returns the kind and the name: "package:zsh".
func (f Follow) String() string { return string(f.Kind) + ":" + f.Name }

// maxFollowName is the largest length of a followed name, in code points.
const maxFollowName = 200

// NewFollow validates a kind and a name. It removes the leading tilde from names of people, which
// addresses at the tracker contain. Its errors have the kind Invalid.
func NewFollow(kind, name string) (Follow, error) {
	f := Follow{Kind: FollowKind(kind), Name: strings.TrimSpace(name)}
	switch f.Kind {
	case FollowPackage, FollowSet:
	case FollowPerson:
		f.Name = strings.TrimPrefix(f.Name, "~")
	default:
		return f, Errorf(Invalid, "unknown_kind",
			"You can follow packages, people or teams, and package sets, but not %.40q.", kind)
	}
	bad := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	switch {
	case f.Name == "":
		return f, Errorf(Invalid, "empty_name", "Enter the name of what you want to follow.")
	case !utf8.ValidString(f.Name) || utf8.RuneCountInString(f.Name) > maxFollowName || strings.ContainsFunc(f.Name, bad):
		return f, Errorf(Invalid, "bad_name", "This is not a valid name: names have at most %d characters and no spaces.",
			maxFollowName)
	}
	return f, nil
}

// Visit is one visit of a person to the page of what they follow.
type Visit struct {
	Seen time.Time // time of the previous visit: later events are new; zero: first visit
	Last time.Time // time of this visit
}
