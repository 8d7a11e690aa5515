package upkeep_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

// TestJudge checks the limits of all checks, from both sides.
func TestJudge(t *testing.T) {
	t.Parallel()
	restored := crash.Restored{At: time.Unix(1, 0)}
	start := time.Unix(1, 0)
	// backups returns vitals that were read some time after the installation, after a backup and after its
	// verification. Negative: there was none.
	backups := func(installed, taken, verified time.Duration, problem string) upkeep.Facts {
		v := upkeep.Facts{At: start.Add(10_000 * time.Hour)}
		v.Backups.Installed = v.At.Add(-installed)
		if taken >= 0 {
			v.Backups.Last = crash.Backup{Taken: v.At.Add(-taken), Place: "/b", Reports: 1}
		}
		if verified >= 0 {
			v.Backups.Verification = crash.Verification{Ended: v.At.Add(-verified), Place: "/b", Problem: problem}
		}
		return v
	}
	march := db.ArchivedList{{From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		Until: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)}}
	tests := []struct {
		name   string
		vitals upkeep.Facts
		check  string
		want   crash.HealthStatus
		text   string
	}{
		{"clocks agree", upkeep.Facts{Clock: -9 * time.Second}, "clock", crash.HealthOK, ""},
		{"a clock is behind", upkeep.Facts{Clock: -10 * time.Second}, "clock", crash.HealthWarning, "differ by 10s"},
		{"a clock is wrong", upkeep.Facts{Clock: 5 * time.Minute}, "clock", crash.HealthFailure, "differ by 5m0s"},
		{"a young filing", upkeep.Facts{OldestFiling: 59 * time.Minute}, "filing", crash.HealthOK, ""},
		{"an old filing", upkeep.Facts{OldestFiling: time.Hour}, "filing", crash.HealthWarning, "for 1h0m to"},
		{"a parked filing is old", upkeep.Facts{OldestFiling: time.Hour, Parked: 1}, "filing", crash.HealthOK, ""},
		{"restored", upkeep.Facts{Restored: restored}, "filing", crash.HealthFailure, "restored from a backup"},
		{"no filing here", upkeep.Facts{}, "tracker", crash.HealthOK, "files no bugs"},
		{"never connected", upkeep.Facts{Connection: &crash.Connection{Source: crash.NotConnected}}, "tracker",
			crash.HealthWarning, "not connected"},
		{"connected", upkeep.Facts{Connection: &crash.Connection{Source: crash.FromConfiguration}}, "tracker",
			crash.HealthOK, "Connected."},
		{"rejected", upkeep.Facts{Connection: &crash.Connection{Source: crash.FromConfiguration,
			TokenHealth: crash.TokenHealth{Dead: true}}}, "tracker",
			crash.HealthFailure, "does not accept"},
		{"parked filings", upkeep.Facts{Parked: 2}, "tracker", crash.HealthFailure, "2 filings wait"},
		{"no instance symbolises", upkeep.Facts{}, "symbols", crash.HealthOff, "No running instance"},
		{"cores are off", upkeep.Facts{Workers: []crash.SymbolWorker{{}}}, "symbols", crash.HealthOff, "cores is never"},
		{"cores are off in one instance", upkeep.Facts{Workers: []crash.SymbolWorker{{},
			{Problem: "gdb is not installed."}}},
			"symbols", crash.HealthFailure, "gdb is not installed."},
		{"cores are off, but one waits", upkeep.Facts{Workers: []crash.SymbolWorker{{}}, SymbolsQueued: 1,
			SymbolsWaiting: time.Hour}, "symbols", crash.HealthWarning, "1 core dump waits"},
		{"no debugger", upkeep.Facts{Workers: []crash.SymbolWorker{{Problem: "gdb is not installed."}}}, "symbols",
			crash.HealthFailure, "gdb is not installed."},
		{"an instance symbolises", upkeep.Facts{Workers: []crash.SymbolWorker{{Architectures: []string{"i386", "amd64"}}},
			SymbolsWaiting: 59 * time.Minute}, "symbols", crash.HealthOK, "amd64, i386"},
		{"core dumps wait", upkeep.Facts{Workers: []crash.SymbolWorker{{Architectures: []string{"amd64"}}},
			SymbolsQueued: 3, SymbolsWaiting: time.Hour}, "symbols", crash.HealthWarning, "3 core dumps wait"},
		{"mails wait for a moment", upkeep.Facts{Mail: true, MailsWaiting: 2, MailWaiting: 29 * time.Minute}, "mail",
			crash.HealthOK,
			"2 mails wait"},
		{"the relay refuses", upkeep.Facts{Mail: true, MailsWaiting: 2, MailsRetried: 1, MailWaiting: 30 * time.Minute},
			"mail",
			crash.HealthFailure, "1 mail"},
		{"mail is off", upkeep.Facts{MailsWaiting: 2, MailsRetried: 1, MailWaiting: time.Hour}, "mail", crash.HealthOff,
			"No mail is sent (smtp_url is empty). 2 mails wait."},
		{"no archive", upkeep.Facts{}, "archives", crash.HealthOff, "own database"},
		{"an archive answers", upkeep.Facts{Archives: []db.ArchiveState{{Name: "old", Parts: march}}}, "archives",
			crash.HealthOK, "old stores reports that arrived from 2026-03-01 to 2026-03-31."},
		{"an archive is down", upkeep.Facts{Archives: []db.ArchiveState{{Name: "old"}, {Name: "b", Problem: "Refused."}}},
			"archives", crash.HealthWarning, "An archive cannot be reached: b. old stores no reports. b stores no reports. " +
				"Refused."},
		{"no standby", upkeep.Facts{}, "replication", crash.HealthOK, "no standby"},
		{"a good standby", upkeep.Facts{Standbys: []upkeep.Standby{{Name: "b", Known: true, Bytes: 64<<20 - 1}}},
			"replication", crash.HealthOK, "b is 0s and 64.0 MiB behind."},
		{"a standby lacks much", upkeep.Facts{Standbys: []upkeep.Standby{{Known: true, Bytes: 64 << 20}}}, "replication",
			crash.HealthWarning, ""},
		{"a standby is late", upkeep.Facts{Standbys: []upkeep.Standby{{Known: true, Lag: time.Minute}}}, "replication",
			crash.HealthWarning, ""},
		{"an unknown standby", upkeep.Facts{Standbys: []upkeep.Standby{{Name: "b"}}}, "replication", crash.HealthOK,
			"pg_monitor"},
		{"no backup yet", backups(48*time.Hour-1, -1, -1, ""), "backup", crash.HealthOK, "No backup"},
		{"no backup", backups(48*time.Hour, -1, -1, ""), "backup", crash.HealthWarning, "No backup was ever made"},
		{"a backup", backups(0, 72*time.Hour-1, -1, ""), "backup", crash.HealthOK, "1 report, 0.0 MiB, in /b."},
		{"an old backup", backups(0, 72*time.Hour, -1, ""), "backup", crash.HealthWarning, "3 days old"},
		{"nothing to verify", backups(48*time.Hour, -1, -1, ""), "verification", crash.HealthOK, "no backup to verify"},
		{"not verified yet", backups(48*time.Hour-1, 0, -1, ""), "verification", crash.HealthOK, "No backup was verified"},
		{"never verified", backups(48*time.Hour, 0, -1, ""), "verification", crash.HealthWarning, "ever verified"},
		{"verified", backups(0, 0, 72*time.Hour-1, ""), "verification", crash.HealthOK, "/b is good."},
		{"verified long ago", backups(0, 0, 72*time.Hour, ""), "verification", crash.HealthWarning, "3 days ago"},
		{"rights from an upgrade", upkeep.Facts{Unconfirmed: 2}, "rights", crash.HealthWarning,
			"2 rights to private data from"},
		{"a token expires", upkeep.Facts{Expiring: 1}, "tokens", crash.HealthWarning, "1 token of a service account expires"},
		{"few failed sign-ins", upkeep.Facts{SignInsRefused: 19}, "sign-in", crash.HealthOK, ""},
		{"many failed sign-ins", upkeep.Facts{SignInsRefused: 20}, "sign-in", crash.HealthWarning, "20 sign-ins failed"},
		{"a rule fails", upkeep.Facts{RulesFailing: 1}, "rules", crash.HealthWarning, "An action of 1 rule failed."},
		{"endpoints fail", upkeep.Facts{EndpointsFailing: 2}, "endpoints", crash.HealthWarning, "2 endpoints fail."},
		{"stopped", upkeep.Facts{Stopped: true}, "notifications", crash.HealthWarning, "are stopped"},
		{"a bad backup", backups(0, 0, 0, "toc.dat is missing."), "verification", crash.HealthFailure, "/b: toc.dat"},
	}
	for _, tt := range tests {
		found := false
		for _, c := range upkeep.Judge(tt.vitals) {
			if c.ID != tt.check {
				continue
			}
			found = true
			if c.Status() != tt.want || !strings.Contains(c.Problem+" "+c.Detail, tt.text) ||
				c.Problem != "" && c.Remedy == "" {
				t.Errorf("%s: got %s %+v, want %s with %q", tt.name, c.Status(), c, tt.want, tt.text)
			}
		}
		if !found {
			t.Errorf("%s: there is no check %s", tt.name, tt.check)
		}
	}
	for _, c := range upkeep.UnknownHealth(errors.New("no answer")) {
		if c.Status() != crash.HealthFailure || c.Detail != "no answer" {
			t.Errorf("unknown: got %+v, want a failure", c)
		}
	}
}

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
	off := map[string]bool{"symbols": true, "mail": true, "archives": true}
	for _, c := range s.Checks(t.Context()) {
		if want := map[bool]crash.HealthStatus{true: crash.HealthOff, false: crash.HealthOK}[off[c.ID]]; c.Status() != want {
			t.Errorf("new database: got %s %+v, want %s", c.Status(), c, want)
		}
	}
	dbtest.Exec(t, url, `update applied_migrations set applied = now() - interval '48 hours'`)
	check("backup", crash.HealthWarning, "No backup was ever made")
	for _, place := range []string{"/b/mishap-20261123T002000Z", "s3://b/p/mishap-20261124T002000Z?endpoint=http://h/x"} {
		checktest.NoError(t, upkeep.AddBackup(t.Context(), store.Pool, crash.Backup{Taken: store.Now(), Place: place}))
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
	check("notifications", crash.HealthWarning, "All notifications are stopped.")
	dbtest.Exec(t, url, `insert into group_grants (source, group_name, role, scope, person, created, embargoed)
		values ('oidc', 'staff', 'private', 'everything', '', now(), false)`)
	check("rights", crash.HealthWarning, "1 right to private data")
	dbtest.Exec(t, url, `insert into users (name, role, password_hash, created, team_source, team)
		values ('bot', 'viewer', '', now(), 'oidc', 'staff')`)
	dbtest.Exec(t, url, `insert into api_tokens (user_id, name, hash, hint, scopes, created, expires)
		select id, name, sha256(name::bytea), 'hint', '{read}', now(), now() + interval '3 days' from users`)
	check("tokens", crash.HealthWarning, "1 token of a service account") // people hear about their own
	dbtest.Exec(t, url, `insert into endpoints (name, kind, url, created, address, failures, disabled, disabled_why)
		select n, 'slack', '', now(), '', 1, off, why from (values ('a', null, ''), ('b', now(), 'All 10 attempts failed.'),
			('c', now(), 'ada switched it off.')) as e (n, off, why)`)
	check("endpoints", crash.HealthWarning, "2 endpoints fail.")
	dbtest.Exec(t, url, `insert into audit_events (at, person, action, subject, detail)
		select now() - n * interval '1 hour', '', 'user.sign-in-refused', 'password', '{}' from generate_series(1, 30) as n`)
	check("sign-in", crash.HealthWarning, "23 sign-ins")
	store.Close()
	for _, c := range s.Checks(t.Context()) {
		if c.Status() != crash.HealthFailure {
			t.Errorf("no database: got %+v, want a failure", c)
		}
	}
}
