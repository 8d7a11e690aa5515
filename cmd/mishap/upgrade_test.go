package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newerPostgreSQL returns the environment variable with which commands use the PostgreSQL 17 of .ci/postgresql17.
func newerPostgreSQL(t *testing.T) string {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "../../.ci/postgresql17", "--folder").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(folder)), "usr/lib/postgresql/17/bin")
	if _, err := os.Stat(filepath.Join(dir, "postgres")); err != nil {
		t.Fatalf("run .ci/need postgresql17: %v", err)
	}
	return "PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH")
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

// TestMoreUpgradePostgreSQL moves a private database to PostgreSQL 17 in both documented ways: in place,
// and with a dump, as between two container images.
func TestMoreUpgradePostgreSQL(t *testing.T) {
	t.Parallel()
	newer := newerPostgreSQL(t)
	data := dataDir(t)
	folder := filepath.Dir(data)
	backups := filepath.Join(folder, "backups")
	environ := []string{"MISHAP_DATA_DIR=" + data}
	run := func(environ []string, stdin string, args ...string) string {
		t.Helper()
		status, out := command(t, environ, stdin, args...)
		if status != exitOK {
			t.Fatalf("%s: got status %d\n%s", args, status, out)
		}
		return out
	}
	version := func(dir string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	cluster := filepath.Join(data, "postgres", "data")
	if status, out := command(t, append(environ, newer), "", "upgrade-postgresql"); status != exitFailed ||
		!strings.Contains(out, "There is no database") {
		t.Errorf("without a database: got %d, %s", status, out)
	}
	run(environ, "correct horse battery\n", "user", "add", "ada", "--role=admin", "--password-stdin")
	from := version(cluster)
	old := cluster + "-" + from
	if out := run(environ, "", "upgrade-postgresql"); !strings.Contains(out, "no newer version is installed") {
		t.Errorf("without a newer version: got %s", out)
	}
	run(environ, "", "backup", backups, "--method=dump")

	environ = append(environ, newer)
	if err := os.MkdirAll(old, 0o700); err != nil { // an upgrade was killed here
		t.Fatal(err)
	}
	server, _ := serveProcess(t, environ)
	if status, out := command(t, environ, "", "upgrade-postgresql"); status != exitFailed ||
		!strings.Contains(out, "uses the database") {
		t.Errorf("while mishap runs: got %d, %s", status, out)
	}
	server.kill() // the upgrade has to recover the database
	if out := run(environ, "", "upgrade-postgresql"); !strings.Contains(out, "belongs to PostgreSQL 17 now") ||
		!strings.Contains(out, old) || strings.Contains(out, "slow") {
		t.Errorf("got %s", out)
	}
	if version(cluster) != "17" || version(old) != from {
		t.Errorf("got versions %s and %s", version(cluster), version(old))
	}
	if out := run(environ, "", "user", "list"); !strings.Contains(out, "ada") {
		t.Errorf("after the upgrade: got %s", out)
	}
	run(environ, "", "check", "--all")

	dumps, err := filepath.Glob(filepath.Join(backups, "mishap-*"))
	if err != nil || len(dumps) != 1 {
		t.Fatalf("got backups %v, %v", dumps, err)
	}
	moved := filepath.Join(folder, "moved")
	start := "Start it with: MISHAP_DATA_DIR=" + moved + " mishap serve" // the images set that variable
	if out := run(environ, "", "restore", dumps[0], "--data-dir="+moved); !strings.Contains(out, start) {
		t.Errorf("restored: got %s, want %q", out, start)
	}
	if got := version(filepath.Join(moved, "postgres", "data")); got != "17" {
		t.Errorf("restored: got PostgreSQL %s, want 17", got)
	}
	if out := run([]string{newer, "MISHAP_DATA_DIR=" + moved}, "", "user", "list"); !strings.Contains(out, "ada") {
		t.Errorf("restored: got %s", out)
	}
}
