package whoopsie_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

// doc returns a document of raw elements.
func doc(elements ...string) []byte {
	all := strings.Join(elements, "")
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(all)+5))
	return append(append(b, all...), 0)
}

// text returns an element of kind text.
func text(name, value string) string {
	return "\x02" + name + "\x00" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(value)+1))) + value + "\x00"
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body []byte
		want crash.Fields
	}{
		"empty": {doc(), crash.Fields{}},
		"the facts' example": {
			[]byte("\x4f\x00\x00\x00\x02ProblemType\x00\x06\x00\x00\x00Crash\x00\x02Signal\x00\x03\x00\x00\x0011\x00\x02ExecutableTimestamp\x00\x0b\x00\x00\x001700000000\x00\x00"), crash.Fields{"ProblemType": "Crash", "Signal": "11", "ExecutableTimestamp": "1700000000"}},
		"empty texts":        {doc(text("Tags", ""), text("separator", "")), crash.Fields{"Tags": ""}},
		"a full separator":   {doc(text("separator", "x")), crash.Fields{"separator": "x"}},
		"twice":              {doc(text("A", "1"), text("B", "2"), text("A", "3")), crash.Fields{"A": "3", "B": "2"}},
		"a release":          {doc(text("DistroRelease", "Ubuntu 24.04")), crash.Fields{"DistroRelease": "Ubuntu 24.04"}},
		"a number for one":   {doc(text("A", "1"), "\x10DistroRelease\x00\x07\x00\x00\x00"), crash.Fields{"A": "1"}},
		"a list for one":     {doc("\x04DistroRelease\x00" + string(doc())), crash.Fields{}},
		"a truth value last": {doc(text("DistroRelease", "Ubuntu 24.04"), "\x08DistroRelease\x00\x01"), crash.Fields{}},
		"odd names": {doc(text("", "none"), text("$where", "1"), text("a.b", "2"), text("a b/c", "3"),
			text("\xff", "4")), crash.Fields{"$where": "1", "a.b": "2", "a b/c": "3", "\uFFFD": "4"}},
		"invalid UTF-8":    {doc(text("A", "x\xff\xfey")), crash.Fields{"A": "x\uFFFDy"}},
		"a lone surrogate": {doc(text("A", "x\xed\xa0\x80y")), crash.Fields{"A": "x\uFFFDy"}},
		"NUL in a text":    {doc(text("A", "x\x00y")), crash.Fields{"A": "x\uFFFDy"}},
		"a memory dump": {doc(text("VmCore", "H4sICAAAAAAC"), text("CoreDump", "xyz")),
			crash.Fields{"VmCore": "(a dump of 12 bytes, not kept)", "CoreDump": "(a dump of 3 bytes, not kept)"}},
		"a dump that is none": {doc("\x03VmCore\x00" + string(doc())), crash.Fields{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := crashtest.Decode(c.body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecodeOtherKinds checks that every kind of element that MongoDB's driver writes is decoded or
// skipped, and the next one found.
func TestDecodeOtherKinds(t *testing.T) {
	t.Parallel()
	when := time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
	body, err := bson.Marshal(bson.D{
		{Key: "Int32", Value: int32(-7)}, {Key: "Int64", Value: int64(1) << 40}, {Key: "Double", Value: 1.5},
		{Key: "True", Value: true}, {Key: "False", Value: false},
		{Key: "Date", Value: when}, {Key: "Null", Value: nil}, {Key: "Undefined", Value: bson.Undefined{}},
		{Key: "Array", Value: bson.A{"x", 1}},
		{Key: "Document", Value: bson.D{{Key: "Package", Value: "inner"}}}, {Key: "Binary", Value: []byte("\x00\xff")},
		{Key: "ID", Value: bson.NewObjectID()},
		{Key: "Regexp", Value: bson.Regex{Pattern: "a", Options: "i"}},
		{Key: "Pointer", Value: bson.DBPointer{DB: "x", Pointer: bson.NewObjectID()}},
		{Key: "Code", Value: bson.JavaScript("f()")}, {Key: "Symbol", Value: bson.Symbol("s")},
		{Key: "Scope", Value: bson.CodeWithScope{Code: "g()", Scope: bson.D{}}},
		{Key: "Timestamp", Value: bson.Timestamp{T: 1, I: 2}}, {Key: "Decimal", Value: bson.NewDecimal128(1, 2)},
		{Key: "Min", Value: bson.MinKey{}}, {Key: "Max", Value: bson.MaxKey{}},
		{Key: "Package", Value: "tidewatch 1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := crashtest.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	want := crash.Fields{
		"Int32": "-7", "Int64": "1099511627776", "Double": "1.5", "True": "true", "False": "false",
		"Date": "Tue Nov  3 04:05:06 2026",
		"Code": "f()", "Symbol": "s", "Package": "tidewatch 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	if at, ok := crash.OccurredAt(got["Date"]); !ok || !at.Equal(when) {
		t.Errorf("date: got %v, %v, want %v", at, ok, when)
	}
	// Truncated anywhere, with a corrected length, it is either rejected or decoded.
	for n := range body {
		cut := append(bytes.Clone(body[:n]), 0)
		if len(cut) >= 4 {
			binary.LittleEndian.PutUint32(cut, uint32(len(cut)))
		}
		_, _ = crashtest.Decode(cut)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	good := doc(text("Package", "x 1"))
	length := func(n uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b, n)
		return b
	}
	many := make([]string, 10_001)
	for i := range many {
		many[i] = text(fmt.Sprint(i), "")
	}
	for name, body := range map[string][]byte{
		"nothing": nil, "four bytes": []byte("\x05\x00\x00\x00"), "text": []byte("ProblemType: Crash\n"),
		"junk behind": append(bytes.Clone(good), 0),
		"cut":         good[:len(good)-1], "length 0": length(0), "negative length": length(0xffffffff),
		"huge length": length(0x7fffffff), "no end": append(bytes.Clone(good[:len(good)-1]), 1),
		"name without end": doc("\x02Package"), "unknown kind": doc("\x42A\x00"),
		"text of length 0": doc("\x02A\x00\x00\x00\x00\x00"), "text of negative length": doc("\x02A\x00\xff\xff\xff\xff\x00"),
		"text beyond the end": doc("\x02A\x00\xff\xff\xff\x7fx\x00"), "text without end": doc("\x02A\x00\x02\x00\x00\x00xy"),
		"short integer": doc("\x12A\x00\x00"), "short document": doc("\x03A\x00\x04\x00\x00\x00"),
		"binary beyond the end": doc("\x05A\x00\x00\x00\x00\x00"), "regexp without end": doc("\x0bA\x00x"),
		"too many fields": doc(many...),
	} {
		fields, err := crashtest.Decode(body)
		var e *crash.Error
		if !errors.As(err, &e) || e.Kind != crash.Invalid || e.Message != "Invalid BSON." || e.Code != "invalid_bson" ||
			e.Err == nil {
			t.Errorf("%s: got %v, %#v, want an invalid_bson with its cause", name, fields, err)
		}
	}
	if fields, err := crashtest.Decode(doc(many[:10_000]...)); err != nil || len(fields) != 10_000 {
		t.Errorf("10,000 fields: got %d, %v", len(fields), err)
	}
}

// TestDecodeDoesNotDescend checks that 800,000 nested documents are skipped without recursion.
func TestDecodeDoesNotDescend(t *testing.T) {
	t.Parallel()
	const depth, size = 800_000, 8
	body := make([]byte, 0, depth*size+64)
	for n := range depth {
		body = binary.LittleEndian.AppendUint32(body, uint32((depth-n)*size+5))
		body = append(body, 0x03, 'a', 0)
	}
	body = append(body, 5, 0, 0, 0, 0)
	body = append(body, make([]byte, depth)...)
	body = doc("\x03deep\x00"+string(body), text("Package", "x 1"))
	fields, err := crashtest.Decode(body)
	if err != nil || len(fields) != 1 || fields["Package"] != "x 1" {
		t.Errorf("got %v, %v, want the one text", fields, err)
	}
}

func TestDecodeCompressed(t *testing.T) {
	t.Parallel()
	// This is what whoopsie sends: the second line is the rest of the stream.
	const wire = "H4sICAAAAAAC/1RyYWNlYmFjawA=\nCylKTE5NSkzOVtDIzS8uUShKTU7NK1FITszJUchJLC7RtOIqP7ytKCcFAC34pC8pAAAA"
	bomb, data := pack(strings.Repeat("x", 20<<20)), pack("\x00\x01")
	sent := []string{text("Traceback", wire), text("Cut", wire[:60]), text("Binary", data),
		text("NotPacked", "eJwe all like eJ"), text("UnderVolt", "eJwe")}
	want := crash.Fields{"Traceback": "Traceback (most recent call last):\nwörld", "Cut": wire[:60], "Binary": data,
		"NotPacked": "eJwe all like eJ", "UnderVolt": "eJwe"}
	got, err := crashtest.Decode(doc(sent...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	// A bomb stays compressed, and so do the fields after it, because it has used up the limit.
	got, err = crashtest.Decode(doc(append(sent, text("Bomb", bomb))...))
	if err != nil {
		t.Fatal(err)
	}
	want["Bomb"], want["Traceback"] = bomb, wire
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields with a bomb (-want +got):\n%s", diff)
	}
}

func pack(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// TestRoundTrip checks that every report of crashtest is decoded unchanged.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, r := range []crashtest.Report{crashtest.Native(), crashtest.Python(), crashtest.Package(), crashtest.Unicode(),
		crashtest.Long()} {
		got, err := crashtest.Decode(r.BSON())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r.Fields(), got); diff != "" {
			t.Errorf("fields (-want +got):\n%s", diff)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, file := range glob(f, "*.bson") {
		f.Add(read(f, file))
	}
	f.Add(doc(text("A", pack("x")), "\x03d\x00"+string(doc()), "\x05b\x00\x00\x00\x00\x00\x00", "\x0br\x00a\x00i\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		fields, err := crashtest.Decode(body)
		if err != nil {
			if crash.KindOf(err) != crash.Invalid {
				t.Errorf("got an error of kind %v", crash.KindOf(err))
			}
			return
		}
		for name, value := range fields {
			if name == "" || !utf8.ValidString(name+value) || strings.ContainsRune(name+value, 0) {
				t.Errorf("%q: got %q, want valid UTF-8 without NUL", name, value)
			}
		}
		_ = grouping.SummaryOf(fields)
		_ = grouping.SignatureOf(fields)
	})
}

func BenchmarkDecode(b *testing.B) {
	body := crashtest.Native(crashtest.Set("JournalErrors", strings.Repeat("a line of the journal\n", 600))).BSON()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := crashtest.Decode(body); err != nil {
			b.Fatal(err)
		}
	}
}
