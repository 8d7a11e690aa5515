package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/notify/mail/mailtest"
	"mishap/notify/webhook"
	"mishap/tracker/trackertest"
)

// publish stores an event for a person and an endpoint.
func publish(t *testing.T, store *db.Store, title string, user, endpoint int64) {
	t.Helper()
	s := events.New(store)
	err := s.InTx(t.Context(), func(tx pgx.Tx) error {
		_, err := s.Publish(t.Context(), tx, crash.Event{Edge: title, Kind: crash.EventNew, Title: title, Text: "It is new."},
			crash.Recipients{People: []crash.Recipient{{User: user, Reason: "a test"}}, Endpoints: []int64{endpoint}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// addHook adds an endpoint that gets everything.
func addHook(t *testing.T, store *db.Store, address string) (id int64) {
	t.Helper()
	hook := crash.Endpoint{Kind: crash.EndpointWebhook, Name: "hook", Address: crash.Secret(address),
		Secret: webhook.NewSecret(), PerMinute: 600}
	if wrong := webhook.CheckSettings(&hook, true); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	id, err := events.New(store).SaveEndpoint(t.Context(), hook, "ada")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// ownAccount connects the own account of the triager to the tracker.
func (p *prepared) ownAccount(t *testing.T) {
	t.Helper()
	dbtest.Exec(t, p.url, `insert into own_tracker_accounts
		(user_id, tracker_url, consumer_key, account, token, secret_sealed, context, connected)
		values (1, $1, 'mishap', 'tess-lp', 't', '', '', now())`, p.tracker.URL)
}

// regression stores a problem that was reported in the version that has the fix, and its bug.
func (p *prepared) regression(t *testing.T) (bug int64) {
	t.Helper()
	report := crash.Report{System: "5d41402abc4b2a76b9719d911017c592", Fields: crashtest.Native(
		crashtest.Set("DuplicateSignature", "/usr/bin/tidewatch:11:again"), crashtest.Version("1.1-1"),
		crashtest.At(time.Now().UTC())).Fields()}
	in := intake.New(intake.Config{MaxAgeDays: 3660}, p.store)
	rec, err := in.Examine(report)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Accept(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	dbtest.Counted(t, p.store)
	bug = p.tracker.Add(trackertest.Bug{Title: "again", Reporter: "practice-person", Package: "tidewatch"})
	p.tracker.Change(bug, func(b *trackertest.Bug) { b.Janitor("1.1-1", "noble") })
	err = bugs.New(p.store).ReconcileBug(t.Context(), crash.BucketIDOf(rec.Grouping.Signature),
		crash.Bug{Number: bug, Title: "again", URL: fmt.Sprint(p.tracker.URL, "/bugs/", bug), How: crash.Filed})
	if err != nil {
		t.Fatal(err)
	}
	if err := bugs.New(p.store).SaveUpdatePolicy(t.Context(), crash.UpdatePolicy{Pattern: crash.EveryPackage, Again: true,
		QuietWeeks: crash.DefaultQuietWeeks}); err != nil {
		t.Fatal(err)
	}
	return bug
}

// TestMoreRestoreRepeatsNothing backs up a database in which a bug, a comment, a mail and a webhook
// wait. They are sent, and the backup is restored. Nothing is sent before the database was compared
// with the tracker, and afterwards only what is new.
func TestMoreRestoreRepeatsNothing(t *testing.T) {
	t.Parallel()
	var hooks atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hooks.Add(1) }))
	t.Cleanup(receiver.Close)
	relay := mailtest.New(t)
	p := prepare(t, "MISHAP_BASE_URL=http://localhost:8080", "MISHAP_SMTP_URL="+relay.URL, "MISHAP_SMTP_TLS=off",
		"MISHAP_MAIL_FROM=mishap@example.org", "MISHAP_WEBHOOK_ALLOW_NETWORKS=127.0.0.0/8")
	regression := p.regression(t)
	const user = 1
	dbtest.Exec(t, p.url, `insert into mail_settings (user_id, address, confirmed) values (1, 'tess@example.org', now())`)
	p.ownAccount(t)
	hook := addHook(t, p.store, receiver.URL)
	publish(t, p.store, "before the backup", user, hook)
	marker := "http://localhost:8080" + p.bucket.Path()
	if _, _, err := bugs.New(p.store).RequestFiling(t.Context(), crash.Intent{Bucket: p.bucket, Target: "/ubuntu",
		Title: "tidewatch crashed", Description: "It crashed.\n\n" + marker + "\n", Marker: marker},
		crash.Filing{}); err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, p.url,
		`insert into sessions (token, data, expiry, user_id) values ('t', '{}', now() + interval '1 day', 1)`)
	dir := backUp(t, p.environ, t.TempDir())

	comments := func() (n int) {
		for _, b := range p.tracker.Bugs() {
			for _, m := range b.Messages {
				if m.Owner != trackertest.Janitor {
					n++
				}
			}
		}
		return n
	}
	sent := func() string {
		return fmt.Sprintf("%d bugs, %d comments, %d mails, %d webhooks", len(p.tracker.Bugs()), comments(),
			len(relay.Mails()), hooks.Load())
	}
	server, _ := serveProcess(t, p.environ)
	const once = "2 bugs, 1 comments, 1 mails, 1 webhooks"
	eventually(t, "everything is sent once", func() bool { return sent() == once })
	server.kill()
	// A person filed a bug of another problem with their own account after the backup.
	lost := crash.BucketIDOf("filed by a person")
	p.tracker.Add(trackertest.Bug{Title: "by tess", Reporter: "tess-lp", Package: "tidewatch",
		Description: "http://localhost:8080" + lost.Path() + "\n"})
	const all = "3 bugs, 1 comments, 1 mails, 1 webhooks"

	url := dbtest.Empty(t)
	wantOutput(t, p.environ, []string{"restore", dir, "--database-url", url}, "Nothing is filed or sent until")
	if left := dbtest.Lines(t, url, `select token, token from sessions`); len(left) > 0 {
		t.Errorf("got sessions %v, want that the restore has ended them", left)
	}
	environ := append(p.environ, "MISHAP_DATABASE_URL="+url)
	_, addresses := serveProcess(t, environ)
	eventually(t, "each task has run in the restored database", func() bool {
		metrics := getText(t, "http://"+addresses["ops_listen"]+"/metrics")
		for _, task := range []string{"read-bugs", "send-mail", "deliver", "start-due-filings", "evaluate-rules"} {
			name := `mishap_task_last_run_timestamp_seconds{task="` + task + `"} `
			if !strings.Contains(metrics, name) || strings.Contains(metrics, name+"0\n") {
				return false
			}
		}
		return true
	})
	if got := sent(); got != all {
		t.Fatalf("restored: got %s, want %s", got, all)
	}
	reconcile := func(want []string, args ...string) {
		t.Helper()
		out := mustRun(t, environ, append([]string{"filings", "reconcile"}, args...)...)
		for _, w := range want {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), w) {
				t.Errorf("reconcile %v: got %s, want %q", args, out, w)
			}
		}
	}
	store := dbtest.Open(t, url)
	publish(t, store, "after the restore", user, hook)
	plan := []string{
		fmt.Sprintf("comment bug %d - not sent: the bug has it again 1.1-1", regression),
		"its problem is not in the database by tess",
		"not sent: it was waiting in the backup before the backup", "sent: newer than the backup after the restore",
	}
	reconcile(append(plan, "can be linked tidewatch crashed", "otherwise filed tidewatch crashed",
		"nothing is sent until this has run with --apply"))
	if got := sent(); got != all {
		t.Fatalf("reconciled without --apply: got %s, want %s", got, all)
	}
	reconcile(append(plan, "linked tidewatch crashed", "bugs are filed again"), "--apply")
	const after = "3 bugs, 1 comments, 2 mails, 2 webhooks"
	eventually(t, "what is new is sent", func() bool { return sent() == after })
	eventually(t, "the comment counts as sent, the filing as filed and nothing waits", func() bool {
		return scan[bool](t, store, `
			select exists (select from bug_comments where outcome = 'sent') and exists (select from lost_bugs)
				and not exists (select from filings where state <> 'filed')
				and not exists (select from mails where state in ('waiting', 'sending'))
				and not exists (select from deliveries where state = 'waiting')`)
	})
	if got := sent(); got != after {
		t.Errorf("in the end: got %s, want %s", got, after)
	}
}

// TestMoreRestoreOfEarlierState restores a backup of a database that another program had restored to an earlier time.
// The comparison with the tracker reaches back to that time.
func TestMoreRestoreOfEarlierState(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	p.ownAccount(t)
	earlier := time.Now().UTC().AddDate(0, 0, -10)
	p.tracker.Add(trackertest.Bug{Title: "by tess", Reporter: "tess-lp", Package: "tidewatch",
		Created: earlier.AddDate(0, 0, 1), Description: "http://localhost:8080" + p.bucket.Path() + "\n"})
	dir := backUp(t, p.environ, t.TempDir())
	wantRefusal(t, p.environ, "it has no later state", "restore", dir, "--database-url", dbtest.Empty(t), "--as-of",
		time.Now().UTC().Add(time.Hour).Format(time.RFC3339))
	for asOf, want := range map[string]string{
		earlier.Format("2006-01-02 15:04:05Z07"):                "can be linked",
		time.Now().UTC().Add(-time.Minute).Format(time.RFC3339): "Every bug of mishap's account is linked",
	} {
		url := dbtest.Empty(t)
		wantOutput(t, p.environ, []string{"restore", dir, "--database-url", url, "--as-of", asOf}, "Restored the state of")
		wantOutput(t, append(p.environ, "MISHAP_DATABASE_URL="+url), []string{"filings", "reconcile"}, want)
	}
}
