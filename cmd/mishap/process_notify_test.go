package main

import (
	"fmt"
	"net/mail"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/people"
	"mishap/notify/mail/mailtest"
)

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

// TestKilledWhileMailing kills the server while the relay has a mail but has not answered. No mail is
// lost. If the relay has accepted that mail, and only then, it comes twice, with the same Message-ID.
func TestKilledWhileMailing(t *testing.T) {
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
			var left int
			eventually(t, "no mail waits", func() bool {
				if err := f.store.Pool.QueryRow(t.Context(),
					`select $1 - count(*) filter (where state = 'sent') from mails`, events).Scan(&left); err != nil {
					t.Fatal(err)
				}
				return left == 0
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

// TestKilledWhileEvaluatingRules kills the server in every step of an evaluation: before it stores
// arrivals, edges, events, notices and its progress. Each edge is reported exactly once.
func TestKilledWhileEvaluatingRules(t *testing.T) {
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
			var waits bool
			if err := f.store.Pool.QueryRow(t.Context(), `select exists (select from pg_locks where not granted and
				database = (select oid from pg_database where datname = current_database())
				and relation = $1::regclass)`, table).Scan(&waits); err != nil {
				t.Fatal(err)
			}
			return waits
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
	// number returns the result of a query for one number.
	number := func(sql string) (n int) {
		t.Helper()
		if err := f.store.Pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
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
