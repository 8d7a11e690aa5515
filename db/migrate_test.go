package db_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/problems"
	"mishap/migrations"
)

// migrateVar makes the test program migrate the database that it names, as another process.
const migrateVar = "MISHAP_TEST_MIGRATE"

func TestMain(m *testing.M) {
	url := os.Getenv(migrateVar)
	if url == "" {
		os.Exit(m.Run())
	}
	if err := migrateAtOnce(context.Background(), url, 4); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

// migrateAtOnce runs Migrate several times at once, like instances that start at the same moment.
func migrateAtOnce(ctx context.Context, url string, instances int) error {
	g, ctx := errgroup.WithContext(ctx)
	for range instances {
		g.Go(func() error { return db.Migrate(ctx, url, slog.New(slog.DiscardHandler)) })
	}
	return g.Wait()
}

func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.Empty(t)
	// Two more processes migrate beside this one.
	others := make([]*exec.Cmd, 2)
	for i := range others {
		others[i] = exec.CommandContext(t.Context(), os.Args[0])
		others[i].Env = append(os.Environ(), migrateVar+"="+url)
		others[i].Stderr = os.Stderr
		if err := others[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := migrateAtOnce(t.Context(), url, 8); err != nil {
		t.Errorf("migrate: %v", err)
	}
	for _, o := range others {
		if err := o.Wait(); err != nil {
			t.Errorf("migrate in another process: %v", err)
		}
	}
	if got, want := tables(t, url), tables(t, dbtest.URL(t)); got != want {
		t.Errorf("got tables %s\nwant %s", got, want)
	}
	if got := tables(t, url); !strings.Contains(got, "buckets") || !strings.Contains(got, "river_job") {
		t.Errorf("got tables %s, want ours and the job queue's", got)
	}
}

// tables returns the tables of a database with their columns.
func tables(t *testing.T, url string) string {
	t.Helper()
	const sql = `select table_name || '.' || column_name from information_schema.columns
		where table_schema = 'public' order by table_name, ordinal_position`
	rows, err := dbtest.Connect(t, url).Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

func TestMigrateAgain(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	if _, err := dbtest.Connect(t, url).Exec(t.Context(),
		`insert into bugs (number, url) values (1, 'https://example.org/1')`); err != nil {
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context(), url, dbtest.Log(t)); err != nil {
		t.Errorf("migrate: %v", err)
	}
	var bugs int
	if err := dbtest.Connect(t, url).QueryRow(t.Context(), `select count(*) from bugs`).Scan(&bugs); err != nil || bugs != 1 {
		t.Errorf("got %d bugs, %v, want the one from before", bugs, err)
	}
}

func TestMigrateRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, before string // before changes a migrated database
		kind         crash.Kind
		says         string
	}{
		{"newer schema", `update schema_version set version = 999`, crash.Conflict, "migrated by a newer mishap (schema 999"},
		{"newer job queue", `insert into river_migration (line, version) values ('main', 999)`, crash.Conflict,
			"migrated by a newer mishap (schema 999"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t)
			if _, err := dbtest.Connect(t, url).Exec(t.Context(), test.before); err != nil {
				t.Fatal(err)
			}
			err := db.Migrate(t.Context(), url, dbtest.Log(t))
			if crash.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %v: %s", err, test.kind, test.says)
			}
		})
	}
}

func TestMigrateWithoutDatabase(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, url string
		kind      crash.Kind
	}{
		{"nonsense", "postgres://user:hunter2@host:notaport/x", crash.Invalid},
		{"nobody listens", "postgres://user:hunter2@127.0.0.1:1/x", crash.Unavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, openErr := db.Open(t.Context(), db.Config{URL: test.url})
			for _, err := range []error{db.Migrate(t.Context(), test.url, dbtest.Log(t)), openErr} {
				if crash.KindOf(err) != test.kind || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("got %v, want %v without the password", err, test.kind)
				}
			}
		})
	}
}

// TestMigrateUnsuitable migrates databases that an administrator has to change first.
func TestMigrateUnsuitable(t *testing.T) {
	t.Parallel()
	err := db.Migrate(t.Context(), dbtest.Latin1(t), dbtest.Log(t))
	if crash.KindOf(err) != crash.Invalid || codeOf(err) != "bad_encoding" || !strings.Contains(err.Error(), "LATIN1") ||
		!strings.Contains(err.Error(), "encoding 'UTF8' template template0") {
		t.Errorf("LATIN1: got %v", err)
	}

	address := dbtest.Empty(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	role := "app_" + name
	dbtest.Exec(t, address, fmt.Sprintf(`create role %q login password 'x'`, role))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		conn, err := pgx.Connect(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx) //nolint:errcheck // the test is over
		if _, err := conn.Exec(ctx, fmt.Sprintf(`alter database %[2]q owner to current_user; drop owned by %[1]q cascade;
			drop role %[1]q`, role, name)); err != nil {
			t.Error(err)
		}
	})
	u.User = url.UserPassword(role, "x")
	err = db.Migrate(t.Context(), u.String(), dbtest.Log(t))
	owner := fmt.Sprintf(`alter database %q owner to %q`, name, role)
	grant := fmt.Sprintf(`grant usage, create on schema public to %q`, role)
	if crash.KindOf(err) != crash.Forbidden || !strings.Contains(err.Error(), owner) ||
		!strings.Contains(err.Error(), grant) {
		t.Fatalf("without rights: got %v, want what to grant", err)
	}
	dbtest.Exec(t, address, owner+"; "+grant)
	if err := db.Migrate(t.Context(), u.String(), dbtest.Log(t)); err != nil {
		t.Errorf("after that: %v", err)
	}
}

const checksumFile = "../migrations/checksums.txt"

// TestMigrationsAreFrozen fails if a migration was edited, renamed or removed after its checksum
// was committed. With -update it adds the checksums of new files, but never changes existing ones.
func TestMigrationsAreFrozen(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile(checksumFile)
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for _, name := range names {
		text, err := fs.ReadFile(migrations.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		sums[name] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ") // the format of sha256sum
		listed[name] = true
		if sums[name] != sum {
			t.Errorf("migrations/%s: got checksum %q, want %s: a committed migration must not change, as databases were "+
				"made by it. "+
				"Undo the change and put it into a new file. (If nobody can have a database of it yet, take its line out of %s "+
				"and run make schema.)",
				name, sums[name], sum, checksumFile)
		}
	}
	added := string(list)
	for _, name := range names {
		if !listed[name] && !*update {
			t.Errorf("migrations/%s is not in %s; run make schema", name, checksumFile)
		} else if !listed[name] {
			added += sums[name] + "  " + name + "\n"
		}
	}
	if *update && !t.Failed() && added != string(list) {
		if err := os.WriteFile(checksumFile, []byte(added), 0o644); err != nil { // a document
			t.Fatal(err)
		}
	}
}

// TestVersionFirstDayMigration removes the first days of versions and migrates again. It checks
// that the result equals counting from the start.
func TestVersionFirstDayMigration(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	mixture(t, url, 400)
	want := storedCounts(t, url).Packages
	if len(want) < 20 {
		t.Fatalf("got %d versions of packages, want more to look at", len(want))
	}
	dbtest.Exec(t, url, `drop schema visible cascade; alter table package_versions drop column first_day`)
	sql, err := fs.ReadFile(migrations.Files, "016_version_first_day.sql")
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, url, "begin; "+string(sql)+"; commit")
	if diff := cmp.Diff(want, storedCounts(t, url).Packages); diff != "" {
		t.Errorf("versions of packages (-want +got):\n%s", diff)
	}
}

// TestFillReportsBeforeFixes upgrades a database with a decision that does not know the reports before it.
// It checks that only reports of days after the decision count as seen again.
func TestFillReportsBeforeFixes(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	decided := today.AddDate(0, 0, -3)
	report := func(signature, version string, day time.Time, machines ...string) (bucket crash.BucketID) {
		t.Helper()
		for _, machine := range machines {
			rec := record(t, day, signature+machine, crash.Fields{"DuplicateSignature": signature,
				"Package": "harbor " + version})
			save(t, s, rec)
			bucket = crash.BucketIDOf(rec.Grouping.Signature)
		}
		dbtest.Counted(t, s)
		return bucket
	}
	again := report("again", "2.0-1", decided.Add(-time.Hour), "a", "b", "c")
	report("again", "1.0-1", decided, "d")
	never := report("never", "2.0-1", decided, "a", "b")
	later := report("later", "1.0-1", decided, "a")
	for _, bucket := range []crash.BucketID{again, never, later} {
		if _, err := problems.New(s).Set(t.Context(), crash.Mark{Bucket: bucket, Kind: crash.MarkFixed, Person: "ada",
			Fixes: []crash.FixedIn{{Version: "2.0-1"}}, Confirmed: true}); err != nil {
			t.Fatal(err)
		}
	}
	report("again", "2.0-1", decided.AddDate(0, 0, 1), "e")
	report("again", "2.0-2", decided.AddDate(0, 0, 2), "f", "g")
	report("later", "2.0-1", decided.AddDate(0, 0, 1), "h", "i")
	dbtest.Exec(t, url, `update marks set seen = '{}', at = $1`, decided) // as before migration 049
	migration, err := fs.ReadFile(migrations.Files, "053_reports_before_fixes.sql")
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, url, string(migration))

	got := map[string]crash.ManualFix{}
	for name, id := range map[string]crash.BucketID{"again": again, "never": never, "later": later} {
		m, _, err := s.Triage(t.Context(), id)
		if err != nil || len(m.Fixes) != 1 {
			t.Fatalf("%s: got %+v, %v", name, m, err)
		}
		m.Fixes[0].By, m.Fixes[0].Last, m.Fixes[0].FixedIn = crash.Mark{}, time.Time{}, crash.FixedIn{}
		got[name] = m.Fixes[0]
	}
	const release = "Ubuntu 24.04"
	if diff := cmp.Diff(map[string]crash.ManualFix{
		"again": {Again: 3, AgainIn: release, AgainAt: "2.0-2"},
		"never": {},
		"later": {Again: 2, AgainIn: release, AgainAt: "2.0-1"},
	}, got); diff != "" {
		t.Errorf("seen again (-want +got):\n%s", diff)
	}
}

// beforeSeen restores the schema from before bucket_releases, with the columns of that time.
const beforeSeen = `
	alter table buckets add column first_seen timestamptz, add column last_seen timestamptz;
	update buckets as b set first_seen = s.first_seen, last_seen = s.last_seen from (
		select bucket_id, min((first_seen).seen) as first_seen, max((last_seen).seen) as last_seen
		from bucket_releases group by bucket_id
	) as s where s.bucket_id = b.id;
	drop table bucket_releases;
	drop type occurrence, package_version`

// TestFillFirstAndLastSeen upgrades a database full of reports, and checks that the migration
// computes the same values as counting. For reports that retention has dropped, it computes days
// and versions.
func TestFillFirstAndLastSeen(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := mixture(t, url, 400)
	counted := storedCounts(t, url).Seen
	if len(counted) < 10 {
		t.Fatalf("got %d rows, want more", len(counted))
	}
	refill(t, url)
	if diff := cmp.Diff(counted, storedCounts(t, url).Seen); diff != "" {
		t.Errorf("first and last seen differ (-counted +filled):\n%s", diff)
	}
	checkCountsOf(t, url, s)

	conn := dbtest.Connect(t, url)
	for _, sql := range []string{
		"delete from reports where day < (select percentile_disc(0.5) within group (order by day) from reports)",
		"insert into dropped_months values ('2026-01-01', 1, now())",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	days := func() map[string]string {
		return dbtest.Lines(t, url,
			`select concat_ws('|', encode(bucket_id, 'hex'), release),
				concat_ws('|', ((first_seen).seen at time zone 'UTC')::date, ((last_seen).seen at time zone 'UTC')::date,
					(lowest_version).version, (highest_version).version)
			from bucket_releases`)
	}
	before := days()
	refill(t, url)
	if diff := cmp.Diff(before, days()); diff != "" {
		t.Errorf("days of first and last seen differ after reports were dropped (-counted +filled):\n%s", diff)
	}
	wrong := dbtest.Lines(t, url,
		`select concat_ws('|', encode(bucket_id, 'hex'), release), (first_seen).version from bucket_releases as r
		where not exists (
			select from bucket_days as d
			where d.bucket_id = r.bucket_id and d.release = r.release and d.version = (r.first_seen).version
				and d.day = ((r.first_seen).seen at time zone 'UTC')::date)`)
	if len(wrong) > 0 {
		t.Errorf("got versions that were not counted on the day of the oldest report: %v", wrong)
	}
}

// refill repeats the migration that creates bucket_releases.
func refill(t *testing.T, url string) {
	t.Helper()
	names, err := fs.Glob(migrations.Files, "*_first_and_last_seen.sql")
	if err != nil || len(names) != 1 {
		t.Fatalf("got %q, %v; want one migration", names, err)
	}
	migration, err := fs.ReadFile(migrations.Files, names[0])
	if err != nil {
		t.Fatal(err)
	}
	err = pgx.BeginFunc(t.Context(), dbtest.Connect(t, url), func(tx pgx.Tx) error {
		for _, sql := range []string{"drop schema if exists visible cascade", beforeSeen, string(migration)} {
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				return fmt.Errorf("%.60s: %w", sql, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
