package vitals_test

import (
	"testing"
	"time"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/db/vitals"
)

// TestRead reads the vitals of a site whose mails and core dumps wait. Work that cannot be done now does
// not count.
func TestRead(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	s := vitals.New(store, nil)
	for _, c := range s.Checks(t.Context()) {
		if c.Status() != crash.HealthOK {
			t.Errorf("empty database: got %+v, want healthy", c)
		}
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
