package db_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/people"
)

// publish publishes an event in a transaction of its own.
func publish(t *testing.T, s *db.Store, e crash.Event, to crash.Recipients) bool {
	t.Helper()
	var published bool
	err := s.InTx(t.Context(), func(tx pgx.Tx) (err error) {
		published, err = s.Publish(t.Context(), tx, e, to)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return published
}

// TestPublish checks that an edge is published once, to accounts and endpoints that are enabled.
func TestPublish(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	var anna, former int64
	for name, id := range map[string]*int64{"anna": &anna, "former": &former} {
		user, err := people.New(s).Add(t.Context(), "", name, crash.RoleTriager, "correct horse battery")
		if err != nil {
			t.Fatal(err)
		}
		*id = user.ID
	}
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := s.Pool.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`update users set disabled = true where id = $1`, former)
	exec(`insert into endpoints (name, kind, url, created) values ('chat', 'slack', 'https://a.example/', now())`)
	exec(`insert into endpoints (name, kind, url, created, disabled)
		values ('old', 'slack', 'https://b.example/', now(), now())`)
	event := crash.Event{Edge: "new:1:zsh", Kind: crash.EventNew, Title: "zsh crashed", Package: "zsh", Text: "It is new."}
	to := crash.Recipients{
		People:    []crash.Recipient{{User: anna, Reason: "you follow zsh"}, {User: former}, {User: 999}},
		Endpoints: []int64{1, 2, 3},
	}
	if !publish(t, s, event, to) {
		t.Error("the first call published nothing")
	}
	if publish(t, s, event, to) {
		t.Error("the second call published the same edge again")
	}
	for table, want := range map[string]int{"events": 1, "notices": 1, "deliveries": 1} {
		var got int
		if err := s.Pool.QueryRow(t.Context(), `select count(*) from `+table).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s has %d rows, want %d", table, got, want)
		}
	}
}

// TestPublishUnknownKind checks that an event of an unknown kind is an error.
func TestPublishUnknownKind(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	err := s.InTx(t.Context(), func(tx pgx.Tx) error {
		_, err := s.Publish(t.Context(), tx, crash.Event{Edge: "x", Kind: "odd"}, crash.Recipients{})
		return err
	})
	if err == nil {
		t.Error("no error")
	}
}
