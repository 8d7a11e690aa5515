package apport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"mishap/crash"
)

const maxFields = 10_000

// fieldRelease is the field with the release. Only text is accepted, because lists show these
// names.
const fieldRelease = "DistroRelease"

const usualFields = 48

// MaxDecompressed is the largest decompressed size of all fields of one report, in bytes.
const MaxDecompressed = 16 << 20

// Document is a report as it was sent, with texts that are still compressed or invalid.
type Document struct {
	fields     crash.Fields
	compressed []string // names of compressed fields
	cleaned    []string // names of fields that contain invalid UTF-8 or NUL
}

// OpenBSON decodes the request of whoopsie: one flat BSON document. whoopsie sends only texts in it.
// Numbers, booleans and times from other senders become texts, except for the release. OpenBSON skips
// documents, arrays and binary values. If a field occurs twice, the last one counts. It drops fields
// without a name, and an
// empty "separator", which apport writes by mistake. It replaces memory dumps by a note of their
// size.
//
// The texts share the memory of body, which must not change while any of them is in use. To retain
// one, clone it. Errors are of type *crash.Error, kind Invalid, code invalid_bson.
func OpenBSON(body []byte) (*Document, error) {
	elements, err := document(unsafe.String(unsafe.SliceData(body), len(body)))
	if err != nil {
		return nil, invalid(err)
	}
	d := &Document{fields: make(crash.Fields, usualFields)}
	for n := 0; len(elements) > 0; n++ {
		if n == maxFields {
			return nil, invalid(fmt.Errorf("more than %d fields", maxFields))
		}
		var e element
		if e, elements, err = next(elements); err != nil {
			return nil, invalid(err)
		}
		value, ok := e.text()
		if e.name == fieldRelease && !e.isText() {
			delete(d.fields, e.name)
			continue
		}
		if name := clean(e.name); ok && name != "" {
			d.fields[name] = value
		}
	}
	for name, value := range d.fields {
		switch {
		case name == "separator" && value == "":
			delete(d.fields, name)
		case isDump(name):
			d.fields[name] = fmt.Sprintf("(a dump of %d bytes, not kept)", len(value))
		case isCompressed(value):
			d.compressed = append(d.compressed, name)
		case !isClean(value):
			d.cleaned = append(d.cleaned, name)
		}
	}
	slices.Sort(d.compressed) // makes the field that exceeds the limit deterministic
	return d, nil
}

// Fields returns the fields of the report, ready for storing. It decompresses fields that apport
// has compressed, and replaces invalid UTF-8 and NUL by U+FFFD. made is the number of bytes
// allocated for this.
//
// The decompressed fields have at most limit bytes together. A field that exceeds the rest of the
// limit, or is not text, stays compressed; whole is false if any exceeds it. Fields may be called
// again with another limit.
func (d *Document) Fields(limit int64) (fields crash.Fields, made int64, whole bool) {
	if len(d.compressed) == 0 && len(d.cleaned) == 0 {
		return d.fields, 0, true
	}
	fields, whole = maps.Clone(d.fields), true
	for _, name := range d.compressed {
		text, n, fits := decompress(d.fields[name], limit-made)
		fields[name], made, whole = text, made+n, whole && fits
	}
	for _, name := range d.cleaned {
		fields[name] = clean(d.fields[name])
		made += int64(len(fields[name]))
	}
	return fields, made, whole
}

// Cleaned returns the largest number of bytes that [Document.Fields] allocates for invalid texts,
// whatever its limit.
func (d *Document) Cleaned() (bytes int64) {
	for _, name := range slices.Concat(d.cleaned, d.compressed) {
		if value := d.fields[name]; !isClean(value) {
			bytes += int64(len(value)) * int64(len(replacement))
		}
	}
	return bytes
}

func invalid(err error) error {
	return crash.Errorf(crash.Invalid, "invalid_bson", "Invalid BSON.").Because(err)
}

// decompress returns the text of a compressed value and its size in bytes. It returns the value
// unchanged if it is not compressed, if it does not contain text, or, with fits false, if it is
// larger than limit.
func decompress(value string, limit int64) (text string, n int64, fits bool) {
	var b strings.Builder
	n, err := Decompress(&b, strings.NewReader(value), max(limit, 0))
	if err != nil || !isClean(b.String()) {
		return clean(value), n, !errors.Is(err, ErrLimit)
	}
	return b.String(), n, true
}

func isClean(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

func clean(s string) string {
	if isClean(s) { // true for nearly all texts
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, replacement), "\x00", replacement)
}

// timeText formats a time like the Date of reports.
func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.ANSIC) }

// Kinds of BSON elements; see bsonspec.org.
const (
	kindDouble       = 0x01
	kindText         = 0x02
	kindDocument     = 0x03
	kindArray        = 0x04
	kindBinary       = 0x05
	kindUndefined    = 0x06
	kindObjectID     = 0x07
	kindBool         = 0x08
	kindTime         = 0x09
	kindNull         = 0x0a
	kindRegexp       = 0x0b
	kindDBPointer    = 0x0c
	kindCode         = 0x0d
	kindSymbol       = 0x0e
	kindCodeAndScope = 0x0f
	kindInt32        = 0x10
	kindTimestamp    = 0x11
	kindInt64        = 0x12
	kindDecimal      = 0x13
	kindMinKey       = 0xff
	kindMaxKey       = 0x7f
)

var errShort = errors.New("an element goes beyond the end of the document")

// element is one field of a document; value excludes length and terminator. Both texts share the
// memory of the document.
type element struct {
	kind  byte
	name  string
	value string
}

// document checks the length and the terminator of a document, and returns its elements.
func document(body string) (string, error) {
	switch {
	case len(body) < 5:
		return "", errors.New("shorter than an empty document")
	case int64(int32(number32(body))) != int64(len(body)): //nolint:gosec // lengths are signed
		return "", fmt.Errorf("the document says it has another length than %d bytes", len(body))
	case body[len(body)-1] != 0:
		return "", errors.New("the document does not end in 0")
	}
	return body[4 : len(body)-1], nil
}

// number32 and number64 decode the little-endian number at the beginning of s.
func number32(s string) uint32 {
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

func number64(s string) uint64 { return uint64(number32(s)) | uint64(number32(s[4:]))<<32 }

func next(in string) (e element, rest string, err error) {
	e.kind, in = in[0], in[1:]
	end := strings.IndexByte(in, 0)
	if end < 0 {
		return e, "", errors.New("the name of an element does not end")
	}
	e.name, in = in[:end], in[end+1:]
	skip, size, err := extent(e.kind, in)
	if err != nil {
		return e, "", err
	}
	if size < 0 || size > len(in)-skip {
		return e, "", errShort
	}
	e.value, rest = in[skip:skip+size], in[skip+size:]
	switch e.kind {
	case kindText, kindCode, kindSymbol:
		if size == 0 || e.value[size-1] != 0 {
			return e, "", errors.New("a text does not end in 0")
		}
		e.value = e.value[:size-1]
	}
	return e, rest, nil
}

// extent returns the position of an element's value in in: it begins after skip bytes and has size
// bytes.
func extent(kind byte, in string) (skip, size int, err error) {
	switch kind {
	case kindUndefined, kindNull, kindMinKey, kindMaxKey:
		return 0, 0, nil
	case kindBool:
		return 0, 1, nil
	case kindInt32:
		return 0, 4, nil
	case kindDouble, kindTime, kindTimestamp, kindInt64:
		return 0, 8, nil
	case kindObjectID:
		return 0, 12, nil
	case kindDecimal:
		return 0, 16, nil
	case kindRegexp:
		pattern := strings.IndexByte(in, 0)
		options := strings.IndexByte(in[pattern+1:], 0)
		if pattern < 0 || options < 0 {
			return 0, 0, errShort
		}
		return 0, pattern + 1 + options + 1, nil
	}
	if len(in) < 4 {
		return 0, 0, errShort
	}
	length := int(int32(number32(in))) //nolint:gosec // lengths are signed
	switch kind {
	case kindText, kindCode, kindSymbol:
		return 4, length, nil
	case kindBinary:
		return 5, length, nil
	case kindDBPointer:
		return 4, length + 12, nil
	case kindDocument, kindArray, kindCodeAndScope: // the length includes itself
		if length < 5 {
			return 0, 0, errShort
		}
		return 0, length, nil
	default:
		return 0, 0, fmt.Errorf("an element is of the unknown kind 0x%02x", kind)
	}
}

func (e element) isText() bool { return e.kind == kindText || e.kind == kindSymbol }

// text returns the value as text. It returns false if the kind has no text form.
func (e element) text() (string, bool) {
	switch e.kind {
	case kindText, kindSymbol, kindCode:
		return e.value, true
	case kindDouble:
		return strconv.FormatFloat(math.Float64frombits(number64(e.value)), 'g', -1, 64), true
	case kindBool:
		return strconv.FormatBool(e.value[0] != 0), true
	case kindTime:
		return timeText(int64(number64(e.value))), true //nolint:gosec // signed on the wire
	case kindInt32:
		return strconv.Itoa(int(int32(number32(e.value)))), true //nolint:gosec // signed on the wire
	case kindInt64:
		return strconv.FormatInt(int64(number64(e.value)), 10), true //nolint:gosec // signed on the wire
	default:
		return "", false
	}
}

// BSON returns the document that whoopsie posts for a report: flat, with texts only. [OpenBSON] reads it.
// A name must not contain NUL.
func BSON(fields crash.Fields) []byte {
	document := make([]byte, 4, 4096)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		document = append(document, kindText)
		document = append(append(document, name...), 0)
		length := uint32(len(fields[name]) + 1) //nolint:gosec // reports are small
		document = binary.LittleEndian.AppendUint32(document, length)
		document = append(append(document, fields[name]...), 0)
	}
	document = append(document, 0)
	binary.LittleEndian.PutUint32(document, uint32(len(document))) //nolint:gosec // reports are small
	return document
}
