package crash

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

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
