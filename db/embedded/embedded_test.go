package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
)

func TestColdAndWarmStart(t *testing.T) {
	t.Parallel()
	c := Config{DataDir: dataDir(t), Exclusive: true}
	s := start(t, c)
	if !s.Started() {
		t.Error("got attached, want started")
	}
	if s.Notice() != "" {
		t.Errorf("got notice %q, want none", s.Notice())
	}
	query(t, s.URL(), "create table kept as select 'still here'::text as word; select word from kept")
	got := map[string]string{}
	for _, name := range []string{"listen_addresses", "data_checksums", "fsync", "server_encoding", "TimeZone",
		"log_error_verbosity", "wal_compression"} {
		got[name] = query(t, s.URL(), "select current_setting('"+name+"', true)")
	}
	got["lc_collate"] = query(t, s.URL(), "select datcollate from pg_database where datname = current_database()")
	want := map[string]string{
		"listen_addresses": "", "data_checksums": "on", "fsync": "on", "server_encoding": "UTF8", "lc_collate": "C.UTF-8",
		"TimeZone": "UTC", "log_error_verbosity": "terse", "wal_compression": "lz4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(s.socket); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("socket folder: got %v, %v, want mode 0700", info, err)
	}
	if len(s.testProcesses(t)) == 0 {
		t.Error("its processes were not found while it runs")
	}
	// Checked in a directory in use, since a crashed server is restarted in the same way.
	if s.home.accepts(t.Context(), s.supervisor.programs, "wal_compression=of_another_build") ||
		!s.home.accepts(t.Context(), s.supervisor.programs, walCompression) {
		t.Error("a value that the server does not know is given to it, or one that it knows is not")
	}
	stop(t, s)
	stop(t, s) // again: nothing happens
	if left := s.testProcesses(t); len(left) > 0 {
		t.Errorf("processes %v are left after the stop", left)
	}

	s = start(t, c)
	if got := query(t, s.URL(), "select word from kept"); got != "still here" {
		t.Errorf("after a warm start: got %q", got)
	}
}

func TestAttach(t *testing.T) {
	t.Parallel()
	dir := usedDataDir(t)
	owner := start(t, Config{DataDir: dir})
	guest := start(t, Config{DataDir: dir})
	if !owner.Started() || guest.Started() {
		t.Fatalf("got started %t, %t; want true, false", owner.Started(), guest.Started())
	}
	if guest.URL() != owner.URL() {
		t.Errorf("got %s, want %s", guest.URL(), owner.URL())
	}
	ended := make(chan error, 1)
	go func() { ended <- owner.Stop(t.Context()) }()
	// The owner now waits and lets no other process attach; the guest can finish.
	if got := query(t, guest.URL(), "select 'works'::text from pg_sleep(0.2)"); got != "works" {
		t.Errorf("guest: got %q", got)
	}
	select {
	case err := <-ended:
		t.Errorf("the owner stopped the server under its guest: %v", err)
	default:
	}
	stop(t, guest)
	if err := <-ended; err != nil {
		t.Errorf("owner: %v", err)
	}
	if left := owner.testProcesses(t); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

func TestManyCommandsAtOnce(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	others := make([]*other, 6)
	for i := range others {
		others[i] = startOther(t, dir)
	}
	started := 0
	for _, o := range others {
		word, url, _ := strings.Cut(o.line(t), " ")
		if word == "started" {
			started++
		}
		query(t, url, "select 'works'::text")
	}
	if started != 1 {
		t.Errorf("got %d owners, want 1", started)
	}
	for _, o := range others {
		_ = o.stdin.Close()
	}
	for _, o := range others {
		if err := o.cmd.Wait(); err != nil {
			t.Errorf("helper: %v", err)
		}
	}
}

func TestTwoServersOnOneDataDir(t *testing.T) {
	t.Parallel()
	dir := usedDataDir(t)
	first := startOther(t, dir, serving)
	if line := first.line(t); !strings.HasPrefix(line, "started") {
		t.Fatalf("got %q", line)
	}
	_, err := Start(t.Context(), Config{DataDir: dir, Exclusive: true})
	want := "Another mishap (process " + itoa(first.cmd.Process.Pid) + ") uses the database in " + dir +
		"; stop it first, or choose another data_dir."
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if crash.KindOf(err) != crash.Conflict {
		t.Errorf("got kind %v, want conflict", crash.KindOf(err))
	}
	// A command still finds the database.
	if s := start(t, Config{DataDir: dir}); s.Started() {
		t.Error("got started, want attached")
	}
}

func TestServeWaitsForCommand(t *testing.T) {
	t.Parallel()
	dir := usedDataDir(t)
	command := start(t, Config{DataDir: dir})
	serve := startOther(t, dir, serving)
	stop(t, command)
	if line := serve.line(t); !strings.HasPrefix(line, "started") {
		t.Errorf("got %q, want started", line)
	}
}

func TestLongPath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dataDir(t), strings.Repeat("a-long-name/", 10))
	s := start(t, Config{DataDir: dir, Throwaway: true})
	if len(s.socket)+len("/.s.PGSQL.5432") > maxSocket {
		t.Errorf("socket folder %s is too long", s.socket)
	}
	if guest := start(t, Config{DataDir: dir}); query(t, guest.URL(), "select 'works'::text") != "works" {
		t.Error("a guest finds the socket elsewhere")
	} else {
		stop(t, guest)
	}
	stop(t, s)
	if _, err := os.Stat(s.socket); !os.IsNotExist(err) {
		t.Errorf("the folder %s is left in /tmp", s.socket)
	}
}

func TestServersOwnWordsInError(t *testing.T) {
	t.Parallel()
	c := Config{DataDir: usedDataDir(t), Throwaway: true}
	s := start(t, c)
	stop(t, s)
	conf := filepath.Join(s.home.cluster(), "postgresql.conf")
	if err := os.WriteFile(conf, []byte("work_mem = banana\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.home.account.chown(conf); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), `invalid value for parameter "work_mem": "banana"`) {
		t.Errorf("got %v, want the server's complaint about banana", err)
	}
}
