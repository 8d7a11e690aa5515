package db_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/grouping"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/people"
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
	checktest.Needs(t, "time")
	url := dbtest.Empty(t)
	// Two more processes migrate beside this one.
	others := make([]*exec.Cmd, 2)
	for i := range others {
		others[i] = exec.CommandContext(t.Context(), os.Args[0])
		others[i].Env = append(os.Environ(), migrateVar+"="+url)
		others[i].Stderr = os.Stderr
		checktest.NoError(t, others[i].Start())
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
	rows := dbtest.Must(dbtest.Connect(t, url).Query(t.Context(), sql))(t)
	names := dbtest.Must(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
	return strings.Join(names, " ")
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
	u := dbtest.Must(url.Parse(address))(t)
	name := strings.TrimPrefix(u.Path, "/")
	role := "app_" + name
	dbtest.Exec(t, address, fmt.Sprintf(`create role %q login password 'x'`, role))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		conn := dbtest.Must(pgx.Connect(ctx, address))(t)
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
	list := dbtest.Must(os.ReadFile(checksumFile))(t)
	names := dbtest.Must(fs.Glob(migrations.Files, "*.sql"))(t)
	sums := map[string]string{}
	for _, name := range names {
		text := dbtest.Must(fs.ReadFile(migrations.Files, name))(t)
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

var release = flag.String("release", "", "store a database of this version in testdata/released")

const releasedFolder = "testdata/released"

// TestReleasedSchema stores a dump of a small database of this version if -release is set. It never
// replaces a released dump, because databases like it are in use.
func TestReleasedSchema(t *testing.T) {
	t.Parallel()
	file := filepath.Join(releasedFolder, *release+".sql")
	if *release == "" {
		return
	}
	if _, err := os.Stat(file); err == nil {
		t.Fatalf("%s is there already, and databases like it may be in use; the next release needs another number in VERSION",
			file)
	}
	url := dbtest.URL(t)
	fillReleased(t, url)
	if err := os.WriteFile(file, []byte(releasedDump(t, url)), 0o644); err != nil { // test data
		t.Fatal(err)
	}
}

// TestUpgradeReleased upgrades a database of each released version. It checks that no data is lost,
// that the schema equals that of a new database, that counts are correct, and that reports can be
// stored and counted.
func TestUpgradeReleased(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	files, err := filepath.Glob(releasedFolder + "/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d dumps of released versions, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			t.Parallel()
			url := dbtest.Empty(t)
			restore(t, url, file)
			before := rowCounts(t, url)
			if err := db.Migrate(t.Context(), url, dbtest.Log(t)); err != nil {
				t.Fatalf("migrate: %v", err)
			}
			if diff := cmp.Diff(readable(dumpParents(t, dbtest.URL(t))), readable(dumpParents(t, url))); diff != "" {
				t.Errorf("the schema differs from that of a new database (-new +upgraded):\n%s", diff)
			}
			after := rowCounts(t, url)
			for table, rows := range before {
				if after[table] != rows && table != "applied_migrations" && !strings.HasPrefix(table, "river_") {
					t.Errorf("%s: got %q rows after the upgrade, want the %s of before", table, after[table], rows)
				}
			}
			if _, err := dbtest.Connect(t, url).Exec(t.Context(), "update audit_events set person = 'x'"); err == nil {
				t.Error("the audit log can be changed after the upgrade")
			}
			s := dbtest.Open(t, url)
			checkCountsOf(t, url, s)
			id := saveProblems(t, s, 1)[0]
			checkCountsOf(t, url, s)
			if b := bucket(t, s, id); b.Reports < 2 {
				t.Errorf("got %d reports of a problem of before after one more, want at least 2", b.Reports)
			}
			if f := ask(t, s, id, crash.Filing{}); f.State != crash.FilingQueued {
				t.Errorf("got %s of a bug that is asked for, want it queued", f.State)
			}
		})
	}
}

// rowCounts returns the number of rows of each table, with those of partitions under their parents.
func rowCounts(t *testing.T, url string) map[string]string {
	t.Helper()
	conn := dbtest.Connect(t, url)
	rows := dbtest.Must(conn.Query(t.Context(),
		`select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
		and not relispartition and relname <> 'schema_version'`))(t)
	tables := dbtest.Must(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
	counts := map[string]string{}
	for _, table := range tables {
		var n int64
		checktest.NoError(t, conn.QueryRow(t.Context(),
			"select count(*) from "+pgx.Identifier{"public", table}.Sanitize()).Scan(
			&n))
		counts[table] = fmt.Sprint(n)
	}
	return counts
}

// restore runs a dump in an empty database.
func restore(t *testing.T, url, file string) {
	t.Helper()
	sql := dbtest.Must(os.ReadFile(file))(t)
	if _, err := dbtest.Connect(t, url).PgConn().Exec(t.Context(), string(sql)).ReadAll(); err != nil {
		t.Fatalf("restore %s: %v", file, err)
	}
}

// unportable matches lines of a dump that other versions of PostgreSQL reject or that differ in
// each run.
var unportable = regexp.MustCompile(
	`(?m)^(--.*|\\.*|` +
		`SET (transaction_timeout|default_table_access_method|idle_session_timeout|default_with_oids).*;|` +
		`CREATE SCHEMA public;|COMMENT ON SCHEMA .*;)\n`)

// releasedDump returns all data of a database as SQL without COPY, so that one call can execute it.
func releasedDump(t *testing.T, url string) string {
	t.Helper()
	sql := pgDump(t, url, "--inserts", "--rows-per-insert=50", "--no-owner", "--no-privileges", "--schema=public")
	return strings.TrimSpace(gaps.ReplaceAllString(unportable.ReplaceAllString(sql, ""), "\n\n")) + "\n"
}

// dumpParents returns the schema without partitions, which depend on the stored reports.
func dumpParents(t *testing.T, url string) string {
	t.Helper()
	return pgDump(t, url, "--schema-only", "--no-owner", "--no-privileges", "--schema=public",
		"--exclude-table=reports_*", "--exclude-table=report_keys_*")
}

// pgDump runs the newest installed pg_dump, because an older one cannot read a newer server.
func pgDump(t *testing.T, url string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("pg_dump")
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump"); len(found) > 0 {
		program, err = found[len(found)-1], nil
	}
	if err != nil {
		t.Fatal("pg_dump was not found; apt-get install postgresql-client")
	}
	out, err := exec.CommandContext(t.Context(), program, append(args, "--dbname="+url)...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("pg_dump: %s", exit.Stderr)
	}
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	return string(out)
}

// fillReleased fills almost every table with data, through the same methods as people and machines.
func fillReleased(t *testing.T, url string) {
	t.Helper()
	s := dbtest.Must(db.Open(t.Context(), db.Config{URL: url, MaxConns: 8, Log: dbtest.Log(t),
		Now: func() time.Time { return today }}))(t)
	defer s.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()

	// Reports of all kinds that counts distinguish, repeated ones, and stacks with and without names.
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		save(t, s, anyRecord(t, r, i))
	}
	p := saveProblems(t, s, 6)
	for m := range 4 {
		another(t, s, 0, m+10)
	}
	again := record(t, today, "machine", nil)
	save(t, s, again)
	save(t, s, again)
	crashed(t, s, 1, "aa", "", nil)
	crashed(t, s, 2, "aa", "parse:load", nil)
	var mixed crash.BucketID
	for m := range 6 {
		mixed = crashed(t, s, m+20, "bb", "write:flush", crash.Fields{"Architecture": []string{"amd64", "arm64"}[m%2]})
	}

	// People.
	people := people.New(s)
	for name, role := range map[string]crash.Role{"ada": crash.RoleAdmin, "bob": crash.RoleTriager,
		"cleo": crash.RoleViewer} {
		_, err := people.Add(ctx, "", name, role, "correct horse battery "+name)
		must(err)
	}
	ada, err := people.ByName(ctx, "ada")
	must(err)
	must(people.SetTrackerName(ctx, "ada", "ada", "ada-lovelace"))
	must(people.Disable(ctx, "ada", "cleo"))
	_, _, err = people.AddToken(ctx, "", ada, "my script", []crash.Scope{crash.ScopeRead, crash.ScopeFile},
		today.AddDate(0, 6, 0))
	must(err)
	must(people.Follow(ctx, ada.ID, crash.Follow{Kind: crash.FollowPackage, Name: "harbor"}))
	_, err = people.Visit(ctx, ada.ID)
	must(err)

	// Decisions and notes.
	merge(t, s, p[1], p[0])
	merge(t, s, p[3], p[2])
	undo(t, s, decisions(t, s, p[3])[0])
	must(db.NewDecisions(s).Rename(ctx, p[1], "The sync falls over", "ada", "easier to remember"))
	split(t, s, mixed, arm)
	note, err := people.AddNote(ctx, p[1], "It needs a full disk.", "ada")
	must(err)
	must(people.ChangeNote(ctx, p[1], note, "It needs two full disks.", "bob"))

	// Bugs: filed, refused, waiting, linked, unlinked, duplicates, and their states in the tracker.
	finish(t, s, claim(t, s, ask(t, s, p[1], crash.Filing{})), crash.FilingFiled, 2100001)
	finish(t, s, claim(t, s, ask(t, s, p[4], crash.Filing{})), crash.FilingRefused, 0)
	ask(t, s, p[5], crash.Filing{})
	for number := range int64(3) {
		_, err := bugs.New(s).LinkBug(ctx, p[2], crash.Bug{Number: 7 + number, Title: fmt.Sprint("It fell over ", number),
			URL: fmt.Sprint("https://bugs.example/", 7+number), By: "bob"})
		must(err)
	}
	must(bugs.New(s).UnlinkBug(ctx, p[2], 9, "bob"))
	must(bugs.New(s).SaveBugReading(ctx, crash.BugReading{Number: 7, Title: "It fell over", InformationType: "Public",
		DuplicateOf: 8,
		Tasks:       []crash.BugTask{{Target: "/ubuntu/+source/harbor", Name: "harbor (Ubuntu)", Status: "Fix Released"}}},
		"https://bugs.example/8", time.Hour))
	must(bugs.New(s).FailBugReading(ctx, 8, "the tracker is away", time.Hour))
	must(bugs.New(s).SaveChanges(ctx, 0, []int64{7}, today))
	_, err = bugs.New(s).BeginComment(ctx, 7, crash.UpdateAgain, "1.0-1", p[2])
	must(err)
	must(bugs.New(s).SaveBugTemplate(ctx, crash.BugTemplate{Package: "harbor", Body: "{description}", By: "ada"}))

	// Archive facts, credentials for the tracker, and regrouping.
	facts := []crash.ArchiveWant{{Kind: crash.ArchiveSource, Key: "harbor"},
		{Kind: crash.ArchivePerson, Key: "ada-lovelace"}}
	_, err = bugs.New(s).ArchiveFacts(ctx, facts)
	must(err)
	must(bugs.New(s).SaveArchiveFact(ctx, crash.ArchiveFact{ArchiveWant: facts[1], Exists: true,
		Names: []string{"harbor"}}, time.Hour))
	key := crash.TrackerKey{URL: "https://tracker.example", ConsumerKey: "mishap"}
	must(bugs.New(s).SaveToken(ctx, key, crash.AccessToken{Token: "token", Secret: "secret"}, "ada"))
	run, err := db.NewDecisions(s).StartRegroup(ctx, grouping.RulesVersion, true, "ada")
	must(err)
	_, err = db.NewDecisions(s).StopRegroup(ctx, run.ID, "ada")
	must(err)
	must(s.WaitCounted(ctx))
	checkCountsOf(t, url, s)
}
