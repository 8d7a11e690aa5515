package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/blobs/blobstest"
	"mishap/crash/checktest"
	"mishap/crash/symbols/symboltest"
	"mishap/db/dbtest"
)

// TestReleaseFiles checks that newer release data of the machine is used, and that bad data never
// prevents the start.
func TestReleaseFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const header = "version,codename,series,created,release,eol\n"
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		writeFile(t, file, text)
		return file
	}
	newer := write("newer.csv", header+"31.10,Zealous Zebra,zealous,2031-04-24,2031-10-16,2032-07-15\n")
	older := write("older.csv", header+"24.04 LTS,Noble Numbat,noble,2023-10-12,2024-04-25,2024-05-01\n")
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(dir, "none.csv")
	for _, c := range []struct {
		name, ubuntu, debian string
		zealous              bool   // whether the newer file is used
		names                string // part of the error; empty: no error
	}{
		{"none", none, none, false, ""},
		{"newer", newer, none, true, ""},
		{"older", older, none, false, ""},
		{"newer beside a broken one", newer, write("broken.csv", "\x00\xff\"\n"), true, "broken.csv"},
		{"broken", write("hostile.csv", header+strings.Repeat(",", 1<<21)), none, false, "hostile.csv"},
		{"folder", dir, none, false, dir},
		{"pipe", pipe, pipe, false, "pipe"},
		{"device without an end", "/dev/zero", none, false, "/dev/zero"},
	} {
		table, err := knownReleases(c.ubuntu, c.debian)
		if got := table.Codename("Ubuntu 31.10") == "zealous"; got != c.zealous {
			t.Errorf("%s: got the newer file %v, want %v", c.name, got, c.zealous)
		}
		if table.EndOfLife("Ubuntu 24.04", time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: support of Ubuntu 24.04 has ended, want it supported", c.name)
		}
		if (err == nil) != (c.names == "") || err != nil && !strings.Contains(err.Error(), c.names) {
			t.Errorf("%s: got error %v, want one that names %q", c.name, err, c.names)
		}
	}
}

// TestReleasesFile checks that the configured file of releases is used, and that its mistakes are named.
func TestReleasesFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "releases.csv")
	writeFile(t, file, "distribution,version,codename,released,eol\nPlum OS,7,,,2026-01-01\n")
	c := config.Default()
	c.Releases = file
	table, _, err := releasesOf(c)
	checktest.NoError(t, err)
	day := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	checktest.Equal(t, "Plum OS 7 has ended", table.EndOfLife("Plum OS 7", day), true)
	checktest.Equal(t, "Ubuntu 24.04 has ended", table.EndOfLife("Ubuntu 24.04", day), false)

	writeFile(t, file, "distribution,version,codename,released,eol\nPlum OS,7,,,never\n")
	const want = `line 2: eol: "never" is not a day`
	if _, _, err := releasesOf(c); err == nil || !strings.Contains(err.Error(), file+": "+want) {
		t.Errorf("got %v, want an error that names the file and %s", err, want)
	}
	wantRefusal(t, nil, want, "serve", "--config="+configFile(t, fmt.Sprintf("data_dir = %q\ndatabase_url = %q\n"+
		"listen = \"127.0.0.1:0\"\nreleases = %q\n", filepath.Join(t.TempDir(), "data"), dbtest.URL(t), file)))
	c.Releases += ".none"
	if _, _, err := releasesOf(c); err == nil || !strings.Contains(err.Error(), c.Releases) {
		t.Errorf("got %v, want an error that names the missing file", err)
	}
}

// TestMoreSharedSymbols adds files on one machine and symbolises on another one. They share an object
// storage.
func TestMoreSharedSymbols(t *testing.T) {
	t.Parallel()
	dir := symboltest.Programs(t)
	server := blobstest.Start(t, "mishap")
	database := dbtest.URL(t)
	dbtest.Exec(t, database, "insert into symbol_jobs (report_id, problem, version, architecture, store, core_bytes, "+
		"state, missing) values (gen_random_uuid(), '', '', 'amd64', 'of another machine', 1, 'waiting', array['"+
		symboltest.BuildID(t, "tail")+"/debuginfo'])")
	configOf := func(secret string) string {
		return "--config=" + configFile(t, fmt.Sprintf("data_dir = %q\ndatabase_url = %q\nsymbols_from_machine = false\n"+
			"blobs = \"s3://mishap/test?endpoint=http://%s\"\nblobs_access_key = %q\nblobs_secret = %q\n"+
			"cores_key = \"a key of at least thirty-two characters\"\n",
			filepath.Join(symboltest.TempDir(t), "data"), database, server.Address, blobstest.AccessKey, secret))
	}
	files := []string{filepath.Join(dir, "root/usr/bin/tail"), filepath.Join(dir, "symbols/tail.debug")}
	report := symboltest.Crash(t, "tail", symboltest.Core(t, "tail"))

	wantRefusal(t, nil, "The files are added on this machine, but not shared with others: The object storage",
		append([]string{"symbols", "add", configOf("wrong")}, files...)...)
	mustRun(t, nil, append([]string{"symbols", "add", configOf(blobstest.Secret)}, files...)...)
	if state := scan[string](t, dbtest.Open(t, database), "select state from symbol_jobs"); state != "queued" {
		t.Errorf("the job of another machine that waits for a file: got %s; want it queued", state)
	}
	other := configOf(blobstest.Secret)
	for _, origin := range []string{"shared files", "cache (shared files)"} {
		wantOutput(t, nil, []string{"symbolise", other, report}, "    program     "+origin+"\n",
			"    debug file  "+origin+"\n", "hand_over")
	}
	wantRefusal(t, nil, "refuses the credentials", "serve", configOf("wrong"))
	server.Kill()
	wantOutput(t, nil, []string{"symbolise", configOf(blobstest.Secret), report},
		"shared files: failed (The object storage at "+server.Address)
}

// TestBackgroundStops checks that no loop runs its task again once it is told to stop, even if the next
// run is due by then.
func TestBackgroundStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var runs atomic.Int64
		var tasks []task
		for i := range 32 {
			tasks = append(tasks, task{fmt.Sprint("task-", i), "waits", time.Second, func(context.Context) error {
				runs.Add(1)
				_ = crash.Sleep(t.Context(), time.Minute)
				stop()
				return nil
			}})
		}
		b := newBackground(newLog(io.Discard, 0), prometheus.NewRegistry(), nil)
		b.start(ctx, tasks)
		b.wait()
		if got := runs.Load(); got != 32 {
			t.Errorf("got %d runs of 32 tasks, want one each", got)
		}
	})
}

// TestBackgroundLoop checks that a loop continues after an error and after a panic, and that both
// are logged and counted.
func TestBackgroundLoop(t *testing.T) {
	t.Parallel()
	said := &quietBuffer{}
	metrics := prometheus.NewRegistry()
	b := newBackground(newLog(said, 0), metrics, nil)
	ctx, stop := context.WithCancel(t.Context())
	runs := 0
	b.start(ctx, []task{{"sound-horn", "warns ships", time.Millisecond, func(context.Context) error {
		switch runs++; runs {
		case 1:
			return errors.New("no steam")
		case 2:
			panic("boiler")
		case 3:
			stop()
			return errors.New("stopped in the middle")
		}
		return nil
	}}})
	b.wait()
	if runs != 3 {
		t.Errorf("got %d runs, want 3", runs)
	}
	wantTexts(t, said.String(), "no steam", "panic: boiler", "intake_test.go", "sound-horn")
	if strings.Contains(said.String(), "in the middle") {
		t.Error("log: got the error of a run that was cancelled by stopping")
	}
	answer := httptest.NewRecorder()
	opsHandler(metrics, startingHealth, nil).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
		"/metrics", nil))
	for _, want := range []string{
		`mishap_task_failures_total{task="sound-horn"} 2`,
		`mishap_task_interval_seconds{purpose="warns ships",task="sound-horn"} 0.001`,
		`mishap_task_last_run_timestamp_seconds{task="sound-horn"} 1.`,
	} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("metrics: got\n%s\nwant %q in it", answer.Body, want)
		}
	}
}
