package db_test

import (
	"strings"
	"testing"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
)

func TestOpenAndClose(t *testing.T) {
	t.Parallel()
	s, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(t)})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
	s.Close()
	err = s.Ping(t.Context())
	if crash.KindOf(err) != crash.Unavailable {
		t.Errorf("after close: got %v, want unavailable", err)
	}
}

func TestOpenWithoutDatabase(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	missing := url[:strings.LastIndex(url, "/test_")] + "/there_is_no_such_database" + url[strings.LastIndexAny(url, "?"):]
	_, err := db.Open(t.Context(), db.Config{URL: missing})
	if crash.KindOf(err) != crash.Unavailable {
		t.Errorf("got %v, want unavailable", err)
	}
}
