package upkeep_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash/audit"
	"mishap/crash/checktest"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

func mustExec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// wantRefused checks that the database refuses statements.
func wantRefused(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s: got no error, want it refused", sql)
		}
	}
}

func actions(t *testing.T, s *upkeep.AuditLog, f audit.Filter) []string {
	t.Helper()
	var got []string
	for r, err := range s.All(t.Context(), f) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{string(r.Kind), r.Person, r.Via, r.Address, r.Action, r.Object, r.Result,
			r.Reason, string(r.Before), string(r.After)}, "|"))
	}
	return got
}

func TestRecords(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t))
	s := upkeep.NewAuditLog(store)
	record := func(a *audit.Actor, e db.AuditEvent) {
		t.Helper()
		ctx := t.Context()
		if a != nil {
			ctx = audit.WithActor(ctx, a)
		}
		checktest.NoError(t, store.AuditAlone(ctx, e))
	}
	record(nil, db.AuditEvent{Action: "bug.comment-sent", Subject: "b1"})
	record(&audit.Actor{Kind: audit.Person, Person: "ines", Address: "192.0.2.1", RequestID: "r1"}, db.AuditEvent{
		Action: "user.role", Subject: "kim", Before: map[string]any{"role": ""}, After: map[string]any{"role": "admin"}})
	record(&audit.Actor{Kind: audit.Token, Person: "kim", Via: "ci mshp_12", Address: "192.0.2.2"},
		db.AuditEvent{Action: "note.add", Subject: "b1"})
	record(&audit.Actor{Kind: audit.Command, Via: "root"}, db.AuditEvent{Action: "note.change", Subject: "kim"})
	record(&audit.Actor{Kind: audit.Visitor, Address: "192.0.2.1"},
		db.AuditEvent{Person: "ines", Action: "user.sign-in", Subject: "ines"})
	record(&audit.Actor{Kind: audit.Person, Person: "ines", Address: "192.0.2.1"},
		db.AuditEvent{Action: audit.RequestRefused, Subject: "GET /admin", Refused: "role"})

	bug, role, tag := `job||||bug.comment-sent|b1|done|||`,
		`person|ines||192.0.2.1|user.role|kim|done||{"role": ""}|{"role": "admin"}`,
		`token|kim|ci mshp_12|192.0.2.2|note.add|b1|done|||`
	disable, in := `command||root||note.change|kim|done|||`, `person|ines||192.0.2.1|user.sign-in|ines|done|||`
	refused := `person|ines||192.0.2.1|request.refused|GET /admin|refused|role||`
	for _, tt := range []struct {
		filter audit.Filter
		want   []string
	}{
		{audit.Filter{}, []string{refused, in, disable, tag, role, bug}},
		{audit.Filter{Person: "ines"}, []string{refused, in, role}},
		{audit.Filter{Person: "root"}, []string{disable}},
		{audit.Filter{Action: "user.role"}, []string{role}},
		{audit.Filter{Object: "b1"}, []string{tag, bug}},
		{audit.Filter{Address: "192.0.2.2"}, []string{tag}},
		{audit.Filter{Result: audit.Refused}, []string{refused}},
		{audit.Filter{Object: "kim", Person: "ines"}, []string{role}},
		{audit.Filter{Until: time.Now().Add(-time.Hour)}, nil},
		{audit.Filter{Since: time.Now().Add(-time.Hour), Object: "ines"}, []string{in}},
	} {
		if diff := cmp.Diff(tt.want, actions(t, s, tt.filter)); diff != "" {
			t.Errorf("%+v: (-want +got):\n%s", tt.filter, diff)
		}
	}
	if err := store.AuditAlone(t.Context(), db.AuditEvent{Action: "no.such"}); err == nil {
		t.Error("an unknown action was recorded")
	}
	if err := store.AuditAlone(t.Context(), db.AuditEvent{Action: "user.disable", Subject: "kim"}); err == nil {
		t.Error("a change was recorded without values before and after")
	}
}

// TestOnce checks that views of the same thing cause one record for each person and hour, also when
// two instances share the database.
func TestOnce(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	one, two := dbtest.Open(t, address), dbtest.Open(t, address)
	view := func(s *db.Store, person, object string) {
		t.Helper()
		ctx := audit.WithActor(t.Context(), &audit.Actor{Kind: audit.Person, Person: person})
		checktest.NoError(t, s.AuditOnce(ctx, db.AuditEvent{Action: "read.report", Subject: object}, 100*365*24*time.Hour))
	}
	for _, s := range []*db.Store{one, one, two} {
		view(s, "ines", "r1")
		view(s, "ines", "r2")
		view(s, "kim", "r1")
	}
	if got := actions(t, upkeep.NewAuditLog(one), audit.Filter{}); len(got) != 3 {
		t.Errorf("got %q, want three records", got)
	}
	for i := range 1100 {
		ctx := audit.WithActor(t.Context(), &audit.Actor{Kind: audit.Visitor, Address: fmt.Sprint(i)})
		checktest.NoError(t, one.AuditOnce(ctx,
			db.AuditEvent{Action: audit.SignInRefused, Refused: "wrong_password"}, time.Hour))
	}
	got := len(actions(t, upkeep.NewAuditLog(one), audit.Filter{Action: audit.SignInRefused}))
	if got < 1000 || got > 1099 {
		t.Errorf("got %d records of visitors, want 1000, or some more if an hour began meanwhile", got)
	}
}

const oldRecord = `insert into audit_events (at, person, action, subject) values
	(now() - interval '40 days', 'ines', 'user.role', 'kim'), (now() - interval '40 days', 'ines', 'user.remove', 'lee'),
	(now() - interval '20 days', 'ines', 'user.role', 'kim')`

// TestAppendOnly checks what the owner of the tables cannot do by mistake.
func TestAppendOnly(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store, conn := dbtest.Open(t, address), dbtest.Connect(t, address)
	mustExec(t, conn, oldRecord)
	wantRefused(t, conn, "update audit_events set person = 'x'", "delete from audit_events", "truncate audit_events",
		"select drop_audit_events(now(), 10)", "select drop_audit_events(now() - interval '29 days', 10)",
		"begin; set local mishap.dropping_audit_events = 'on'; delete from audit_events; commit",
	)
	mustExec(t, conn, "rollback")
	s := upkeep.NewAuditLog(store)
	checktest.NoError(t, s.Drop(t.Context(), 0))
	if got := actions(t, s, audit.Filter{}); len(got) != 3 {
		t.Errorf("got %q after dropping nothing, want three records", got)
	}
	for range 2 {
		if err := s.Drop(t.Context(), 5); err != nil { // less than the minimum
			t.Fatal(err)
		}
	}
	want := []string{"job||||audit.drop||done|||", "|ines|||user.role|kim|done|||", "|ines|||user.remove|lee|done|||"}
	if diff := cmp.Diff(want, actions(t, s, audit.Filter{})); diff != "" {
		t.Errorf("after dropping (-want +got):\n%s", diff)
	}
}

// separateRoles is the SQL of docs/operating.md, for the roles %[1]s (application) and %[2]s (log).
const separateRoles = `
	alter database %[3]s owner to %[2]s;
	grant all on database %[3]s to %[1]s;
	alter schema public owner to %[2]s;
	grant usage, create on schema public to %[1]s;
	alter table audit_events owner to %[2]s;
	alter function drop_audit_events(timestamptz, integer) owner to %[2]s;
	alter function erase_from_audit_events(text, text) owner to %[2]s;
	alter function refuse_audit_change() owner to %[2]s;
	grant select, insert on audit_events to %[1]s;
	grant execute on function drop_audit_events(timestamptz, integer) to %[1]s;
	grant execute on function erase_from_audit_events(text, text) to %[1]s;`

// TestSeparateRole checks that mishap works with a role that does not own the audit log, and that this
// role cannot change the log in any way.
func TestSeparateRole(t *testing.T) {
	t.Parallel()
	address := dbtest.Empty(t)
	admin := dbtest.Connect(t, address)
	u := dbtest.Must(url.Parse(address))(t)
	database := admin.Config().Database
	app, owner := "app_"+database, "log_"+database
	mustExec(t, admin, fmt.Sprintf(`create role %q login password 'x'; create role %q;
		alter database %q owner to %q`, app, owner, database, app))
	t.Cleanup(func() {
		conn, err := pgx.ConnectConfig(context.WithoutCancel(t.Context()), admin.Config())
		if err != nil {
			return // the database is gone already
		}
		defer conn.Close(context.WithoutCancel(t.Context())) //nolint:errcheck // the test is over
		_, _ = conn.Exec(context.WithoutCancel(t.Context()), fmt.Sprintf(`drop owned by %q cascade; drop owned by %q cascade;
			reassign owned by %[1]q to current_user; reassign owned by %[2]q to current_user; drop role %[1]q; drop role %[2]q`,
			app, owner))
	})
	u.User = url.UserPassword(app, "x")
	if err := db.Migrate(t.Context(), u.String(), dbtest.Log(t)); err != nil {
		t.Fatalf("migrate as the application: %v", err)
	}
	mustExec(t, admin, fmt.Sprintf(separateRoles, quote(app), quote(owner), quote(database)))
	if err := db.Migrate(t.Context(), u.String(), dbtest.Log(t)); err != nil {
		t.Fatalf("migrate as the application afterwards: %v", err)
	}
	store, conn := dbtest.Open(t, u.String()), dbtest.Connect(t, u.String())
	mustExec(t, conn, oldRecord)
	wantRefused(t, conn, "update audit_events set person = 'x'", "delete from audit_events", "truncate audit_events",
		"set mishap.dropping_audit_events = 'on'; delete from audit_events where at < now() - interval '30 days'",
		"alter table audit_events disable trigger all", "drop trigger audit_events_append_only on audit_events",
		"drop table audit_events", "alter table audit_events rename to other", "alter table audit_events add x int",
		"drop function drop_audit_events(timestamptz, integer)", "drop schema public cascade",
		`create or replace function refuse_audit_change() returns trigger language plpgsql as 'begin return old; end'`,
		"set session_replication_role = replica", "set role "+quote(owner), "select drop_audit_events(now(), 10)",
		"create table other () inherits (audit_events)", "create rule r as on insert to audit_events do instead nothing",
	)
	s := upkeep.NewAuditLog(store)
	if err := s.Drop(t.Context(), 31); err != nil {
		t.Fatalf("drop old records as the application: %v", err)
	}
	if got := actions(t, s, audit.Filter{Action: "user.role"}); len(got) != 1 {
		t.Errorf("got %q, want one record of a changed role", got)
	}
	err := store.AuditOnce(t.Context(), db.AuditEvent{Action: "read.report", Subject: "r"}, time.Hour)
	if err != nil {
		t.Errorf("record once as the application: %v", err)
	}
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// TestPlans checks that each filter, and paging, use an index that needs no sorting.
func TestPlans(t *testing.T) {
	t.Parallel()
	conn := dbtest.Connect(t, dbtest.URL(t))
	mustExec(t, conn, `
		insert into audit_events (at, person, action, subject, kind, address, result)
		select now() - i * interval '1 minute', 'p' || i % 50, 'a' || i % 40, 'o' || i % 5000, 'person',
			'192.0.2.' || i % 200,
			case when i % 100 = 0 then 'refused' else 'done' end
		from generate_series(1, 40000) as i`)
	mustExec(t, conn, "analyze audit_events; set enable_bitmapscan = off") // a few rows may be sorted
	for filter, want := range map[string]string{
		"true": "audit_events_at",
		"(case when person <> '' then person else via end) = 'p7'": "audit_events_who",
		"action = 'a7'":  "audit_events_action",
		"subject = 'o7'": "audit_events_subject",
		"address = '192.0.2.7' and address <> ''":          "audit_events_address",
		"result = 'refused'":                               "audit_events_refused",
		"at >= now() - interval '1 day'":                   "audit_events_at",
		"(at, id) < (now() - interval '10 days', 100)":     "audit_events_at",
		"subject = 'o7' and person = 'p7' and action > ''": "audit_events_subject",
	} {
		rows := dbtest.Must(conn.Query(t.Context(), "explain select * from audit_events where "+filter+
			" order by at desc, id desc limit 51"))(t)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		plan := strings.Join(lines, "\n")
		if err != nil || !strings.Contains(plan, want) || strings.Contains(plan, "Sort") ||
			strings.Contains(plan, "Seq Scan") {
			t.Errorf("%s: got %v and the plan\n%s\nwant %s without sorting", filter, err, plan, want)
		}
	}
}

// TestLongTexts records texts that are too long for an index and do not compress, as an address of a page
// can be.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	var long strings.Builder
	for long.Len() < 20_000 {
		long.WriteString(rand.Text() + "é\x00\xff")
	}
	ctx := audit.WithActor(t.Context(), &audit.Actor{Kind: audit.Token, Person: long.String(), Via: long.String(),
		Address: long.String()})
	for _, action := range []string{"read.machine-dump", audit.RequestOther} {
		if err := store.AuditAlone(ctx, db.AuditEvent{Action: action, Subject: long.String()}); err != nil {
			t.Errorf("%s: %v", action, err)
		}
	}
	for r, err := range upkeep.NewAuditLog(store).All(t.Context(), audit.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Object) > 1000 || !strings.HasPrefix(r.Object, strings.ToValidUTF8(long.String()[:20], "")) {
			t.Errorf("got an object of %d bytes, want the beginning", len(r.Object))
		}
	}
}
