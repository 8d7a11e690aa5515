package db_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/privacy"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/problems"
	"mishap/db/upkeep"
)

// usesReports finds statements that use the table of reports.
var usesReports = regexp.MustCompile(`(?i)\b(from|join|into|update)\s+reports\b`)

// askArchives are the statements that need all reports, and why.
var askArchives = map[string]string{
	"db.sqlStoredEnds": "exact after moves", "db.sqlIsEmpty": "no report may be left",
	"db.sqlIsEmptied": "no report may be left", "db.sqlReportsToErase": "an erasure removes all reports",
	"db.sqlReportsLeft": "no report may be left", "db.sqlEmptiedBuckets": "no report may be left",
	"db.sqlDaysOfMachine": "exact counts", "db.sqlSurplusOfMachine": "exact counts",
	"db.sqlDescribeAgain": "exact after an erasure", "db.sqlArrivedLater": "exact after an erasure",
	"db.sqlWrongBodies": "exact counts", "db.sqlCorrectBodies": "exact counts",
	"db.sqlUndecided": "all reports get a quality", "db.sqlInsertRun": "the size of all reports, at the start of a run",
	"upkeep.sqlNeeded": "counts of stored reports stay",
	"upkeep.sqlEnded":  "no report may be left", "upkeep.sqlStillEnded": "no report may be left",
	"upkeep.sqlFindSystem": "after a restore", "upkeep.sqlDumpJobs": "a dump is complete",
	"upkeep.sqlDumpUnknown": "a dump is complete", "upkeep.sqlDumpUncounted": "a dump is complete",
	"upkeep.sqlStart": "the size of all reports, at the start of a run",
}

// TestPlansLeaveArchivesOut plans each statement that uses reports, with arguments that ask for recent ones: for these
// arguments, as [db.Planned] does, and for any arguments, as PostgreSQL may do after some executions. Only the
// statements of askArchives may use an archive.
func TestPlansLeaveArchivesOut(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	save(t, s, record(t, today.AddDate(0, -3, 0), "machine", nil))
	recent := save(t, s, record(t, today, "machine", nil))
	dbtest.WithArchive(t, url, today.AddDate(0, -3, 0), today.AddDate(0, -2, 0))
	conn := dbtest.Connect(t, url)
	asked, seen := map[string]string{}, 0
	all := readPackages(t)
	for folder, p := range all {
		for name, text := range p.texts {
			if !strings.HasPrefix(name, "sql") {
				continue
			}
			sql := all.text(t, folder, text)
			if !usesReports.MatchString(sql) {
				continue
			}
			seen++
			name := folder + "." + name
			modes := []string{"force_custom_plan", "force_generic_plan"}
			if changes := strings.TrimSpace(sql); strings.HasPrefix(changes, "update") || strings.HasPrefix(changes, "delete") {
				modes = modes[:1]
			}
			for _, mode := range modes {
				plan := explain(t, conn, name, sql, mode, recent)
				if strings.Contains(plan, "Foreign ") {
					asked[name] = askArchives[name]
					if askArchives[name] == "" {
						t.Errorf("%s may connect to an archive with %s; give it a bound on the time of arrival (see db.Recent), "+
							"or a reason in askArchives:\n%s", name, mode, plan)
					}
				}
			}
		}
	}
	if diff := cmp.Diff(askArchives, asked); diff != "" || seen < 60 {
		t.Errorf("statements that ask archives, of %d (-want +got):\n%s", seen, diff)
	}
}

var namedArgument = regexp.MustCompile(`@(\w+)`)

// explain returns the plan of a statement that asks for recent reports.
func explain(t *testing.T, conn *pgx.Conn, name, sql, mode string, recent crash.OopsID) string {
	t.Helper()
	names := pgx.NamedArgs{}
	for _, m := range namedArgument.FindAllStringSubmatch(sql, -1) {
		names[m[1]] = m[1]
	}
	sql, args, err := names.RewriteQuery(t.Context(), conn, sql, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	d := dbtest.Must(conn.Prepare(t.Context(), name, sql))(t)
	at := recent.Received().Format(time.RFC3339Nano)
	values := make([]string, len(args))
	for i, arg := range args {
		value := map[uint32]string{
			pgtype.TimestamptzOID: at, pgtype.TimestamptzArrayOID: `{"` + at + `"}`, pgtype.DateOID: at[:10],
			pgtype.UUIDOID: recent.String(), pgtype.UUIDArrayOID: "{" + recent.String() + "}", pgtype.BoolOID: "true",
			pgtype.Int4OID: "1", pgtype.Int8OID: "1", pgtype.Int2OID: "1", pgtype.TextOID: "Crash", pgtype.ByteaOID: `\x00`,
			pgtype.JSONBOID: "{}", pgtype.IntervalOID: "1 day", pgtype.Float8OID: "1", pgtype.NumericOID: "1",
		}[d.ParamOIDs[i]]
		if value == "" {
			value = "{}"
		}
		if arg == "until" && d.ParamOIDs[i] == pgtype.TimestamptzOID {
			value = recent.Received().AddDate(0, 0, 1).Format(time.RFC3339Nano)
		}
		values[i] = "'" + value + "'"
	}
	execute := fmt.Sprintf("explain execute %q", name)
	if len(values) > 0 {
		execute += "(" + strings.Join(values, ", ") + ")"
	}
	if _, err := conn.Exec(t.Context(), "set plan_cache_mode = "+mode); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), execute, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.Join(dbtest.Must(pgx.CollectRows(rows, pgx.RowTo[string]))(t), "\n")
}

// archived opens a database with a problem that has reports of this month and of three months ago, from several
// machines. The latter are in an archive if it is wanted.
type archived struct {
	url, archive string
	store        *db.Store
	bucket       crash.BucketID
	old, recent  []crash.OopsID
}

func newArchived(t *testing.T, records []crash.Record, withArchive bool) *archived {
	t.Helper()
	a := &archived{url: dbtest.URL(t)}
	a.store = dbtest.OpenAt(t, a.url, today.Add(time.Hour))
	for _, r := range records {
		id := store(t, a.store, r)
		if id.Received().Before(today.AddDate(0, -1, 0)) {
			a.old = append(a.old, id)
		} else {
			a.recent = append(a.recent, id)
		}
	}
	dbtest.Counted(t, a.store)
	r := dbtest.Must(a.store.Report(t.Context(), a.recent[0]))(t)
	a.bucket = *r.Bucket
	if withArchive {
		a.archive = dbtest.WithArchive(t, a.url, today.AddDate(0, -3, 0))
		a.store = dbtest.OpenAt(t, a.url, today.Add(time.Hour)) // the other one may think that nothing is archived
	}
	return a
}

// reportsOfMonths returns reports of two problems from three machines, of this month and of three months ago.
func reportsOfMonths(t *testing.T) []crash.Record {
	t.Helper()
	var all []crash.Record
	for i := range 24 {
		at := today.Add(time.Duration(-i) * time.Minute)
		if i%2 == 1 {
			at = at.AddDate(0, -3, 0)
		}
		changes := crash.Fields{"Package": fmt.Sprintf("harbor 1.%d-1", i%3)}
		if i%4 > 1 {
			changes["Traceback"] = "Traceback (most recent call last):\n  File \"/usr/bin/harbor-sync\", line 3, in other\n" +
				"    load()\nKeyError: no\n"
		}
		all = append(all, record(t, at, fmt.Sprintf("machine %d", i%3), changes))
	}
	return all
}

func idsOf(rows []crash.ReportRow) (ids []crash.OopsID) {
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// TestArchiveDown checks that everything but old reports works while an archive cannot be reached, that readers learn
// what is missing, and that an erasure waits.
func TestArchiveDown(t *testing.T) {
	t.Parallel()
	a := newArchived(t, reportsOfMonths(t), true)
	dbtest.Refuse(t, a.archive, true)
	s := problems.New(a.store)
	fresh := save(t, a.store, record(t, today.Add(time.Minute), "machine 9", nil))
	ctx := db.WatchMissing(t.Context())

	rows, err := s.BucketReports(ctx, a.bucket, crash.OopsID{}, 2)
	if err != nil || len(rows) != 2 || rows[0].ID != fresh || db.MissingIn(ctx) != nil {
		t.Errorf("newest reports: got %v, %v, missing %v; want two, nothing missing", idsOf(rows), err, db.MissingIn(ctx))
	}
	rows, err = s.BucketReports(ctx, a.bucket, crash.OopsID{}, 100)
	if err != nil || len(rows) != 7 {
		t.Errorf("all reports: got %v, %v; want the seven that are here", idsOf(rows), err)
	}
	want := "Reports that arrived before 2026-09-01 may be missing here: the archive old cannot be reached."
	if got := db.MissingIn(ctx).Text(); got != want {
		t.Errorf("missing: got %q, want %q", got, want)
	}
	if r, err := s.RepresentativeReport(ctx, a.bucket); err != nil || r.ID.Received().Before(today.AddDate(0, -1, 0)) {
		t.Errorf("representative report: got %v, %v; want a recent one", r.ID, err)
	}
	if _, _, err := s.ReportNeighbours(ctx, a.bucket, index.Filter{}, fresh); err != nil {
		t.Errorf("neighbours: %v", err)
	}
	if _, _, _, err := s.ReportPlace(ctx, a.bucket, index.Filter{}, fresh); err != nil {
		t.Errorf("place: %v", err)
	}
	if _, err := s.SystemReports(ctx, crash.NewSystemID("machine 1"), crash.OopsID{}, 10); err != nil {
		t.Errorf("reports of a machine: %v", err)
	}
	if _, err := s.Report(ctx, a.old[0]); !db.IsArchiveAway(err) || crash.KindOf(err) != crash.Unavailable {
		t.Errorf("an archived report: got %v, want that the archive is away", err)
	}
	if _, err := upkeep.Check(ctx, a.store, crash.CheckScope{}, func() {}); !db.IsArchiveAway(err) {
		t.Errorf("check: got %v, want that the archive is away", err)
	}
	erasing := upkeep.NewErasing(a.store)
	e := dbtest.Must(erasing.Request(ctx, crash.NewSystemID("machine 1"), false, "admin"))(t)
	if got, err := erasing.Work(ctx, e.ID, nil, nil); !db.IsArchiveAway(err) || !got.Waits {
		t.Errorf("erasure: got %+v, %v; want that it waits", got, err)
	}
	dbtest.Counted(t, a.store)

	dbtest.Refuse(t, a.archive, false)
	again := dbtest.OpenAt(t, a.url, today.Add(time.Hour)) // the other one does not ask for ten seconds
	if got, err := upkeep.NewErasing(again).Work(ctx, e.ID, nil, nil); err != nil || got.Counts.Reports != 8 {
		t.Errorf("erasure, with the archive: got %+v, %v; want 8 reports", got.Counts, err)
	}
	checked := dbtest.Must(upkeep.Check(ctx, again, crash.CheckScope{}, func() {}))(t)
	if checked.Found != 0 || checked.Reports != 17 {
		t.Errorf("check: got %+v, want 17 reports without differences", checked)
	}
}

// TestWorkWaits starts work that needs all reports, while an archive cannot be reached. It waits, says so, and
// continues by itself.
func TestWorkWaits(t *testing.T) {
	t.Parallel()
	a := newArchived(t, reportsOfMonths(t), true)
	ctx := t.Context()
	d, retention := db.NewDecisions(a.store), upkeep.NewRetention(a.store, nil)
	rules := crash.GroupingRules{Version: grouping.RulesVersion + 1, Group: func(f crash.Fields) crash.Grouping {
		g := grouping.SignatureOf(f)
		g.Signature += f["Package"]
		return g
	}}
	run := dbtest.Must(d.StartRegroup(ctx, rules.Version, false, "admin"))(t)
	private := dbtest.Must(retention.Start(ctx, privacy.RunCheck, today.AddDate(0, 0, 1), "admin"))(t)
	dbtest.Refuse(t, a.archive, true)
	split := dbtest.Must(d.Split(ctx, a.bucket, crash.Condition{Reports: a.recent[:1]}, "admin", ""))(t)
	for name, err := range map[string]error{"decisions": d.FinishDecisions(ctx, rules),
		"fields": retention.Continue(ctx), "expiry": retention.StartExpiring(ctx, 1)} {
		if err != nil {
			t.Errorf("%s: got %v, want that it waits", name, err)
		}
	}
	if got := dbtest.Must(d.Decisions(ctx, a.bucket, 1))(t); got[0].Finished || !got[0].Waits {
		t.Errorf("split: got %+v, want that it waits", got)
	}
	for _, got := range append(dbtest.Must(d.Regroups(ctx, 1))(t), dbtest.Must(d.Regroup(ctx, run.ID))(t)) {
		if got.State != crash.RegroupRunning || !got.Away {
			t.Errorf("regrouping: got %+v, want that it waits", got)
		}
	}
	if got := dbtest.Must(retention.Run(ctx, private.ID))(t); !got.Waits || !strings.HasSuffix(got.Summary(),
		"waits for an archive that cannot be reached.") {
		t.Errorf("fields: got %+v, want that it waits", got)
	}
	_, regroupErr := d.WorkRegroup(ctx, run.ID, rules, nil)
	_, startErr := d.StartRegroup(ctx, rules.Version, true, "admin")
	_, workErr := retention.Work(ctx, private.ID, func(privacy.Run) {})
	_, privateErr := retention.Start(ctx, privacy.RunApply, today, "admin")
	for i, err := range []error{regroupErr, startErr, workErr, privateErr} {
		if !db.IsArchiveAway(err) {
			t.Errorf("%d: got %v, want that the archive is away", i, err)
		}
	}

	dbtest.Refuse(t, a.archive, false)
	again := dbtest.OpenAt(t, a.url, today.Add(time.Hour)) // the other one does not ask for ten seconds
	d, retention = db.NewDecisions(again), upkeep.NewRetention(again, nil)
	finish := func() error { return d.FinishDecisions(ctx, rules) }
	// Regrouping begins the split again.
	if err := errors.Join(finish(), retention.Continue(ctx), finish()); err != nil {
		t.Errorf("with the archive: %v", err)
	}
	if got := dbtest.Must(d.Decision(ctx, split.ID))(t); !got.Finished || got.Waits || got.Moved != 1 {
		t.Errorf("split, with the archive: got %+v", got)
	}
	if got := dbtest.Must(d.Regroup(ctx, run.ID))(t); got.State != crash.RegroupDone || got.Away || got.LookedAt != 24 {
		t.Errorf("regrouping, with the archive: got %+v", got)
	}
	if got := dbtest.Must(retention.Run(ctx, private.ID))(t); got.Finished.IsZero() || got.Waits || got.LookedAt != 24 {
		t.Errorf("fields, with the archive: got %+v", got)
	}
	if checked := dbtest.Must(upkeep.Check(ctx, again, crash.CheckScope{}, func() {}))(t); checked.Found != 0 {
		t.Errorf("check: got %+v", checked)
	}
}

// TestArchiveChangesNothing does the same with a database and a copy of it that has an archive.
func TestArchiveChangesNothing(t *testing.T) {
	t.Parallel()
	records := reportsOfMonths(t)
	var results []map[string]any
	for _, withArchive := range []bool{false, true} {
		a := newArchived(t, records, withArchive)
		results = append(results, a.exercise(t))
	}
	if diff := cmp.Diff(results[0], results[1]); diff != "" {
		t.Errorf("without and with an archive (-without +with):\n%s", diff)
	}
}

// exercise reads lists, and changes reports in each way. It returns what it has found.
func (a *archived) exercise(t *testing.T) map[string]any {
	t.Helper()
	ctx, found := t.Context(), map[string]any{}
	s, d := problems.New(a.store), db.NewDecisions(a.store)
	lists := func(when string) {
		t.Helper()
		rows := dbtest.Must(s.BucketReports(ctx, a.bucket, crash.OopsID{}, 100))(t)
		found[when+": reports"] = idsOf(rows)
		found[when+": further"] = idsOf(dbtest.Must(s.BucketReports(ctx, a.bucket, a.recent[len(a.recent)-1], 3))(t))
		found[when+": from"] = dbtest.Must(s.BucketReportsFrom(ctx, a.bucket, a.old[2], 100))(t)
		found[when+": machine"] = idsOf(dbtest.Must(s.SystemReports(ctx, crash.NewSystemID("machine 2"), crash.OopsID{},
			100))(t))
		newest, oldest, err := s.EndReports(ctx, a.bucket, index.Filter{})
		found[when+": ends"] = []any{newest, oldest, err}
		for _, id := range []crash.OopsID{a.old[0], a.old[3], a.recent[0]} {
			newer, older, err := s.ReportNeighbours(ctx, a.bucket, index.Filter{}, id)
			found[when+": neighbours of "+id.String()] = []any{newer, older, err}
		}
		checked := dbtest.Must(upkeep.Check(ctx, a.store, crash.CheckScope{}, func() {}))(t)
		if found[when+": check"] = checked; checked.Found != 0 {
			t.Errorf("%s: %+v", when, checked)
		}
	}
	lists("first")
	c := crash.Condition{Reports: []crash.OopsID{a.old[0], a.recent[0]}}
	split := dbtest.Must(d.Split(ctx, a.bucket, c, "admin", ""))(t)
	if err := d.FinishSplit(ctx, split.ID); err != nil {
		t.Errorf("split: %v", err)
	}
	lists("split")
	if _, err := d.Undo(ctx, split.ID, "admin"); err != nil {
		t.Errorf("undo: %v", err)
	}
	if err := d.FinishSplit(ctx, split.ID); err != nil {
		t.Errorf("undo a split: %v", err)
	}
	lists("undone")
	r := dbtest.Must(a.store.Report(ctx, a.recent[1]))(t)
	found["head"] = dbtest.Must(d.Merge(ctx, a.bucket, []crash.BucketID{*r.Bucket}, "admin", ""))(t)
	lists("merged")
	if _, err := d.Undo(ctx, dbtest.Must(d.Decisions(ctx, a.bucket, 1))(t)[0].ID, "admin"); err != nil {
		t.Errorf("undo a merge: %v", err)
	}
	lists("separated")
	rules := crash.GroupingRules{Version: grouping.RulesVersion + 1, Group: func(f crash.Fields) crash.Grouping {
		g := grouping.SignatureOf(f)
		g.Signature += f["Package"]
		return g
	}}
	run := dbtest.Must(d.StartRegroup(ctx, rules.Version, false, "admin"))(t)
	run = dbtest.Must(d.WorkRegroup(ctx, run.ID, rules, nil))(t)
	found["regrouped"] = []int64{run.LookedAt, run.Moved}
	lists("regrouped")
	retention := upkeep.NewRetention(a.store, nil)
	private := dbtest.Must(retention.Start(ctx, privacy.RunExpire, today.AddDate(0, 0, 1), "admin"))(t)
	private = dbtest.Must(retention.Work(ctx, private.ID, func(privacy.Run) {}))(t)
	found["expired"] = []int64{private.LookedAt, private.Changed}
	erasing := upkeep.NewErasing(a.store)
	e := dbtest.Must(erasing.Request(ctx, crash.NewSystemID("machine 1"), false, "admin"))(t)
	e = dbtest.Must(erasing.Work(ctx, e.ID, nil, nil))(t)
	found["erased"] = e.Counts
	lists("erased")
	later := upkeep.NewRetention(dbtest.OpenAt(t, a.url, today.AddDate(2, 0, 0)), nil)
	found["counts expired"] = dbtest.Must(later.ExpireCounts(ctx, 1))(t)
	lists("counts expired")
	found["dropped"] = dbtest.Must(a.store.DropReports(ctx, today.AddDate(0, -1, 0)))(t)
	lists("dropped")
	found["counts expired again"] = dbtest.Must(later.ExpireCounts(ctx, 1))(t)
	lists("counts expired again")
	return found
}
