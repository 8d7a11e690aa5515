package apport_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

// doc returns a document of raw elements.
func doc(elements ...string) []byte {
	all := strings.Join(elements, "")
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(all)+5))
	return append(append(b, all...), 0)
}

// element returns an element of kind text.
func element(name, value string) string {
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
			[]byte("\x4f\x00\x00\x00\x02ProblemType\x00\x06\x00\x00\x00Crash\x00" +
				"\x02Signal\x00\x03\x00\x00\x0011\x00\x02ExecutableTimestamp\x00\x0b\x00\x00\x001700000000" +
				"\x00\x00"), crash.Fields{"ProblemType": "Crash", "Signal": "11", "ExecutableTimestamp": "1700000000"}},
		"empty texts":      {doc(element("Tags", ""), element("separator", "")), crash.Fields{"Tags": ""}},
		"a full separator": {doc(element("separator", "x")), crash.Fields{"separator": "x"}},
		"twice": {doc(element("A", "1"), element("B", "2"), element("A", "3")),
			crash.Fields{"A": "3", "B": "2"}},
		"a release":          {doc(element("DistroRelease", "Ubuntu 24.04")), crash.Fields{"DistroRelease": "Ubuntu 24.04"}},
		"a number for one":   {doc(element("A", "1"), "\x10DistroRelease\x00\x07\x00\x00\x00"), crash.Fields{"A": "1"}},
		"a list for one":     {doc("\x04DistroRelease\x00" + string(doc())), crash.Fields{}},
		"a truth value last": {doc(element("DistroRelease", "Ubuntu 24.04"), "\x08DistroRelease\x00\x01"), crash.Fields{}},
		"odd names": {doc(element("", "none"), element("$where", "1"), element("a.b", "2"), element("a b/c", "3"),
			element("\xff", "4")), crash.Fields{"$where": "1", "a.b": "2", "a b/c": "3", "\uFFFD": "4"}},
		"invalid UTF-8":    {doc(element("A", "x\xff\xfey")), crash.Fields{"A": "x\uFFFDy"}},
		"a lone surrogate": {doc(element("A", "x\xed\xa0\x80y")), crash.Fields{"A": "x\uFFFDy"}},
		"NUL in a text":    {doc(element("A", "x\x00y")), crash.Fields{"A": "x\uFFFDy"}},
		"a memory dump": {doc(element("VmCore", "H4sICAAAAAAC"), element("CoreDump", "xyz")),
			crash.Fields{"VmCore": "(a dump of 12 bytes, not kept)", "CoreDump": "(a dump of 3 bytes, not kept)"}},
		"a dump that is none": {doc("\x03VmCore\x00" + string(doc())), crash.Fields{}},
	} {
		got, err := crashtest.Decode(c.body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checktest.Diff(t, name, got, c.want)
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
	checktest.NoError(t, err)
	got, err := crashtest.Decode(body)
	checktest.NoError(t, err)
	want := crash.Fields{
		"Int32": "-7", "Int64": "1099511627776", "Double": "1.5", "True": "true", "False": "false",
		"Date": "Tue Nov  3 04:05:06 2026",
		"Code": "f()", "Symbol": "s", "Package": "tidewatch 1",
	}
	checktest.Diff(t, "fields", got, want)
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
	good := doc(element("Package", "x 1"))
	length := func(n uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b, n)
		return b
	}
	many := make([]string, 10_001)
	for i := range many {
		many[i] = element(fmt.Sprint(i), "")
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
	body = doc("\x03deep\x00"+string(body), element("Package", "x 1"))
	fields, err := crashtest.Decode(body)
	if err != nil || len(fields) != 1 || fields["Package"] != "x 1" {
		t.Errorf("got %v, %v, want the one text", fields, err)
	}
}

func TestDecodeCompressed(t *testing.T) {
	t.Parallel()
	// This is what whoopsie sends: the second line is the rest of the stream.
	const wire = "H4sICAAAAAAC/1RyYWNlYmFjawA=\nCylKTE5NSkzOVtDIzS8uUShKTU7NK1FITszJUchJLC7RtOIqP7ytKCcFAC34pC8pAAAA"
	bomb, data := gzip64(strings.Repeat("x", 20<<20)), gzip64("\x00\x01")
	sent := []string{element("Traceback", wire), element("Cut", wire[:60]), element("Binary", data),
		element("NotPacked", "eJwe all like eJ"), element("UnderVolt", "eJwe")}
	want := crash.Fields{"Traceback": "Traceback (most recent call last):\nwörld", "Cut": wire[:60], "Binary": data,
		"NotPacked": "eJwe all like eJ", "UnderVolt": "eJwe"}
	got, err := crashtest.Decode(doc(sent...))
	checktest.NoError(t, err)
	checktest.Diff(t, "fields", got, want)
	// A bomb stays compressed, and so do the fields after it, because it has used up the limit.
	got, err = crashtest.Decode(doc(append(sent, element("Bomb", bomb))...))
	checktest.NoError(t, err)
	want["Bomb"], want["Traceback"] = bomb, wire
	checktest.Diff(t, "fields with a bomb", got, want)
}

func gzip64(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func FuzzDecode(f *testing.F) {
	for _, file := range glob(f, "*.bson") {
		f.Add(testdata(f, file))
	}
	f.Add(doc(element("A", gzip64("x")), "\x03d\x00"+string(doc()), "\x05b\x00\x00\x00\x00\x00\x00", "\x0br\x00a\x00i\x00"))
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
		_ = grouping.TitleOf(fields, grouping.SignatureOf(fields))
		_ = grouping.SignatureOf(fields)
	})
}

// sample is a report, with the fields that whoopsie 0.1.33 sends of it, and apport's results for
// the complete report.
type sample struct {
	File               string   `json:"file"`
	Old                string   `json:"bson_whoopsie_0_1_33"`
	OldFields          []string `json:"fields_0_1_33"`
	Modern             string   `json:"bson_modern_approx"`
	Core               string   `json:"core_body"`
	Signature          string   `json:"crash_signature"`
	Addresses          string   `json:"crash_signature_addresses"`
	Title              string   `json:"standard_title"`
	ProblemType        string   `json:"ProblemType"`
	DistroRelease      string   `json:"DistroRelease"`
	Architecture       string   `json:"Architecture"`
	Package            string   `json:"Package"`
	SourcePackage      string   `json:"SourcePackage"`
	DuplicateSignature string   `json:"DuplicateSignature"`
}

func samples(t *testing.T) []sample {
	t.Helper()
	var all []sample
	data := testdata(t, "manifest.json")
	checktest.NoError(t, json.Unmarshal(data, &all))
	return all
}

func testdata(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", filepath.Base(path)))
	checktest.NoError(t, err)
	return data
}

// old0133 lists what whoopsie 0.1.33 omits: OopsText, Failure, ErrorMessage and the exception's
// qualifier.
var old0133 = map[string]struct{ signature, title string }{
	"linux-image-5.15.0-97-generic.77aa01.v0133.bson":  {"", ""},
	"linux-image-6.8.0-41-generic.3f1b77aa.v0133.bson": {"", ""},
	"susres.2026-02-03_06:07:08.123456.v0133.bson":     {"", ""},
	"brigwifi-dkms.0.v0133.bson": {"",
		"package brigwifi-dkms 2.0-1ubuntu3 failed to install/upgrade"},
	"_usr_bin_żeglarz.1000.v0133.bson": {"/usr/bin/żeglarz:OSError:główna:zapisz",
		"żeglarz crashed with OSError in zapisz(): [Errno 28] Brak miejsca na urządzeniu"},
}

// ownRules lists the samples to which apport gives no signature, but mishap does.
var ownRules = map[string]string{
	"linux-image-6.8.0-41-generic.3f1b77aa.modern.bson": "kernel:NULL pointer dereference:brig_tx_done " +
		"[brigwifi]:brig_irq [brigwifi]:__handle_irq_event_percpu:handle_irq_event",
}

func TestSamples(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{}
	for _, s := range samples(t) {
		for _, path := range []string{s.Old, s.Modern} {
			if path == "" {
				continue // whoopsie never sends the malformed one
			}
			name := filepath.Base(path)
			tried[name] = true
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				fields, err := crashtest.Decode(testdata(t, path))
				checktest.NoError(t, err)
				if path == s.Old {
					checktest.Diff(t, "fields", slices.Sorted(maps.Keys(fields)), s.OldFields)
				}
				checkSample(t, s, name, fields)
			})
		}
	}
	for _, file := range glob(t, "*.bson") {
		if !tried[filepath.Base(file)] {
			t.Errorf("%s is not in the manifest", file)
		}
	}
	checktest.Equal(t, "documents", len(tried), 26)
}

func checkSample(t *testing.T, s sample, name string, fields crash.Fields) {
	t.Helper()
	want := struct{ signature, title string }{s.Signature, s.Title}
	if less, ok := old0133[name]; ok {
		want = less
	}
	checktest.Equal(t, "crash signature", apportSignature(fields, want.signature), want.signature)
	g := grouping.SignatureOf(fields)
	expected := s.DuplicateSignature
	if expected == "" {
		expected = want.signature
	}
	if expected == "" {
		expected = ownRules[name]
	}
	if expected == "" {
		expected = s.Addresses
	}
	if g.Signature != expected || g.Provisional != (s.Addresses != "" && s.Signature == "") {
		t.Errorf("grouping: got %+v, want the signature %q", g, expected)
	}
	sum := grouping.SummaryOf(fields)
	sum.Title = grouping.TitleOf(fields, grouping.SignatureOf(fields))
	pkg := strings.Fields(s.Package)
	got := []string{sum.ProblemType, string(sum.Release), sum.Architecture, sum.Package, sum.Version, sum.SourcePackage,
		sum.Title, sum.AddressSignature}
	if diff := cmp.Diff([]string{s.ProblemType, s.DistroRelease, s.Architecture, pkg[0], pkg[1], s.SourcePackage,
		want.title, s.Addresses}, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// TestAgainstReference compares the results with the decoder of MongoDB's driver, which is safe for
// these documents.
func TestAgainstReference(t *testing.T) {
	t.Parallel()
	for _, file := range glob(t, "*.bson") {
		body := testdata(t, file)
		var want map[string]string
		checktest.NoError(t, bson.Unmarshal(body, &want))
		got, err := crashtest.Decode(body)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if strings.Contains(file, "linux-image-7.0.0") && strings.HasPrefix(want["VmCoreDmesg"], "H4sI") {
			want["VmCoreDmesg"] = got["VmCoreDmesg"] // only mishap decompresses it
		}
		if diff := cmp.Diff(crash.Fields(want), got); diff != "" {
			t.Errorf("%s (-reference +got):\n%s", file, diff)
		}
	}
}

// cores maps files to prefixes of the SHA-256 of what Python decompresses from them, line by line.
var cores = map[string]string{
	"_usr_bin_lumen-shell.1000.core.txt": "ee6c5e3367feb1ba", "_usr_bin_quillpad.1000.core.txt": "be0ecf81ca1de79c",
	"_usr_bin_tidewatch.1000.core.txt": "83cb8bb8733262b3", "_usr_bin_tidewatch.1001.core.txt": "62e4c91f243cc116",
}

func TestCores(t *testing.T) {
	t.Parallel()
	if files := glob(t, "*.core.txt"); len(files) != len(cores) {
		t.Fatalf("got %d cores, want %d", len(files), len(cores))
	}
	for file, want := range cores {
		text := testdata(t, file)
		var core bytes.Buffer
		n, err := apport.Decompress(&core, bytes.NewReader(text), 1<<20)
		sum := sha256.Sum256(core.Bytes())
		if got := hex.EncodeToString(sum[:8]); err != nil || n != int64(core.Len()) || got != want {
			t.Errorf("%s: got %d bytes, sha256 %s…, %v; want sha256 %s…", file, n, got, err, want)
		}
		_, err = apport.Decompress(io.Discard, bytes.NewReader(text), n-1)
		if !errors.Is(err, apport.ErrLimit) {
			t.Errorf("%s with a limit that is one byte too low: got %v, want %v", file, err, apport.ErrLimit)
		}
		_, err = apport.Decompress(io.Discard, bytes.NewReader(text[:len(text)-20]), 1<<20)
		if err == nil || errors.Is(err, apport.ErrLimit) {
			t.Errorf("%s truncated: got %v, want an error about a damaged file", file, err)
		}
	}
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	checktest.NoError(t, err)
	return files
}

// apportSignature returns the signature of a report without its DuplicateSignature, if apport gives
// one. Otherwise our own rules may apply.
func apportSignature(f crash.Fields, want string) string {
	if want == "" {
		return ""
	}
	f = maps.Clone(f)
	delete(f, "DuplicateSignature")
	return grouping.SignatureOf(f).Signature
}
