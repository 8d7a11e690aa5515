package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"

	"mishap/crash/crashtest"
	"mishap/db/dbtest"
)

// crashFileWith writes a report of a native crash without names at this address, and more fields.
func crashFileWith(t *testing.T, address, more string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tiny"+address+".crash")
	err := os.WriteFile(file, []byte("ProblemType: Crash\nArchitecture: amd64\nPackage: tide 1.0\nSignal: 11\n"+
		"ExecutablePath: /usr/bin/tiny\nStacktraceAddressSignature: /usr/bin/tiny:11:/usr/bin/tiny+"+address+"\n"+more),
		0o600)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// packed returns a field in apport's compressed form.
func packed(name, value string) string {
	return name + ": base64\n " + strings.ReplaceAll(crashtest.Compressed(value), "\n", "\n ") + "\n"
}

// TestImportCores checks that the core of a file is stored as if it had been asked for, or that the
// reason is printed, and that fields that are not text are named.
func TestImportCores(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	environ := []string{"MISHAP_DATABASE_URL=" + dbtest.URL(t), "MISHAP_DATA_DIR=" + data}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	files := []string{
		crashFileWith(t, "1", packed("CoreDump", "core one")+packed("Picture", "\x89PNG\x00")+"Title: a\xffb\n"),
		crashFileWith(t, "2", packed("CoreDump.zst", string(w.EncodeAll([]byte("core two"), nil)))),
		crashFileWith(t, "3", packed("CoreDump", "core three")+"Traceback: none\n"),
		crashFileWith(t, "1", packed("CoreDump", "another core of the first problem")+"ProcStatus: other\n"),
	}
	for _, core := range []string{"wanted", "never"} {
		args := append([]string{"import", noConfig(t)}, files...)
		status, stdout, stderr := runIn(t.Context(), nil, append(environ, "MISHAP_CORES="+core), args...)
		wantOut, want := "4 stored, 0 known already, 0 refused.\n", []string{"2 cores stored.\n",
			"tiny1.crash: 1 field dropped (not text, or too large): Picture\n",
			"tiny3.crash: without its core: The report needs none",
			"tiny1.crash: without its core: Another core of the same problem"}
		if core == "never" {
			wantOut = "0 stored, 4 known already, 0 refused.\n"
			want = []string{`tiny2.crash: without its core: The configuration has cores = "never".`}
		}
		if status != exitOK || stdout != wantOut {
			t.Errorf("%s: got status %d and %q, want %q", core, status, stdout, wantOut)
		}
		for _, want := range want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: got %q, want %q in it", core, stderr, want)
			}
		}
	}
	if stored, err := filepath.Glob(filepath.Join(data, "cores", "*.core")); err != nil || len(stored) != 2 {
		t.Errorf("got %v, %v; want two cores", stored, err)
	}
	// A core that is stored already is not stored again, and needs no words.
	_, _, stderr := runIn(t.Context(), nil, environ, "import", noConfig(t), files[1])
	if strings.Contains(stderr, "core") {
		t.Errorf("again: got %q", stderr)
	}
}

// TestNoFiles checks that a FIFO, a device and a symbolic link are refused instead of read.
func TestNoFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo, link := filepath.Join(dir, "fifo.crash"), filepath.Join(dir, "link.crash")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(crashFileWith(t, "1", ""), link); err != nil {
		t.Fatal(err)
	}
	environ := []string{"MISHAP_DATABASE_URL=" + dbtest.URL(t), "MISHAP_DATA_DIR=" + t.TempDir()}
	for _, command := range []string{"import", "inspect", "symbolise"} {
		status, stdout, stderr := runIn(t.Context(), nil, environ, command, noConfig(t), fifo, link, os.DevNull)
		if status != exitFailed || strings.Count(stdout+stderr, "This is no file") != 2 ||
			strings.Count(stdout+stderr, "This is a symbolic link, which is not followed") != 1 {
			t.Errorf("%s: got status %d, %q and %q", command, status, stdout, stderr)
		}
	}
}
