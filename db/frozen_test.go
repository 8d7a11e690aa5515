package db_test

import (
	"net"
	"net/url"
	"testing"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
)

// TestFrozenHost opens a database whose first host accepts connections but never answers.
func TestFrozenHost(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	frozenHost, frozenPort, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Open(t.Context(), db.Config{URL: "postgres://" + l.Addr().String() + "/mishap?sslmode=disable"})
	if crash.KindOf(err) != crash.Unavailable {
		t.Errorf("frozen host alone: got %v, want unavailable", err)
	}
	u, err := url.Parse(dbtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
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
