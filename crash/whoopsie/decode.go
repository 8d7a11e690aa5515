// Package whoopsie reads what whoopsie posts: the BSON document of a report, and the text of a core dump. Both come from
// strangers, so everything is bounded: memory, fields, unpacking, and nothing is ever read by recursion. Which reports
// are wanted is not decided here.
package whoopsie

import (
	"fmt"
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

// usualFields is how many fields most reports have no more than.
const usualFields = 48

// maxUnpacked is how many bytes may be unpacked of all packed fields of one report together.
const maxUnpacked = 16 << 20

// Decode reads one BSON document: a flat one, in which whoopsie puts nothing but texts. What else others put there is
// tolerated: numbers, truth values and times become texts; documents, arrays and binary values are skipped. Of a
// field that occurs twice the last one counts; one without a name is left out, and so is an empty "separator", which is
// a slip of apport's. Invalid UTF-8 and NUL become U+FFFD. A field that apport had compressed, and that whoopsie sends as
// it stands, is unpacked. Dumps of memory are replaced by a note of their size.
//
// The texts lie in body, which must not change while any of them is used: whoever keeps one for longer, clones it. An error is
// a *crash.Error of kind Invalid, code invalid_bson.
func Decode(body []byte) (crash.Fields, error) {
	elements, err := document(unsafe.String(unsafe.SliceData(body), len(body)))
	if err != nil {
		return nil, invalid(err)
	}
	fields := make(crash.Fields, usualFields)
	for n := 0; len(elements) > 0; n++ {
		if n == maxFields {
			return nil, invalid(fmt.Errorf("more than %d fields", maxFields))
		}
		var e element
		if e, elements, err = next(elements); err != nil {
			return nil, invalid(err)
		}
		value, ok := e.text()
		if name := clean(e.name); ok && name != "" {
			fields[name] = value
		}
	}
	var compressed []string
	for name, value := range fields {
		switch {
		case name == "separator" && value == "":
			delete(fields, name)
		case isDump(name):
			fields[name] = fmt.Sprintf("(a dump of %d bytes, not kept)", len(value))
		case packed.Looks(value):
			compressed = append(compressed, name)
		default:
			fields[name] = clean(value)
		}
	}
	slices.Sort(compressed) // when the budget ends within them, it does so in the same place each time
	budget := int64(maxUnpacked)
	for _, name := range compressed {
		fields[name] = unpack(fields[name], &budget)
	}
	return fields, nil
}

func invalid(err error) error {
	return crash.Errorf(crash.Invalid, "invalid_bson", "Invalid BSON.").Because(err)
}

// isDump reports whether a field is a dump of memory: the kernel's, or a core that strayed here.
func isDump(name string) bool { return name == "VmCore" || name == "CoreDump" }

// unpack returns the text that a packed value stands for; the value itself when it turns out not to be packed, not to
// hold text, or to be larger than what is left of the budget, which it uses up as it goes.
func unpack(value string, budget *int64) string {
	var b strings.Builder
	n, err := packed.Copy(&b, strings.NewReader(value), *budget)
	*budget -= n
	if err != nil || clean(b.String()) != b.String() {
		return clean(value)
	}
	return b.String()
}

// clean makes a text that can be stored: valid UTF-8 without NUL.
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 { // as nearly all are, and quickly told
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// timeText is how Date is written in reports.
func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.ANSIC) }
