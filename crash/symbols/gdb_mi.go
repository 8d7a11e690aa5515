package symbols

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// record is one line of gdb's machine interface (MI).
type record struct {
	token int    // of the command that it answers; 0: none
	kind  byte   // '^' result, '~' console text, '*' '=' '+' events, '&' '@' other text; 0: the prompt
	class string // of results and events: "done", "error"
	value value  // the results by name, or the text
}

// value is a value of MI: a text, or a list of values, which have names in a tuple.
type value struct {
	text  string
	items []item
}

type item struct {
	name string // empty in lists of plain values
	value
}

// get returns a member of a tuple; the zero value if there is none.
func (v value) get(name string) value {
	for _, i := range v.items {
		if i.name == name {
			return i.value
		}
	}
	return value{}
}

// maxDepth limits the nesting of values. gdb's answers here have at most five levels.
const maxDepth = 32

var errMI = errors.New("gdb's answer is malformed")

// parseRecord parses one line.
func parseRecord(line string) (record, error) {
	line = strings.TrimRight(line, "\r\n")
	if strings.TrimSpace(line) == "(gdb)" {
		return record{}, nil
	}
	digits := 0
	for digits < len(line) && '0' <= line[digits] && line[digits] <= '9' {
		digits++
	}
	var r record
	if digits > 0 {
		token, err := strconv.Atoi(line[:digits])
		if err != nil {
			return record{}, errMI
		}
		r.token = token
	}
	p := parser{in: line[digits:]}
	if p.in == "" {
		return record{}, errMI
	}
	r.kind = p.in[0]
	p.in = p.in[1:]
	switch r.kind {
	case '~', '@', '&':
		text, err := p.text()
		r.value.text = text
		return r, err
	case '^', '*', '=', '+':
	default:
		return record{}, errMI
	}
	end := strings.IndexByte(p.in, ',')
	if end < 0 {
		r.class = p.in
		return r, nil
	}
	r.class, p.in = p.in[:end], p.in[end:]
	for strings.HasPrefix(p.in, ",") {
		p.in = p.in[1:]
		i, err := p.named(0)
		if err != nil {
			return record{}, err
		}
		r.value.items = append(r.value.items, i)
	}
	if p.in != "" {
		return record{}, errMI
	}
	return r, nil
}

// parser holds the rest of a line.
type parser struct{ in string }

// named parses name=value.
func (p *parser) named(depth int) (item, error) {
	name, rest, ok := strings.Cut(p.in, "=")
	if !ok || name == "" || strings.ContainsAny(name, `"[]{},`) {
		return item{}, errMI
	}
	p.in = rest
	v, err := p.value(depth)
	return item{name, v}, err
}

func (p *parser) value(depth int) (value, error) {
	if p.in == "" || depth > maxDepth {
		return value{}, errMI
	}
	switch p.in[0] {
	case '"':
		text, err := p.text()
		return value{text: text}, err
	case '{':
		return p.items('}', depth)
	case '[':
		return p.items(']', depth)
	default:
		return value{}, errMI
	}
}

// items parses the members of a tuple or list.
func (p *parser) items(end byte, depth int) (value, error) {
	var v value
	p.in = p.in[1:]
	for {
		if p.in == "" {
			return value{}, errMI
		}
		if p.in[0] == end {
			p.in = p.in[1:]
			return v, nil
		}
		if len(v.items) > 0 {
			if p.in[0] != ',' {
				return value{}, errMI
			}
			p.in = p.in[1:]
		}
		var i item
		var err error
		if p.in != "" && strings.IndexByte(`"[{`, p.in[0]) >= 0 {
			i.value, err = p.value(depth + 1)
		} else {
			i, err = p.named(depth + 1)
		}
		if err != nil {
			return value{}, err
		}
		v.items = append(v.items, i)
	}
}

// text parses a string in C's notation.
func (p *parser) text() (string, error) {
	if p.in == "" || p.in[0] != '"' {
		return "", errMI
	}
	var b strings.Builder
	s := p.in[1:]
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			p.in = s[i+1:]
			return strings.ToValidUTF8(b.String(), "\uFFFD"), nil
		case '\\':
			i++
			if i == len(s) {
				return "", errMI
			}
			if '0' <= s[i] && s[i] <= '7' {
				n := 1
				for n < 3 && i+n < len(s) && '0' <= s[i+n] && s[i+n] <= '7' {
					n++
				}
				code, err := strconv.ParseUint(s[i:i+n], 8, 8)
				if err != nil {
					return "", errMI
				}
				b.WriteByte(byte(code))
				i += n - 1
				continue
			}
			b.WriteByte(unescape(s[i]))
		default:
			b.WriteByte(c)
		}
	}
	return "", errMI
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'a':
		return '\a'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'v':
		return '\v'
	case 'e', 'E':
		return '\x1b'
	}
	return c
}

// maxName limits names from debug information, in code points.
const maxName = 1024

// clean makes a name from debug information safe for a line of text: it replaces control characters,
// which would forge frames, and cuts the name.
func cleanName(name string) string {
	if len(name) > maxName && utf8.RuneCountInString(name) > maxName {
		n := 0
		for i := range name {
			if n == maxName {
				name = name[:i] + "…"
				break
			}
			n++
		}
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || 0x7f <= r && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return utf8.RuneError
		}
		return r
	}, name)
}

// quoteMI returns a text as an argument of an MI command.
func quoteMI(s string) string { return fmt.Sprintf("%q", s) }
