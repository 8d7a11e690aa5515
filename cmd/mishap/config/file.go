package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"

	"mishap/crash"
)

// readFile sets the keys in a TOML document and returns the mistakes in it. After a line that is
// not TOML it continues with the next one.
func (c *Config) readFile(file string, doc []byte) Mistakes {
	var wrong Mistakes
	keys := c.keys()
	seen := map[string]int{} // key → line
	inTable := false
	say := func(line int, name, format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("%s:%d: %s: ", file, line, name)+fmt.Sprintf(format, args...))
		c.given[name] = given{where: fmt.Sprintf("%s:%d", file, line), file: file, wrong: true}
	}
	err := walkTOML(doc, func(e expression) {
		known := slices.IndexFunc(keys, func(k key) bool { return k.name == e.key })
		switch {
		case e.table:
			say(e.line, "["+e.key+"]", "expected no tables; every key must be at the top level")
			inTable = true
		case inTable: // the table has been reported
		case seen[e.key] > 0:
			say(e.line, e.key, "given twice, first on line %d", seen[e.key])
		case known < 0:
			say(e.line, e.key, "%s", unknown(e.key, keys))
		case !keys[known].take(e):
			say(e.line, e.key, "expected %s, got %s", keys[known].wants, e.shown(keys[known].secret))
		default:
			c.given[e.key] = given{where: fmt.Sprintf("%s:%d", file, e.line), file: file, value: e.text()}
		}
		if !e.table && !inTable && seen[e.key] == 0 {
			seen[e.key] = e.line
		}
	}, func(line int, words, reason string) {
		name := strings.TrimLeft(firstWord.FindString(words), "\t '\"")
		known := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
		switch {
		case known < 0:
			say(line, "not TOML", "%s", reason)
		case keys[known].secret:
			say(line, name, "expected %s, in quotes", keys[known].wants)
		default:
			say(line, name, "expected %s, got what is not TOML: %s", keys[known].wants, reason)
		}
	})
	if err != nil {
		wrong = append(wrong, file+": "+err.Error())
	}
	return wrong
}

// firstWord matches the key of a line that is not TOML.
var firstWord = regexp.MustCompile(`^[ \t]*["']?[A-Za-z0-9_-]+`)

// take sets the key from a TOML value, and reports whether the value is valid.
func (k key) take(e expression) bool {
	if k.array && e.texts != nil {
		return k.set(e.text())
	}
	if e.kind != k.kind && (e.kind != unstable.Integer || k.kind != unstable.Float) {
		return false
	}
	text := e.text()
	if e.kind == unstable.Integer {
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil {
			return false
		}
		text = strconv.FormatInt(n, 10)
	}
	return k.set(text)
}

// expression is one "key = value" or one table heading of a TOML document.
type expression struct {
	key        string // dotted as written
	table      bool
	kind       unstable.Kind
	value      string   // the text of a scalar
	texts      []string // the elements of an array of strings; nil: another value
	raw        string   // the scalar as written
	start, end int      // bytes of raw in the document
	line       int
}

// text returns the value as in an environment variable.
func (e expression) text() string {
	if e.texts != nil {
		return strings.Join(e.texts, " ")
	}
	return e.value
}

// shown returns the value for a message, shortened and without secrets.
func (e expression) shown(secret bool) string {
	switch {
	case e.kind == unstable.Array:
		return "an array"
	case e.kind == unstable.InlineTable:
		return "a table"
	case secret:
		return "something else (not shown)"
	}
	s := e.raw
	if e.kind == unstable.String {
		s = strconv.Quote(e.value)
	}
	return crash.Shorten(s, 60)
}

// walkTOML calls each for every expression of a document in order. It calls bad for every line that
// is not TOML, with the number of the line, its text and the reason.
func walkTOML(doc []byte, each func(expression), bad func(line int, words, reason string)) error {
	if !utf8.Valid(doc) {
		return errors.New("expected UTF-8 text, got other bytes")
	}
	from := 0
	if bytes.HasPrefix(doc, []byte("\ufeff")) {
		from = len("\ufeff")
	}
	for from < len(doc) {
		var p unstable.Parser
		p.Reset(doc[from:])
		before := bytes.Count(doc[:from], []byte("\n"))
		for p.NextExpression() {
			each(newExpression(&p, from, before))
		}
		var broken *unstable.ParserError
		if !errors.As(p.Error(), &broken) {
			return p.Error()
		}
		at := len(doc) - from // without a position, the document ends too early
		if len(broken.Highlight) > 0 {
			at = int(p.Range(broken.Highlight).Offset)
		}
		if rest := doc[from+at:]; len(rest) > 0 && rest[0] == '\n' && at > 0 {
			at-- // an error at the end of a line concerns that line
		}
		start := bytes.LastIndexByte(doc[:from+at], '\n') + 1
		words, _, more := bytes.Cut(doc[start:], []byte("\n"))
		bad(bytes.Count(doc[:start], []byte("\n"))+1, string(words), broken.Message)
		if !more {
			return nil
		}
		from = start + len(words) + 1
	}
	return nil
}

func newExpression(p *unstable.Parser, from, linesBefore int) expression {
	node := p.Expression()
	var e expression
	var parts []string
	for it := node.Key(); it.Next(); {
		parts = append(parts, string(it.Node().Data))
		if e.line == 0 {
			e.line = p.Shape(it.Node().Raw).Start.Line + linesBefore
		}
	}
	e.key = strings.Join(parts, ".")
	if node.Kind != unstable.KeyValue {
		e.table = true
		return e
	}
	value := node.Value()
	e.kind, e.value = value.Kind, string(value.Data)
	e.raw = string(p.Raw(value.Raw))
	if e.kind == unstable.Array {
		e.texts = texts(value)
	}
	e.start = from + int(value.Raw.Offset)
	e.end = e.start + int(value.Raw.Length)
	return e
}

// texts returns the elements of an array, or nil unless all are strings.
func texts(array *unstable.Node) []string {
	found := []string{}
	for it := array.Children(); it.Next(); {
		if it.Node().Kind != unstable.String {
			return nil
		}
		found = append(found, string(it.Node().Data))
	}
	return found
}
