package upkeep_test

import (
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

// TestRead reads the vitals of a site whose mails and core dumps wait. Work that cannot be done now does
// not count.
func TestRead(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	s := upkeep.NewVitals(store, nil, false)
	check := func(id string, want crash.HealthStatus, text string) {
		t.Helper()
		for _, c := range s.Checks(t.Context()) {
			if c.ID == id && (c.Status() != want || !strings.Contains(c.Problem+c.Detail, text)) {
				t.Errorf("%s: got %s %+v, want %s with %q", id, c.Status(), c, want, text)
			}
		}
	}
	dbtest.Exec(t, url, `update applied_migrations set applied = now()`) // the template may be older
	off := map[string]bool{"symbols": true, "mail": true}
	for _, c := range s.Checks(t.Context()) {
		if want := map[bool]crash.HealthStatus{true: crash.HealthOff, false: crash.HealthOK}[off[c.ID]]; c.Status() != want {
			t.Errorf("new database: got %s %+v, want %s", c.Status(), c, want)
		}
	}
	dbtest.Exec(t, url, `update applied_migrations set applied = now() - interval '48 hours'`)
	check("backup", crash.HealthWarning, "No backup was ever made")
	for _, place := range []string{"/b/mishap-20261123T002000Z", "s3://b/p/mishap-20261124T002000Z?endpoint=http://h/x"} {
		err := upkeep.AddBackup(t.Context(), store.Pool, crash.Backup{Taken: store.Now(), Place: place})
		if err != nil {
			t.Fatal(err)
		}
	}
	check("backup", crash.HealthOK, "mishap-20261124T002000Z")
	check("verification", crash.HealthWarning, "ever verified")
	for _, v := range []struct {
		name, problem string
		known         bool
		status        crash.HealthStatus
		text          string
	}{
		{"mishap-20261122T002000Z", "bad", false, crash.HealthWarning, "ever verified"},
		{"mishap-20261123T002000Z", "", true, crash.HealthOK, "/b/mishap-20261123T002000Z is good"},
		{"mishap-20261124T002000Z", "toc.dat is missing.", true, crash.HealthFailure, "toc.dat is missing."},
		{"mishap-20261124T002000Z", "", true, crash.HealthOK, "endpoint=http://h/x is good"},
	} {
		if known, err := upkeep.BackupVerified(t.Context(), store.Pool, v.name, v.problem); err != nil || known != v.known {
			t.Errorf("%s: got %t, %v, want %t", v.name, known, err, v.known)
		}
		check("verification", v.status, v.text)
	}
	dbtest.Exec(t, url, `insert into users (name, role, password_hash, created) values ('ada', 'viewer', '', now())`)
	dbtest.Exec(t, url, `
		insert into mails (user_id, kind, address, created, due, state, attempts)
		select id, 'test', 'ada@example.org', now() - n * interval '1 hour', now(), state, attempts
		from users, (values (1, 'waiting', 0), (2, 'waiting', 3), (9, 'sent', 1)) as m (n, state, attempts)`)
	dbtest.Exec(t, url, `
		insert into symbol_jobs (report_id, problem, version, architecture, store, core_bytes, state, created, not_before)
		select gen_random_uuid(), '', '1', 'amd64', '', 1, state, now() - interval '9 hours', now() + n * interval '1 hour'
		from (values ('queued', -3), ('queued', null), ('queued', 1), ('done', null)) as j (state, n)`)
	v, err := s.Read(t.Context())
	if err != nil || v.MailsWaiting != 2 || v.MailsRetried != 1 || v.MailWaiting.Round(time.Hour) != 2*time.Hour {
		t.Errorf("mails: got %+v, %v; want two, one of them refused two hours ago", v, err)
	}
	if v.SymbolsQueued != 2 || v.SymbolsWaiting.Round(time.Hour) != 9*time.Hour {
		t.Errorf("core dumps: got %+v, want two, the oldest nine hours old", v)
	}
	if v.Clock.Abs() > time.Minute {
		t.Errorf("clock: got %v, want about 0", v.Clock)
	}
	dbtest.Exec(t, url, `insert into notification_stop (id, stopped, person) values (true, now(), 'ada')`)
	if v, err = s.Read(t.Context()); err != nil || v.MailsWaiting != 0 {
		t.Errorf("notifications are stopped: got %d mails, %v; want none", v.MailsWaiting, err)
	}
	store.Close()
	for _, c := range s.Checks(t.Context()) {
		if c.Status() != crash.HealthFailure {
			t.Errorf("no database: got %+v, want a failure", c)
		}
	}
}
