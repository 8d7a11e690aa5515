package negotiate

import (
	"slices"
	"strings"
)

// Matches reports whether a header If-None-Match names an entity tag. Strong and weak ones compare as equal, and the
// suffix that a compressing front end may have put on does not matter (RFC 9110, section 13.1.2).
func Matches(header, tag string) bool {
	plain := func(s string) string {
		s = strings.TrimPrefix(strings.TrimSpace(s), "W/")
		return strings.TrimSuffix(strings.TrimSuffix(strings.Trim(s, `"`), "-gzip"), ";gzip")
	}
	return header == "*" || header != "" && slices.ContainsFunc(strings.Split(header, ","), func(one string) bool { return plain(one) == plain(tag) })
}
