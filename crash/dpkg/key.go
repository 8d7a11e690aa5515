package dpkg

import "strings"

// Key returns bytes that sort like versions: bytes.Compare(Key(a), Key(b)) == Compare(a, b) for all
// texts. A key is a little longer than its version: 12 bytes for "1.0-1".
//
// A number is encoded as its count of digits followed by the digits, without leading zeros. A part
// (upstream, revision) is encoded as pairs of text and number, where a text is the ranks of its
// bytes followed by rankEnd. The end of a part compares like more empty text, so it is also a
// rankEnd.
func Key(v string) []byte {
	p := split(v)
	key := make([]byte, 0, 2*len(v)+16)
	key = appendDigits(key, p.epoch)
	key = appendPart(key, p.upstream)
	return appendPart(key, p.revision)
}

func appendPart(key []byte, s string) []byte {
	for first := true; first || s != ""; first = false {
		for leadsText(s) {
			key = append(key, ranks[s[0]])
			s = s[1:]
		}
		var digits string
		digits, s = cutDigits(s)
		key = appendDigits(append(key, rankEnd), digits)
	}
	return append(key, rankEnd)
}

func appendDigits(key []byte, digits string) []byte {
	digits = strings.TrimLeft(digits, "0")
	n := len(digits)
	for ; n >= 255; n -= 255 {
		key = append(key, 255)
	}
	key = append(key, byte(n)) //nolint:gosec // below 255
	return append(key, digits...)
}
