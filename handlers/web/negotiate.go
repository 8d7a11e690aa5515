package web

import (
	"slices"
	"strconv"
	"strings"
)

// Preferred returns the media type among offers that the Accept headers of a request prefer (RFC
// 9110, section 12.5.1), or "" if none is acceptable. Without a header it returns the first
// offer. The most specific range that matches a type decides its weight. Between equal weights,
// the range that comes first wins; within one range, the first offer. Preferred ignores
// malformed ranges, and all parameters of ranges except q.
func Preferred(headers []string, offers ...string) string {
	ranges := acceptRanges(strings.Join(headers, ","))
	if len(ranges) == 0 {
		return offers[0]
	}
	best, bestWeight, bestIndex := "", 0, 0
	for _, offer := range offers {
		weight, index := weightOf(ranges, offer)
		if weight > bestWeight || weight == bestWeight && weight > 0 && index < bestIndex {
			best, bestWeight, bestIndex = offer, weight, index
		}
	}
	return best
}

// acceptRange is one element of an Accept header, such as "text/*;q=0.5".
type acceptRange struct {
	kind, subtype string
	weight        int // in thousandths
}

// weightOf returns the weight of a media type and the index of the range that decides it. The
// weight is 0 if the type is not acceptable.
func weightOf(ranges []acceptRange, media string) (weight, index int) {
	kind, subtype, _ := strings.Cut(media, "/")
	best := 0
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
		if specific > best {
			best, weight, index = specific, r.weight, i
		}
	}
	return weight, index
}

// maxRanges limits the number of ranges that are parsed; browsers send about ten.
const maxRanges = 100

// acceptRanges parses an Accept header and skips malformed ranges.
func acceptRanges(header string) []acceptRange {
	var ranges []acceptRange
	for _, part := range splitQuoted(header, ',') {
		params := splitQuoted(part, ';')
		kind, subtype, ok := strings.Cut(strings.ToLower(strings.TrimSpace(params[0])), "/")
		if !ok || kind == "" || subtype == "" || kind == "*" && subtype != "*" || len(ranges) == maxRanges {
			continue
		}
		r := acceptRange{kind: kind, subtype: subtype, weight: 1000}
		for _, param := range params[1:] {
			name, value, _ := strings.Cut(param, "=")
			if strings.EqualFold(strings.TrimSpace(name), "q") {
				r.weight = parseWeight(strings.TrimSpace(value))
				break // parameters after q do not belong to the type
			}
		}
		ranges = append(ranges, r)
	}
	return ranges
}

// parseWeight parses a weight, 0 to 1 with up to three decimals, and returns thousandths. It
// returns 0 for a malformed weight.
func parseWeight(s string) int {
	integer, fraction, _ := strings.Cut(s, ".")
	if integer != "0" && integer != "1" || len(fraction) > 3 ||
		fraction != "" && strings.Trim(fraction, "0123456789") != "" {
		return 0
	}
	n, _ := strconv.Atoi(fraction + strings.Repeat("0", 3-len(fraction)))
	if integer == "1" {
		return 1000
	}
	return n
}

// splitQuoted splits s at a separator, except within quoted strings.
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

// AcceptsGzip reports whether an Accept-Encoding header (RFC 9110, section 12.5.3) accepts gzip: it
// names gzip or "*" with a weight above 0. A named coding takes precedence over "*".
func AcceptsGzip(header string) bool {
	accepted, named := false, false
	for item := range strings.SplitSeq(strings.ToLower(header), ",") {
		coding, params, _ := strings.Cut(item, ";")
		coding = strings.TrimSpace(coding)
		if coding != "gzip" && coding != "x-gzip" && (coding != "*" || named) {
			continue
		}
		weight, weighted := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		accepted, named = !weighted || parseWeight(weight) > 0, coding != "*"
	}
	return accepted
}

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
