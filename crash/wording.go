package crash

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
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

// WithoutHidden returns s without characters that nobody sees: those that change the direction of
// text, that have no width, and others that only control how text appears.
func WithoutHidden(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) {
			return -1
		}
		return r
	}, s)
}

// OneLine returns s as one line of visible characters, for titles, subjects and names of files. It
// is valid UTF-8; blanks replace line ends and control characters.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, WithoutHidden(strings.ToValidUTF8(s, "\uFFFD")))
	return strings.TrimSpace(s)
}

// Shorten returns at most n characters of s. If it omits some, the result ends in an ellipsis.
func Shorten(s string, n int) string {
	if Truncate(s, n) == s {
		return s
	}
	return strings.TrimRight(Truncate(s, n-1), " ") + "…"
}

// Count formats a number with thousands separators: 41300 → "41,300".
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "−", digits[1:]
	}
	head := len(digits) % 3
	if head == 0 {
		head = 3
	}
	var b strings.Builder
	b.WriteString(sign)
	b.WriteString(digits[:head])
	for rest := digits[head:]; rest != ""; rest = rest[3:] {
		b.WriteByte(',')
		b.WriteString(rest[:3])
	}
	return b.String()
}

// Counted returns a number and the word for it, such as "1 day" or "41,300 days".
func Counted(n int64, one, many string) string { return Count(n) + " " + Plural(n, one, many) }

// Plural returns one if n is 1, else many.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// ParseNetworks parses networks and single addresses separated by spaces or commas, such as "10.1.0.0/16, fd00::7".
// It refuses IPv4 networks that are written as IPv6.
func ParseNetworks(text string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		network, err := netip.ParsePrefix(word)
		if address, wrong := netip.ParseAddr(word); wrong == nil && address.Zone() == "" {
			network, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is neither a network nor an address", word)
		case network.Addr().Is4In6():
			return nil, fmt.Errorf("%q is an IPv4 network written as IPv6: write it as IPv4", word)
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}
