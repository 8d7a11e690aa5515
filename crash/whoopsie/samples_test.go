package whoopsie_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"mishap/crash"
	"mishap/crash/compressed"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

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
	data := read(t, "manifest.json")
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", filepath.Base(path)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// old0133 lists what whoopsie 0.1.33 omits: OopsText, Failure, ErrorMessage and the exception's
// qualifier.
var old0133 = map[string]struct{ signature, title string }{
	"linux-image-5.15.0-97-generic.77aa01.v0133.bson":  {"", ""},
	"linux-image-6.8.0-41-generic.3f1b77aa.v0133.bson": {"", ""},
	"susres.2026-02-03_06:07:08.123456.v0133.bson":     {"", ""},
	"brigwifi-dkms.0.v0133.bson": {"", "package brigwifi-dkms 2.0-1ubuntu3 failed to " +
		"install/upgrade"},
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
				fields, err := crashtest.Decode(read(t, path))
				if err != nil {
					t.Fatal(err)
				}
				if path == s.Old {
					if diff := cmp.Diff(s.OldFields, slices.Sorted(maps.Keys(fields))); diff != "" {
						t.Errorf("fields (-want +got):\n%s", diff)
					}
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
	if len(tried) != 26 {
		t.Errorf("got %d documents, want 26", len(tried))
	}
}

func checkSample(t *testing.T, s sample, name string, fields crash.Fields) {
	t.Helper()
	want := struct{ signature, title string }{s.Signature, s.Title}
	if less, ok := old0133[name]; ok {
		want = less
	}
	if got := apportSignature(fields, want.signature); got != want.signature {
		t.Errorf("crash signature: got %q, want %q", got, want.signature)
	}
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
		body := read(t, file)
		var want map[string]string
		if err := bson.Unmarshal(body, &want); err != nil {
			t.Fatal(err)
		}
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
		text := read(t, file)
		var core bytes.Buffer
		n, err := compressed.Copy(&core, bytes.NewReader(text), 1<<20)
		sum := sha256.Sum256(core.Bytes())
		if got := hex.EncodeToString(sum[:8]); err != nil || n != int64(core.Len()) || got != want {
			t.Errorf("%s: got %d bytes, sha256 %s…, %v; want sha256 %s…", file, n, got, err, want)
		}
		_, err = compressed.Copy(io.Discard, bytes.NewReader(text), n-1)
		if !errors.Is(err, compressed.ErrLimit) {
			t.Errorf("%s with a limit that is one byte too low: got %v, want %v", file, err, compressed.ErrLimit)
		}
		_, err = compressed.Copy(io.Discard, bytes.NewReader(text[:len(text)-20]), 1<<20)
		if err == nil || errors.Is(err, compressed.ErrLimit) {
			t.Errorf("%s truncated: got %v, want an error about a damaged file", file, err)
		}
	}
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil {
		t.Fatal(err)
	}
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
