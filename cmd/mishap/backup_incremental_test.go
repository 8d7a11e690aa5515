package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mishap/crash/sizetest"
	"mishap/crash/symbols/blobs/blobstest"
	"mishap/db/backup"
	"mishap/db/embedded"
)

// withIncremental returns the environment variable with which commands use a PostgreSQL that can make
// incremental backups. Without one, it skips the test, or fails it in continuous integration.
func withIncremental(t *testing.T) string {
	t.Helper()
	sizetest.Needs(t, "PostgreSQL 17")
	const major = 17
	var dirs []string
	if tool, err := embedded.FindTool(t.Context(), "pg_combinebackup", major); err == nil {
		dirs = append(dirs, filepath.Dir(tool))
	}
	if folder, err := exec.CommandContext(t.Context(), "../../.ci/postgresql17", "--folder").Output(); err == nil {
		found, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), "usr/lib/postgresql/*/bin"))
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err == nil {
			return "PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH")
		}
	}
	const message = "no PostgreSQL 17 or newer was found: run .ci/need postgresql17"
	if os.Getenv("CI") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

// command runs the built program, because commands of this process use the PATH of this process.
func command(t *testing.T, environ []string, stdin string, args ...string) (status int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), built(t), append(args, noConfig(t))...)
	cmd.Env = append(os.Environ(), environ...)
	cmd.Stdin = strings.NewReader(stdin)
	text, _ := cmd.CombinedOutput() // ProcessState has the status
	return cmd.ProcessState.ExitCode(), string(text)
}

// TestIncrementalBackup makes incremental backups in a folder and in object storage, restores them, and
// checks that what they are based on is kept and verified.
func TestIncrementalBackup(t *testing.T) {
	t.Parallel()
	path := withIncremental(t)
	server := blobstest.Start(t, "backups")
	environ := []string{path, "MISHAP_DATA_DIR=" + dataDir(t), "MISHAP_BLOBS_ACCESS_KEY=" + blobstest.AccessKey,
		"MISHAP_BLOBS_SECRET=" + blobstest.Secret}
	run := func(wantStatus int, want string, args ...string) string {
		t.Helper()
		status, out := command(t, environ, testPassword, args...)
		if status != wantStatus || !strings.Contains(out, want) {
			t.Fatalf("%v: got status %d: %s, want %q", args, status, out, want)
		}
		return out
	}
	backUp := func(place, name string, more ...string) (r backup.Result) {
		t.Helper()
		run(exitOK, "", "user", "add", name, "--role=viewer", "--password-stdin")
		out := run(exitOK, "{", append([]string{"backup", place, "--incremental", "--json"}, more...)...)
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	serveProcess(t, environ) // it keeps the private PostgreSQL running
	folder := t.TempDir()
	whole := backUp(folder, "ada")
	first := backUp(folder, "bob")
	second := backUp(folder, "eve", "--keep=1")
	if whole.BasedOn != "" || first.BasedOn != filepath.Base(whole.Path) || second.BasedOn != filepath.Base(first.Path) {
		t.Fatalf("based on %q, %q and %q, want a chain", whole.BasedOn, first.BasedOn, second.BasedOn)
	}
	if len(second.Deleted) > 0 || first.Size()*2 > whole.Size() {
		t.Errorf("deleted %v, which the last one needs; %d bytes after %d", second.Deleted, first.Size(), whole.Size())
	}
	run(exitOK, "The backup is good.", "restore", "--verify", second.Path)
	to := dataDir(t)
	run(exitOK, "Restored the state of", "restore", second.Path, "--data-dir", to)
	_, users := command(t, []string{path, "MISHAP_DATA_DIR=" + to}, "", "user", "list")
	for _, name := range []string{"ada", "bob", "eve"} {
		if !strings.Contains(users, name) {
			t.Errorf("restored users: got %s, want %s", users, name)
		}
	}

	bucket := "s3://backups/chain?endpoint=http://" + server.Address
	backUp(bucket, "mel")
	run(exitOK, "The backup is good.", "restore", "--verify", backUp(bucket, "pat").Path)

	if err := flipByte(filepath.Join(whole.Path, "database", "base.tar.gz")); err != nil {
		t.Fatal(err)
	}
	run(exitFailed, filepath.Base(whole.Path)+" is damaged: database/base.tar.gz: its checksum is wrong",
		"restore", "--verify", second.Path)
	if err := os.RemoveAll(whole.Path); err != nil {
		t.Fatal(err)
	}
	run(exitFailed, "needs "+whole.Path+", which is missing or damaged", "restore", "--verify", first.Path)
	if again := backUp(folder, "tom"); again.BasedOn != "" {
		t.Errorf("based on %s, of which a part is missing; want a whole backup", again.BasedOn)
	}
}
