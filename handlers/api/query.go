package api

import (
	"net/url"
	"strings"
)

// query is the query of an address: all parameters in their order, including repeated ones.
type query []pair

type pair struct{ name, value, raw string }

// parseQuery parses a query that may be written by hand. Semicolons are text, and invalid
// escapes stay unchanged.
func parseQuery(raw string) query {
	var q query
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		q = append(q, pair{name: decodePlus(name), value: decodePlus(value), raw: value})
	}
	return q
}

// last returns the last parameter with a name, which overrides earlier ones.
func (q query) last(name string) (pair, bool) {
	for i := len(q) - 1; i >= 0; i-- {
		if q[i].name == name {
			return q[i], true
		}
	}
	return pair{}, false
}

// with encodes the query with parameters replaced; the changed ones come last.
func (q query) with(changed ...pair) string {
	var b strings.Builder
	add := func(p pair) {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(p.name) + "=" + url.QueryEscape(p.value))
	}
next:
	for _, p := range q {
		for _, c := range changed {
			if c.name == p.name {
				continue next
			}
		}
		add(p)
	}
	for _, c := range changed {
		add(c)
	}
	return b.String()
}

func decodePlus(s string) string { return decodePercent(strings.ReplaceAll(s, "+", " ")) }

// decodePercent decodes %XX once. A percent sign that is not followed by two hex digits stays
// unchanged.
func decodePercent(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			high, low := unhex(s[i+1]), unhex(s[i+2])
			if high >= 0 && low >= 0 {
				out = append(out, byte(high<<4|low)) //nolint:gosec // two hex digits
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}
