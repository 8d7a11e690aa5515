package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/blobs"
	"mishap/crash/blobs/blobstest"
	"mishap/crash/checktest"
	"mishap/db"
	"mishap/db/backup"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/embedded"
	"mishap/db/upkeep"
)

// backUp writes a backup with the program and returns its folder.
func backUp(t *testing.T, environ []string, folder string, args ...string) string {
	t.Helper()
	out := mustRun(t, environ, append([]string{"backup", folder, "--json"}, args...)...)
	var r backup.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return r.Path
}

// TestMoreBackupUnderLoad backs up while reports arrive. The restored state is consistent, and equals the manifest.
func TestMoreBackupUnderLoad(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	load, stop := context.WithCancel(t.Context())
	var posted atomic.Int32
	var posts sync.WaitGroup
	posts.Go(func() {
		for load.Err() == nil {
			if status, _, _ := runIn(context.WithoutCancel(load), nil, p.environ, "import",
				crashFile, noConfig(t)); status == exitOK {
				posted.Add(1)
			}
		}
	})
	folder := filepath.Join(t.TempDir(), "backups")
	eventually(t, "reports arrive", func() bool { return posted.Load() > 1 })
	dir := backUp(t, p.environ, folder)
	eventually(t, "reports arrive during and after the backup", func() bool { return posted.Load() > 4 })
	stop()
	posts.Wait()

	wantOutput(t, p.environ, []string{"restore", "--verify", dir}, ", 0 differences", "The backup is good.")

	url := dbtest.Empty(t)
	mustRun(t, p.environ, "restore", dir, "--database-url", url)
	wantRefusal(t, p.environ, "not empty", "restore", dir, "--database-url", url)
	restored, err := bugs.New(dbtest.Open(t, url)).Restored(t.Context())
	if err != nil || restored.At.IsZero() || restored.BackupTaken.IsZero() {
		t.Fatalf("got %+v, %v, want a restored database", restored, err)
	}
}

// TestDamagedBackups checks that a damaged backup is refused with the name of the damaged file.
func TestDamagedBackups(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	environ := []string{"MISHAP_DATABASE_URL=" + url, "MISHAP_DATA_DIR=" + t.TempDir(),
		"MISHAP_CORES_KEY=a key that nobody may read in a backup"}
	whole := backUp(t, environ, t.TempDir())
	wantDamageFound(t, environ, whole, []damage{
		{"one byte of the database", "database/toc.dat", "database/toc.dat: its checksum is wrong", flipByte},
		{"one byte of the manifest", "manifest.json", "manifest.json: its checksum differs", flipByte},
		{"missing file", "config.toml", "config.toml: it is missing", os.Remove},
		{"shorter file", "database/toc.dat", "bytes instead of", func(n string) error { return os.Truncate(n, 10) }},
		{"missing manifest", "manifest.json", "is not a backup", os.Remove},
		{"newer version", "manifest.json", "made by a newer mishap", func(name string) error {
			return changeManifest(name, `"schema": `, `"schema": 9`)
		}},
		{"newer PostgreSQL", "manifest.json", "The backup is from PostgreSQL 9", func(name string) error {
			return changeManifest(name, `"postgresql": `, `"postgresql": 9`)
		}},
	}, "--database-url", dbtest.Empty(t))
	config, err := os.ReadFile(filepath.Join(whole, "config.toml"))
	if err != nil || strings.Contains(string(config), "nobody may read") ||
		!strings.Contains(string(config), "# cores_key: a secret") {
		t.Errorf("configuration: got %q, %v, want a comment for the secret", config, err)
	}
	secret := backUp(t, environ, t.TempDir(), "--with-secrets")
	config, err = os.ReadFile(filepath.Join(secret, "config.toml"))
	if err != nil || !strings.Contains(string(config), "nobody may read") {
		t.Errorf("configuration with secrets: got %q, %v", config, err)
	}
}

// damage is a change of one file of a backup, and part of what restoring the backup then prints.
type damage struct {
	name, file, want string
	do               func(name string) error
}

// wantDamageFound checks that restoring a backup with a damage is refused.
func wantDamageFound(t *testing.T, environ []string, whole string, all []damage, options ...string) {
	t.Helper()
	for _, d := range all {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if err := d.do(filepath.Join(dir, d.file)); err != nil {
				t.Fatal(err)
			}
			wantRefusal(t, environ, d.want, append([]string{"restore", dir}, options...)...)
		})
	}
}

func flipByte(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text[len(text)/2] ^= 1
	return os.WriteFile(name, text, 0o600)
}

// changeManifest changes a manifest, with a right checksum.
func changeManifest(name, from, to string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
		return err
	}
	cmd := exec.Command("sh", "-c", "sha256sum manifest.json > manifest.sha256")
	cmd.Dir = filepath.Dir(name)
	return cmd.Run()
}

// TestMoreRestorePrivate backs up a private PostgreSQL, with files, and restores it into a new data
// directory.
func TestMoreRestorePrivate(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "PostgreSQL")
	from, to := dataDir(t), dataDir(t)
	environ := []string{"MISHAP_DATA_DIR=" + from}
	mustRun(t, environ, "import", crashFile)
	for name, text := range map[string]string{"cores.key": "key", "cores/some": "core"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(from, name), text)
	}
	dir := backUp(t, environ, t.TempDir(), "--blobs")
	wantRefusal(t, environ, "is not empty", "restore", dir, "--data-dir", from)
	mustRun(t, environ, "restore", dir, "--data-dir", to)
	if core, err := os.ReadFile(filepath.Join(to, "cores/some")); err != nil || string(core) != "core" {
		t.Errorf("core: got %q, %v", core, err)
	}
	if key, err := os.ReadFile(filepath.Join(to, "cores.key")); err != nil || string(key) != "key" {
		t.Errorf("key: got %q, %v", key, err)
	}
	wantOutput(t, nil, []string{"check", "--all", "--config", filepath.Join(to, restoredConfig)}, "1 problems, 1 reports")
}

// TestInterruptedRestoreIntoDatabase stops a restore into a database in the middle, and then kills
// it. No other restore changes the database, and no mishap uses it.
func TestInterruptedRestoreIntoDatabase(t *testing.T) {
	t.Parallel()
	environ := ownDatabase(t)
	dir := backUp(t, environ, t.TempDir())
	url := dbtest.Empty(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, "restore", dir, "--database-url", url)
	eventually(t, "the restore begins", func() bool {
		var begun bool
		err := conn.QueryRow(t.Context(), "select to_regclass($1) is not null", db.UnfinishedRestore).Scan(&begun)
		if err != nil {
			t.Fatal(err)
		}
		return begun
	})
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, nil, "Another restore into this database is running", "restore", dir, "--database-url", url)
	p.kill()
	listening, _ := freeAddresses(t)
	unusable := append(append(environ, "MISHAP_DATABASE_URL="+url), listening...)
	wantRefusal(t, unusable, "that was interrupted", "serve")
	eventually(t, "the server has noticed the end of the restore", func() bool {
		_, _, stderr := runIn(t.Context(), nil, nil, "restore", dir, "--database-url", url)
		return strings.Contains(stderr, "was interrupted, and it cannot be continued")
	})
}

// TestMoreInterruptedRestore stops a restore into a data directory in the middle, and then kills it. The next one
// begins anew.
func TestMoreInterruptedRestore(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "PostgreSQL")
	for _, method := range []string{"dump", "base"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			data, _ := privateServer(t)
			environ := []string{"MISHAP_DATA_DIR=" + data}
			mustRun(t, environ, "migrate")
			dir := backUp(t, environ, t.TempDir(), "--method="+method)
			to := dataDir(t)
			args := []string{"restore", dir, "--data-dir", to}
			p := start(t, nil, args...)
			unfinished := filepath.Join(filepath.Dir(to), "."+filepath.Base(to)+".restoring")
			eventually(t, "the restore begins", func() bool {
				_, err := os.Stat(filepath.Join(unfinished, restoredConfig))
				return err == nil
			})
			if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			wantRefusal(t, nil, "Another restore to", args...)
			p.kill()
			if entries, err := os.ReadDir(to); len(entries) > 0 {
				t.Fatalf("got %v, %v, want no data directory", entries, err)
			}
			eventually(t, "the next restore succeeds", func() bool {
				status, _, stderr := mishap(t, nil, args...)
				if status != exitOK && !strings.Contains(stderr, "running") { // the private PostgreSQL is being stopped
					t.Fatalf("got status %d: %s", status, stderr)
				}
				return status == exitOK
			})
			entries, err := os.ReadDir(filepath.Dir(to))
			if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name()[0] == '.' }) {
				t.Errorf("got %v, %v, want nothing left", entries, err)
			}
		})
	}
}

// TestBackupDestination checks that a mistyped destination creates nothing.
func TestBackupDestination(t *testing.T) {
	t.Parallel()
	environ := ownDatabase(t)
	folder := t.TempDir()
	wantRefusal(t, environ, filepath.Join(folder, "bakups")+" does not exist", "backup",
		filepath.Join(folder, "bakups", "mishap"))
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, environ, "is a file", "backup", filepath.Join(folder, "file"))
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want only the file", entries, err)
	}
}

// TestRemovedBackupOption checks that a unit that still has --incremental makes a whole backup and hears about it.
func TestRemovedBackupOption(t *testing.T) {
	t.Parallel()
	environ := ownDatabase(t)
	status, out, stderr := mishap(t, environ, "backup", t.TempDir(), "--incremental", "--json")
	if status != exitOK || !strings.HasPrefix(out, "{") || !strings.Contains(stderr, "--incremental was removed") {
		t.Errorf("got status %d: %s%s, want a backup and a warning", status, out, stderr)
	}
}

// TestMoreRemoteBackup backs up to object storage. An interrupted backup, a damaged one and one that is
// missing are refused.
func TestMoreRemoteBackup(t *testing.T) {
	t.Parallel()
	server := blobstest.Start(t, "backups")
	toc := make(chan struct{})
	var once sync.Once
	hold := make(chan struct{}) // closed to let requests pass
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", server.Address, r.In.Host // the signature has the host
		if r.In.Method == http.MethodPut && strings.HasSuffix(r.In.URL.Path, "/toc.dat") {
			once.Do(func() { close(toc) })
			<-hold
		}
	}})
	t.Cleanup(proxy.Close)
	url := dbtest.URL(t)
	environ := []string{"MISHAP_DATABASE_URL=" + url, "MISHAP_DATA_DIR=" + t.TempDir(),
		"MISHAP_BLOBS=s3://blobs?endpoint=" + proxy.URL, "MISHAP_BLOBS_ACCESS_KEY=" + blobstest.AccessKey,
		"MISHAP_BLOBS_SECRET=" + blobstest.Secret, "MISHAP_CORES_KEY=a key that object storage requires, of 32 characters"}
	const address = "s3://backups/some/prefix" // the endpoint is that of the blobs
	p := start(t, environ, "backup", address, noConfig(t))
	select {
	case <-toc:
	case <-p.ended:
		t.Fatalf("the backup ended: %s", p.said)
	}
	p.kill()
	close(hold)
	location, err := blobs.ParseLocation(address + "?endpoint=http://" + server.Address)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := blobs.OpenBucket(location, blobstest.AccessKey, blobstest.Secret)
	if err != nil {
		t.Fatal(err)
	}
	names := func() (names []string) {
		for info, err := range bucket.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			if name, _, _ := strings.Cut(info.Key, "/"); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names
	}
	interrupted := names()
	if len(interrupted) != 1 {
		t.Fatalf("got %v, want an interrupted backup", interrupted)
	}
	wantRefusal(t, environ, "There is no complete backup", "restore", address+"/"+interrupted[0], "--database-url",
		dbtest.Empty(t))

	first := backUp(t, environ, address)
	second := backUp(t, environ, address, "--keep=1")
	if got := names(); len(got) != 2 || !slices.Contains(got, interrupted[0]) || !slices.Contains(got, path.Base(second)) {
		t.Errorf("got %v, want the interrupted and the last backup", got)
	}
	wantRefusal(t, environ, "There is no complete backup", "restore", first, "--database-url", dbtest.Empty(t))
	target := dbtest.Empty(t)
	wantOutput(t, environ, []string{"restore", second, "--database-url", target}, "Restored the state of")
	state := func() crash.Backups {
		t.Helper()
		b, err := upkeep.ReadBackups(t.Context(), dbtest.Open(t, url).Handle)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if b := state(); b.Last.Place != second || !b.Ended.IsZero() {
		t.Errorf("got %+v, want the last backup %s, not verified", b, second)
	}
	// What the timer runs verifies the newest backup.
	mustRun(t, environ, "restore", "--verify", address)
	if b := state(); b.Place != second || b.Problem != "" {
		t.Errorf("got %+v, want %s verified", b, second)
	}

	key := path.Base(second) + "/database/toc.dat"
	content, err := bucket.Open(t.Context(), key, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(content)
	if err = errors.Join(err, content.Close(), bucket.Delete(t.Context(), key)); err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if _, err := bucket.Put(t.Context(), key, bytes.NewReader(text), int64(len(text))); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, environ, path.Base(second)+" is damaged: database/toc.dat: its checksum is wrong", "restore",
		"--verify", second)
	if b := state(); b.Place != second || !strings.Contains(b.Problem, "toc.dat: its checksum is wrong") {
		t.Errorf("got %+v, want %s verified as damaged", b, second)
	}
	if err := bucket.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, environ, "database/toc.dat: it is missing", "restore", "--verify", second)
	wantRefusal(t, append(environ, "MISHAP_BLOBS_SECRET=wrong"), "refuses the credentials", "backup", address)
}

// privateServer starts a private PostgreSQL, which the test stops, and returns its data_dir and address.
// Base backups copy a whole server, so tests cannot use the server that they share.
func privateServer(t *testing.T) (dataDirectory, address string) {
	t.Helper()
	checktest.Needs(t, "PostgreSQL")
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

// TestMoreBaseBackup makes base backups of a private PostgreSQL while reports arrive. The restored state is
// consistent, does not contain what was erased after the backup, and waits for the tracker.
func TestMoreBaseBackup(t *testing.T) {
	t.Parallel()
	data, _ := privateServer(t)
	environ := []string{"MISHAP_DATA_DIR=" + data}
	const machine = "5d41402abc4b2a76b9719d911017c592"
	wantOutput(t, environ, []string{"import", "--system", machine, crashFile}, "1 stored")
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
	wantOutput(t, environ, []string{"restore", "--verify", dir}, "a base backup: 1 reports", ", 0 differences",
		"The backup is good.")

	wantOutput(t, environ, []string{"system", "erase", machine, "--yes"}, "is erased.")
	to := dataDir(t)
	wantOutput(t, environ, []string{"restore", dir, "--data-dir", to}, "Nothing is filed or sent until")
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

// TestMoreBaseBackupOfOwnServer backs up a server with a role, a database and an access configuration of its
// own, and restores it into a private PostgreSQL and into a database of another server.
func TestMoreBaseBackupOfOwnServer(t *testing.T) {
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
	wantOutput(t, environ, []string{"import", crashFile}, "1 stored")
	folder := t.TempDir()
	wantRefusal(t, environ, `alter role "the app" with replication`, "backup", folder, "--method=base")
	dbtest.Exec(t, admin, `alter role "the app" with replication`)
	dir := backUp(t, environ, folder, "--method=base")
	wantOutput(t, environ, []string{"restore", "--verify", dir}, "The backup is good.")

	for _, to := range []struct{ flag, place string }{{"--data-dir", dataDir(t)}, {"--database-url", dbtest.Empty(t)}} {
		wantOutput(t, environ, []string{"restore", dir, to.flag, to.place}, "Nothing is filed or sent until")
		there := []string{"MISHAP_DATA_DIR=" + to.place}
		if to.flag == "--database-url" {
			there = []string{"MISHAP_DATABASE_URL=" + to.place, "MISHAP_DATA_DIR=" + t.TempDir()}
		}
		wantOutput(t, there, []string{"check", "--all"}, "1 problems, 1 reports")
	}

	access := filepath.Join(filepath.Dir(u.Query().Get("host")), "data", "pg_hba.conf")
	writeFile(t, access, "local all all trust\n")
	dbtest.Exec(t, admin, `select pg_reload_conf()`)
	eventually(t, "the server refuses replication", func() bool {
		status, _, stderr := mishap(t, environ, "backup", folder, "--method=base")
		return status == exitFailed && strings.Contains(stderr, "ADDRESS scram-sha-256\" to pg_hba.conf")
	})
}

// TestMoreDamagedBaseBackups checks that a damaged base backup is refused with the name of the damaged file.
func TestMoreDamagedBaseBackups(t *testing.T) {
	t.Parallel()
	data, address := privateServer(t)
	dbtest.Exec(t, address, `create table nothing ()`)
	environ := []string{"MISHAP_DATA_DIR=" + data}
	wantOutput(t, environ, []string{"migrate"})
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

// TestMoreKilledBackup kills a backup in the middle, and then has no space for one. Nothing looks like a backup
// afterwards, and the next one removes what is left and deletes older backups.
func TestMoreKilledBackup(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"dump", "base"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			environ := ownDatabase(t)
			if method == "base" {
				data, _ := privateServer(t)
				environ = []string{"MISHAP_DATA_DIR=" + data}
			}
			mustRun(t, environ, "migrate")
			folder := t.TempDir()
			p := start(t, environ, "backup", folder, "--method="+method, noConfig(t))
			eventually(t, "the copy begins", func() bool {
				found, _ := filepath.Glob(filepath.Join(folder, ".mishap-*", "database", "*"))
				return len(found) > 0
			})
			p.kill()
			if found, _ := filepath.Glob(filepath.Join(folder, "mishap-*")); len(found) > 0 {
				t.Fatalf("got %v, want no backup", found)
			}
			backUp(t, environ, folder, "--method="+method)
			last := backUp(t, environ, folder, "--method="+method, "--keep=1")
			entries, err := os.ReadDir(folder)
			if err != nil || len(entries) != 1 || filepath.Join(folder, entries[0].Name()) != last {
				t.Errorf("got %v, %v, want only %s", entries, err, last)
			}

			small := t.TempDir()
			if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=128k"); err != nil {
				t.Skipf("only root can mount a small file system: %v", err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(small, 0); err != nil {
					t.Error(err)
				}
			})
			wantRefusal(t, environ, "There is no space left", "backup", small, "--method="+method)
			if entries, err := os.ReadDir(small); err != nil || len(entries) > 0 {
				t.Errorf("got %v, %v, want an empty folder", entries, err)
			}
		})
	}
}
