package api_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// TestQueriesDoNotGrow checks that the number of queries does not depend on the number of versions,
// releases and days.
func TestQueriesDoNotGrow(t *testing.T) {
	t.Parallel()
	address, executed := countExecutes(t, dbtest.URL(t))
	store := dbtest.OpenAt(t, address, now)
	h := newFixture(t, func(o *handlertest.Options) { o.Store = store })
	c := h.Visitor(t)
	id := url.QueryEscape(nativeSignature())
	// The values are the most queries allowed: for the problem, the archive facts, the revision, and the
	// embargoed problems where they are not read with the revision.
	asks := map[string]int64{
		"versions/?id=" + id: 5, "average-instances/?id=" + id: 4, "average-crashes/?release=": 2,
		"average-crashes/?package=tidewatch": 2, "average-crashes/?package=tidewatch&version=" + older: 2,
	}
	cost := func() map[string]int64 {
		costs := map[string]int64{}
		for ask := range asks {
			for range 5 { // the minimum excludes queries of background work
				before := executed.Load()
				c.Get(api(ask)).Want(http.StatusOK)
				if n := executed.Load() - before; costs[ask] == 0 || n < costs[ask] {
					costs[ask] = n
				}
			}
		}
		return costs
	}
	h.save(1, now, crashtest.Native(crashtest.Version(older)))
	few := cost()
	for i := range 60 {
		h.save(i%7, now.AddDate(0, 0, -i/2), crashtest.Native(crashtest.Version(fmt.Sprintf("1.4.%d-1", i)),
			crashtest.On(crash.Release([]string{"Ubuntu 22.04", "Ubuntu 24.04", "Debian 13"}[i%3]))))
	}
	if rows := len(get(t, c, "versions/?id="+id).Objects); rows != 61 {
		t.Fatalf("got %d rows, want 61", rows)
	}
	for ask, n := range cost() {
		if n > few[ask] || n > asks[ask] {
			t.Errorf("%s: got %d queries for many versions and days and %d for one, want at most %d",
				ask, n, few[ask], asks[ask])
		}
	}
}

// countExecutes starts a relay in front of a database and counts the statements that pass it.
func countExecutes(t *testing.T, to string) (address string, executed *atomic.Int64) {
	t.Helper()
	config, err := pgx.ParseConfig(to)
	if err != nil {
		t.Fatal(err)
	}
	network, target := pgxNetwork(config.Host, config.Port)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	executed = &atomic.Int64{}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).DialContext(t.Context(), network, target)
			if err != nil {
				_ = client.Close()
				continue
			}
			wait.Go(func() { _, _ = io.Copy(client, server); _ = client.Close() })
			wait.Go(func() { relay(server, client, executed); _ = server.Close() })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		wait.Wait()
	})
	port := listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens on TCP
	return fmt.Sprintf("host=127.0.0.1 port=%d user=%s password='%s' dbname=%s sslmode=disable", port, config.User,
		config.Password, config.Database), executed
}

func pgxNetwork(host string, port uint16) (network, address string) {
	if host != "" && host[0] == '/' {
		return "unix", fmt.Sprintf("%s/.s.PGSQL.%d", host, port)
	}
	return "tcp", net.JoinHostPort(host, fmt.Sprint(port))
}

// relay forwards the messages of a PostgreSQL client: a start-up message without a type, then typed
// messages with a length.
func relay(to io.Writer, from io.Reader, executed *atomic.Int64) {
	for first := true; ; first = false {
		head := make([]byte, 5)
		if first {
			head = head[:4]
		}
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		if head[0] == 'E' || head[0] == 'Q' {
			executed.Add(1)
		}
		if _, err := to.Write(head); err != nil {
			return
		}
		if _, err := io.CopyN(to, from, int64(binary.BigEndian.Uint32(head[len(head)-4:]))-4); err != nil {
			return
		}
	}
}
