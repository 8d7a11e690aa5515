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

// Shorten returns at most n characters of s. If it omits some, the result ends in an ellipsis.
func Shorten(s string, n int) string {
	if Truncate(s, n) == s {
		return s
	}
	return strings.TrimRight(Truncate(s, n-1), " ") + "…"
}

// Plural returns one if n is 1, else many.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
