package apport_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/grouping"
)

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
			if err != nil {
				t.Fatal(err)
			}
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
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
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

// TestCrashes reads realistic files and checks their grouping and summary.
func TestCrashes(t *testing.T) {
	t.Parallel()
	var manifest []struct {
		File               string `json:"file"`
		Signature          string `json:"crash_signature"`
		Addresses          string `json:"crash_signature_addresses"`
		Title              string `json:"standard_title"`
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
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 14 {
		t.Fatalf("got %d reports, want 14", len(manifest))
	}
	for _, m := range manifest {
		t.Run(filepath.Base(m.File), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join("testdata", m.File))
			if err != nil {
				t.Fatal(err)
			}
			fields, binary, err := apport.Read(bytes.NewReader(content), apport.Limits{})
			if m.Error != "" {
				if want := "Line 3 has no colon between the key and its value, so this is no .crash file."; err == nil ||
					err.Error() != want {
					t.Errorf("got %v, want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := len(binary) == 1 && binary[0].Name == "CoreDump" && binary[0].Size > 0; got != (m.Core != "") {
				t.Errorf("binary values: got %v, want a core: %v", binary, m.Core != "")
			}
			for what, pair := range map[string][2]string{
				"crash signature":   {apportSignature(fields, m.Signature), m.Signature},
				"address signature": {grouping.AddressSignature(fields), m.Addresses},
				"title":             {grouping.StandardTitle(fields), m.Title}, "ProblemType": {fields["ProblemType"],
					m.ProblemType},
				"DistroRelease": {fields["DistroRelease"], m.DistroRelease},
				"Architecture":  {fields["Architecture"], m.Architecture}, "Package": {fields["Package"], m.Package},
				"SourcePackage":      {fields["SourcePackage"], m.SourcePackage},
				"DuplicateSignature": {fields["DuplicateSignature"], m.DuplicateSignature},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s: got %q, want %q", what, pair[0], pair[1])
				}
			}
			if m.Addresses != "" { // the client computed it: so do we
				delete(fields, "StacktraceAddressSignature")
				if got := grouping.AddressSignature(fields); got != m.Addresses {
					t.Errorf("computed address signature: got %q, want %q", got, m.Addresses)
				}
			}
		})
	}
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
