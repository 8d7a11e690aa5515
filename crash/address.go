package crash

import (
	"net/url"
	"regexp"
	"strings"
)

// OldAddress says which problem a page of another crash tracker was about.
type OldAddress struct {
	Path   string // see [ParseOldAddress]
	Bucket BucketID
}

// ErrNoOldAddress is returned for addresses that no other crash tracker had.
var ErrNoOldAddress = Errorf(Unprocessable, "no_old_address",
	"This is not the address of a problem or a report at errors.ubuntu.com or FAF.")

var (
	oldPath  = regexp.MustCompile(`^(?:faf/)?((?:reports|problems)(?:/bthash/[0-9a-f]{1,64}|/[0-9]{1,18}))(/.*)?$`)
	oldPlace = regexp.MustCompile(`^(?:oops/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|problem/[0-9a-f]{40})$`)
)

// ParseOldAddress returns the path under which an address of another crash tracker is stored: of
// /problem/<hash>, /oops/<id> and /bucket/?id=<signature> at errors.ubuntu.com, and of the pages of reports and
// problems at FAF, with or without the prefix /faf. The two addresses by the hash of a stack that FAF has are
// one. It returns [ErrNoOldAddress] for anything else.
func ParseOldAddress(address string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "", ErrNoOldAddress
	}
	path := strings.ToLower(strings.Trim(u.Path, "/"))
	if m := oldPath.FindStringSubmatch(path); m != nil {
		if hash, ok := strings.CutPrefix(m[1], "problems/bthash"); ok {
			return "/reports/bthash" + hash, nil
		}
		return "/" + m[1], nil
	}
	if signature := u.Query().Get("id"); path == "bucket" && signature != "" {
		return BucketIDOf(signature).Path(), nil
	}
	if oldPlace.MatchString(path) {
		return "/" + path, nil
	}
	return "", ErrNoOldAddress
}
