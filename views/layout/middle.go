package layout

// A text of up to wholeRunes characters is never shortened. Of a longer one, the last endRunes are
// always visible.
const (
	wholeRunes = 12
	endRunes   = 9
)

// splitMiddle splits a text into a part that may be shortened and one that may not. The first is
// empty for a short text.
func splitMiddle(s string) (start, end string) {
	runes := []rune(s)
	if len(runes) <= wholeRunes {
		return "", s
	}
	cut := len(runes) - endRunes
	return string(runes[:cut]), string(runes[cut:])
}
