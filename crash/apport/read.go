// Package apport reads and writes the .crash files that apport leaves in /var/crash. Reading is bounded in memory, since
// the files hold core dumps and may come from strangers. What the fields mean is not known here.
package apport

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"mishap/crash"
)

// Limits bound what one file may cost. A zero means the value given.
type Limits struct {
	Fields   int   // most fields; 10,000
	Text     int64 // most bytes of all texts together; 64 MiB
	Unpacked int64 // most bytes unpacked of one compressed field, to see that it is whole; 1 GiB
}

func (l Limits) orDefault() Limits {
	if l.Fields == 0 {
		l.Fields = 10_000
	}
	if l.Text == 0 {
		l.Text = 64 << 20
	}
	if l.Unpacked == 0 {
		l.Unpacked = 1 << 30
	}
	return l
}

// Binary is a field that is not kept: a dump of memory, or a value that is no text.
type Binary struct {
	Name string
	Size int64 // in bytes, unpacked
	More bool  // it is larger than Size, which is as far as was looked
}

// maxKey is the longest name of a field.
const maxKey = 256

// Read reads a .crash file as apport does: the last of several fields of one name counts. Texts are returned as fields,
// with U+FFFD for NUL; the rest, and in any case CoreDump and VmCore, are only listed. Apart from apport's ways, a value
// with control characters is a text as long as it is valid UTF-8 and holds no NUL, and the empty field "separator", which
// is a slip of apport's, is left out.
//
// Errors about the file are of kind Invalid (code malformed_report) or TooLarge (report_too_large) and say in which line
// and why, for people; an error of r is returned as it is.
func Read(r io.Reader, lim Limits) (crash.Fields, []Binary, error) {
	f := &file{in: bufio.NewReaderSize(r, 64<<10), lim: lim.orDefault(), fields: crash.Fields{}, binary: map[string]Binary{}}
	for {
		more, err := f.field()
		if err != nil {
			return nil, nil, err
		}
		if !more {
			break
		}
	}
	if value, ok := f.fields["separator"]; ok && value == "" {
		delete(f.fields, "separator")
	}
	byName := func(a, b Binary) int { return strings.Compare(a.Name, b.Name) }
	return f.fields, slices.SortedFunc(maps.Values(f.binary), byName), nil
}

// file is a file being read.
type file struct {
	in     *bufio.Reader
	line   int // lines begun
	lim    Limits
	text   int64 // bytes of text kept
	fields crash.Fields
	binary map[string]Binary
}

// field reads the next field; false at the end of the file.
func (f *file) field() (bool, error) {
	first, err := f.in.Peek(1)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.line++
	if first[0] == ' ' {
		return false, f.malformed("continues a value, but no key stands before it")
	}
	key, err := f.key()
	if err != nil {
		return false, err
	}
	at := f.line
	delete(f.fields, key)
	delete(f.binary, key)
	if len(f.fields)+len(f.binary) == f.lim.Fields {
		return false, f.tooLarge("the report has more than %d fields", f.lim.Fields)
	}
	value, err := f.restOfLine(nil)
	if err != nil {
		return false, err
	}
	trimmed := strings.Trim(string(value), " \t\r\v\f\n")
	if trimmed == "base64" {
		return true, f.packedField(key, at)
	}
	value = append(value[:0], trimmed...)
	for {
		if value, err = f.continuation(value); errors.Is(err, errNoMore) {
			return true, f.keep(key, string(value), at)
		}
		if err != nil {
			return false, err
		}
	}
}

// key reads up to the colon.
func (f *file) key() (string, error) {
	var key []byte
	for {
		c, err := f.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF), err == nil && c == '\n', len(key) > maxKey:
			return "", f.malformed("has no colon that parts a key from its value, so this is no .crash file")
		case err != nil:
			return "", err
		case c == ':':
			if !ValidKey(string(key)) {
				return "", f.malformed("has the key %q; a key is made of letters, digits, dots, hyphens and underscores", key)
			}
			return string(key), nil
		}
		key = append(key, c)
	}
}

var errNoMore = errors.New("the value has ended")

// continuation adds the next line to the value, when that line begins with a blank, which is taken away. What is empty so
// far stays without a line end: so the value may begin in the line after its key.
func (f *file) continuation(value []byte) ([]byte, error) {
	next, err := f.in.Peek(1)
	if errors.Is(err, io.EOF) || err == nil && next[0] != ' ' {
		return value, errNoMore
	}
	if err != nil {
		return nil, err
	}
	_, _ = f.in.Discard(1)
	f.line++
	if len(value) > 0 {
		value = append(value, '\n')
	}
	return f.restOfLine(value)
}

// restOfLine adds the rest of the line, without its end, to the value.
func (f *file) restOfLine(value []byte) ([]byte, error) {
	for {
		part, err := f.in.ReadSlice('\n')
		value = append(value, part...)
		if f.text+int64(len(value)) > f.lim.Text+1 {
			return nil, f.tooLarge("the texts of the report are larger than %d bytes", f.lim.Text)
		}
		switch {
		case err == nil:
			return value[:len(value)-1], nil
		case errors.Is(err, io.EOF):
			return value, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// keep stores a value as a text, or lists it when it is none; at is the line of its key.
func (f *file) keep(key, value string, at int) error {
	switch {
	case isDump(key):
		f.binary[key] = Binary{Name: key, Size: int64(len(value))}
	case mustBeText[key] && !utf8.ValidString(value):
		f.line = at
		return f.malformed("begins the value of %s, which must be text but is not valid UTF-8", key)
	case mustBeText[key]:
		value = strings.ReplaceAll(value, "\x00", "\uFFFD")
		fallthrough
	case utf8.ValidString(value) && !strings.Contains(value, "\x00"):
		f.text += int64(len(value))
		f.fields[key] = value
	default:
		f.binary[key] = Binary{Name: key, Size: int64(len(value))}
	}
	return nil
}

func (f *file) malformed(format string, args ...any) error {
	return crash.Errorf(crash.Invalid, "malformed_report", "Line %d %s.", f.line, fmt.Sprintf(format, args...))
}

func (f *file) tooLarge(format string, args ...any) error {
	return crash.Errorf(crash.TooLarge, "report_too_large", "Line %d: %s.", f.line, fmt.Sprintf(format, args...))
}

// isDump reports whether a field is a dump of memory.
func isDump(name string) bool { return name == "CoreDump" || name == "VmCore" }
