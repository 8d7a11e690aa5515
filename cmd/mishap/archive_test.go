package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

// archiveReports is the number of reports in the month that TestArchiveKills moves: three chunks.
const archiveReports = 5000

// TestArchiveKills kills "mishap archive move" and "back" each time they have done two more steps, until they end.
// Each call continues, and no report is lost, doubled or changed.
func TestArchiveKills(t *testing.T) {
	t.Parallel()
	url, remote := dbtest.URL(t), dbtest.Empty(t)
	store := dbtest.Open(t, url)
	month := time.Now().UTC().AddDate(0, -3, 0)
	first := time.Date(month.Year(), month.Month(), 2, 3, 4, 5, 0, time.UTC)
	in := intake.New(intake.Config{MaxAgeDays: 366}, nil)
	var saving errgroup.Group
	saving.SetLimit(32)
	for i := range archiveReports {
		at := first.Add(time.Duration(i) * 5 * time.Minute)
		rec, err := in.Examine(crash.Report{ID: crash.NewOopsID(at), System: crash.NewSystemID(fmt.Sprint("machine", i%50)),
			Fields: crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/usr/bin/harbor", "Package": "harbor 1.0-1",
				"DistroRelease": "Ubuntu 24.04", "Date": at.Format(time.ANSIC), "ProcStatus": fmt.Sprint(i),
				"Traceback": "Traceback (most recent call last):\n  File \"/x\", line 3, in main\nValueError: no\n"}})
		if err != nil {
			t.Fatal(err)
		}
		saving.Go(func() error {
			_, _, err := store.SaveReport(t.Context(), rec)
			return err
		})
	}
	if err := saving.Wait(); err != nil {
		t.Fatal(err)
	}
	dbtest.Counted(t, store)
	const summary = `select count(*)::text, sum(hashtextextended(r::text, 0))::text from reports as r`
	before := fmt.Sprint(dbtest.Lines(t, url, summary))
	environ := []string{"MISHAP_DATABASE_URL=" + url, "MISHAP_DATA_DIR=" + t.TempDir()}
	if status := start(t, environ, "archive", "add", "old", remote, noConfig(t)).status(); status != exitOK {
		t.Fatal("archive add failed")
	}
	step := func() string {
		return fmt.Sprint(dbtest.Lines(t, url, `select part, state || copied from archive_moves`),
			dbtest.Lines(t, url, `select relname, relkind::text from pg_class where relname like '%reports_2%'`),
			dbtest.Lines(t, remote, `select relname, relkind::text from pg_class where relname like 'reports_2%'`))
	}
	kills, steps := 0, 0
	for _, args := range [][]string{{"move", first.Format("2006-01"), "--to", "old"}, {"back", first.Format("2006-01")}} {
		for ended := false; !ended; {
			at := step()
			p := start(t, environ, append(append([]string{"archive"}, args...), noConfig(t))...)
			for killed := false; !ended && !killed; {
				select {
				case <-p.ended:
					ended = true
				default:
				}
				if now := step(); now != at {
					at = now
					steps++
					killed = steps%2 == 0
				}
			}
			ended = ended || !p.killed()
			if !ended {
				kills++
			} else if status := p.status(); status != exitOK {
				t.Fatalf("archive %v: status %d\n%s", args, status, p.said)
			}
			if after := fmt.Sprint(dbtest.Lines(t, url, summary)); after != before {
				t.Fatalf("after %d kills the reports are %s, want %s", kills, after, before)
			}
		}
	}
	if kills < 8 {
		t.Errorf("%d kills, want 8 or more", kills)
	}
	if left := dbtest.Lines(t, remote, `select relname, '' from pg_class where relname like 'reports_2%'`); len(left) > 0 {
		t.Errorf("the archive still has %v", left)
	}
	if at := step(); strings.Contains(at, "moved_") || strings.Contains(at, "back_") || strings.Contains(at, "copying") {
		t.Errorf("tables are left: %s", at)
	}
	if r, err := upkeep.Check(t.Context(), store, crash.CheckScope{}, func() {}); err != nil || r.Found != 0 {
		t.Errorf("check: got %+v, %v; want no difference", r, err)
	}
}

// TestRestoreWithoutArchive restores a backup while an archive cannot be reached. A machine that was to be erased after
// the backup is erased once the archive answers. A verification says that it cannot be done.
func TestRestoreWithoutArchive(t *testing.T) {
	t.Parallel()
	const machine = "5d41402abc4b2a76b9719d911017c592"
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	in := intake.New(intake.Config{MaxAgeDays: 366}, nil)
	long := time.Now().UTC().AddDate(0, 0, -92)
	for i, system := range []crash.SystemID{machine, "another machine", machine, "another machine"} {
		at := []time.Time{long, time.Now().Add(-time.Hour)}[i/2].Add(time.Duration(i) * time.Second)
		rec, err := in.Examine(crash.Report{ID: crash.NewOopsID(at), System: system,
			Fields: crashtest.Native(crashtest.At(at), crashtest.Process(100+i)).Fields()})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := store.SaveReport(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	dbtest.Counted(t, store)
	archive := dbtest.WithArchive(t, url, long)
	dataDir := t.TempDir()
	environ := []string{"MISHAP_DATABASE_URL=" + url, "MISHAP_DATA_DIR=" + dataDir}
	dir := backUp(t, environ, t.TempDir(), "--method=dump")

	dbtest.Refuse(t, archive, true)
	status, out, said := mishap(t, environ, "system", "erase", machine, "--yes")
	if status == exitOK || !strings.Contains(out, "A running server continues it") ||
		!strings.Contains(said, "The archive server old cannot be reached.") {
		t.Errorf("erase: got status %d\n%s%s", status, out, said)
	}
	if err := upkeep.NewErasing(store).WriteFile(t.Context(), dataDir); err != nil { // a server does
		t.Fatal(err)
	}
	restored := dbtest.Empty(t)
	status, out, said = mishap(t, environ, "restore", dir, "--database-url", restored)
	if status != exitOK || !strings.Contains(out, "Restored the state of") || !strings.Contains(out,
		"The archive server old cannot be reached.") || !strings.Contains(out, "a running server erases them") {
		t.Errorf("restore: got status %d\n%s%s", status, out, said)
	}
	status, out, said = mishap(t, environ, "restore", "--verify", dir)
	if status == exitOK || !strings.Contains(out+said, "The archive server old cannot be reached.") ||
		strings.Contains(out, "NOT good") {
		t.Errorf("verify: got status %d\n%s%s", status, out, said)
	}

	dbtest.Refuse(t, archive, false)
	again := dbtest.Open(t, restored)
	if err := upkeep.NewErasing(again).Continue(t.Context(), nil); err != nil {
		t.Errorf("erase again: %v", err)
	}
	if left := dbtest.Lines(t, restored, "select system, count(*)::text from reports group by 1"); len(left) != 1 ||
		left["another machine"] != "2" {
		t.Errorf("the restored database has reports of %v", left)
	}
	if r, err := upkeep.Check(t.Context(), again, crash.CheckScope{}, func() {}); err != nil || r.Found != 0 {
		t.Errorf("check: got %+v, %v; want no difference", r, err)
	}
}
