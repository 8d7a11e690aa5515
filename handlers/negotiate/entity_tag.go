package negotiate

import (
	"slices"
	"strings"
)

// Matches reports whether an If-None-Match header contains an entity tag. It compares weakly
// (RFC 9110, section 13.1.2) and ignores the suffix that a compressing proxy may append.
func Matches(header, tag string) bool {
	opaque := func(s string) string {
		s = strings.TrimPrefix(strings.TrimSpace(s), "W/")
		return strings.TrimSuffix(strings.TrimSuffix(strings.Trim(s, `"`), "-gzip"), ";gzip")
	}
	sameTag := func(s string) bool { return opaque(s) == opaque(tag) }
	return header == "*" || header != "" && slices.ContainsFunc(strings.Split(header, ","), sameTag)
}
