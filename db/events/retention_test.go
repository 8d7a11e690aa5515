package events_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/db/people"
)

// TestDeleteOld checks that old notices and mails are deleted, that those which wait or are new stay,
// and that an event whose edge prevents repeats is not published again.
func TestDeleteOld(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	clock := &now
	store := dbtest.OpenConfig(t, db.Config{URL: dbtest.URL(t), Now: func() time.Time { return *clock }})
	dbtest.AddUser(t, store, "ada", crash.RoleViewer, "correct horse battery")
	ada, err := people.New(store).ByName(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	publish := func(edge string, rule int64) bool {
		t.Helper()
		var isNew bool
		if err := store.InTx(t.Context(), func(tx pgx.Tx) (err error) {
			isNew, err = store.Publish(t.Context(), tx, crash.Event{Edge: edge, Kind: crash.EventMentioned, Rule: rule,
				Title: edge}, crash.Recipients{People: []crash.Recipient{{User: ada.ID, Reason: "a test"}}})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return isNew
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := store.Pool.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1001 { // more than one batch
		publish(fmt.Sprint("rule 1 new ", i), 1)
	}
	publish("rule 1 waits", 1)
	publish("mentioned:1:1", 0)
	publish("mentioned:2:1", 0)
	exec(`update notices set mail = 'none'
		where event_id in (select id from events where edge not in ('rule 1 waits', 'mentioned:2:1'))`)
	exec(`insert into mails (user_id, kind, address, created, due, state, ended)
		select $1, 'test', 'a@example.org', $2, $2, 'sent', $2 from generate_series(1, 3)`, ada.ID, now)
	exec(`insert into mails (user_id, kind, address, created, due) values ($1, 'test', 'a@example.org', $2, $2)`, ada.ID,
		now)
	notices := events.New(store)
	want := func(when, sql string, count int64) {
		t.Helper()
		var n int64
		if err := store.Pool.QueryRow(t.Context(), sql).Scan(&n); err != nil || n != count {
			t.Errorf("%s: %s: got %d, %v; want %d", when, sql, n, err, count)
		}
	}
	now = now.AddDate(0, 0, 399)
	if err := notices.DeleteOld(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("after 399 days", `select count(*) from notices`, 1004)
	want("after 399 days", `select count(*) from mails`, 4)
	now = now.AddDate(0, 0, 2)
	publish("rule 1 fresh", 1)
	if err := notices.DeleteOld(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("after 401 days", `select count(*) from notices`, 3) // two wait, one is fresh
	want("after 401 days", `select count(*) from events`, 4)
	want("after 401 days", `select count(*) from mails`, 1)
	if publish("mentioned:1:1", 0) {
		t.Error("a mention was reported again")
	}
}
