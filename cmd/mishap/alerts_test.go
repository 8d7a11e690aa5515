package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mishap/cmd/mishap/doctor"
	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db/dbtest"
	"mishap/notify/mail/mailtest"
	"mishap/tracker/trackertest"
)

// monitored is a server with a replicated database, a tracker and a relay, and its Prometheus.
type monitored struct {
	*promServer
	pair    *dbtest.Pair
	server  *process
	address map[string]string
}

// sql runs statements in the database.
func (m *monitored) sql(url string, statements ...string) {
	m.t.Helper()
	for _, s := range statements {
		dbtest.Exec(m.t, url, s)
	}
}

// shows checks that the health of the server has a problem in a check.
func (m *monitored) shows(check string, want crash.HealthStatus) {
	m.t.Helper()
	_, body, _ := statusAt(m.t, "http://"+m.address["ops_listen"]+"/health")
	var got struct{ Checks []healthLine }
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		m.t.Fatalf("health: got %s, %v", body, err)
	}
	for _, c := range got.Checks {
		if c.Check == check && c.Status == want && c.Problem != "" && c.Remedy != "" {
			return
		}
	}
	m.t.Errorf("health: got %s, want %s of %s with a remedy", body, want, check)
}

// post sends a report as a machine does, and returns the status of the answer.
func (m *monitored) post(machine string) int {
	return postTo(m.t, m.address["ingest_listen"], machine, crashtest.GoPanic())
}

// TestMoreAlerts breaks one thing after another, and waits until a real Prometheus fires the alert for it.
// Before that, each query of the dashboard returns data, and no alert fires.
func TestMoreAlerts(t *testing.T) {
	t.Parallel()
	tr, relay := trackertest.New(t), mailtest.New(t)
	token := tr.Token("mishap")
	m := &monitored{pair: dbtest.StartPair(t)}
	environ := trackerEnviron(tr, "MISHAP_DATABASE_URL="+m.pair.URL(), "MISHAP_DATA_DIR="+t.TempDir(),
		"MISHAP_TRACKER_OAUTH_TOKEN="+token.Token, "MISHAP_TRACKER_OAUTH_SECRET="+string(token.Secret),
		"MISHAP_SMTP_URL="+relay.URL, "MISHAP_SMTP_TLS=off", "MISHAP_MAIL_FROM=mishap@example.org",
		"MISHAP_CORES=never", "MISHAP_TRACES_URL=http://"+freeAddress(t)) // no collector listens there
	m.server, m.address = serveProcess(t, environ)
	m.promServer = startPrometheus(t, m.address["ops_listen"])
	mustRun(t, environ, "user", "add", "tess", "--role=triager", "--password-stdin")
	mustRun(t, environ, "import", crashFile)
	const signature = "/usr/bin/tidewatch:11:tide_parse_row:tide_load:on_open_clicked:__libc_start_call_main:_start"
	person := signIn(t, "http://"+m.address["listen"], "tess")
	if status := m.post("machine-1"); status != http.StatusOK {
		t.Fatalf("report: got status %d, want %d", status, http.StatusOK)
	}
	create(person, signature).Want(http.StatusCreated)

	for panel, queries := range dashboardQueries(t) {
		for _, q := range queries {
			eventually(t, fmt.Sprintf("the panel %q has data (%s)", panel, q), func() bool { return m.query(q) > 0 })
		}
	}
	_, exported, _ := statusAt(t, "http://"+m.address["ops_listen"]+"/metrics")
	checkMetricNames(t, exported)
	m.quiet("MishapDiskFullSoon") // other programs may be writing to this disk

	tr.Revoke(token.Token)
	create(person, grouping.SignatureOf(crashtest.GoPanic().Fields()).Signature) // the alert is the result
	m.fires("MishapTrackerParked")
	m.shows("tracker", crash.HealthFailure)

	relay.OnRcpt(func(string) error { return mailtest.Temporary })
	m.sql(m.pair.PrimaryURL(), `insert into mails (user_id, kind, address, created, due)
		select id, 'confirm', 'tess@example.org', now() - interval '1 hour', now() from users`)
	m.fires("MishapMailFailing")
	m.shows("mail", crash.HealthFailure)

	// The core dump is in the store of an instance that does not run.
	m.sql(m.pair.PrimaryURL(), `
		insert into symbol_jobs (report_id, problem, version, architecture, store, core_bytes, state, created)
		select id, bucket_id, '1', 'amd64', 'elsewhere', 1, 'queued', now() - interval '2 hours' from reports limit 1`)
	m.fires("MishapSymbolQueue")
	m.shows("symbols", crash.HealthWarning)

	m.sql(m.pair.PrimaryURL(), `
		insert into filing_writer (ended, rest, restored, backup_taken) values (now(), '0', now(), now())
		on conflict (single) do update set restored = now(), backup_taken = now()`,
		`update filings set created = now() - interval '2 hours', problem = '' where state = 'queued'`)
	m.fires("MishapFilingHeld", "MishapFilingSlow")
	m.shows("filing", crash.HealthFailure)

	m.sql(m.pair.StandbyURL(), `select pg_wal_replay_pause()`)
	for range 6 { // 16 MB each
		m.sql(m.pair.PrimaryURL(), `select txid_current()`, `select pg_switch_wal()`)
	}
	m.fires("MishapReplicationLag")
	m.shows("replication", crash.HealthWarning)
	m.pair.DropStandby()
	m.fires("MishapStandbyLost")

	m.sql(m.pair.PrimaryURL(), `alter table report_days rename to elsewhere`)
	_ = m.post("machine-2")
	m.fires("MishapNotCounting")
	m.shows("counting", crash.HealthFailure)

	m.pair.KillPrimary()
	_ = m.post("machine-3") // fails after some seconds
	m.fires("MishapCannotStore")
	eventually(t, "the alert about reports that fail fires", func() bool {
		_ = m.post("machine-3") // Prometheus sees an increase only if it knew a value before
		return slices.Contains(m.firing(), "MishapReportsFail")
	})
	m.shows("database", crash.HealthFailure)

	m.server.kill()
	m.fires("MishapInstanceDown")
}

// TestMoreDiskAlerts fills a small disk.
func TestMoreDiskAlerts(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	dbtest.Exec(t, url, `update applied_migrations set applied = now()`) // the template may be older
	folder, full, ok := dbtest.SmallDisk(t, 192<<20, "TEST_DATABASE_URL="+url)
	if !ok {
		return
	}
	server, address := serveProcess(t, trackerEnviron(trackertest.New(t), "MISHAP_DATABASE_URL="+url,
		"MISHAP_DATA_DIR="+folder), "--only=ingest")
	m := &monitored{promServer: startPrometheus(t, address["ops_listen"]), server: server, address: address}
	eventually(t, "Prometheus has scraped", func() bool { return m.query("mishap_disk_free_bytes") > 0 })
	m.quiet()
	full(t, true)
	m.fires("MishapDiskLow", "MishapDiskFullSoon")
	m.shows("disk", crash.HealthFailure)
}

// TestOff starts a server that asks for no core dumps, on a machine without gdb, and sends no mail: neither is
// a problem, and neither is fine.
func TestOff(t *testing.T) {
	t.Parallel()
	environ := trackerEnviron(trackertest.New(t), "MISHAP_DATABASE_URL="+dbtest.URL(t), "MISHAP_DATA_DIR="+t.TempDir(),
		"MISHAP_CORES=never", "PATH="+t.TempDir())
	_, address := serveProcess(t, environ)
	eventually(t, "the instance has said what it can symbolise", func() bool {
		_, metrics, _ := statusAt(t, "http://"+address["ops_listen"]+"/metrics")
		return strings.Contains(metrics, `mishap_symbol_workers{state="off"} 1`) &&
			strings.Contains(metrics, `mishap_symbol_workers{state="broken"} 0`) &&
			strings.Contains(metrics, `mishap_health{check="symbols"} -1`) &&
			strings.Contains(metrics, `mishap_health{check="mail"} -1`)
	})
	_, health, _ := statusAt(t, "http://"+address["ops_listen"]+"/health")
	for _, check := range []string{"symbols", "mail"} {
		if !regexp.MustCompile(`"check":"` + check + `","name":"[^"]*","status":"off"`).MatchString(health) {
			t.Errorf("health: got %s, want %s off", health, check)
		}
	}
	d := examine(t, environ, exec.CommandContext(t.Context(), built(t)))
	d.has(t, "symbols", doctor.Off, "gdb is not installed")
	d.has(t, "mail", doctor.Off, "smtp_url is empty")
}

// TestMoreNeglectAlerts starts a server on a machine without gdb, whose database has another clock and lacks
// a table, and that nobody backs up any more.
func TestMoreNeglectAlerts(t *testing.T) {
	t.Parallel()
	url, relay := dbtest.URL(t), mailtest.New(t)
	m := &monitored{promServer: &promServer{t: t}}
	m.sql(url, `create function clock_timestamp() returns timestamptz language sql
			as 'select pg_catalog.clock_timestamp()'`,
		`do $$ begin execute format('alter database %I set search_path = public, pg_catalog', current_database()); end $$`)
	environ := trackerEnviron(trackertest.New(t), "MISHAP_DATABASE_URL="+url, "MISHAP_DATA_DIR="+t.TempDir(),
		"MISHAP_SMTP_URL="+relay.URL, "MISHAP_SMTP_TLS=off", "MISHAP_MAIL_FROM=mishap@example.org")
	mustRun(t, environ, "backup", t.TempDir())
	m.server, m.address = serveProcess(t, append(environ, "PATH="+t.TempDir()))
	m.promServer = startPrometheus(t, m.address["ops_listen"])
	m.fires("MishapSymbolsBroken")
	m.shows("symbols", crash.HealthFailure)
	m.quiet("MishapSymbolsBroken", "MishapDiskFullSoon")

	m.sql(url, `update applied_migrations set applied = now() - interval '48 hours'`)
	m.fires("MishapBackupUnverified")
	m.shows("verification", crash.HealthWarning)
	m.sql(url, `update backups set taken = taken - interval '4 days'`)
	m.fires("MishapBackupOld")
	m.shows("backup", crash.HealthWarning)
	m.sql(url, `delete from backups`)
	m.fires("MishapBackupMissing")
	m.shows("backup", crash.HealthWarning)

	m.sql(url, `create or replace function clock_timestamp() returns timestamptz language sql
		as 'select pg_catalog.clock_timestamp() + interval ''11 seconds'' '`)
	m.fires("MishapClockWrong")
	m.shows("clock", crash.HealthWarning)

	m.sql(url, `alter table deliveries rename to elsewhere`)
	m.fires("MishapTaskFailing")
}
