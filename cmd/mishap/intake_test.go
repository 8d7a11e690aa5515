package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/blobs/blobstest"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/crash/symbols/symboltest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
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
	bad := "--config=" + configFile(t, fmt.Sprintf("data_dir = %q\ndatabase_url = %q\n"+
		"listen = \"127.0.0.1:0\"\nreleases = %q\n", filepath.Join(t.TempDir(), "data"), dbtest.URL(t), file))
	for _, args := range [][]string{{"serve"}, {"import", crashFile}, {"inspect", crashFile}} {
		wantRefusal(t, nil, file+": "+want, append(args, bad)...)
	}
	_, out, _ := mishap(t, nil, "doctor", bad)
	wantTexts(t, out, "configuration", file+": "+want)
	wantStatus(t, nil, exitNoAnswer, file+": "+want, "gate", "tidewatch", "1.0", bad)
	c.Releases += ".none"
	if _, _, err := releasesOf(c); err == nil || !strings.Contains(err.Error(), c.Releases) {
		t.Errorf("got %v, want an error that names the missing file", err)
	}
}

// TestOneTableOfReleases checks that a report's refusal, the states of problems, the updates of bugs and pages
// agree with the configured file. It is not parallel, because the table is that of the process.
func TestOneTableOfReleases(t *testing.T) { //nolint:paralleltest // see above
	before := crash.Releases()
	t.Cleanup(func() { crash.SetReleases(before) })
	const old, current = crash.Release("Zest OS 7"), crash.Release("Zest OS 8")
	site := handlertest.New(t, handlertest.Options{})
	now := time.Now().UTC()
	report := func(release crash.Release, days int) crashtest.Report {
		return crashtest.Native(crashtest.On(release), crashtest.At(now.AddDate(0, 0, -days)))
	}
	site.Save(t, report("Ubuntu 24.04", 30))
	site.Save(t, report(old, 20))
	id := site.Save(t, report(current, 1)).ID
	refusal := func() error {
		_, err := intake.New(intake.Config{MaxAgeDays: 366}, site.Store).Accept(t.Context(),
			crash.Report{System: "late", Fields: report(old, 2).Fields()})
		return err
	}
	ended := func() map[crash.Release]bool {
		b := dbtest.Must(site.Store.Bucket(t.Context(), id))(t)
		checktest.NoError(t, site.Store.Judge(t.Context(), &b))
		found := map[crash.Release]bool{}
		for _, r := range b.Status.Releases {
			found[r.Release] = r.Ended
		}
		return found
	}
	offered := func(address string) string { // pages are cached by address
		var names []string
		site.Visitor(t).Get(address).Want(http.StatusOK).HTML().Find("select[name=release] option").Each(
			func(_ int, o *goquery.Selection) {
				if name := o.AttrOr("value", ""); name != "" {
					names = append(names, name)
				}
			})
		return strings.Join(names, ", ")
	}
	quiet := crash.QuietBug{Last: map[crash.Release]time.Time{old: now, current: now.AddDate(0, 0, -9)}}
	checktest.NoError(t, refusal()) // the release is not known yet
	checktest.Equal(t, "ended without the file", ended()[old], false)
	checktest.Equal(t, "offered without the file", offered("/"), "Ubuntu 24.04, Zest OS 8, Zest OS 7")
	checktest.Equal(t, "last report without the file", quiet.LastSupported(now), now)

	file, lastDay := filepath.Join(t.TempDir(), "releases.csv"), now.AddDate(0, 0, -10).Format(time.DateOnly)
	writeFile(t, file, "distribution,version,codename,released,eol\nZest OS,7,lemon,,"+lastDay+"\nZest OS,8,lime,,\n")
	mustRun(t, []string{"MISHAP_RELEASES=" + file}, "inspect", crashFile) // sets the table
	site.Save(t, report(current, 0))                                      // lists of releases are cached until then

	if err := refusal(); err == nil || !strings.Contains(err.Error(), "Zest OS 7 is End of Life") {
		t.Errorf("got %v, want the report refused", err)
	}
	if got := ended(); !got[old] || got[current] || got["Ubuntu 24.04"] {
		t.Errorf("got ended %v, want only %s", got, old)
	}
	checktest.Equal(t, "offered", offered("/?release="+url.QueryEscape(string(current))),
		"Zest OS 8, Zest OS 7, Ubuntu 24.04")
	checktest.Equal(t, "last report of a supported release", quiet.LastSupported(now), quiet.Last[current])
	site.Visitor(t).Get("/release/"+url.PathEscape(string(old))).Want(http.StatusOK).WantText("h1", "Zest OS 7 (lemon)")
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
