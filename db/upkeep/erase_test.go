package upkeep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

// marker is in every field of the machine that is erased.
const marker = "zanzibar"

const (
	erased = crash.SystemID("5a" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
	other  = crash.SystemID("77" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
)

// now is the same for all calls of report, so that the same arguments give the same report.
var now = time.Now().UTC().Truncate(time.Second)

// report returns a report of a machine. The i-th report of each machine is of the same problem, apart from
// each third one, which is of a problem of its own.
func report(t testing.TB, system crash.SystemID, i int) crash.Record {
	t.Helper()
	at := now.Add(-time.Duration(i)*7*time.Hour - 5*time.Minute)
	function, word := fmt.Sprint("load", i%4), "common"
	if i%3 == 0 {
		function = fmt.Sprint("load_", string(system[:2]))
	}
	if system == erased {
		word = marker
		if i%3 == 0 {
			function += marker
		}
	}
	fields := crash.Fields{
		"ProblemType": "Crash", "ExecutablePath": "/usr/bin/harbor", "Package": fmt.Sprint("harbor 1.0-", i%5),
		"SourcePackage": "harbor", "DistroRelease": []string{"Ubuntu 24.04", "Ubuntu 22.04"}[i%2], "Architecture": "amd64",
		"ProcStatus": "Name:\tharbor", "Date": at.Format(time.ANSIC), "ProcCmdline": "harbor --key " + word,
		"Hostname": word, "Traceback": "Traceback (most recent call last):\n  File \"/usr/bin/harbor\", line 3, in " +
			function + "\n    " + function + "()\nValueError: no\n",
	}
	switch i % 7 {
	case 5:
		delete(fields, "Date") // its key is a hash of all fields
		fields["ProcCmdline"] += fmt.Sprint(i)
	case 6:
		fields["Package"] = word + " 2"
		fields["ExecutablePath"] = "/opt/" + word
	}
	received := at.Add(time.Minute)
	if i%7 == 5 {
		received = now
	}
	rec := dbtest.Must(intake.New(intake.Config{MaxAgeDays: 366, Now: func() time.Time { return received }}, nil).Examine(
		crash.Report{ID: crash.NewOopsID(received), System: system, Fields: fields}))(t)
	return rec
}

func save(t *testing.T, s *db.Store, system crash.SystemID, from, until int) (ids []crash.OopsID) {
	t.Helper()
	for i := from; i < until; i++ {
		id, _, err := s.SaveReport(t.Context(), report(t, system, i))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	dbtest.Counted(t, s)
	return ids
}

func checkCounts(t *testing.T, s *db.Store) crash.CheckResult {
	t.Helper()
	dbtest.Counted(t, s)
	result, err := upkeep.Check(t.Context(), s, crash.CheckScope{Most: 5}, func() {})
	if err != nil || result.Found > 0 {
		t.Fatalf("check: got %+v, %v, want no difference", result, err)
	}
	return result
}

const sqlTables = `
	select n.nspname || '.' || quote_ident(c.relname) from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
	where c.relkind = 'r' and n.nspname in ('public', 'pg_catalog') and c.relname not like 'pg_authid'`

// traces returns the tables, and the statistics of PostgreSQL, whose text contains a word.
func traces(t *testing.T, url string, words ...string) (found []string) {
	t.Helper()
	conn := dbtest.Must(pgx.Connect(t.Context(), url))(t)
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // only read
	rows := dbtest.Must(conn.Query(t.Context(), sqlTables))(t)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 60 {
		t.Fatalf("got %d tables, %v", len(tables), err)
	}
	for _, table := range tables {
		for _, word := range words {
			var n int
			sql := "select count(*) from " + table + " as t where position($1 in t::text) > 0"
			if table == "public.reports" || strings.HasPrefix(table, "public.reports_") {
				sql = "select count(*) from " + table + " as t where position($1 in t::text) > 0 " +
					"or position(convert_to($1, 'UTF8') in body) > 0"
			}
			if err := conn.QueryRow(t.Context(), sql, word).Scan(&n); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			if n > 0 {
				found = append(found, fmt.Sprintf("%s: %d rows with %s", table, n, word))
			}
		}
	}
	return found
}

// work requests an erasure and works on it.
func work(t *testing.T, s *db.Store, system crash.SystemID, block bool) crash.Erasure {
	t.Helper()
	e, err := upkeep.NewErasing(s).Request(t.Context(), system, block, "ada")
	if err == nil {
		e, err = upkeep.NewErasing(s).Work(t.Context(), e.ID, nil, nil)
	}
	if err != nil || e.Finished.IsZero() || e.System != "" {
		t.Fatalf("got %+v, %v, want it finished", e, err)
	}
	return e
}

// TestErase erases a machine and checks that no table, and no statistics of PostgreSQL, has a trace of
// it; that all counts are exact; and that its reports are refused when they are sent again.
func TestErase(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	const n = 60
	ids := save(t, s, erased, 0, n)
	kept := save(t, s, other, 0, n)
	own := report(t, erased, 0)
	key := fmt.Sprint(*db.SystemKey(erased))
	checktest.NoError(t, s.AuditAlone(t.Context(), db.AuditEvent{Person: "ada", Action: "read.machine",
		Subject: string(erased)}))
	dbtest.Exec(t, url, `insert into core_requests (report_id, system, received) values ($1, $2, now())`,
		[16]byte(ids[3]), string(erased))
	dbtest.Exec(t, url,
		`insert into symbol_jobs (report_id, problem, version, architecture, store, core_bytes, state, reason)
		values ($1, '', '', 'amd64', 'here', 10, 'failed', $2)`, [16]byte(ids[3]), marker)
	dbtest.Exec(t, url, `insert into unknown_builds values ($1, $2, '', '', 'amd64')`, [16]byte(ids[3]), "/opt/"+marker)
	dbtest.Exec(t, url, `insert into events (edge, kind, at, bucket_id, title, package, source_package, release, version,
		machines, text) values ('x', 'new', now(), $1, $2, '', '', '', '', 1, $2)`,
		idBytes(own.Grouping.Signature), marker)
	dbtest.Exec(t, url, `insert into marks (kind, bucket_id, person, reason, at) values ('hold', $1, 'ada', $2, now())`,
		idBytes(report(t, other, 0).Grouping.Signature), "as evidence against "+string(erased))
	dbtest.Exec(t, url, "vacuum (analyze)")
	if before := traces(t, url, marker, string(erased), key); len(before) < 12 {
		t.Fatalf("got traces only in %v before", before)
	}
	before := checkCounts(t, s)
	facts, err := upkeep.NewErasing(s).Facts(t.Context(), erased)
	if err != nil || facts.Reports != n || facts.Cores != 1 || facts.Jobs != 1 || facts.Only == 0 {
		t.Errorf("facts: got %+v, %v", facts, err)
	}
	e := work(t, s, erased, false)
	if e.Counts.Reports != n || e.Counts.Cores != 1 || e.Counts.Requests != 1 || e.Counts.Jobs != 1 ||
		e.Counts.Audit != 1 || e.Counts.Gone != facts.Only || e.Counts.Problems != facts.Problems {
		t.Errorf("receipt: got %+v, want what %+v announced", e.Counts, facts)
	}
	if found := traces(t, url, marker, string(erased), key); len(found) > 0 {
		t.Errorf("traces are left:\n%s", strings.Join(found, "\n"))
	}
	if after := checkCounts(t, s); after.Reports != before.Reports-n {
		t.Errorf("got %d reports, want %d", after.Reports, before.Reports-n)
	}
	if _, err := s.Bucket(t.Context(), crash.BucketIDOf(own.Grouping.Signature)); !errors.Is(err, crash.NotFound) {
		t.Errorf("a problem of this machine only: got %v, want that it is gone", err)
	}
	if _, err := s.Report(t.Context(), ids[0]); !errors.Is(err, crash.NotFound) {
		t.Errorf("a report: got %v", err)
	}
	if _, err := s.Report(t.Context(), kept[0]); err != nil {
		t.Errorf("a report of another machine: got %v", err)
	}
	for i := range n {
		if _, _, err := s.SaveReport(t.Context(), report(t, erased, i)); code(err) != "erased" {
			t.Fatalf("report %d sent again: got %v, want that it is refused", i, err)
		}
	}
	save(t, s, erased, n, n+3) // new crashes, also of the problem that is gone
	if b, err := s.Bucket(t.Context(), crash.BucketIDOf(own.Grouping.Signature)); err != nil || b.Reports != 1 ||
		b.Signature == "" {
		t.Errorf("the problem is back: got %+v, %v", b, err)
	}
	checkCounts(t, s)
}

// TestEraseNotInFull erases a machine some of whose reports are not stored in full, and dumps it before.
func TestEraseNotInFull(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.OpenConfig(t, db.Config{URL: url, KeepBodies: 2})
	dbtest.Exec(t, url, `update counting set bodies_since = now() - interval '1 year'`)
	const n = 60
	save(t, s, erased, 0, n)
	save(t, s, other, 0, n)
	bodyless := len(dbtest.Lines(t, url, `select id::text, '' from reports where body is null and system like '5a%'`))
	if bodyless < 5 {
		t.Fatalf("got %d reports of the machine that are not stored in full, want more", bodyless)
	}
	var dump strings.Builder
	checktest.NoError(t, upkeep.NewErasing(s).Dump(t.Context(), erased, "ada", &dump))
	checktest.Equal(t, "dumped reports", strings.Count(dump.String(), `"kind":"report"`), n)
	checktest.Equal(t, "of which not in full", strings.Count(dump.String(), `"full_text_not_stored":true`), bodyless)
	checkCounts(t, s)
	if e := work(t, s, erased, false); e.Counts.Reports != n {
		t.Errorf("got %+v, want %d reports erased", e.Counts, n)
	}
	key := fmt.Sprint(*db.SystemKey(erased))
	if found := traces(t, url, marker, string(erased), key); len(found) > 0 {
		t.Errorf("traces are left:\n%s", strings.Join(found, "\n"))
	}
	checkCounts(t, s)
	for i := range n {
		if _, _, err := s.SaveReport(t.Context(), report(t, erased, i)); code(err) != "erased" {
			t.Fatalf("report %d sent again: got %v, want that it is refused", i, err)
		}
	}
	checkCounts(t, s)
}

// code returns the code of an error.
func code(err error) string {
	if e, ok := errors.AsType[*crash.Error](err); ok {
		return e.Code
	}
	return ""
}

func idBytes(signature string) []byte {
	id := crash.BucketIDOf(signature)
	return id[:]
}

// TestBlock checks that a blocked machine can send nothing until it is unblocked.
func TestBlock(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	save(t, s, erased, 0, 2)
	work(t, s, erased, true)
	if _, _, err := s.SaveReport(t.Context(), report(t, erased, 9)); code(err) != "erased" {
		t.Errorf("a new crash: got %v, want that it is refused", err)
	}
	if was, err := upkeep.NewErasing(s).Unblock(t.Context(), erased, "ada"); err != nil || !was {
		t.Fatalf("unblock: got %v, %v", was, err)
	}
	save(t, s, erased, 9, 10)
	if _, _, err := s.SaveReport(t.Context(), report(t, erased, 1)); code(err) != "erased" {
		t.Errorf("an erased report: got %v, want that it is refused", err)
	}
}

// TestDropped checks that counts forget a machine whose reports retention has dropped.
func TestDropped(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	save(t, s, erased, 0, 300) // 87 days
	save(t, s, other, 0, 300)
	if months, err := s.DropReports(t.Context(), time.Now().AddDate(0, 0, -30)); err != nil || len(months) == 0 {
		t.Fatalf("got %v, %v", months, err)
	}
	e := work(t, s, erased, false)
	if e.Counts.Anonymous == 0 || e.Counts.Reports == 0 || e.Counts.Anonymous+e.Counts.Reports > 300 {
		t.Errorf("got %+v", e.Counts)
	}
	checkCounts(t, s)
	if found := traces(t, url, string(erased), fmt.Sprint(*db.SystemKey(erased))); len(found) > 0 {
		t.Errorf("traces are left: %v", found)
	}
}

// TestMoreInterrupted erases in two stores at once, each of which is interrupted again and again, while
// the machine and others send reports.
func TestMoreInterrupted(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s, second := dbtest.Open(t, url), dbtest.Open(t, url)
	const n = 700
	save(t, s, erased, 0, n)
	save(t, s, other, 0, 20)
	e := dbtest.Must(upkeep.NewErasing(s).Request(t.Context(), erased, false, ""))(t)
	sending := make(chan error, 1)
	go func() {
		for i := range 200 {
			if _, _, err := second.SaveReport(t.Context(), report(t, other, 100+i)); err != nil {
				sending <- err
				return
			}
		}
		sending <- nil
	}()
	working := make(chan error, 1)
	go func() {
		_, err := upkeep.NewErasing(second).Work(t.Context(), e.ID, nil, nil)
		working <- err
	}()
	interruptions := 0
	for e.Finished.IsZero() {
		ctx, cancel := context.WithCancel(t.Context())
		var err error
		e, err = upkeep.NewErasing(s).Work(ctx, e.ID, nil, func(crash.Erasure) {
			if interruptions++; interruptions%2 == 0 {
				cancel()
			}
		})
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, crash.Unavailable) {
			t.Fatal(err)
		}
		if e.Finished.IsZero() {
			if e, err = upkeep.NewErasing(s).Erasure(t.Context(), e.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	checktest.NoError(t, errors.Join(<-sending, <-working))
	if e.Counts.Reports != n {
		t.Errorf("got %d reports erased, want each of the %d once", e.Counts.Reports, n)
	}
	checkCounts(t, s)
}

// TestFile checks that a restored database erases again what its backup still has.
func TestFile(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	save(t, s, erased, 0, 10)
	save(t, s, other, 0, 10)
	s.Close()
	back := dbtest.Copy(t, url)
	s = dbtest.Open(t, url)
	save(t, s, erased, 10, 12) // after the backup
	work(t, s, erased, true)
	folder := t.TempDir()
	checktest.NoError(t, upkeep.NewErasing(s).WriteFile(t.Context(), folder))
	s.Close()
	back()
	s = dbtest.Open(t, url)
	if found := traces(t, url, string(erased)); len(found) == 0 {
		t.Fatal("the backup has no trace of the machine")
	}
	var r upkeep.ErasureRecord
	if err := r.ReadFile(filepath.Join(folder, upkeep.ErasuresFile)); err != nil || r.Empty() {
		t.Fatalf("read: got %v, empty %v", err, r.Empty())
	}
	for want := range 2 { // adding again changes nothing
		checktest.NoError(t, s.InTx(t.Context(), func(tx pgx.Tx) error {
			added, err := r.Add(t.Context(), tx)
			if added != 1-want {
				t.Errorf("got %d added, want %d", added, 1-want)
			}
			return err
		}))
		checktest.NoError(t, upkeep.NewErasing(s).Continue(t.Context(), nil))
	}
	if found := traces(t, url, marker, string(erased)); len(found) > 0 {
		t.Errorf("traces are left: %v", found)
	}
	checkCounts(t, s)
	for _, i := range []int{0, 11, 50} { // of the backup, after it, and new
		if _, _, err := s.SaveReport(t.Context(), report(t, erased, i)); code(err) != "erased" {
			t.Errorf("report %d: got %v, want that it is refused", i, err)
		}
	}
}

// TestDump checks that a dump contains each thing that is known about a machine, and nothing about others.
func TestDump(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	ids := save(t, s, erased, 0, 8)
	save(t, s, other, 0, 8)
	dbtest.Exec(t, url, `insert into core_requests (report_id, system) values ($1, $2)`, [16]byte(ids[3]), string(erased))
	var out bytes.Buffer
	checktest.NoError(t, upkeep.NewErasing(s).Dump(t.Context(), erased, "ada", &out))
	for word, want := range map[string]int{`{"kind":"machine"`: 1, `{"kind":"report"`: 8, `{"kind":"core request"`: 1,
		`{"kind":"audit record"`: 1, `{"kind":"active in a release"`: 2, `"Hostname":"` + marker: 8, string(other): 0} {
		if got := strings.Count(out.String(), word); got != want {
			t.Errorf("got %d times %s, want %d", got, word, want)
		}
	}
	if strings.Count(out.String(), `{"kind":"counted in a problem"`) < 4 {
		t.Errorf("got\n%s", out.String())
	}
}

// classes says for each table what an erasure does with it. A new table fails TestClasses until it has a
// class: rows of the machine, counts, texts derived from reports, texts of people, or none of these.
var classes = map[string]string{
	"rows": `reports report_keys uncounted core_requests symbol_jobs unknown_builds bucket_systems bucket_travellers
		release_systems erasures`,
	"counts": `buckets bucket_days bucket_expired expired_counts bucket_releases bucket_versions bucket_arrivals
		report_days release_days report_hours release_hours release_active releases package_versions
		bucket_bodies`,
	"derived": `events deliveries regroup_followed regroup_moves known_names rule_edges follow_marks
		problem_reads wanted_cores`,
	"people": `audit_events note_texts marks decisions candidates saved_searches`,
	// builds are files of packages; bug_sections, bug_comments and filings are what the tracker got, without
	// data of machines; the cursors in regroup_runs, privacy_runs and decisions are ids of reports, and lead nowhere.
	"none": `account_grants api_tokens applied_migrations archive_changes archive_facts archive_moves
		assignments bucket_bugs bug_comments bug_sections
		bug_places bug_routes bug_states bug_templates bug_watch bugs build_names builds changes counting delivery_attempts
		dropped_months endpoints erased_reports erasure_key filing_attempts filing_queues filing_writer filings
		follow_visits followed group_grants identities
		lost_bugs mail_key mail_settings mails notes notices old_addresses backups privacy_runs
		notification_stop oauth_credentials oauth_health
		openid_nonces own_tracker_accounts problem_tags recovery_codes regroup_runs rule_progress rules second_factors
		similar_weights
		sessions sign_in_failures split_sources symbol_workers tracker_calls unlinked_bugs update_rules user_groups users
		schema_version server_starts closed_doors door_days door_keys door_projects
		ping_days weekly_mails installs`,
}

// TestClasses checks that each table has a class, and that no table of the class none has a column for
// machines or reports.
func TestClasses(t *testing.T) {
	t.Parallel()
	class := map[string]string{}
	for name, tables := range classes {
		for _, table := range strings.Fields(tables) {
			class[table] = name
		}
	}
	conn := dbtest.Must(pgx.Connect(t.Context(), dbtest.URL(t)))(t)
	defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // only read
	rows := dbtest.Must(conn.Query(t.Context(), `select table_name, column_name from information_schema.columns
		where table_schema = 'public' and table_name not like 'river\_%'
			and table_name not in (select table_name from information_schema.views where table_schema = 'public')`))(t)
	suspicious := regexp.MustCompile(`system|machine$|report_id|^oops|^core|body|^hostname`)
	var table, column string
	seen := map[string]bool{}
	dbtest.Must(pgx.ForEachRow(rows, []any{&table, &column}, func() error {
		seen[table] = true
		if partition := regexp.MustCompile(`^(reports|report_keys)_\d`); partition.MatchString(table) {
			return nil
		}
		switch {
		case class[table] == "":
			t.Errorf("table %s has no class; see classes", table)
		case class[table] == "none" && suspicious.MatchString(column) && table+"."+column != "regroup_runs.report_id" &&
			table+"."+column != "privacy_runs.report_id" &&
			table+"."+column != "bug_templates.body":
			t.Errorf("%s.%s may hold something about a machine, but the class of the table is none", table, column)
		}
		return nil
	}))(t)
	for table := range class {
		if !seen[table] {
			t.Errorf("there is no table %s", table)
		}
	}
}
