package ingest_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"mishap/crash/crashtest"
)

// document frames BSON elements.
func document(elements string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(elements)+5))
	return append(append(b, elements...), 0)
}

func element(name, value string) string {
	b := append([]byte{2}, name+"\x00"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(value)+1))
	return string(append(append(b, value...), 0))
}

// TestHostileDocuments posts documents that no honest machine sends. Each is either accepted or
// permanently refused.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	plain := element("Package", "x 1") + element("ProblemType", "Crash")
	huge := strings.Repeat("ż", 200_000)
	nested := strings.Repeat("\x03a\x00\xff\xff\x00\x00", 50_000)
	var many strings.Builder
	for i := range 30_000 {
		many.WriteString(element(fmt.Sprint("k", i), "v"))
	}
	documents := map[string][]byte{
		"a key twice": document(plain + element("Package", "y 2") + element("Package", "z 3")),
		"NUL in texts": document(plain + element("Title", "a\x00b") + element("DuplicateSignature", "s\x00t") +
			element("n", "\x00\x00")),
		"no UTF-8": document(plain + element("DistroRelease", "\xff\xfe") + element("\xff\xfe", "\xed\xa0\x80") +
			element("DuplicateSignature", "\xff")),
		"an empty name":         document(plain + element("", "x")),
		"nested deeply":         document(plain + nested),
		"very many fields":      document(plain + many.String()),
		"a length beyond":       append([]byte{0xff, 0xff, 0xff, 0x7f}, plain...),
		"a negative length":     append([]byte{0xff, 0xff, 0xff, 0xff}, plain...),
		"a text without length": document("\x02a\x00\xff\xff\xff\xff"),
		"numbers for texts": document("\x10Package\x00\x01\x00\x00\x00" +
			"\x01DistroRelease\x00\x00\x00\x00\x00\x00\x00\xf0\x7f"),
		"blanks for texts": document(element("Package", " \t\n") + element("ProblemType", " ")),
		"SQL and markup": document(element("Package", "'); drop table reports; -- <script>") +
			element("DuplicateSignature", "%s%n{{.}}${x}\\'\"")),
		"a date of long ago": document(plain + element("Date", "Mon Jan  1 00:00:00 0001") + element("DuplicateSignature",
			"d")),
		"a date far off": document(plain + element("Date", "Fri Dec 31 23:59:59 9999") + element("DuplicateSignature",
			"d")),
		"no date at all": document(plain + element("Date", strings.Repeat("9", 100_000)) +
			element("DuplicateSignature", "d")),
		"a bomb in base64": document(plain + element("Traceback", "H4sIAAAAAAAC/w==\n"+strings.Repeat("A", 100_000))),
	}
	for _, name := range []string{
		"ProblemType", "Title", "ExecutablePath", "Package", "SourcePackage", "DistroRelease", "Architecture",
		"PackageArchitecture",
		"StacktraceAddressSignature", "DuplicateSignature", "Tags", "ProcStatus", "Signal", "StacktraceTop", "Traceback",
		"OopsText",
		"AssertionMessage", "Failure", "JournalErrors",
	} {
		report := crashtest.Native(crashtest.Set("DuplicateSignature", ""), crashtest.Set(name, huge))
		if name == "Package" {
			report[name] = huge[:100_000] + " " + huge[:100_000]
		}
		documents["very long "+name] = report.BSON()
	}
	for name, data := range documents {
		t.Run(name, func(t *testing.T) {
			if got := h.post(t, "/"+strings.ReplaceAll(name, " ", "-"), bytes.NewReader(data)); got.status != 200 &&
				got.status != 400 {
				t.Errorf("got %d %q, want 200 or 400", got.status, got.text)
			} else if got.status == 200 {
				h.report(t, got.stored(t)) // it can be read back
			}
		})
	}
	h.wantAlive(t)
}

// TestDamagedDocuments flips and truncates bytes of real documents.
func TestDamagedDocuments(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	r := rand.New(rand.NewPCG(1, 2))
	for _, file := range samples(t, "*.bson") {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			data := bytes.Clone(whole)
			for range 1 + r.IntN(8) {
				data[r.IntN(len(data))] = byte(r.IntN(256))
			}
			if r.IntN(4) == 0 {
				data = data[:r.IntN(len(data))]
			}
			if len(data) >= 4 && r.IntN(8) > 0 { // mostly with the right length, so that more is parsed
				binary.LittleEndian.PutUint32(data, uint32(len(data)))
			}
			if got := h.post(t, "/machine", bytes.NewReader(data)); got.status != 200 && got.status != 400 {
				t.Errorf("%s: got %d %q for %q", file, got.status, got.text, data)
			}
		}
	}
	h.wantAlive(t)
}

// wantAlive checks that honest reports are still accepted.
func (h *fixture) wantAlive(t *testing.T) {
	t.Helper()
	h.post(t, "/honest", body(crashtest.Python())).stored(t)
}
