package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/db/dbtest"
)

// sample is one entry of testdata/crashes/manifest.json: apport's results for a sample report.
type sample struct {
	File               string
	Signature          *string `json:"crash_signature"`
	DuplicateSignature *string
	AddressSignature   *string `json:"crash_signature_addresses"`
	Title              *string `json:"standard_title"`
	ProblemType        *string
	DistroRelease      *string
	Architecture       *string
	Package            string
	SourcePackage      *string
	LoadError          string `json:"apport_load_error"`
}

func samples(t *testing.T) []sample {
	t.Helper()
	doc, err := os.ReadFile("testdata/crashes/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []sample
	if err := json.Unmarshal(doc, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// want returns the expected output of inspect. The report's own signature takes precedence, then
// apport's, then the provisional one.
func (s sample) want() map[string]any {
	file := "testdata/crashes/" + s.File
	if s.LoadError != "" {
		return map[string]any{"file": file}
	}
	text := func(p *string) any {
		if p == nil {
			return nil
		}
		return *p
	}
	signature := text(s.AddressSignature)
	if s.Signature != nil {
		signature = *s.Signature
	}
	if s.DuplicateSignature != nil {
		signature = *s.DuplicateSignature
	}
	if own, ok := ownSignatures[s.File]; ok {
		signature = own
	}
	words := strings.Fields(s.Package)
	return map[string]any{
		"file": file, "problem_type": text(s.ProblemType), "signature": signature,
		"address_signature": text(s.AddressSignature), "title": text(s.Title), "package": words[0], "version": words[1],
		"source_package": text(s.SourcePackage), "release": text(s.DistroRelease), "architecture": text(s.Architecture),
	}
}

// ownSignatures are the signatures of samples to which apport gives none.
var ownSignatures = map[string]string{
	"linux-image-6.8.0-41-generic.3f1b77aa.crash": "kernel:NULL pointer dereference:brig_tx_done [brigwifi]:brig_irq " +
		"[brigwifi]:__handle_irq_event_percpu:handle_irq_event",
}

func TestInspectSamples(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		t.Run(s.File, func(t *testing.T) {
			t.Parallel()
			status, stdout, stderr := runIn(t.Context(), nil, []string{"MISHAP_DATABASE_URL=postgres://nowhere.invalid/x"},
				"inspect", "--json", "testdata/crashes/"+s.File, noConfig(t))
			var got map[string]any
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatalf("got %q, which is not one JSON object: %v", stdout, err)
			}
			want, wantStatus := s.want(), exitOK
			if s.LoadError != "" {
				if got["refused"] == "" || got["refused"] == nil {
					t.Errorf("refused: got %v, want a reason", got["refused"])
				}
				delete(got, "refused")
				wantStatus = exitFailed
			}
			if rule, ok := got["rule"].(string); ok != (got["signature"] != nil) || ok && rule == "" {
				t.Errorf("got rule %v for signature %v", got["rule"], got["signature"])
			}
			delete(got, "rule")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("inspect (-want +got):\n%s", diff)
			}
			if status != wantStatus || stderr != "" {
				t.Errorf("got status %d and %q, want %d and nothing", status, stderr, wantStatus)
			}
		})
	}
}

func TestInspectForPeople(t *testing.T) {
	t.Parallel()
	status, stdout, _ := runIn(t.Context(), nil, nil, "inspect", noConfig(t),
		"testdata/crashes/_usr_bin_tidewatch.1000.crash", "testdata/crashes/brigwifi-dkms.0.crash", "testdata/none.crash")
	if status != exitFailed {
		t.Errorf("status: got %d, want %d for a missing file", status, exitFailed)
	}
	for _, want := range []string{
		"testdata/crashes/_usr_bin_tidewatch.1000.crash\n  problem type       Crash\n",
		"  problem            /problem/aa9a862bb2b97f1c90aff26e60c184c881e9e309\n",
		`package:brigwifi-dkms:2.0-1ubuntu3\nSetting up brigwifi-dkms`,
		"testdata/none.crash\n  refused  no such file or directory\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("inspect: got %q, want %q in it", stdout, want)
		}
	}
}

func TestInspectSeveralAsJSON(t *testing.T) {
	t.Parallel()
	hostile := filepath.Join(t.TempDir(), "a\x1b]0;x\n.crash")
	if err := os.WriteFile(hostile, []byte("ProblemType: Crash\nPackage: a 1\nExecutablePath: /a\x1b[2J<b>\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	status, stdout, _ := runIn(t.Context(), nil, nil, "inspect", "--json", noConfig(t), hostile, t.TempDir())
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if len(lines) != 2 || status != exitFailed {
		t.Fatalf("got status %d and %q, want 1 and two lines", status, stdout)
	}
	for i, want := range []string{"title", "refused"} {
		var got map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Errorf("line %d: %v", i+1, err)
		}
		if _, ok := got[want]; !ok {
			t.Errorf("line %d: got %v, want a member %s", i+1, got, want)
		}
	}
	_, text, _ := runIn(t.Context(), nil, nil, "inspect", noConfig(t), hostile)
	if strings.Contains(text+stdout, "\x1b") {
		t.Errorf("got an escape character of the report on the terminal: %q", text)
	}
}

func TestImportSamples(t *testing.T) {
	t.Parallel()
	environ := []string{"MISHAP_DATABASE_URL=" + dbtest.URL(t), "MISHAP_DATA_DIR=" + t.TempDir()}
	args := []string{"import", noConfig(t), "testdata/none.crash"}
	for _, s := range samples(t) {
		args = append(args, "testdata/crashes/"+s.File)
	}
	status, stdout, stderr := runIn(t.Context(), nil, environ, args...)
	if want := "13 stored, 0 known already, 2 refused.\n"; status != exitFailed || stdout != want {
		t.Errorf("import: got status %d and %q, want 1 and %q", status, stdout, want)
	}
	for _, want := range []string{
		"testdata/none.crash: no such file or directory\n",
		"testdata/crashes/_usr_bin_broken.1000.crash: Line 3 has no colon",
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("import: got %q, want %q in it", stderr, want)
		}
	}
	if status, stdout, _ = runIn(t.Context(), nil, environ, args...); stdout != "0 stored, 13 known already, 2 "+
		"refused.\n" || status != exitFailed {
		t.Errorf("import again: got status %d and %q, want only known reports", status, stdout)
	}
	for _, c := range []struct{ system, want string }{
		{"0a1b2c", "13 stored, 0 known already, 2 refused.\n"}, // another machine
		{"0a1b2c", "0 stored, 13 known already, 2 refused.\n"},
	} {
		if _, stdout, _ = runIn(t.Context(), nil, environ, append(args, "--system", c.system)...); stdout != c.want {
			t.Errorf("import as a machine: got %q, want %q", stdout, c.want)
		}
	}
	for _, name := range []string{"", " ", "a b", "a/b", "\xff", "a\n", strings.Repeat("0", 257)} {
		status, stdout, stderr := runIn(t.Context(), nil, environ, append(args, "--system", name)...)
		if status != exitUsage || stdout != "" || !strings.Contains(stderr, "--system: expected the hash") {
			t.Errorf("system %q: got status %d, %q and %q; want %d and a message", name, status, stdout, stderr,
				exitUsage)
		}
	}
}
