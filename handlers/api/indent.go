package api

import "bytes"

// indented is what json.Indent makes of compact, valid JSON, with two blanks for each level. Answers are long and made for each
// request, and this need not look whether the JSON is valid.
func indented(compact []byte) []byte {
	out := make([]byte, 0, 2*len(compact))
	depth := 0
	for i := 0; i < len(compact); i++ {
		switch c := compact[i]; c {
		case '"':
			end := i + 1 + stringLength(compact[i+1:])
			out = append(out, compact[i:end]...)
			i = end - 1
		case '{', '[':
			out = append(out, c)
			if next := compact[i+1]; next == '}' || next == ']' {
				out = append(out, next)
				i++
				break
			}
			depth++
			out = newLine(out, depth)
		case '}', ']':
			depth--
			out = append(newLine(out, depth), c)
		case ',':
			out = newLine(append(out, c), depth)
		case ':':
			out = append(out, c, ' ')
		default:
			out = append(out, c)
		}
	}
	return out
}

// stringLength is how long the rest of a string is, with the quotation mark at its end.
func stringLength(rest []byte) int {
	for i := 0; ; i++ {
		at := bytes.IndexAny(rest[i:], `"\\`)
		i += at
		if rest[i] == '"' {
			return i + 1
		}
		i++ // what is escaped
	}
}

func newLine(out []byte, depth int) []byte {
	out = append(out, '\n')
	for range depth {
		out = append(out, ' ', ' ')
	}
	return out
}
