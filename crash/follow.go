package crash

import (
	"strconv"
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
	FollowProblem FollowKind = "problem" // a problem, by its id
	FollowSearch  FollowKind = "search"  // a saved search, by its number
)

// Follow is one object that a person follows.
type Follow struct {
	Kind  FollowKind
	Name  string // of a problem, its id in hexadecimal digits; of a search, its number
	Since time.Time
}

// String returns the kind and the name: "package:zsh".
func (f Follow) String() string { return string(f.Kind) + ":" + f.Name }

// Number returns the number of a followed search, or 0.
func (f Follow) Number() int64 {
	n, err := strconv.ParseInt(f.Name, 10, 64)
	if f.Kind != FollowSearch || err != nil || n < 1 || strconv.FormatInt(n, 10) != f.Name {
		return 0
	}
	return n
}

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
	case FollowProblem:
		id, err := ParseBucketID(f.Name)
		if err != nil {
			return f, err
		}
		f.Name = id.String()
	case FollowSearch:
		if f.Number() == 0 {
			return f, Errorf(Invalid, "bad_name", "%.40q is not the number of a saved search.", f.Name)
		}
	default:
		return f, Errorf(Invalid, "unknown_kind",
			"You can follow packages, people or teams, package sets, problems and saved searches, but not %.40q.", kind)
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

// FollowMark is what a person has seen of a problem that they follow, or of one that matches a
// search that they follow.
type FollowMark struct {
	Kind   FollowKind // FollowProblem or FollowSearch
	Name   string     // of the follow
	Bucket BucketID   // the problem
	Mark   string     // of a followed problem: its state, bug, versions and releases
	News   string     // what changed last, for people; empty: nothing yet
	At     time.Time  // when it changed or matched; zero: it was so when following began
}

// Visit is one visit of a person to the page of what they follow.
type Visit struct {
	Seen time.Time // time of the previous visit: later events are new; zero: first visit
	Last time.Time // time of this visit
}

// SavedSearch is a name for the address of a list of problems.
type SavedSearch struct {
	ID      int64
	Name    string
	Path    string // path and query of the list
	Shared  bool   // everyone who is signed in sees it
	Owner   string // name of the person who saved it
	OwnerID int64
	Created time.Time
}

// MayChange reports whether a person may rename, share or delete the search: the owner may, and
// admins may change shared ones.
func (s SavedSearch) MayChange(u User) bool {
	return u.ID == s.OwnerID || s.Shared && u.Role.Allows(RoleAdmin)
}

// maxSearchName is the largest length of the name of a search, in characters.
const maxSearchName = 60

// SearchName returns the name of a search without outer spaces. Its error has the kind Invalid.
func SearchName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxSearchName ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return "", Errorf(Invalid, "bad_search_name", "Give the search a name of 1 to %d characters.", maxSearchName)
	}
	return name, nil
}
