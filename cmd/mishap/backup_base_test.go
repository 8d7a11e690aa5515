package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"mishap/crash/sizetest"
	"mishap/db/backup"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/embedded"
)

// privateServer starts a private PostgreSQL, which the test stops, and returns its data_dir and address.
// Base backups copy a whole server, so tests cannot use the server that they share.
func privateServer(t *testing.T) (dataDirectory, address string) {
	t.Helper()
	sizetest.Needs(t, "PostgreSQL")
	dir := dataDir(t)
	server, err := embedded.Start(t.Context(), embedded.Config{DataDir: dir, Throwaway: true, Log: dbtest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return dir, server.URL()
}

// crashFile is a report that tests import.
const crashFile = "testdata/crashes/_usr_bin_tidewatch.1000.crash"

// wantOutput runs a command and checks that it succeeds and prints each text.
func wantOutput(t *testing.T, environ, args []string, texts ...string) {
	t.Helper()
	status, out, stderr := runIn(t.Context(), nil, environ, args...)
	if status != exitOK {
		t.Fatalf("%v: got status %d: %s%s", args, status, out, stderr)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("%v: got %s, want %q", args, out, text)
		}
	}
}

// TestBaseBackup makes base backups of a private PostgreSQL while reports arrive. The restored state is
// consistent, does not contain what was erased after the backup, and waits for the tracker.
func TestBaseBackup(t *testing.T) {
	t.Parallel()
	data, _ := privateServer(t)
	environ := []string{"MISHAP_DATA_DIR=" + data}
	const machine = "5d41402abc4b2a76b9719d911017c592"
	wantOutput(t, environ, []string{"import", "--system", machine, crashFile, noConfig(t)}, "1 stored")
	load, stop := context.WithCancel(t.Context())
	var changes atomic.Int32
	var writers sync.WaitGroup
	writers.Go(func() {
		for i := 0; load.Err() == nil; i++ {
			if status, _, stderr := runIn(context.WithoutCancel(load), strings.NewReader(testPassword), environ, "user", "add",
				fmt.Sprintf("user%d", i), "--role=viewer", "--password-stdin", noConfig(t)); status != exitOK {
				t.Errorf("user add: %s", stderr)
			}
			changes.Add(1)
		}
	})
	folder := t.TempDir()
	eventually(t, "the database changes", func() bool { return changes.Load() > 1 })
	dir := backUp(t, environ, folder, "--method=base")
	stop()
	writers.Wait()
	wantOutput(t, environ, []string{"restore", "--verify", dir, noConfig(t)}, "a base backup: 1 reports",
		", 0 differences", "The backup is good.")

	wantOutput(t, environ, []string{"system", "erase", machine, "--yes", noConfig(t)}, "is erased.")
	to := dataDir(t)
	wantOutput(t, environ, []string{"restore", dir, "--data-dir", to, noConfig(t)}, "Nothing is filed or sent until")
	restored := []string{"--config", filepath.Join(to, restoredConfig)}
	wantOutput(t, nil, append([]string{"check", "--all"}, restored...), "0 reports")
	wantOutput(t, nil, append([]string{"user", "list"}, restored...), "user0")

	server, err := embedded.Start(t.Context(), embedded.Config{DataDir: to, Throwaway: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Stop(context.Background()) }()
	store := dbtest.Open(t, server.URL())
	if pending, err := bugs.New(store).Restored(t.Context()); err != nil || pending.BackupTaken.IsZero() {
		t.Errorf("got %+v, %v, want a restored database", pending, err)
	}
	store.Close()
}

// TestBaseBackupOfOwnServer backs up a server with a role, a database and an access configuration of its
// own, and restores it into a private PostgreSQL and into a database of another server.
func TestBaseBackupOfOwnServer(t *testing.T) {
	t.Parallel()
	_, admin := privateServer(t)
	dbtest.Exec(t, admin, `create role "the app" login`)
	dbtest.Exec(t, admin, `create database "crash reports" owner "the app"`)
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.Path = url.User("the app"), "/crash reports"
	environ := []string{"MISHAP_DATABASE_URL=" + u.String(), "MISHAP_DATA_DIR=" + t.TempDir()}
	wantOutput(t, environ, []string{"import", crashFile, noConfig(t)}, "1 stored")
	folder := t.TempDir()
	wantRefusal(t, environ, `alter role "the app" with replication`, "backup", folder, "--method=base", noConfig(t))
	dbtest.Exec(t, admin, `alter role "the app" with replication`)
	dir := backUp(t, environ, folder, "--method=base")
	wantOutput(t, environ, []string{"restore", "--verify", dir, noConfig(t)}, "The backup is good.")

	for _, to := range []struct{ flag, place string }{{"--data-dir", dataDir(t)}, {"--database-url", dbtest.Empty(t)}} {
		wantOutput(t, environ, []string{"restore", dir, to.flag, to.place, noConfig(t)}, "Nothing is filed or sent until")
		there := []string{"MISHAP_DATA_DIR=" + to.place}
		if to.flag == "--database-url" {
			there = []string{"MISHAP_DATABASE_URL=" + to.place, "MISHAP_DATA_DIR=" + t.TempDir()}
		}
		wantOutput(t, there, []string{"check", "--all", noConfig(t)}, "1 problems, 1 reports")
	}

	access := filepath.Join(filepath.Dir(u.Query().Get("host")), "data", "pg_hba.conf")
	if err := os.WriteFile(access, []byte("local all all trust\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, admin, `select pg_reload_conf()`)
	eventually(t, "the server refuses replication", func() bool {
		status, _, stderr := runIn(t.Context(), nil, environ, "backup", folder, "--method=base", noConfig(t))
		return status == exitFailed && strings.Contains(stderr, "ADDRESS scram-sha-256\" to pg_hba.conf")
	})
}

// TestDamagedBaseBackups checks that a damaged base backup is refused with the name of the damaged file.
func TestDamagedBaseBackups(t *testing.T) {
	t.Parallel()
	data, address := privateServer(t)
	dbtest.Exec(t, address, `create table nothing ()`)
	environ := []string{"MISHAP_DATA_DIR=" + data}
	wantOutput(t, environ, []string{"migrate", noConfig(t)})
	whole := backUp(t, environ, t.TempDir(), "--method=base")
	wantDamageFound(t, environ, whole, []damage{
		{"one byte of the database", "database/base.tar.gz", "database/base.tar.gz: its checksum is wrong", flipByte},
		{"one byte of the log", "database/pg_wal.tar.gz", "database/pg_wal.tar.gz: its checksum is wrong", flipByte},
		{"missing file", "database/pg_wal.tar.gz", "database/pg_wal.tar.gz: it is missing", os.Remove},
		{"newer format", "manifest.json", "made by a newer mishap", func(name string) error {
			return changeManifest(name, `"format": `, `"format": 9`)
		}},
		{"PostgreSQL that is not installed", "manifest.json", "PostgreSQL 9", func(name string) error {
			return changeManifest(name, `"postgresql": `, `"postgresql": 9`)
		}},
		{"incremental", "manifest.json", "this mishap restores only whole backups", func(name string) error {
			return changeManifest(name, `"method": "base"`, `"method": "base", "based_on": "mishap-20200101T000000Z"`)
		}},
	}, "--verify")
}

// TestKilledBaseBackup kills a base backup in the middle, and then has no space for one. Nothing looks
// like a backup afterwards.
func TestKilledBaseBackup(t *testing.T) {
	t.Parallel()
	data, _ := privateServer(t)
	environ := []string{"MISHAP_DATA_DIR=" + data}
	wantOutput(t, environ, []string{"migrate", noConfig(t)})
	folder := t.TempDir()
	p := start(t, environ, "backup", folder, "--method=base", noConfig(t))
	eventually(t, "the copy begins", func() bool {
		found, _ := filepath.Glob(filepath.Join(folder, ".mishap-*", "database", "*"))
		return len(found) > 0
	})
	p.kill()
	if found, _ := filepath.Glob(filepath.Join(folder, "mishap-*")); len(found) > 0 {
		t.Fatalf("got %v, want no backup", found)
	}
	dir := backUp(t, environ, folder, "--method=base", "--keep=1")
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want only %s", entries, err, dir)
	}

	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("only root can mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	})
	wantRefusal(t, environ, "There is no space left", "backup", small, "--method=base", noConfig(t))
	if entries, err := os.ReadDir(small); err != nil || len(entries) > 0 {
		t.Errorf("got %v, %v, want an empty folder", entries, err)
	}
}

// TestKilledRestoreOfBaseBackup kills a restore while it unpacks. The next one begins anew.
func TestKilledRestoreOfBaseBackup(t *testing.T) {
	t.Parallel()
	data, _ := privateServer(t)
	environ := []string{"MISHAP_DATA_DIR=" + data}
	wantOutput(t, environ, []string{"migrate", noConfig(t)})
	dir := backUp(t, environ, t.TempDir(), "--method=base")
	to := dataDir(t)
	p := start(t, nil, "restore", dir, "--data-dir", to)
	eventually(t, "it unpacks", func() bool {
		found, _ := filepath.Glob(filepath.Join(filepath.Dir(to), ".*.restoring", "postgres", "*", "base"))
		return len(found) > 0
	})
	p.kill()
	if _, err := os.Stat(to); !os.IsNotExist(err) {
		t.Fatalf("got %v, want no data directory", err)
	}
	wantOutput(t, nil, []string{"restore", dir, "--data-dir", to}, "Restored the state of")
	m, err := backup.Read(dir)
	if err != nil || m.Method != backup.Base || !m.Private {
		t.Errorf("manifest: got %+v, %v, want a base backup of a private PostgreSQL", m, err)
	}
}
