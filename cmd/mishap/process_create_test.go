package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/mail"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"mishap/cmd/mishap/doctor"
	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/symbols/symboltest"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/people"
	"mishap/handlers/handlertest"
	"mishap/notify/mail/mailtest"
	"mishap/tracker/trackertest"
)

// signIn returns a client that is signed in to the pages at an address.
func signIn(t *testing.T, base, name string) *handlertest.Client {
	t.Helper()
	c := handlertest.NewClient(t, base)
	c.Post("/login", url.Values{"username": {name}, "password": {testPassword}}).Want(http.StatusSeeOther)
	return c
}

// create requests a bug for a problem, as scripts of the old site do.
func create(c *handlertest.Client, signature string) *handlertest.Answer {
	return c.PostJSON("/api/1.0/create-bug-report/?format=json", map[string]string{"signature": signature})
}

// prepared is a database with one problem and a triager, and the environment of instances that use
// it.
type prepared struct {
	url       string // address of the database
	tracker   *trackertest.Tracker
	store     *db.Store
	environ   []string
	signature string
	bucket    crash.BucketID
}

func prepare(t *testing.T, more ...string) *prepared {
	t.Helper()
	tr := trackertest.New(t)
	database := dbtest.URL(t)
	token := tr.Token("mishap")
	p := &prepared{tracker: tr, store: dbtest.Open(t, database), url: database}
	p.environ = trackerEnviron(tr, append([]string{
		"MISHAP_DATABASE_URL=" + database, "MISHAP_DATA_DIR=" + t.TempDir(),
		"MISHAP_TRACKER_OAUTH_TOKEN=" + token.Token, "MISHAP_TRACKER_OAUTH_SECRET=" + string(token.Secret),
	}, more...)...)
	mustRun(t, p.environ, "user", "add", "tess", "--role=triager", "--password-stdin")
	mustRun(t, p.environ, "import", crashFile)
	p.signature = "/usr/bin/tidewatch:11:tide_parse_row:tide_load:on_open_clicked:__libc_start_call_main:_start"
	p.bucket = crash.BucketIDOf(p.signature)
	return p
}

// linked waits until the bucket has a bug, and checks that it is the only one.
func (p *prepared) linked(t *testing.T) {
	t.Helper()
	var got crash.Bucket
	eventually(t, "the bucket has a bug", func() bool {
		var err error
		if got, err = p.store.Bucket(t.Context(), p.bucket); err != nil {
			t.Fatal(err)
		}
		return got.Bug.Number != 0
	})
	bugs := p.tracker.Bugs()
	if len(bugs) != 1 || bugs[0].Number != got.Bug.Number {
		t.Errorf("bugs in the tracker: got %d, and %d linked; want one, linked", len(bugs), got.Bug.Number)
	}
}

// TestKillDuringCreate kills the server while it waits for the tracker, which has or has not filed
// the bug. The next server finds out, and there is one bug.
func TestKillDuringCreate(t *testing.T) {
	t.Parallel()
	for _, fault := range []trackertest.Fault{trackertest.HangAfter, trackertest.HangBefore} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			p := prepare(t, "MISHAP_TRACKER_SETTLE_SECONDS=1", "MISHAP_TRACKER_TIMEOUT_SECONDS=60")
			p.tracker.Fail(trackertest.OpCreate, fault)
			server, addresses := serveProcess(t, p.environ)
			s := signIn(t, "http://"+addresses["listen"], "tess")
			click, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/1.0/create-bug-report/",
				strings.NewReader(fmt.Sprintf(`{"signature": %q}`, p.signature)))
			if err != nil {
				t.Fatal(err)
			}
			click.Header = http.Header{"Content-Type": {"application/json"}, "Referer": {s.URL + "/"},
				"X-CSRFToken": {s.Cookie("csrftoken")}}
			var clicking sync.WaitGroup
			clicking.Go(func() {
				if answer, err := s.Try(click); err == nil {
					t.Errorf("a killed server: got %+v, want no answer", answer)
				}
			})
			eventually(t, "the tracker is asked", func() bool { return len(p.tracker.Requests(trackertest.OpCreate)) > 0 })
			server.kill()
			clicking.Wait()

			server, addresses = serveProcess(t, p.environ)
			p.linked(t)
			answer := create(signIn(t, "http://"+addresses["listen"], "tess"), p.signature).Want(http.StatusOK)
			wantTexts(t, answer.Body, `"state":"filed"`)
			server.stops()
			checkHidden(t, server.said.String(), p.environ)
		})
	}
}

// checkHidden fails the test if the output contains a password or a secret of the environment.
func checkHidden(t *testing.T, said string, environ []string) {
	t.Helper()
	for _, secret := range []string{variableOf(environ, "MISHAP_TRACKER_OAUTH_SECRET"), testPassword} {
		if secret != "" && strings.Contains(said, secret) {
			t.Error("output: got a secret in it")
		}
	}
}

// notifyFixture is a database with a person who gets mail at once, and a relay.
type notifyFixture struct {
	environ []string
	url     string
	store   *db.Store
	relay   *mailtest.Server
	user    int64
}

func newNotifyFixture(t *testing.T) *notifyFixture {
	t.Helper()
	f := &notifyFixture{url: dbtest.URL(t), relay: mailtest.New(t)}
	f.store = dbtest.Open(t, f.url)
	f.environ = []string{"MISHAP_DATABASE_URL=" + f.url, "MISHAP_DATA_DIR=" + t.TempDir(), "MISHAP_READ_ARCHIVE=false",
		"MISHAP_SMTP_URL=" + f.relay.URL, "MISHAP_SMTP_TLS=off", "MISHAP_MAIL_FROM=crashes@example.org"}
	dbtest.AddUser(t, f.store, "fay", crash.RoleTriager, testPassword)
	a := people.New(f.store)
	u, err := a.ByName(t.Context(), "fay")
	if err != nil {
		t.Fatal(err)
	}
	f.user = u.ID
	if err := a.Follow(t.Context(), u.ID, crash.Follow{Kind: crash.FollowPackage, Name: "tidewatch"}); err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, f.url, `insert into mail_settings (user_id, address, confirmed) values ($1, 'fay@example.org', now())`,
		u.ID)
	return f
}

// scan returns the value of a query for one.
func scan[T any](t *testing.T, store *db.Store, sql string, args ...any) (value T) {
	t.Helper()
	if err := store.Pool.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// mails returns how often the relay has accepted each mail: by subject, and by Message-ID.
func (f *notifyFixture) mails(t *testing.T) (subjects, ids map[string]int) {
	t.Helper()
	subjects, ids = map[string]int{}, map[string]int{}
	for _, m := range f.relay.Mails() {
		read, err := mail.ReadMessage(strings.NewReader(m.Raw))
		if err != nil {
			t.Fatal(err)
		}
		subjects[read.Header.Get("Subject")]++
		ids[read.Header.Get("Message-ID")]++
	}
	return subjects, ids
}

// forget removes what River knows of a killed instance, so that tests need not wait until its lease
// ends.
func (f *notifyFixture) forget(t *testing.T) {
	t.Helper()
	dbtest.Exec(t, f.url, `delete from river_leader`)
	dbtest.Exec(t, f.url, `delete from river_job`)
}

// TestMoreKilledWhileMailing kills the server while the relay has a mail but has not answered. No mail is
// lost. If the relay has accepted that mail, and only then, it comes twice, with the same Message-ID.
func TestMoreKilledWhileMailing(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]error{"accepted": nil, "not accepted": mailtest.Temporary} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newNotifyFixture(t)
			const events, hanging = 5, 3
			killed := make(chan struct{})
			release := sync.OnceFunc(func() { close(killed) })
			t.Cleanup(release)
			var mails atomic.Int32
			f.relay.OnData(func(string) error {
				if mails.Add(1) != hanging {
					return nil
				}
				<-killed
				return reply
			})
			for i := range events {
				e := crash.Event{Edge: fmt.Sprint("edge ", i), Kind: crash.EventNew, Title: fmt.Sprint("problem ", i)}
				if err := f.store.InTx(t.Context(), func(tx pgx.Tx) error {
					_, err := f.store.Publish(t.Context(), tx, e,
						crash.Recipients{People: []crash.Recipient{{User: f.user, Reason: "you follow tidewatch"}}})
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
			server, _ := serveProcess(t, f.environ, "--only", "web")
			eventually(t, "the relay gets a mail and does not answer", func() bool { return mails.Load() == hanging })
			server.kill()
			release()
			f.forget(t)
			serveProcess(t, f.environ, "--only", "web")
			eventually(t, "no mail waits", func() bool {
				return scan[int](t, f.store, `select count(*) from mails where state = 'sent'`) == events
			})
			repeated := 0
			subjects, ids := f.mails(t)
			for subject, n := range subjects {
				repeated += n - 1
				if n > 2 {
					t.Errorf("got %q %d times", subject, n)
				}
			}
			want := 0
			if reply == nil {
				want = 1
			}
			if len(subjects) != events || len(ids) != events || repeated != want {
				t.Errorf("got %d mails with %d ids, %d of them twice: %v; want %d mails and ids, %d twice",
					len(subjects), len(ids), repeated, subjects, events, want)
			}
		})
	}
}

// TestMoreKilledWhileEvaluatingRules kills the server in every step of an evaluation: before it stores
// arrivals, edges, events, notices and its progress. Each edge is reported exactly once.
func TestMoreKilledWhileEvaluatingRules(t *testing.T) {
	t.Parallel()
	f := newNotifyFixture(t)
	_, addresses := serveProcess(t, f.environ, "--only", "ingest")
	problems := 0
	report := func() { // two new problems, each on three machines; more than ten in all would be a storm
		t.Helper()
		for range 2 {
			problems++
			for machine := range 3 {
				body := crashtest.Native(crashtest.Process(10*problems+machine),
					crashtest.Set("DuplicateSignature", fmt.Sprint("tide:", problems))).BSON()
				answerTo(t, addresses["ingest_listen"], fmt.Sprint("/machine", machine), body)
			}
		}
		dbtest.Counted(t, f.store)
	}
	for _, table := range []string{"bucket_arrivals", "rule_edges", "events", "notices", "rule_progress"} {
		report()
		lock, err := f.store.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lock.Exec(t.Context(), `lock table `+table+` in share row exclusive mode`); err != nil {
			t.Fatal(err)
		}
		server, _ := serveProcess(t, f.environ, "--only", "web")
		eventually(t, "the evaluation writes to "+table, func() bool {
			return scan[bool](t, f.store, `select exists (select from pg_locks where not granted and
				database = (select oid from pg_database where datname = current_database())
				and relation = $1::regclass)`, table)
		})
		server.kill()
		if err := lock.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.forget(t)
	}
	for range 2 {
		serveProcess(t, f.environ, "--only", "web")
	}
	number := func(sql string) int {
		t.Helper()
		return scan[int](t, f.store, sql)
	}
	eventually(t, "everything is evaluated and mailed", func() bool {
		return number(`select c.round - p.round from rule_progress as p, counting as c`) == 0 &&
			number(`select count(*) from mails where state = 'sent'`) >= problems
	})
	subjects, ids := f.mails(t)
	for what, got := range map[string]int{
		"events": number(`select count(*) from events`), "notices": number(`select count(*) from notices`),
		"problems with a notice": number(`select count(distinct e.bucket_id) from notices as n
			join events as e on e.id = n.event_id where e.kind = 'new'`),
		"rows of mails": number(`select count(*) from mails`), "mails": len(ids),
	} {
		if got != problems {
			t.Errorf("%s: got %d, want %d; the subjects are %v", what, got, problems, subjects)
		}
	}
}

// diagnosis is what "mishap doctor --json" prints.
type diagnosis struct {
	Version  string
	Status   doctor.Status
	Findings []doctor.Finding
}

// has fails unless a line of the diagnosis has this status and text.
func (d diagnosis) has(t *testing.T, check string, status doctor.Status, text string) {
	t.Helper()
	for _, f := range d.Findings {
		if f.Check == check && f.Status == status && strings.Contains(f.Message, text) {
			return
		}
	}
	t.Errorf("got %+v, want %s %s %q", d, status, check, text)
}

// examine runs "mishap doctor" and checks its exit status.
func examine(t *testing.T, environ []string, cmd *exec.Cmd) diagnosis {
	t.Helper()
	cmd.Args = append(cmd.Args, "doctor", "--json", noConfig(t))
	cmd.Env = append(os.Environ(), environ...)
	out, _ := cmd.Output() // the status is checked below
	var d diagnosis
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("got %q, %v", out, err)
	}
	if got := cmd.ProcessState.ExitCode(); got != exitStatusOf[d.Status] || d.Status == "" || d.Version == "" {
		t.Errorf("got exit status %d with %+v", got, d)
	}
	return d
}

// TestDoctor examines a server with a private database behind a proxy with TLS, while it runs and after
// it has stopped.
func TestDoctor(t *testing.T) {
	t.Parallel()
	tlsServer := httptest.NewUnstartedServer(nil)
	tlsServer.StartTLS()
	t.Cleanup(tlsServer.Close)
	authority := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tlsServer.Certificate().Raw})
	if err := os.WriteFile(authority, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	relay := mailtest.NewTLS(t, &tls.Config{Certificates: tlsServer.TLS.Certificates})
	lp := trackertest.New(t)
	token := lp.Token("mishap")
	data := dataDir(t)
	environ := []string{"SSL_CERT_FILE=" + authority, "MISHAP_DATA_DIR=" + data, "MISHAP_BASE_URL=" + tlsServer.URL,
		"MISHAP_CORES_TOTAL_MAX_BYTES=1000000",
		"MISHAP_SMTP_URL=" + relay.URL, "MISHAP_MAIL_FROM=mishap@example.org",
		"MISHAP_TRACKER_URL=" + lp.URL, "MISHAP_TRACKER_API_URL=" + lp.APIURL,
		"MISHAP_TRACKER_OAUTH_TOKEN=" + token.Token, "MISHAP_TRACKER_OAUTH_SECRET=" + string(token.Secret)}
	command := func() *exec.Cmd { return exec.CommandContext(t.Context(), built(t)) }

	listening, _ := freeAddresses(t)
	d := examine(t, slices.Concat(environ, listening), command())
	d.has(t, "database", doctor.OK, "does not exist yet")
	d.has(t, "service", doctor.OK, "not running")
	d.has(t, "base_url", doctor.Warning, "404")
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("data_dir: got %v, want that the doctor creates none", err)
	}

	server, addresses := serveProcess(t, environ)
	environ = append(environ, "MISHAP_LISTEN="+addresses["listen"], "MISHAP_OPS_LISTEN="+addresses["ops_listen"])
	pages, err := url.Parse("http://" + addresses["listen"])
	if err != nil {
		t.Fatal(err)
	}
	tlsServer.Config.Handler = httputil.NewSingleHostReverseProxy(pages)
	d = examine(t, environ, command())
	if d.Status != doctor.OK {
		t.Errorf("got %+v, want no warnings", d)
	}
	d.has(t, "database", doctor.OK, "private PostgreSQL")
	d.has(t, "schema", doctor.OK, "applied")
	d.has(t, "service", doctor.OK, "ready")
	d.has(t, "mail", doctor.OK, "encrypted")
	d.has(t, "base_url", doctor.OK, "is valid until")
	d.has(t, "base_url", doctor.OK, "leads to mishap")
	if n := len(relay.Mails()); n > 0 {
		t.Errorf("got %d mails, want none", n)
	}

	d = examine(t, append(environ, "PATH=/nonexistent"), command())
	d.has(t, "symbols", doctor.Warning, "gdb is not installed")
	d = examine(t, environ, symboltest.WithoutLandlock(t.Context(), built(t)))
	d.has(t, "symbols", doctor.Failure, "cannot confine the debugger")

	server.terminate()
	d = examine(t, environ, command())
	d.has(t, "database", doctor.OK, "is not running")
	d.has(t, "service", doctor.OK, "not running")
}

func TestDoctorText(t *testing.T) {
	t.Parallel()
	file := configFile(t, "lisen = 1\n")
	status, stdout, stderr := runIn(t.Context(), nil, nil, "doctor", "--config="+file)
	if status != 2 || stderr != "" || !strings.HasPrefix(stdout, "failure  configuration  "+file+
		":1: lisen: unknown key; "+
		"did you mean listen?: correct it") || !strings.HasSuffix(stdout, "\n1 check: 0 ok, 0 off, 0 with a warning, 1 "+
		"failed\n") {
		t.Errorf("mistakes: got %d, %q, %q", status, stdout, stderr)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status, stdout, _ := runIn(ctx, nil, nil, "doctor", noConfig(t)); status != exitFailed || stdout != "" {
		t.Errorf("interrupted: got %d, %q", status, stdout)
	}
}
