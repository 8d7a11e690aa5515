package apport_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
)

func read(t *testing.T, text string, lim apport.Limits) (crash.Fields, []apport.Binary, error) {
	t.Helper()
	return apport.Read(strings.NewReader(text), lim)
}

// TestReadErrors checks the messages, which are for the person who has the file.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" x\n":                           "Line 1 continues a value, but no key stands before it.",
		"A: 1\n\nB: 2\n":                 "Line 2 has no colon between the key and its value, so this is no .crash file.",
		"A: 1\n b\n c\nplain text":       "Line 4 has no colon between the key and its value, so this is no .crash file.",
		strings.Repeat("k", 300) + ": x": "Line 1 has no colon between the key and its value, so this is no .crash file.",
		"A: 1\n../x: 2\n":                `Line 2 has the key "../x"; a key is made of letters, digits, dots, hyphens and underscores.`,
		"--: 2\n":                        `Line 1 has the key "--"; a key is made of letters, digits, dots, hyphens and underscores.`,
		"A: 1\nX: base64\n H4sIAAAA\nB: 1\n": "Line 2 begins the compressed value of X, which is damaged or cut short " +
			"(gzip: unexpected EOF).",
		"X: base64\n AAAA\n": "Line 1 begins the compressed value of X, which is damaged or cut short " +
			"(neither gzip, zstd nor zlib).",
	} {
		_, _, err := read(t, text, apport.Limits{})
		var e *crash.Error
		if !errors.As(err, &e) || e.Kind != crash.Invalid || e.Code != "malformed_report" || e.Message != want {
			t.Errorf("%.30q: got %v, want %q", text, err, want)
		}
	}
}

func TestReadLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		lim  apport.Limits
		want string
	}{
		"fields": {"A: 1\nB: 2\nA: 3\nC: 4\n", apport.Limits{Fields: 2}, "Line 4: the report has more than 2 fields."},
		"binary ones": {"A: \x00\nB: \x00\nA: \x00\nC: 4\n", apport.Limits{Fields: 2}, "Line 4: the report has more " +
			"than 2 fields."},
		"one long": {"A: " + strings.Repeat("x", 1<<20), apport.Limits{Text: 1 << 19}, "Line 1: the texts of the report " +
			"are larger than 524288 bytes."},
		"many lines": {"A:\n" + strings.Repeat(" 0123456789\n", 100), apport.Limits{Text: 500}, "Line 47: the texts of " +
			"the report are larger than 500 bytes."},
		"all together": {"A: 0123\nB: 4567\nC: 89\n", apport.Limits{Text: 9}, "Line 3: the texts of the report are larger " +
			"than 9 bytes."},
	} {
		_, _, err := read(t, c.text, c.lim)
		if !errors.Is(err, crash.TooLarge) || err.Error() != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func pack(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return " " + base64.StdEncoding.EncodeToString(b.Bytes()) + "\n"
}

// TestReadCompressedValues checks that compressed values stay within the limits, and that later
// fields are read.
func TestReadCompressedValues(t *testing.T) {
	t.Parallel()
	big := pack(strings.Repeat("x", 1<<20))
	fields, binary, err := read(t, "Small: base64\n"+pack("text\n")+"Bomb: base64\n"+big+"CoreDump: base64\n"+big+
		"Long: base64\n"+pack(strings.Repeat("y", 5000))+"VmCore: base64\n"+pack("v")+"Data: base64\n"+pack("\x00\x01")+
		"Z: 1\n",
		apport.Limits{Text: 4096, Decompressed: 10_000})
	checktest.NoError(t, err)
	checktest.Diff(t, "fields", fields, crash.Fields{"Small": "text\n", "Z": "1"})
	want := []apport.Binary{{"Bomb", 10_000, true}, {"CoreDump", 10_000, true}, {"Data", 2, false}, {"Long", 5000, false},
		{"VmCore", 1, false}}
	checktest.Diff(t, "binary", binary, want)
}

// TestReadLeniently checks that control characters do not make a value binary, and that data after
// a stream is ignored.
func TestReadLeniently(t *testing.T) {
	t.Parallel()
	fields, binary, err := read(t, "DpkgLog: \x1b[1mbold\x1b[0m\nPacked: base64\n"+pack("x")+" QUJD\n !!\nA: 1",
		apport.Limits{})
	if err != nil || binary != nil {
		t.Fatalf("got %v, %v", binary, err)
	}
	checktest.Diff(t, "fields", fields, crash.Fields{"DpkgLog": "\x1b[1mbold\x1b[0m", "Packed": "x", "A": "1"})
}

// TestReadBadText checks that invalid UTF-8 and, in fields that are always text, NUL are replaced, as on
// the wire.
func TestReadBadText(t *testing.T) {
	t.Parallel()
	fields, binary, err := read(t, "Title: a\xffb\x00c\nCustom: a\xff\nPacked: base64\n"+pack("a\xff")+"Picture: base64\n"+
		pack("\x89PNG\x00"), apport.Limits{})
	want := crash.Fields{"Title": "a\uFFFDb\uFFFDc", "Custom": "a\uFFFD", "Packed": "a\uFFFD"}
	if diff := cmp.Diff(want, fields); diff != "" || err != nil || len(binary) != 1 || binary[0].Name != "Picture" {
		t.Errorf("got %v, %v, fields (-want +got):\n%s", binary, err, diff)
	}
}

// TestReadBrokenReader checks that Read returns the reader's error unchanged, wherever it occurs.
func TestReadBrokenReader(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	whole := "A: 1\nB:\n x\n y\nC: base64\n" + pack(strings.Repeat("abc", 100)) + "D: 1\n"
	for n := range whole {
		_, _, err := apport.Read(io.MultiReader(strings.NewReader(whole[:n]), iotest.ErrReader(broken)), apport.Limits{})
		if !errors.Is(err, broken) || crash.KindOf(err) != 0 {
			t.Errorf("after %d bytes: got %v, want %v", n, err, broken)
		}
	}
	if _, _, err := apport.Read(iotest.OneByteReader(strings.NewReader(whole)), apport.Limits{}); err != nil {
		t.Errorf("byte by byte: got %v", err)
	}
}

func roundTrip(t *testing.T, fields crash.Fields) {
	t.Helper()
	var file bytes.Buffer
	checktest.NoError(t, apport.Write(&file, fields))
	got, binary, err := apport.Read(bytes.NewReader(file.Bytes()), apport.Limits{})
	if err != nil || binary != nil {
		t.Fatalf("got %v, %v from\n%s", binary, err, file.Bytes())
	}
	checktest.Diff(t, "fields", got, fields)
}

func TestWriteRoundTrip(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"", "x", " x", "x ", " ", "\t", "\r", "x\r", "a\nb", "a\nb\n", "\n", "\n\n", "\na", " \na", "a\n\n\nb", "a\n \nb",
		"base64", "base64 ", " base64", "base64\nx",
		"a: b", "ż\u2028\u0085", "\x1b[1m", "\v\f", strings.Repeat("x", 200_000), strings.Repeat("\n", 1000),
	} {
		roundTrip(t, crash.Fields{"ProblemType": value, "X-y_z.1": value, "Tail": "end"})
	}
	for _, r := range []crashtest.Report{crashtest.Native(), crashtest.Python(), crashtest.Package(), crashtest.Oops(),
		crashtest.Unicode(), crashtest.Long(), crashtest.Markup()} {
		roundTrip(t, r.Fields())
	}
	const seed = 20261121
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		pieces := []string{"\n", " ", "\t", "base64", "x", ":", "é", "\r", "\x01"}
		var value strings.Builder
		for range r.IntN(8) {
			value.WriteString(pieces[r.IntN(len(pieces))])
		}
		roundTrip(t, crash.Fields{"A": value.String(), "B": "1"})
	}
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "a b", "a/b", "é", "..", strings.Repeat("k", 300)} {
		err := apport.Write(io.Discard, crash.Fields{key: "x"})
		if !errors.Is(err, crash.Invalid) {
			t.Errorf("key %.20q: got %v, want kind %v", key, err, crash.Invalid)
		}
	}
	broken := errors.New("broken")
	for _, value := range []string{"x", strings.Repeat("x", 10_000), "\n" + strings.Repeat("x", 10_000)} {
		if err := apport.Write(brokenWriter{broken}, crash.Fields{"A": value, "B": value}); !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func FuzzRead(f *testing.F) {
	f.Add([]byte("ProblemType: Crash\nTraceback:\n one\n \n two\nCoreDump: base64\n" + pack("core") + "X: base64\n" +
		pack("\n text")))
	f.Add([]byte("separator: \nA:  b \n c\nA: base64\n eJw=\n c3RyxIAMcBAFAG55BXk=\n"))
	f.Add([]byte("A: \xff\nTitle: a\x00b\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		fields, _, err := apport.Read(bytes.NewReader(file), apport.Limits{Fields: 50, Text: 1 << 16, Decompressed: 1 << 16})
		if err != nil {
			if kind := crash.KindOf(err); kind != crash.Invalid && kind != crash.TooLarge {
				t.Errorf("got %v, an error of kind %v", err, kind)
			}
			return
		}
		for name, value := range fields {
			if !apport.ValidKey(name) || !utf8.ValidString(value) || strings.Contains(value, "\x00") {
				t.Errorf("%q: got %q, want valid UTF-8 without NUL", name, value)
			}
		}
		roundTrip(t, fields)
	})
}

func FuzzWrite(f *testing.F) {
	f.Add("Traceback", "\n a\n\nb ")
	f.Add("Tags", "base64")
	f.Fuzz(func(t *testing.T, key, value string) {
		if !apport.ValidKey(key) || key == "CoreDump" || key == "VmCore" || key == "separator" || !utf8.ValidString(value) ||
			strings.Contains(value, "\x00") {
			return
		}
		roundTrip(t, crash.Fields{key: value})
	})
}

type broken struct{ error }

func (b broken) Write([]byte) (int, error) { return 0, b.error }

func TestReadCore(t *testing.T) {
	t.Parallel()
	core := strings.Repeat("core\x00", 10_000)
	field := "CoreDump: base64\n " + strings.ReplaceAll(crashtest.Compressed(core), "\n", "\n ") + "\n"
	report := "ProblemType: Crash\n" + field + "Signal: 11\n"
	var got bytes.Buffer
	fields, binary, err := apport.ReadCore(strings.NewReader(report), apport.Limits{}, &got)
	if err != nil || got.String() != core || fields["Signal"] != "11" || len(binary) != 1 ||
		binary[0].Size != int64(len(core)) {
		t.Errorf("got %d bytes, %v, %v, %v", got.Len(), fields, binary, err)
	}
	_, _, err = apport.ReadCore(strings.NewReader(report+field), apport.Limits{}, &got)
	if crash.KindOf(err) != crash.Invalid || !strings.Contains(err.Error(), "begins a second core dump") {
		t.Errorf("two cores: got %v", err)
	}
	full := errors.New("disk full")
	if _, _, err := apport.ReadCore(strings.NewReader(report), apport.Limits{}, broken{full}); !errors.Is(err, full) ||
		crash.KindOf(err) != 0 {
		t.Errorf("a full disk: got %v", err)
	}
	got.Reset()
	_, binary, err = apport.ReadCore(strings.NewReader(report), apport.Limits{Decompressed: 1000}, &got)
	if err != nil || got.Len() != 1000 || !binary[0].More {
		t.Errorf("a limit: got %d bytes, %+v, %v", got.Len(), binary, err)
	}
}

// TestOpenCore checks that a core is found in the form in which whoopsie sends it, under both names.
func TestOpenCore(t *testing.T) {
	t.Parallel()
	text := crashtest.Compressed("core")
	for _, name := range []string{"CoreDump", "CoreDump.zst"} {
		report := "ProblemType: Crash\nStacktrace:\n #0\n #1\n" + name + ": base64\n " + strings.ReplaceAll(text, "\n",
			"\n ") +
			"\nSignal: 11\n"
		_, binary, err := apport.Read(strings.NewReader(report), apport.Limits{})
		if err != nil || len(binary) != 1 || !apport.IsCore(binary[0].Name) || binary[0].Size != 4 {
			t.Errorf("%s: got %v, %v; want it listed", name, binary, err)
		}
		core, err := apport.OpenCore(strings.NewReader(report))
		checktest.NoError(t, err)
		if got, err := io.ReadAll(core); err != nil || strings.TrimSpace(string(got)) != strings.TrimSpace(text) {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, text)
		}
	}
	for _, report := range []string{"", "ProblemType: Crash\n", "CoreDump: core\n", "CoreDump:\n core\n"} {
		if _, err := apport.OpenCore(strings.NewReader(report)); crash.KindOf(err) != crash.Invalid {
			t.Errorf("%q: got %v", report, err)
		}
	}
}

// parseVector is a file with the result of apport 2.36: texts, or {"bytes_b64": …}.
type parseVector struct {
	Name  string         `json:"name"`
	File  []byte         `json:"crash_b64"` // encoding/json decodes base64
	Note  string         `json:"note"`
	Want  map[string]any `json:"apport"`
	Error string         `json:"apport_error"`
}

// ours converts apport's result to that of Read: without NUL, dumps and empty separator, and with
// bytes only listed if they contain NUL, else with invalid UTF-8 replaced.
func ours(t *testing.T, want map[string]any) (crash.Fields, []apport.Binary) {
	t.Helper()
	fields := crash.Fields{}
	var binary []apport.Binary
	for name, value := range want {
		switch v := value.(type) {
		case string:
			switch {
			case name == "CoreDump":
				binary = append(binary, apport.Binary{Name: name, Size: int64(len(v))})
			case name == "separator" && v == "":
			default:
				fields[name] = strings.ReplaceAll(v, "\x00", "\uFFFD")
			}
		case map[string]any:
			data, err := base64.StdEncoding.DecodeString(v["bytes_b64"].(string))
			checktest.NoError(t, err)
			if !bytes.Contains(data, []byte{0}) {
				fields[name] = strings.ToValidUTF8(string(data), "\uFFFD")
				continue
			}
			binary = append(binary, apport.Binary{Name: name, Size: int64(len(data))})
		default:
			t.Fatalf("%s is a %T", name, value)
		}
	}
	return fields, binary
}

func TestParseVectors(t *testing.T) {
	t.Parallel()
	var vectors []parseVector
	data, err := os.ReadFile(filepath.Join("testdata", "crash_file_parse.json"))
	checktest.NoError(t, err)
	checktest.NoError(t, json.Unmarshal(data, &vectors))
	if len(vectors) != 33 {
		t.Fatalf("got %d cases, want 33", len(vectors))
	}
	refused := 0
	for _, v := range vectors {
		if v.Error != "" {
			refused++
		}
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			fields, binary, err := apport.Read(bytes.NewReader(v.File), apport.Limits{})
			if v.Name == "bad_utf8_string_key" { // unlike apport, so that one byte does not cost the report
				if err != nil || fields == nil {
					t.Fatalf("got %v, want the text replaced", err)
				}
				return
			}
			if v.Error != "" {
				if crash.KindOf(err) != crash.Invalid || !strings.HasPrefix(err.Error(), "Line ") {
					t.Fatalf("got %v, want an error of kind %v that names a line: apport says %s", err, crash.Invalid, v.Error)
				}
				return
			}
			if err != nil {
				t.Fatalf("got %v (%s)", err, v.Note)
			}
			wantFields, wantBinary := ours(t, v.Want)
			if diff := cmp.Diff(wantFields, fields); diff != "" {
				t.Errorf("fields (-want +got), %s:\n%s", v.Note, diff)
			}
			if diff := cmp.Diff(wantBinary, binary); diff != "" {
				t.Errorf("binary (-want +got), %s:\n%s", v.Note, diff)
			}
		})
	}
	if refused != 8 {
		t.Errorf("got %d cases that apport refuses, want 8", refused)
	}
}

// TestCrashes reads realistic files.
func TestCrashes(t *testing.T) {
	t.Parallel()
	var manifest []struct {
		File               string `json:"file"`
		Addresses          string `json:"crash_signature_addresses"`
		ProblemType        string `json:"ProblemType"`
		DistroRelease      string `json:"DistroRelease"`
		Architecture       string `json:"Architecture"`
		Package            string `json:"Package"`
		SourcePackage      string `json:"SourcePackage"`
		DuplicateSignature string `json:"DuplicateSignature"`
		Core               string `json:"core_body"`
		Error              string `json:"apport_load_error"`
	}
	data, err := os.ReadFile(filepath.Join("testdata", "crashes", "manifest.json"))
	checktest.NoError(t, err)
	checktest.NoError(t, json.Unmarshal(data, &manifest))
	if len(manifest) != 14 {
		t.Fatalf("got %d reports, want 14", len(manifest))
	}
	for _, m := range manifest {
		t.Run(filepath.Base(m.File), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join("testdata", m.File))
			checktest.NoError(t, err)
			fields, binary, err := apport.Read(bytes.NewReader(content), apport.Limits{})
			if m.Error != "" {
				if want := "Line 3 has no colon between the key and its value, so this is no .crash file."; err == nil ||
					err.Error() != want {
					t.Errorf("got %v, want %q", err, want)
				}
				return
			}
			checktest.NoError(t, err)
			if got := len(binary) == 1 && binary[0].Name == "CoreDump" && binary[0].Size > 0; got != (m.Core != "") {
				t.Errorf("binary values: got %v, want a core: %v", binary, m.Core != "")
			}
			for name, want := range map[string]string{"ProblemType": m.ProblemType, "DistroRelease": m.DistroRelease,
				"Architecture": m.Architecture, "Package": m.Package, "SourcePackage": m.SourcePackage,
				"DuplicateSignature": m.DuplicateSignature} {
				if fields[name] != want {
					t.Errorf("%s: got %q, want %q", name, fields[name], want)
				}
			}
			if fields["StacktraceAddressSignature"] != m.Addresses {
				t.Errorf("address signature: got %q, want %q", fields["StacktraceAddressSignature"], m.Addresses)
			}
		})
	}
}
