package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash/symbols/symboltest"
	"mishap/db/dbtest"
)

// TestSymboliseAddresses names a report without a core dump, after packages with the program of
// exactly this version were added. The signature is that of the core.
func TestSymboliseAddresses(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	conf := "--config=" + configFile(t, fmt.Sprintf("data_dir = %q\ndatabase_url = %q\nsymbols_from_machine = false\n",
		filepath.Join(symboltest.TempDir(t), "data"), dbtest.URL(t)))
	run := func(args ...string) (int, string, string) {
		t.Helper()
		return runIn(t.Context(), nil, nil, append([]string{args[0], conf}, args[1:]...)...)
	}
	status, _, stderr := runIn(t.Context(), nil, nil, "symbols", "add", conf, filepath.Join(dir, "original/tiny"))
	if status != exitOK {
		t.Fatalf("symbols add: got %d, %s", status, stderr)
	}
	status, stdout, stderr := run("symbolise", "--json", symboltest.Crash(t, "tiny", symboltest.Core(t, "tiny")))
	var withCore symbolised
	if err := json.Unmarshal([]byte(stdout), &withCore); err != nil || status != exitOK {
		t.Fatalf("with a core: got %d, %v, %s", status, err, stderr)
	}
	file := addressReport(t, withCore.Fields["Stacktrace"])

	status, stdout, _ = run("symbolise", file)
	if status != exitFailed || !strings.Contains(stdout, "It is not known which builds") ||
		!strings.Contains(stdout, "build-id    unknown: no package of this version was added") {
		t.Errorf("before the package is added: got %d and\n%s", status, stdout)
	}
	for _, version := range []string{"0.9", "1.0"} {
		program := "root/usr/bin/tiny"
		if version == "0.9" { // a neighbouring version, with another program
			program = "root/usr/bin/tail"
		}
		status, _, stderr = runIn(t.Context(), nil, nil, "symbols", "add", conf,
			tinyPackage(t, version, filepath.Join(dir, program)))
		if status != exitOK {
			t.Fatalf("symbols add: got %d, %s", status, stderr)
		}
		if version == "0.9" {
			if status, stdout, _ = run("symbolise", file); status != exitFailed {
				t.Errorf("with another version: got %d and\n%s", status, stdout)
			}
		}
	}
	status, stdout, stderr = run("symbolise", "--json", file)
	var got symbolised
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != exitOK {
		t.Fatalf("got %d, %v, %s and\n%s", status, err, stderr, stdout)
	}
	if got.State != "done" || got.Signature != withCore.Signature || !strings.HasPrefix(got.Engine, "GNU gdb") ||
		got.Signature != "/usr/bin/tiny:11:parse:row:load:_start" {
		t.Errorf("got %s; want signature %s", stdout, withCore.Signature)
	}
}

// addressReport writes a report with the addresses of a stack of tiny.
func addressReport(t *testing.T, stack string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tiny.crash")
	text := "ProblemType: Crash\nArchitecture: amd64\nDate: Sun Nov 22 12:00:00 2026\nDistroRelease: Debian 12\n" +
		"Package: tiny 1.0\nExecutablePath: /usr/bin/tiny\nSignal: 11\nStacktraceAddressSignature: " +
		symboltest.TinyAddresses(t, stack) + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// tinyPackage builds a Debian package with a program as /usr/bin/tiny.
func tinyPackage(t *testing.T, version, program string) string {
	t.Helper()
	root := t.TempDir()
	control := "Package: tiny\nVersion: " + version + "\nArchitecture: amd64\nMaintainer: A <a@example.com>\n" +
		"Description: tiny\n continued\n"
	for name, content := range map[string][]byte{"DEBIAN/control": []byte(control),
		"usr/bin/tiny": symboltest.Read(t, program)} {
		to := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "tiny_"+version+"_amd64.deb")
	out, err := exec.CommandContext(t.Context(), "dpkg-deb", "--root-owner-group", "-b", root, file).CombinedOutput()
	if err != nil {
		t.Fatalf("dpkg-deb: %v\n%s", err, out)
	}
	return file
}
