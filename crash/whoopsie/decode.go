// Package whoopsie reads what whoopsie posts: the BSON document of a report, and the text of a core dump. Both come from
// strangers, so everything is bounded: memory, fields, unpacking, and nothing is ever read by recursion. Which reports
// are wanted is not decided here.
package whoopsie

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"mishap/crash"
	"mishap/crash/packed"
)

// maxFields is how many fields a report may have. Real ones have up to some two hundred.
const maxFields = 10_000

// fieldRelease names a release. Only text counts: lists are made of these names, and no number is one.
const fieldRelease = "DistroRelease"

// usualFields is how many fields most reports have no more than.
const usualFields = 48

// MaxUnpacked is how many bytes may be unpacked of all compressed fields of one report together.
const MaxUnpacked = 16 << 20

// Document is a report as it was sent, before anything is made of its texts.
type Document struct {
	fields   crash.Fields
	unpacked []string // names of fields that are compressed
	cleaned  []string // names of fields that hold invalid UTF-8 or NUL
}

// Open reads one BSON document: a flat one, in which whoopsie puts nothing but texts. What else others put there is
// tolerated: numbers, truth values and times become texts, except for the release; documents, arrays and binary values are skipped. Of a
// field that occurs twice the last one counts; one without a name is left out, and so is an empty "separator", which is
// a slip of apport's. Dumps of memory are replaced by a note of their size.
//
// The texts lie in body, which must not change while any of them is used: whoever keeps one for longer, clones it. An error is
// a *crash.Error of kind Invalid, code invalid_bson.
func Open(body []byte) (*Document, error) {
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
		case packed.Looks(value):
			d.unpacked = append(d.unpacked, name)
		case !isClean(value):
			d.cleaned = append(d.cleaned, name)
		}
	}
	slices.Sort(d.unpacked) // when the limit is reached, it is reached in the same field each time
	return d, nil
}

// Fields returns the fields of the report, ready to be stored. A field that apport had compressed, and that whoopsie
// sends as it stands, is unpacked; invalid UTF-8 and NUL become U+FFFD. Both take memory besides the body: made is how
// many bytes. All unpacked fields together have at most limit bytes; a field that is larger than what is left of that,
// or is no text, stays compressed, and whole is false if this is for its size. It may be called again with another limit.
func (d *Document) Fields(limit int64) (fields crash.Fields, made int64, whole bool) {
	if len(d.unpacked) == 0 && len(d.cleaned) == 0 {
		return d.fields, 0, true
	}
	fields, whole = maps.Clone(d.fields), true
	for _, name := range d.unpacked {
		text, n, fits := unpack(d.fields[name], limit-made)
		fields[name], made, whole = text, made+n, whole && fits
	}
	for _, name := range d.cleaned {
		fields[name] = clean(d.fields[name])
		made += int64(len(fields[name]))
	}
	return fields, made, whole
}

// Cleaned is the most bytes that [Document.Fields] makes of fields that are not valid texts, whatever its limit.
func (d *Document) Cleaned() (bytes int64) {
	for _, name := range slices.Concat(d.cleaned, d.unpacked) {
		if value := d.fields[name]; !isClean(value) {
			bytes += int64(len(value)) * int64(len(replacement))
		}
	}
	return bytes
}

func invalid(err error) error {
	return crash.Errorf(crash.Invalid, "invalid_bson", "Invalid BSON.").Because(err)
}

// isDump reports whether a field is a dump of memory: the kernel's, or a core that strayed here.
func isDump(name string) bool { return name == "VmCore" || name == "CoreDump" }

// unpack returns the text that a compressed value stands for, and how many bytes were unpacked; the value itself when it
// turns out not to be compressed, not to hold text, or, with fits false, to be larger than limit.
func unpack(value string, limit int64) (text string, n int64, fits bool) {
	var b strings.Builder
	n, err := packed.Copy(&b, strings.NewReader(value), max(limit, 0))
	if err != nil || !isClean(b.String()) {
		return clean(value), n, !errors.Is(err, packed.ErrLimit)
	}
	return b.String(), n, true
}

// replacement stands for what cannot be stored.
const replacement = "\uFFFD"

// isClean reports whether a text can be stored: whether it is valid UTF-8 without NUL.
func isClean(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// clean makes a text that can be stored: valid UTF-8 without NUL.
func clean(s string) string {
	if isClean(s) { // as nearly all are
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, replacement), "\x00", replacement)
}

// timeText is how Date is written in reports.
func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.ANSIC) }
