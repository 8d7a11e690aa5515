package crash

import (
	"strconv"
	"strings"
)

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

// Counted returns a number and the word for it, such as "1 day" or "12 days".
func Counted(n int64, one, many string) string {
	return strconv.FormatInt(n, 10) + " " + Plural(n, one, many)
}

// Plural returns one if n is 1, else many.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
