// Package negotiate decides which representation of a resource a request wants, and whether the client has it already.
package negotiate

import (
	"strconv"
	"strings"
)

// Preferred returns which of some media types a request's headers Accept want most (RFC 9110, section 12.5.1). The weight of
// a type is that of the most specific range that matches it. Of types with the same weight the one whose range comes first
// counts, and of types with the same range the one offered first. Without a header it is the first; it is empty if none is
// acceptable. Parameters of ranges other than q do not matter, and what is not a range is passed over.
func Preferred(headers []string, offers ...string) string {
	ranges := acceptRanges(strings.Join(headers, ","))
	if len(ranges) == 0 {
		return offers[0]
	}
	best, bestWeight, bestPlace := "", 0, 0
	for _, offer := range offers {
		weight, place := weightOf(ranges, offer)
		if weight > bestWeight || weight == bestWeight && weight > 0 && place < bestPlace {
			best, bestWeight, bestPlace = offer, weight, place
		}
	}
	return best
}

// acceptRange is a part of a header Accept: "text/*;q=0.5".
type acceptRange struct {
	kind, subtype string
	weight        int // in thousandths
}

// weightOf returns the weight of a media type, and the place of the range that says so; 0: not acceptable.
func weightOf(ranges []acceptRange, media string) (weight, place int) {
	kind, subtype, _ := strings.Cut(media, "/")
	found := 0
	for i, r := range ranges {
		specific := 0
		switch {
		case r.kind == kind && r.subtype == subtype:
			specific = 3
		case r.kind == kind && r.subtype == "*":
			specific = 2
		case r.kind == "*" && r.subtype == "*":
			specific = 1
		}
		if specific > found {
			found, weight, place = specific, r.weight, i
		}
	}
	return weight, place
}

// maxRanges bounds how many ranges are read; browsers send about ten.
const maxRanges = 100

func acceptRanges(header string) []acceptRange {
	var ranges []acceptRange
	for _, part := range splitQuoted(header, ',') {
		words := splitQuoted(part, ';')
		kind, subtype, ok := strings.Cut(strings.ToLower(strings.TrimSpace(words[0])), "/")
		if !ok || kind == "" || subtype == "" || kind == "*" && subtype != "*" || len(ranges) == maxRanges {
			continue
		}
		r := acceptRange{kind: kind, subtype: subtype, weight: 1000}
		for _, word := range words[1:] {
			name, value, _ := strings.Cut(word, "=")
			if strings.EqualFold(strings.TrimSpace(name), "q") {
				r.weight = weightText(strings.TrimSpace(value))
				break // what follows are not parameters of the type
			}
		}
		ranges = append(ranges, r)
	}
	return ranges
}

// weightText reads a weight, 0 to 1 with up to three digits, as thousandths. What is none counts as 0: its sender did not
// mean the most wanted.
func weightText(s string) int {
	whole, fraction, _ := strings.Cut(s, ".")
	if whole != "0" && whole != "1" || len(fraction) > 3 || fraction != "" && strings.Trim(fraction, "0123456789") != "" {
		return 0
	}
	n, _ := strconv.Atoi(fraction + strings.Repeat("0", 3-len(fraction)))
	if whole == "1" {
		return 1000
	}
	return n
}

// splitQuoted splits a text at a separator, but not within quoted strings.
func splitQuoted(s string, separator byte) []string {
	var parts []string
	quoted, begin := false, 0
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == separator && !quoted:
			parts = append(parts, s[begin:i])
			begin = i + 1
		}
	}
	return append(parts, s[begin:])
}
