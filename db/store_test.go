package db_test

import (
	"net"
	"net/url"
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

// TestHealthWithoutDatabase checks that an instance whose database is down says that, and nothing that it
// cannot know.
func TestHealthWithoutDatabase(t *testing.T) {
	t.Parallel()
	checks := dbtest.Broken(t).Health(t.Context())
	if len(checks) != 1 || checks[0].Problem != "The database cannot be reached." {
		t.Errorf("got %+v, want one problem", checks)
	}
}

// TestMoreFrozenHost opens a database whose first host accepts connections but never answers.
func TestMoreFrozenHost(t *testing.T) {
	t.Parallel()
	l := dbtest.Must(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	frozenHost, frozenPort, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Open(t.Context(), db.Config{URL: "postgres://" + l.Addr().String() + "/mishap?sslmode=disable"})
	if crash.KindOf(err) != crash.Unavailable {
		t.Errorf("frozen host alone: got %v, want unavailable", err)
	}
	u := dbtest.Must(url.Parse(dbtest.URL(t)))(t)
	q := u.Query()
	host, port := q.Get("host"), q.Get("port")
	if host == "" {
		host, port = u.Hostname(), u.Port()
	}
	q.Set("host", frozenHost+","+host)
	q.Set("port", frozenPort+","+port)
	u.Host, u.RawQuery = "", q.Encode()
	s, err := db.Open(t.Context(), db.Config{URL: u.String()})
	if err != nil {
		t.Fatalf("frozen host and another: %v", err)
	}
	s.Close()
}
