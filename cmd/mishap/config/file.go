package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// TokenLines returns the lines of the configuration file for an access token, with its secret.
func TokenLines(token, secret crash.Secret) string {
	return "tracker_oauth_token = " + quoteTOML(string(token)) + "\n" +
		"tracker_oauth_secret = " + quoteTOML(string(secret)) + "\n"
}

// quoteTOML returns s as a basic string of TOML. That is a string of JSON in which DEL is escaped.
func quoteTOML(s string) string {
	quoted, _ := json.Marshal(s) // never fails for a string
	return strings.ReplaceAll(string(quoted), "\x7f", `\u007f`)
}

// WriteTokens writes an access token and its secret into a configuration file, and creates the file
// if it is missing. It changes nothing else in the file. It replaces the file atomically, with the
// same owner, and so that only the owner can read it (mode 0600). The group of mishap's account may
// still read a file of root. It follows symbolic links. The error is Unavailable.
func WriteTokens(file string, token, secret crash.Secret) error {
	file = behindLinks(file)
	doc, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errUnwritable("%s cannot be read: %s", file, cause(err))
	}
	for _, v := range []struct {
		key   string
		value crash.Secret
	}{{"tracker_oauth_token", token}, {"tracker_oauth_secret", secret}} {
		if doc, err = setText(doc, v.key, string(v.value)); err != nil {
			return errUnwritable("%s: %s", file, err)
		}
	}
	if err := replaceFile(file, doc); err != nil {
		return errUnwritable("%s cannot be written: %s", file, cause(err))
	}
	return nil
}

// errUnwritable returns the error of WriteTokens.
func errUnwritable(format string, args ...any) error {
	return crash.Errorf(crash.Unavailable, "config_unwritable", format, args...)
}

// setText returns a TOML document with a new text for a top-level key, in place or on a new last
// line.
func setText(doc []byte, name, text string) ([]byte, error) {
	var found *expression
	broken, table := 0, -1
	err := walkTOML(doc, func(e expression) {
		switch {
		case e.table && table < 0:
			table = e.line
		case e.key == name && table < 0 && found == nil:
			found = &e
		}
	}, func(line int, _, _ string) { broken = line })
	switch {
	case err != nil:
		return nil, err
	case broken > 0:
		return nil, fmt.Errorf("line %d is not TOML; correct it first", broken)
	case table >= 0:
		return nil, fmt.Errorf("line %d begins a table; every key must be at the top level", table)
	case found != nil && (found.kind == unstable.Array || found.kind == unstable.InlineTable):
		return nil, fmt.Errorf("line %d: %s is not a text; correct it first", found.line, name)
	case found != nil:
		return bytes.Join([][]byte{doc[:found.start], doc[found.end:]}, []byte(quoteTOML(text))), nil
	}
	eol := "\n"
	if bytes.Contains(doc, []byte("\r\n")) {
		eol = "\r\n"
	}
	line := name + " = " + quoteTOML(text) + eol
	if len(doc) > 0 && !bytes.HasSuffix(doc, []byte("\n")) {
		line = eol + line
	}
	return append(bytes.Clone(doc), line...), nil
}

// replaceFile replaces a file atomically: it writes and syncs a temporary file and renames it.
func replaceFile(file string, content []byte) (err error) {
	folder := filepath.Dir(file)
	tmp, err := os.CreateTemp(folder, "."+filepath.Base(file)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		_ = tmp.Close()
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	if before, statErr := os.Stat(file); statErr == nil {
		if owner, ok := before.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
			if err = tmp.Chown(int(owner.Uid), int(owner.Gid)); err != nil {
				return err
			}
			if owner.Uid == 0 && owner.Gid != 0 && before.Mode().Perm()&0o040 != 0 {
				if err = tmp.Chmod(0o640); err != nil {
					return err
				}
			}
		}
	}
	if _, err = tmp.Write(content); err != nil {
		return err
	}
	if err = tmp.Sync(); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), file); err != nil {
		return err
	}
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// behindLinks returns the target of a symbolic link, which need not exist, or file itself.
func behindLinks(file string) string {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		return target
	}
	target, err := os.Readlink(file)
	if err != nil {
		return file
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(file), target)
	}
	return target
}
