package crash

import "strings"

// Truncate returns at most the first n characters of s.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// Shorten returns at most n characters of s. Where it leaves something out, the last of them is an
// ellipsis.
func Shorten(s string, n int) string {
	if Truncate(s, n) == s {
		return s
	}
	return strings.TrimRight(Truncate(s, n-1), " ") + "…"
}

// Plural chooses the noun that goes with a number: "report" with 1, "reports" with others.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
