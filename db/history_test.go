package db_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/people"
	"mishap/migrations"
)

const history = `select version::text, name || ' ' || checksum from applied_migrations`

func TestMigrateDifferentHistory(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, change, code, says string }{
		{"an edited migration", `update applied_migrations set checksum = 'beef' where version = 8`, "database_differs",
			"its migration 8 is 008_api.sql (sha256 beef…)"},
		{"a record less", `delete from applied_migrations where version = 3`, "database_differs", "records of"},
		{"no records", `delete from applied_migrations`, "database_differs", "records of"},
		{"changed by tern", `update schema_version set version = version - 1`, "database_differs", "records of"},
		{"newer", `update schema_version set version = 999`, "database_newer", "migrated by a newer mishap (schema 999"},
		{"newer job queue", `insert into river_migration (line, version) values ('main', 999)`, "database_newer",
			"migrated by a newer mishap (schema 999"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t)
			s := dbtest.Open(t, url)
			if err := s.Ping(t.Context()); err != nil {
				t.Errorf("before: got %v, want it ready", err)
			}
			dbtest.Exec(t, url, test.change)
			err := db.Migrate(t.Context(), url, dbtest.Log(t))
			if crash.KindOf(err) != crash.Conflict || codeOf(err) != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want a conflict with code %s: %s", err, test.code, test.says)
			}
		})
	}
}

// TestMigrateFails applies a migration that fails in its second half. It leaves neither tables nor
// a row in applied_migrations.
func TestMigrateFails(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	before := dbtest.Lines(t, url, history)
	next := fmt.Sprintf("%03d_broken.sql", len(before)+1)
	files := fstest.MapFS{}
	for _, name := range glob(t) {
		text := dbtest.Must(fs.ReadFile(migrations.Files, name))(t)
		files[name] = &fstest.MapFile{Data: text}
	}
	files[next] = &fstest.MapFile{Data: []byte("create table half (id int);\nselect 1/0")}
	if err := db.MigrateFiles(t.Context(), url, dbtest.Log(t), files, false); err == nil {
		t.Fatal("got no error of a migration that divides by zero")
	}
	if got := dbtest.Lines(t, url, history); fmt.Sprint(got) != fmt.Sprint(before) || strings.Contains(tables(t, url),
		"half.id") {
		t.Errorf("got %v, want no trace of the migration", got)
	}
	files[next] = &fstest.MapFile{Data: []byte("create table whole (id int) -- and no semicolon")}
	if err := db.MigrateFiles(t.Context(), url, dbtest.Log(t), files, false); err != nil {
		t.Fatalf("fixed: %v", err)
	}
	got := dbtest.Lines(t, url, history)
	if len(got) != len(before)+1 || !strings.HasPrefix(got[fmt.Sprint(len(before)+1)], next) {
		t.Errorf("got %v, want a record of %s", got, next)
	}
	if err := db.Migrate(t.Context(), url, dbtest.Log(t)); codeOf(err) != "database_newer" {
		t.Errorf("without that file: got %v, want that the database is newer", err)
	}
	// During a rolling upgrade, instances of the previous version still work after a new one has
	// migrated.
	if err := dbtest.Open(t, url).Ping(t.Context()); err != nil {
		t.Errorf("ping: got %v, want an instance of the version before to stay ready", err)
	}
}

// TestPingChecksSchema replaces the database of a running instance by one that it cannot work with.
func TestPingChecksSchema(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	for _, change := range []string{
		// This is a backup from before an upgrade.
		`delete from applied_migrations where version = (select max(version) from applied_migrations)`,
		`update applied_migrations set checksum = 'beef' where version = 8`,
		`drop table applied_migrations`,
	} {
		dbtest.Exec(t, url, change)
		if err := s.Ping(t.Context()); crash.KindOf(err) != crash.Unavailable {
			t.Errorf("%s: got %v, want it not ready", change, err)
		}
	}
}

func glob(t *testing.T) []string {
	t.Helper()
	return dbtest.Must(fs.Glob(migrations.Files, "*.sql"))(t)
}

func codeOf(err error) string {
	if known, ok := errors.AsType[*crash.Error](err); ok {
		return known.Code
	}
	return ""
}

// publish publishes an event in a transaction of its own.
func publish(t *testing.T, s *db.Store, e crash.Event, to crash.Recipients) bool {
	t.Helper()
	var published bool
	checktest.NoError(t, s.InTx(t.Context(), func(tx pgx.Tx) (err error) {
		published, err = s.Publish(t.Context(), tx, e, to)
		return err
	}))
	return published
}

// TestPublish checks that an edge is published once, to accounts and endpoints that are enabled.
func TestPublish(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	var anna, former int64
	for name, id := range map[string]*int64{"anna": &anna, "former": &former} {
		user := dbtest.Must(people.New(s).Add(t.Context(), "", name, crash.RoleTriager, "correct horse battery"))(t)
		*id = user.ID
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		dbtest.Must(s.Pool.Exec(t.Context(), sql, args...))(t)
	}
	exec(`update users set disabled = true where id = $1`, former)
	exec(`insert into endpoints (name, kind, url, created) values ('chat', 'slack', 'https://a.example/', now())`)
	exec(`insert into endpoints (name, kind, url, created, disabled)
		values ('old', 'slack', 'https://b.example/', now(), now())`)
	event := crash.Event{Edge: "new:1:zsh", Kind: crash.EventNew, Title: "zsh crashed", Package: "zsh", Text: "It is new."}
	to := crash.Recipients{
		People:    []crash.Recipient{{User: anna, Reason: "you follow zsh"}, {User: former}, {User: 999}},
		Endpoints: []int64{1, 2, 3},
	}
	if !publish(t, s, event, to) {
		t.Error("the first call published nothing")
	}
	if publish(t, s, event, to) {
		t.Error("the second call published the same edge again")
	}
	for table, want := range map[string]int{"events": 1, "notices": 1, "deliveries": 1} {
		var got int
		checktest.NoError(t, s.Pool.QueryRow(t.Context(), `select count(*) from `+table).Scan(&got))
		if got != want {
			t.Errorf("%s has %d rows, want %d", table, got, want)
		}
	}
}

// TestPublishUnknownKind checks that an event of an unknown kind is an error.
func TestPublishUnknownKind(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	err := s.InTx(t.Context(), func(tx pgx.Tx) error {
		_, err := s.Publish(t.Context(), tx, crash.Event{Edge: "x", Kind: "odd"}, crash.Recipients{})
		return err
	})
	if err == nil {
		t.Error("no error")
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	ctx := t.Context()
	p := saveProblems(t, s, 2)
	first := dbtest.Must(people.New(s).AddNote(ctx, p[0], " It needs\r\na full disk. ", "ada"))(t)
	dbtest.Must(people.New(s).AddNote(ctx, p[1], "Elsewhere.", "bob"))(t)
	// Saving the same text again has no effect.
	for _, text := range []string{"It needs two full disks.", "It needs two full disks.", ""} {
		checktest.NoError(t, people.New(s).ChangeNote(ctx, p[0], first, text, "bob"))
	}
	notes, err := people.New(s).Notes(ctx, p[0])
	if err != nil || len(notes) != 1 {
		t.Fatalf("notes: got %+v, %v, want one", notes, err)
	}
	var texts []string
	for _, text := range notes[0].Texts {
		texts = append(texts, text.Person+": "+text.Text)
	}
	if got, want := strings.Join(texts, "|"), "ada: It needs\na full disk.|bob: It needs two full "+
		"disks.|bob: "; got != want || notes[0].Text() != "" {
		t.Errorf("history: got %q, want %q", got, want)
	}
	merge(t, s, p[1], p[0])
	if notes, err := people.New(s).Notes(ctx, p[0]); err != nil || len(notes) != 2 {
		t.Errorf("of the whole: got %d, %v, want both", len(notes), err)
	}
	for name, err := range map[string]error{
		"empty": errOf(people.New(s).AddNote(ctx, p[0], " \n ", "ada")),
		"long":  errOf(people.New(s).AddNote(ctx, p[0], strings.Repeat("x", 4001), "ada")),
		"NUL":   people.New(s).ChangeNote(ctx, p[0], first, "a\x00", "ada"),
	} {
		if !errors.Is(err, crash.Invalid) {
			t.Errorf("%s: got %v, want invalid", name, err)
		}
	}
	if _, err := people.New(s).AddNote(ctx, crash.BucketID{1}, "x", "ada"); !errors.Is(err, crash.NotFound) {
		t.Errorf("unknown problem: got %v", err)
	}
	if err := people.New(s).ChangeNote(ctx, p[0], 99, "x", "ada"); !errors.Is(err, crash.NotFound) {
		t.Errorf("unknown note: got %v", err)
	}
}

func errOf(_ int64, err error) error { return err }
