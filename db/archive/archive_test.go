package archive_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/archive"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

// today is the clock of these tests.
var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// monthTables selects the tables of months.
const monthTables = `select relname, '' from pg_class where relname like 'reports\_20__\___'`

// setup returns a store with reports of August to November 2026, ten each, and an archive called old.
func setup(t *testing.T) (s *archive.Store, url, remote string, ids []crash.OopsID) {
	t.Helper()
	url, remote = dbtest.URL(t), dbtest.Empty(t)
	store := dbtest.OpenAt(t, url, today)
	for month := range 4 {
		for i := range 10 {
			id, _, err := store.SaveReport(t.Context(), record(t, today.AddDate(0, -month, i-10), i))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
	}
	dbtest.Counted(t, store)
	s = archive.New(store)
	if err := s.Add(t.Context(), "old", remote); err != nil {
		t.Fatalf("add: %v", err)
	}
	return s, url, remote, ids
}

func record(t *testing.T, at time.Time, machine int) crash.Record {
	t.Helper()
	fields := crash.Fields{
		"ProblemType": "Crash", "ExecutablePath": "/usr/bin/harbor-sync", "Package": "harbor 1.0-1",
		"DistroRelease": "Ubuntu 24.04", "Architecture": "amd64", "ProcStatus": fmt.Sprint("Name:\tharbor-sync ", machine),
		"Date": at.Format(time.ANSIC), "Comment": "it's \\ \"quoted\"\n\tand ünïcode",
		"Traceback": fmt.Sprintf("Traceback (most recent call last):\n  File \"/usr/bin/harbor-sync\", line 3, in main\n"+
			"    load()\nValueError%d: no\n", machine%3),
	}
	rec, err := intake.New(intake.Config{MaxAgeDays: 366}, nil).Examine(
		crash.Report{ID: crash.NewOopsID(at), System: crash.NewSystemID(fmt.Sprint("machine", machine)), Fields: fields})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func quiet(string, int, int) {}

// move moves a month and checks the number of its reports.
func move(t *testing.T, s *archive.Store, month string) {
	t.Helper()
	if n, err := s.Move(t.Context(), month, "old", quiet); err != nil || n != 10 {
		t.Fatalf("move %s: got %d reports, %v; want 10", month, n, err)
	}
}

func check(t *testing.T, s *archive.Store) {
	t.Helper()
	r, err := upkeep.Check(t.Context(), s.Store, crash.CheckScope{Most: 5}, func() {})
	if err != nil || r.Found != 0 {
		t.Errorf("check: got %+v, %v; want no difference", r, err)
	}
}

// read reads all reports.
func read(t *testing.T, s *archive.Store, ids []crash.OopsID) (all []crash.StoredReport) {
	t.Helper()
	for _, id := range ids {
		all = append(all, dbtest.Must(s.Report(t.Context(), id))(t))
	}
	return all
}

// TestMove moves two months there and back. The reports and all counts stay as they are.
func TestMove(t *testing.T) {
	t.Parallel()
	s, url, remote, ids := setup(t)
	before := fmt.Sprint(read(t, s, ids))
	move(t, s, "2026-08")
	move(t, s, "2026-09")
	if n, err := s.Move(t.Context(), "2026-09", "old", quiet); err != nil || n != 0 {
		t.Errorf("again: got %d, %v; want nothing to do", n, err)
	}
	check(t, s)
	if after := fmt.Sprint(read(t, s, ids)); after != before {
		t.Error("the reports differ after the move")
	}
	tables := dbtest.Lines(t, url, `select relname, relkind::text from pg_class where relname like '%reports\_2026\___'`)
	if tables["reports_2026_08"] != "f" || tables["reports_2026_09"] != "f" || tables["reports_2026_10"] != "r" ||
		tables["moved_reports_2026_08"] != "" {
		t.Errorf("got tables %v, want the two months as foreign tables", tables)
	}
	all := dbtest.Must(s.List(t.Context()))(t)
	if len(all) != 1 || all[0].Name != "old" || len(all[0].Parts) != 2 || len(all[0].Moves) != 0 || all[0].Problem != "" ||
		all[0].Bytes == 0 || all[0].Version == "" {
		t.Errorf("got list %+v", all)
	}
	until := dbtest.Must(db.ReadArchived(t.Context(), s.Pool))(t).Until()
	if want := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC); !until.Equal(want) {
		t.Errorf("archived until %v, want %v", until, want)
	}

	if n, err := s.Back(t.Context(), "2026-09", quiet); err != nil || n != 10 {
		t.Fatalf("back: got %d, %v; want 10", n, err)
	}
	check(t, s)
	if after := fmt.Sprint(read(t, s, ids)); after != before {
		t.Error("the reports differ after moving a month back")
	}
	records := dbtest.Lines(t, url, `
		select action || ' ' || subject || ' ' || coalesce(before::text, '') || ' ' || coalesce(after::text, ''), ''
		from audit_events`)
	for _, want := range []string{
		`archive.move reports_2026_08 {"archive": ""} {"archive": "old", "reports": 10}`,
		`archive.move reports_2026_09 {"archive": "old"} {"archive": "", "reports": 10}`,
	} {
		if _, ok := records[want]; !ok {
			t.Errorf("got records %v, want %s", records, want)
		}
	}
	if !strings.Contains(fmt.Sprint(records), `archive.add old  {"address": "`) {
		t.Errorf("got records %v, want one of the archive", records)
	}
	if left := dbtest.Lines(t, remote, monthTables); len(left) != 1 {
		t.Errorf("the archive has the tables %v, want one month", left)
	}
	constraints := dbtest.Lines(t, url, `
		select conname, '' from pg_constraint where conrelid = 'reports_2026_09'::regclass`)
	if len(constraints) != 1 {
		t.Errorf("got constraints %v, want a primary key only", constraints)
	}
	parent := dbtest.Lines(t, url, `
		select indexdef, '' from (select regexp_replace(indexdef, ' INDEX \S+ ON \S+ ', ' ') as indexdef from pg_indexes
		where tablename in ('reports_2026_09', 'reports_2026_10')) as i group by indexdef having count(*) <> 2`)
	if len(parent) != 0 {
		t.Errorf("the month that came back has other indexes than one that never moved: %v", parent)
	}
}

// TestMoveWhileReportsChange erases a machine while its month is being copied, and again while it is archived.
func TestMoveWhileReportsChange(t *testing.T) {
	t.Parallel()
	s, _, remote, ids := setup(t)
	erase := func(machine int) {
		t.Helper()
		ctx := audit.WithActor(t.Context(), &audit.Actor{Kind: audit.Command, Via: "test"})
		e := upkeep.NewErasing(s.Store)
		dbtest.Must(e.Request(ctx, crash.NewSystemID(fmt.Sprint("machine", machine)), false, "ada"))(t)
		if err := e.Continue(ctx, nil); err != nil {
			t.Fatalf("erase: %v", err)
		}
	}
	erased := false
	n, err := s.Move(t.Context(), "2026-09", "old", func(what string, _, _ int) {
		if strings.HasPrefix(what, "making indexes") && !erased {
			erased = true
			erase(3)
		}
	})
	if err != nil || n != 9 || !erased {
		t.Fatalf("move: got %d, %v; want 9 reports", n, err)
	}
	erase(4)
	check(t, s)
	left := 0
	for _, id := range ids {
		if _, err := s.Report(t.Context(), id); err == nil {
			left++
		}
	}
	if left != 32 {
		t.Errorf("%d reports are left, want 32", left)
	}
	if there := dbtest.Lines(t, remote, "select count(*)::text, '' from reports_2026_09"); len(there) != 1 {
		t.Errorf("got %v", there)
	} else if _, ok := there["8"]; !ok {
		t.Errorf("the archive has %v reports, want 8", there)
	}
}

// TestMoveRefused checks that each mistake gets its own error and changes nothing.
func TestMoveRefused(t *testing.T) {
	t.Parallel()
	s, url, remote, _ := setup(t)
	state := func() string {
		const tables = `
			select relname, relkind::text from pg_class where relkind in ('r', 'f') and relname ~ 'reports_2|archive'`
		return fmt.Sprint(dbtest.Lines(t, url, tables), dbtest.Lines(t, remote, tables),
			dbtest.Lines(t, url, "select part, state from archive_moves"),
			dbtest.Lines(t, url, "select srvname, '' from pg_foreign_server"))
	}
	before := state()
	used, other := dbtest.URL(t), dbtest.Empty(t)
	strange := dbtest.URL(t)
	dbtest.Exec(t, strange, "update erasure_key set key = sha256('another installation')")
	stranger := archive.New(dbtest.Open(t, strange))
	if err := stranger.Add(t.Context(), "mine", other); err != nil {
		t.Fatal(err)
	}
	gone := strings.Replace(dbtest.Empty(t), "/test_", "/no_", 1)
	moved := func(_ int64, err error) error { return err }
	for _, c := range []struct {
		code string
		do   func() error
	}{
		{"unknown_archive", func() error { return moved(s.Move(t.Context(), "2026-09", "cellar", quiet)) }},
		{"bad_month", func() error { return moved(s.Move(t.Context(), "September", "old", quiet)) }},
		{"unknown_month", func() error { return moved(s.Move(t.Context(), "2020-01", "old", quiet)) }},
		{"month_not_over", func() error { return moved(s.Move(t.Context(), "2026-11", "old", quiet)) }},
		{"month_not_over", func() error { return moved(s.Move(t.Context(), "2026-12", "old", quiet)) }},
		{"unknown_month", func() error { return moved(s.Back(t.Context(), "2020-01", quiet)) }},
		{"archive_exists", func() error { return s.Add(t.Context(), "old", other) }},
		{"bad_archive_name", func() error { return s.Add(t.Context(), "Old Reports", other) }},
		{"bad_archive_address", func() error { return s.Add(t.Context(), "new", "postgres://host:port/x") }},
		{"archive_of_others", func() error { return s.Add(t.Context(), "new", other) }},
		{"archive_in_use", func() error { return s.Add(t.Context(), "new", used) }},
		{"archive_away", func() error { return s.Add(t.Context(), "new", gone) }},
		{"unknown_archive", func() error { return s.Remove(t.Context(), "cellar") }},
		{"erasure_running", func() error {
			dbtest.Exec(t, url, "insert into erasures (digest, system, blocked, person, via, requested, until) values "+
				"(sha256('x'), 'x', false, '', '', now(), now())")
			defer dbtest.Exec(t, url, "delete from erasures")
			return moved(s.Move(t.Context(), "2026-09", "old", quiet))
		}},
		{"partitions_busy", func() error {
			_, unlock, err := s.LockPartitions(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer unlock() //nolint:errcheck // the test ends
			return moved(s.Move(t.Context(), "2026-09", "old", quiet))
		}},
		{"archive_away", func() error {
			dbtest.Refuse(t, remote, true)
			defer dbtest.Refuse(t, remote, false)
			return moved(s.Move(t.Context(), "2026-09", "old", quiet))
		}},
	} {
		err := c.do()
		if e, ok := errors.AsType[*crash.Error](err); !ok || e.Code != c.code {
			t.Errorf("got %v, want the error %s", err, c.code)
		}
	}
	if after := state(); after != before {
		t.Errorf("something has changed:\n%s\n%s", before, after)
	}
	move(t, s, "2026-09")
	if err := s.Remove(t.Context(), "old"); err == nil {
		t.Error("an archive with reports was removed")
	}
	dbtest.Must(s.Back(t.Context(), "2026-09", quiet))(t)
	if err := s.Remove(t.Context(), "old"); err != nil {
		t.Errorf("remove an empty archive: %v", err)
	}
	removed := "select before::text, '' from audit_events where action = 'archive.remove'"
	if got := dbtest.Lines(t, url, removed); len(got) != 1 {
		t.Errorf("got records %v, want one", got)
	}
	if err := s.Add(t.Context(), "again", remote); err != nil {
		t.Errorf("add an archive again: %v", err)
	}
}

// TestDropArchived drops archived months, also one of which a held problem keeps some reports.
func TestDropArchived(t *testing.T) {
	t.Parallel()
	s, url, remote, _ := setup(t)
	move(t, s, "2026-08")
	move(t, s, "2026-09")
	dbtest.Exec(t, url, `insert into marks (bucket_id, kind, person, reason, at)
		select bucket_id, 'hold', '', '', now() from reports where received < '2026-09-01' limit 1`)
	dbtest.Refuse(t, remote, true)
	before := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	if months, err := s.DropReports(t.Context(), before); !db.IsArchiveAway(err) || len(months) != 0 {
		t.Errorf("with the archive down: got %v, %v; want an error", months, err)
	}
	dbtest.Refuse(t, remote, false)
	months, err := s.DropReports(t.Context(), before)
	if want := []string{"2026-08", "2026-09"}; err != nil || !slices.Equal(months, want) {
		t.Fatalf("got %v, %v; want %v", months, err, want)
	}
	if err := s.Finish(t.Context()); err != nil {
		t.Fatalf("finish: %v", err)
	}
	left := dbtest.Lines(t, url, `select to_char(received, 'YYYY-MM'), count(*)::text from reports group by 1`)
	if left["2026-08"] == "" || left["2026-08"] == "10" || left["2026-10"] != "10" || left["2026-11"] != "10" {
		t.Errorf("got reports %v, want a part of August for the hold", left)
	}
	check(t, s)
	dbtest.Exec(t, url, "update marks set undone_at = now()")
	if months, err := s.DropReports(t.Context(), before); err != nil || len(months) == 0 {
		t.Fatalf("without the hold: got %v, %v", months, err)
	}
	if err := s.Finish(t.Context()); err != nil {
		t.Fatalf("finish: %v", err)
	}
	if left := dbtest.Lines(t, remote, monthTables); len(left) != 0 {
		t.Errorf("the archive still has %v", left)
	}
	check(t, s)
}

// TestMoveOld moves what is older than three months, and gives archives the columns of later versions.
func TestMoveOld(t *testing.T) {
	t.Parallel()
	s, url, _, ids := setup(t)
	if err := s.MoveOld(t.Context(), today.AddDate(0, -1, -15)); err != nil {
		t.Fatal(err)
	}
	if parts := dbtest.Must(db.ReadArchived(t.Context(), s.Pool))(t); len(parts) != 2 {
		t.Errorf("got %v, want August and September", parts)
	}
	dbtest.Exec(t, url, "alter table reports add column novelty integer not null default 7")
	if _, err := s.Report(t.Context(), ids[39]); err != nil {
		t.Errorf("a report whose archive lacks a column that is not read: %v", err)
	}
	for range 2 {
		if err := db.AlignArchives(t.Context(), s.Pool); err != nil {
			t.Fatal(err)
		}
	}
	if got := dbtest.Lines(t, url, "select novelty::text, count(*)::text from reports group by 1"); got["7"] != "40" {
		t.Errorf("got %v, want 40 reports with the new column", got)
	}
}
