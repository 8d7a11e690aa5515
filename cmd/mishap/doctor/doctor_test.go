package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/symbols/sandbox"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/notify/mail/mailtest"
	"mishap/tracker"
	"mishap/tracker/kinds"
	"mishap/tracker/trackertest"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	os.Exit(m.Run())
}

// site is a healthy mishap, with a real database, tracker and relay, which tests break.
type site struct {
	deps    Deps
	keys    map[string]string // of the configuration
	tables  string            // in the configuration file
	tracker *trackertest.Tracker
	token   string // accepted by the tracker
	mail    tracker.Mailer
	debug   *httptest.Server
	pages   *httptest.Server
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{tracker: trackertest.New(t), deps: Deps{Timeout: 20 * time.Second}}
	s.debug = httptest.NewServer(http.NotFoundHandler()) // as debuginfod answers for an unknown file
	t.Cleanup(s.debug.Close)
	s.pages = httptest.NewServer(healthy())
	t.Cleanup(s.pages.Close)
	token := s.tracker.Token("mishap")
	s.token = token.Token
	s.keys = map[string]string{
		"data_dir": filepath.Join(t.TempDir(), "data"), "database_url": dbtest.URL(t), "base_url": s.pages.URL,
		"cores_total_max_bytes": "1000000", "debuginfod_urls": s.debug.URL, "ops_listen": "127.0.0.1:1",
		"smtp_url": mailtest.New(t).URL, "smtp_tls": "off", "mail_from": "mishap <mishap@example.org>",
		"tracker_url": s.tracker.URL, "tracker_api_url": s.tracker.APIURL,
		"tracker_oauth_token": token.Token, "tracker_oauth_secret": string(token.Secret),
	}
	return s
}

// health answers like mishap's health check.
func healthy() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
}

// run writes the configuration and runs the checks.
func (s *site) run(t *testing.T) []Finding {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(s.tables), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.runFile(t, file)
}

func (s *site) runFile(t *testing.T, file string) []Finding {
	t.Helper()
	var environ []string
	for key, value := range s.keys {
		environ = append(environ, config.Variable(key)+"="+value)
	}
	c, err := config.Load(file, true, environ)
	if err != nil {
		t.Fatal(err)
	}
	s.deps.Config = c
	s.deps.Tracker = tracker.Config{URL: c.TrackerURL, APIURL: c.TrackerAPIURL, ConsumerKey: c.TrackerConsumerKey,
		Target: c.TrackerTarget, BaseURL: c.BaseURL}
	s.deps.Tracker.Token.Token, s.deps.Tracker.Token.Secret = string(c.TrackerOAuthToken), c.TrackerOAuthSecret
	s.deps.Trackers = nil
	for _, table := range c.Trackers {
		kind := kinds.Named(table.Kind)
		settings := s.deps.Tracker
		settings.Name, settings.Title, settings.Kind, settings.Target = table.Name, table.Name, kind, table.Target
		settings.URL, settings.APIURL = table.URL, cmp.Or(table.APIURL, kind.API(table.URL))
		settings.Variant, settings.Mail, settings.Token = table.Variant, s.mail, crash.AccessToken{}
		if table.Token != "" || kind.Mail {
			settings.Token = crash.AccessToken{Token: cmp.Or(table.Account, table.Name), Secret: table.Token}
		}
		s.deps.Trackers = append(s.deps.Trackers, settings)
	}
	return Run(t.Context(), s.deps)
}

// want fails unless one finding of a check has the status and contains the text, and, if the status is
// not OK, says what to do.
func want(t *testing.T, all []Finding, check string, status Status, text string) {
	t.Helper()
	for _, f := range all {
		if f.Check == check && f.Status == status && strings.Contains(f.Message, text) {
			if (f.Remedy == "") != (status == OK || status == Off) {
				t.Errorf("%s: got remedy %q for %s", check, f.Remedy, status)
			}
			return
		}
	}
	t.Errorf("got %s, want %s %s %q", lines(all), status, check, text)
}

func lines(all []Finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "\n%s %s: %s: %s", f.Status, f.Check, f.Message, f.Remedy)
	}
	return b.String()
}

func TestHealthy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dbtest.Exec(t, s.keys["database_url"], `update applied_migrations set applied = now()`) // the template may be older
	all := s.run(t)
	if Worst(all) != OK {
		t.Errorf("got %s, want no warnings", lines(all))
	}
	checks := map[string]bool{}
	for _, f := range all {
		checks[f.Check] = true
	}
	wanted := []string{"archives", "backup", "base_url", "clock", "database", "disk", "mail", "permissions", "pg_dump",
		"proxies", "schema", "service", "symbols", "traces", "tracker", "verification"}
	if got := slices.Sorted(maps.Keys(checks)); !slices.Equal(got, wanted) {
		t.Errorf("got checks %v, want %v", got, wanted)
	}
	want(t, all, "tracker", OK, "accepts the access token of practice-person")
	// It has changed nothing: it has created no data_dir, and written nothing about the token.
	if _, err := os.Stat(s.keys["data_dir"]); !os.IsNotExist(err) {
		t.Errorf("data_dir: got %v, want none", err)
	}
	if n := query(t, s.keys["database_url"], `select ((select count(*) from oauth_credentials) +
		(select count(*) from oauth_health))::text`); n != "0" {
		t.Errorf("got %s rows about the token, want none", n)
	}
}

func query(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background()) //nolint:errcheck // only for this test
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(got, "\n")
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	h, err := db.OpenReadOnly(t.Context(), dbtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Pool.Close()
	if _, err := h.Pool.Exec(t.Context(), `create table written ()`); err == nil ||
		!strings.Contains(err.Error(), "read-only") {
		t.Errorf("got %v, want a refusal to write", err)
	}
}

// TestBroken breaks one thing at a time, and checks what the doctor says about it. Unless the run is thorough, it
// breaks a third of them.
func TestBroken(t *testing.T) {
	t.Parallel()
	type harmed struct {
		name   string
		harm   func(*testing.T, *site)
		check  string
		status Status
		text   string
	}
	for _, c := range checktest.EveryNth([]harmed{
		{"no server", func(t *testing.T, s *site) { s.keys["database_url"] = "postgres://" + closedPort(t) + "/mishap" },
			"database", Failure, "refused"},
		{"no database", func(_ *testing.T, s *site) { s.keys["database_url"] = inDatabase(s, "no_such_one") },
			"database", Failure, "no_such_one"},
		{"encoding", func(t *testing.T, s *site) { s.keys["database_url"] = dbtest.Latin1(t) }, "database", Failure,
			"is LATIN1, and mishap needs UTF8"},
		{"pooler", func(t *testing.T, s *site) {
			s.keys["database_url"] = dbtest.Pooler(t, s.keys["database_url"], "transaction", "")
		}, "database", Failure, "A connection pooler"},
		{"pooler that keeps connections", func(t *testing.T, s *site) {
			s.keys["database_url"] = dbtest.Pooler(t, s.keys["database_url"], "session", "")
		}, "database", OK, "through a connection pooler in session mode"},
		{"empty database", func(t *testing.T, s *site) { s.keys["database_url"] = dbtest.Empty(t) },
			"schema", Warning, "empty"},
		{"old schema", sql(`delete from applied_migrations where version = (select max(version) from applied_migrations)`),
			"schema", Warning, "1 are missing"},
		{"old backup", sql(`insert into backups (taken, ended, place, bytes, reports)
			values (now() - interval '4 days', now(), '/var/backups/mishap/old', 1, 1)`), "backup", Warning, "mishap/old"},
		{"no backup", sql(`update applied_migrations set applied = now() - interval '48 hours'`), "backup", Warning,
			"No backup was ever made"},
		{"bad backup", sql(`insert into backups (taken, ended, place, bytes, reports, verified, verify_problem)
			values (now(), now(), '/b/one', 1, 1, now(), 'toc.dat is missing')`), "verification", Failure, "toc.dat is missing"},
		{"old queue", sql(`delete from river_migration`), "schema", Warning, "0 are missing"},
		{"other schema", sql(`update applied_migrations set checksum = 'beef' where version = 8`),
			"schema", Failure, "another build"},
		{"newer schema", sql(`insert into applied_migrations (version, name, checksum) values (9999, 'later', 'beef')`),
			"schema", Failure, "newer mishap"},
		{"no private database", func(_ *testing.T, s *site) { s.keys["database_url"] = "" },
			"database", OK, "does not exist yet"},
		{"private database of another PostgreSQL", func(t *testing.T, s *site) {
			s.keys["database_url"] = ""
			s.makeData(t, 0o755)
			cluster := filepath.Join(s.keys["data_dir"], "postgres", "data")
			if err := os.MkdirAll(cluster, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(cluster, "PG_VERSION"), "9\n", 0o600)
		}, "database", Failure, "belongs to PostgreSQL 9"},
		{"clock a minute off", clockOff(time.Minute), "clock", Warning, "the database differ by 1m0s"},
		{"clock an hour off", clockOff(-time.Hour), "clock", Failure, "the database differ by 1h0m0s"},
		{"tracker's clock", clockOff(time.Hour), "clock", Failure, "127.0.0.1"},
		{"cores exceed the disk", key("cores_total_max_bytes", "1000000000000000"), "disk", Warning, "GiB are free"},
		{"no object storage", func(_ *testing.T, s *site) {
			s.keys["blobs"] = "s3://bucket?endpoint=" + crashtest.NobodyListens
			s.keys["cores_key"] = strings.Repeat("k", 32)
		}, "disk", Failure, "blobs"},
		{"no tracker", key("tracker_api_url", crashtest.NobodyListens+"/devel"), "tracker", Failure, "cannot be reached"},
		{"revoked token", func(_ *testing.T, s *site) { s.tracker.Revoke(s.token) },
			"tracker", Failure, "no longer accepts"},
		{"no token", func(_ *testing.T, s *site) { s.keys["tracker_oauth_token"], s.keys["tracker_oauth_secret"] = "", "" },
			"tracker", Warning, "not connected"},
		{"filing is off", func(_ *testing.T, s *site) {
			s.keys["tracker_oauth_token"], s.keys["tracker_oauth_secret"] = "", ""
			s.keys["allow_bug_filing"] = "false"
		}, "tracker", OK, "filing bugs is off"},
		{"more trackers", func(_ *testing.T, s *site) { s.tables = gnome }, "tracker", OK, "practice-person"},
		{"no Launchpad", func(_ *testing.T, s *site) { s.tables, s.keys["tracker_url"] = gnome, "none" },
			"tracker", Off, "no Launchpad"},
		{"saved token", savedToken, "tracker", OK, "practice-person"},
		{"tracker in trouble", func(t *testing.T, s *site) {
			s.tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpMe, Fault: trackertest.Error503, Times: 9})
		}, "tracker", Failure, "no usable answer"},
		{"silent tracker", func(t *testing.T, s *site) {
			s.deps.Timeout = 3 * time.Second
			s.tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpMe, Fault: trackertest.HangBefore, Times: 9})
		}, "tracker", Failure, ""},
		{"no relay", func(t *testing.T, s *site) { s.keys["smtp_url"] = "smtp://" + closedPort(t) },
			"mail", Failure, "refused"},
		{"relay without STARTTLS", key("smtp_tls", "require"), "mail", Failure, "STARTTLS"},
		{"mail in clear text", key("smtp_tls", "opportunistic"), "mail", Warning, "clear text"},
		{"no mail", key("smtp_url", ""), "mail", Off, "smtp_url is empty"},
		{"no traces", key("traces_url", ""), "traces", Off, "traces_url is empty"},
		{"traces", collector(http.StatusOK), "traces", OK, "accepts traces"},
		{"refused traces", collector(http.StatusForbidden), "traces", Warning, "403 Forbidden"},
		{"no collector", key("traces_url", crashtest.NobodyListens), "traces", Warning, "connection refused"},
		{"no debuginfod", key("debuginfod_urls", crashtest.NobodyListens), "symbols", Failure, "cannot be reached"},
		{"broken debuginfod", func(_ *testing.T, s *site) {
			s.debug.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) })
		}, "symbols", Failure, "502"},
		{"not ready", func(t *testing.T, s *site) { s.ops(t, 503, "Counting fails.") }, "service", Failure,
			"Counting fails."},
		{"ready", func(t *testing.T, s *site) { s.ops(t, 200, "ready\n") }, "service", OK, "ready"},
		{"a problem of the site", func(t *testing.T, s *site) { s.ops(t, 200, "ready\n") }, "service", Failure,
			"The relay refuses"},
		{"other program", func(t *testing.T, s *site) { s.ops(t, 404, "") }, "service", Failure, "another program"},
		{"no pages", key("base_url", crashtest.NobodyListens), "base_url", Warning, "does not answer"},
		{"other pages", func(_ *testing.T, s *site) { s.pages.Config.Handler = http.NotFoundHandler() },
			"base_url", Warning, "404"},
		{"http", key("base_url", "http://crashes.invalid"), "proxies", Warning, "passwords"},
		{"no trusted proxy", https("trusted_proxies", ""), "proxies", Failure, "no proxy is trusted"},
		{"local proxy not trusted", https("trusted_proxies", "192.0.2.7"), "proxies", Failure, "only for this machine"},
		{"open listen", https("listen", "0.0.0.0:8080"), "proxies", Warning, "open to other machines"},
		{"a network of clients", https("trusted_proxies", "10.0.0.0/8"), "proxies", Warning, "10.0.0.0/8"},
		{"unreachable name", https("listen", "127.0.0.1:8080"), "base_url", Warning, "cannot be reached"},
		{"open data_dir", func(t *testing.T, s *site) { s.makeData(t, 0o777) }, "permissions", Failure, "may write"},
		{"data_dir is a file", func(t *testing.T, s *site) { write(t, s.keys["data_dir"], "x", 0o600) },
			"permissions", Failure, "not a folder"},
		{"open key", func(t *testing.T, s *site) {
			s.makeData(t, 0o700)
			write(t, filepath.Join(s.keys["data_dir"], "cores.key"), strings.Repeat("k", 64), 0o644)
		}, "permissions", Failure, "key of core dumps"},
		{"damaged key", func(t *testing.T, s *site) {
			s.makeData(t, 0o700)
			write(t, filepath.Join(s.keys["data_dir"], "cores.key"), "short", 0o600)
		}, "permissions", Failure, "damaged"},
	}, 3, 0) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			c.harm(t, s)
			want(t, s.run(t), c.check, c.status, c.text)
		})
	}
}

// TestProblemOnce checks that a problem that both the doctor and a running instance see is named once.
func TestProblemOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ops(t, http.StatusOK, "ready\n")
	dbtest.Exec(t, s.keys["database_url"], `update applied_migrations set applied = now() - interval '48 hours'`)
	all := s.run(t)
	if n := strings.Count(lines(all), "No backup was ever made"); n != 1 {
		t.Errorf("got a missing backup %d times, want once: %s", n, lines(all))
	}
	want(t, all, "backup", Warning, "No backup was ever made")
}

// closedPort returns an address on which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	address, err := checktest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

const gnome = "[[tracker]]\nname = 'gnome'\nkind = 'gitlab'\nurl = '" + crashtest.NobodyListens + "'\n"

func key(name, value string) func(*testing.T, *site) {
	return func(_ *testing.T, s *site) { s.keys[name] = value }
}

// collector makes a collector of traces answer with a status.
func collector(status int) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(server.Close)
		s.keys["traces_url"] = server.URL
	}
}

func https(name, value string) func(*testing.T, *site) {
	return func(_ *testing.T, s *site) {
		s.keys["base_url"], s.keys[name] = "https://crashes.invalid", value
	}
}

func sql(statement string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		query(t, s.keys["database_url"], statement+" returning 'x'::text")
	}
}

func clockOff(by time.Duration) func(*testing.T, *site) {
	return func(_ *testing.T, s *site) { s.deps.Now = func() time.Time { return time.Now().Add(by) } }
}

func inDatabase(s *site, name string) string {
	u, _ := url.Parse(s.keys["database_url"])
	u.Path = "/" + name
	return u.String()
}

// savedToken moves the token from the configuration into the database.
func savedToken(t *testing.T, s *site) {
	t.Helper()
	store := bugs.New(dbtest.Open(t, s.keys["database_url"]))
	c := tracker.Config{URL: s.tracker.URL, APIURL: s.tracker.APIURL, ConsumerKey: "mishap"}
	creds := tracker.NewCredentials(c, store)
	if err := creds.SaveToken(t.Context(), s.tracker.Token("mishap"), "ada"); err != nil {
		t.Fatal(err)
	}
	s.keys["tracker_oauth_token"], s.keys["tracker_oauth_secret"] = "", ""
}

// ops makes something answer on ops_listen.
func (s *site) ops(t *testing.T, status int, text string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			_, _ = w.Write([]byte(`{"checks": [
				{"name": "Mail", "status": "failure", "problem": "The relay refuses.", "remedy": "repair it"},
				{"name": "Counting", "status": "failure", "problem": "Counting fails."},
				{"check": "backup", "name": "Backups", "status": "warning", "problem": "No backup was ever made."},
				{"name": "Clock", "status": "ok"}]}`))
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	s.keys["ops_listen"] = server.Listener.Addr().String()
}

func (s *site) makeData(t *testing.T, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(s.keys["data_dir"], 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.keys["data_dir"], mode); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
}

func TestConfigurationFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := filepath.Join(t.TempDir(), "config.toml")
	for mode, status := range map[os.FileMode]Status{0o600: OK, 0o644: Failure, 0o604: Failure} {
		write(t, file, `oidc_client_secret = "s3cret"`+"\noidc_issuer = \"https://id.example.org\"\noidc_client_id = \"m\"\n",
			mode)
		want(t, s.runFile(t, file), "permissions", status, "secrets")
	}
	if os.Geteuid() != 0 {
		return // only root can give a file to a group
	}
	if err := os.Chown(file, 0, 65534); err != nil {
		t.Fatal(err)
	}
	for mode, status := range map[os.FileMode]Status{0o640: OK, 0o644: Failure} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		want(t, s.runFile(t, file), "permissions", status, "secrets")
	}
}

func TestRootsFilesInDataDir(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can create files in the data_dir of another user")
	}
	s := newSite(t)
	s.makeData(t, 0o755)
	if err := os.Chown(s.keys["data_dir"], 65534, 65534); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.keys["data_dir"], "symbols"), "", 0o600)
	want(t, s.run(t), "permissions", Failure, "root has created symbols")
}

func TestSmallDisk(t *testing.T) {
	t.Parallel()
	folder, full, ok := dbtest.SmallDisk(t, 192<<20)
	if !ok {
		return // it has run in a namespace
	}
	s := newSite(t)
	s.keys["data_dir"] = filepath.Join(folder, "data")
	want(t, s.run(t), "disk", OK, "192 MiB are free")
	full(t, true)
	want(t, s.run(t), "disk", Failure, "0 MiB of 192 MiB")
	if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	findings := s.run(t)
	want(t, findings, "permissions", Failure, "is read-only")
	for _, finding := range findings {
		if strings.Contains(finding.Remedy, "chown") {
			t.Errorf("got %+v, want no advice about the owner", finding)
		}
	}
	want(t, []Finding{temporary(folder)}, "disk", Failure, "TMPDIR: the disk of "+folder+" is read-only")
}

// TestTemporaryFiles checks folders for temporary files that are missing or no folders.
func TestTemporaryFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if got := temporary(folder); got.Check != "disk" || !strings.HasPrefix(got.Message, "TMPDIR: ") {
		t.Errorf("got %+v", got) // the disk of the tests may be full
	}
	want(t, []Finding{temporary(filepath.Join(folder, "missing"))}, "disk", Failure, "TMPDIR: this user may not write")
	file := filepath.Join(folder, "file")
	write(t, file, "", 0o600)
	want(t, []Finding{temporary(file)}, "disk", Failure, "not a directory")
}

// TestPgDump checks the program that makes backups.
func TestPgDump(t *testing.T) {
	t.Parallel()
	want(t, newSite(t).run(t), "pg_dump", OK, "can back up PostgreSQL")
	want(t, []Finding{pgDump(t.Context(), 99)}, "pg_dump", Warning, "needs version 99")
}

func TestCheckThatHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	_, ok := limited(t.Context(), time.Millisecond, func(context.Context) bool { <-release; return true })
	if ok {
		t.Error("got a result, want none")
	}
}
