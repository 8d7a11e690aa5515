package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUpgradePostgreSQL moves a private database of PostgreSQL 15 to 17 in both documented ways: in place,
// and with a dump, as between two container images.
func TestUpgradePostgreSQL(t *testing.T) {
	t.Parallel()
	newer := withIncremental(t)
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
	old := cluster + "-15"
	if status, out := command(t, append(environ, newer), "", "upgrade-postgresql"); status != exitFailed ||
		!strings.Contains(out, "There is no database") {
		t.Errorf("without a database: got %d, %s", status, out)
	}
	run(environ, "correct horse battery\n", "user", "add", "ada", "--role=admin", "--password-stdin")
	if version(cluster) != "15" {
		t.Skip("PostgreSQL 15 is not the newest one that is installed")
	}
	if out := run(environ, "", "upgrade-postgresql"); !strings.Contains(out, "no newer version is installed") {
		t.Errorf("with PostgreSQL 15 alone: got %s", out)
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
	if version(cluster) != "17" || version(old) != "15" {
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
	run(environ, "", "restore", dumps[0], "--data-dir="+moved)
	if got := version(filepath.Join(moved, "postgres", "data")); got != "17" {
		t.Errorf("restored: got PostgreSQL %s, want 17", got)
	}
	if out := run([]string{newer, "MISHAP_DATA_DIR=" + moved}, "", "user", "list"); !strings.Contains(out, "ada") {
		t.Errorf("restored: got %s", out)
	}
}
