package negotiate

import "strings"

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
