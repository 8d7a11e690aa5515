package index

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// QueryError says what is wrong with a query, and where. At and Length are in bytes.
type QueryError struct {
	At, Length int
	Message    string // a sentence
}

func (e *QueryError) Error() string { return e.Message }

func errorAt(at, length int, format string, args ...any) *QueryError {
	return &QueryError{At: at, Length: length, Message: fmt.Sprintf(format, args...)}
}

type kind int

const (
	end kind = iota
	word
	open
	shut
	or
	minus
)

// token is a lexical token of a query.
type token struct {
	kind       kind
	at, length int
	field, op  string // of a word: the name before ":", and the operator after it
	value      string
	valueAt    int
}

// scanQuery splits a query into tokens.
func scanQuery(text string) ([]token, *QueryError) {
	var tokens []token
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case unicode.IsSpace(r):
			at += size
		case r == '(':
			tokens = append(tokens, token{kind: open, at: at, length: 1})
			at++
		case r == ')':
			tokens = append(tokens, token{kind: shut, at: at, length: 1})
			at++
		case r == '-' && at+1 < len(text) && !unicode.IsSpace(rune(text[at+1])) && text[at+1] != ')':
			tokens = append(tokens, token{kind: minus, at: at, length: 1})
			at++
		default:
			t, err := scanWord(text, at)
			if err != nil {
				return nil, err
			}
			tokens = append(tokens, t)
			at += t.length
		}
	}
	return append(tokens, token{kind: end, at: len(text)}), nil
}

// scanWord scans a word, or a field with its value. Only known names are fields, since C++ names
// and times contain colons, too.
func scanWord(text string, at int) (token, *QueryError) {
	t := token{kind: word, at: at, valueAt: at}
	if name, _, ok := strings.Cut(text[at:], ":"); ok {
		if _, known := fields[strings.ToLower(name)]; known {
			t.field = strings.ToLower(name)
			t.valueAt = at + len(name) + 1
			for _, op := range []string{"<=", ">=", "<", ">", "="} {
				if strings.HasPrefix(text[t.valueAt:], op) {
					t.op = op
					t.valueAt += len(op)
					break
				}
			}
			if t.op == "=" {
				t.op = ""
			}
		}
	}
	value, length, err := scanValue(text, t.valueAt)
	if err != nil {
		return t, err
	}
	t.value, t.length = value, t.valueAt+length-at
	if t.field == "" && t.value == "OR" && text[at] != '"' {
		t.kind = or
	}
	if t.field != "" && t.value == "" {
		return t, errorAt(at, t.length, "%s: needs a value, as in %s:%s.", t.field, t.field, fields[t.field].example)
	}
	return t, nil
}

func scanValue(text string, at int) (value string, length int, err *QueryError) {
	if at < len(text) && text[at] == '"' {
		var b strings.Builder
		for i := at + 1; i < len(text); i++ {
			switch c := text[i]; {
			case c == '"':
				return b.String(), i + 1 - at, nil
			case c == '\\' && i+1 < len(text):
				i++
				b.WriteByte(text[i])
			default:
				b.WriteByte(c)
			}
		}
		return "", 0, errorAt(at, len(text)-at, "The quotation mark is not closed.")
	}
	ends := func(r rune) bool { return unicode.IsSpace(r) || r == '(' || r == ')' || r == '"' }
	i := strings.IndexFunc(text[at:], ends)
	if i < 0 {
		i = len(text) - at
	}
	// Parentheses inside a name belong to it, as in operator()(int). Those of a group are at its
	// ends.
	for at+i < len(text) && text[at+i] == '(' && i > 0 {
		shut := strings.IndexByte(text[at+i:], ')')
		if shut < 0 || strings.ContainsFunc(text[at+i:at+i+shut], unicode.IsSpace) {
			break
		}
		i += shut + 1
		more := strings.IndexFunc(text[at+i:], ends)
		if more < 0 {
			more = len(text) - at - i
		}
		i += more
	}
	return text[at : at+i], i, nil
}
