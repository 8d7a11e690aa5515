package api_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// TestSnaps lists the problems of snaps, and asks for the packages of a team that nobody has asked for yet.
func TestSnaps(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.save(8, now, crashtest.Native(crashtest.Set("DuplicateSignature", "of a snap"),
		crashtest.Without("Package", "SourcePackage"), crashtest.Set("ProblemType", "Snap"),
		crashtest.Set("Snap", "tide 12 (latest/stable)")))
	c := h.Visitor(t)
	if got := get(t, c, "most-common-problems/?snap=True").Objects; len(got) != 1 || got[0]["function"] != "of a snap" {
		t.Errorf("got %v, want the problem of the snap", got)
	}
	unknown := c.Get(api("most-common-problems/?user=new-team")).Want(http.StatusServiceUnavailable)
	if unknown.Header.Get("Retry-After") == "" {
		t.Error("package set not known yet: got no Retry-After")
	}
}

func TestInstances(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for i := range 130 {
		h.save(i, now.Add(time.Duration(i-200)*time.Second), crashtest.Native())
	}
	c := h.Visitor(t)
	id := "instances/?limit=100&id=" + url.QueryEscape(nativeSignature())
	first := get(t, c, id)
	if len(first.Objects) != 100 || first.Meta.Total != 100 {
		t.Fatalf("got %d of %d, want 100", len(first.Objects), first.Meta.Total)
	}
	last, _ := first.Objects[99]["incident"].(string)
	second := get(t, c, id+"&start="+last)
	if len(second.Objects) != 30 {
		t.Fatalf("after the last report of the first page: got %d, want 30", len(second.Objects))
	}
	var ids []string
	for _, o := range slices.Concat(first.Objects, second.Objects) {
		ids = append(ids, fmt.Sprint(o["incident"]))
	}
	if !slices.IsSortedFunc(ids, func(a, b string) int { return strings.Compare(b, a) }) ||
		len(slices.Compact(ids)) != 130 {
		t.Error("got another order or duplicates, want each report once, the newest first")
	}
	if got := get(t, c, id+"&start="+crash.OopsID{1}.String()); len(got.Objects) != 0 {
		t.Errorf("before the oldest report: got %d, want none", len(got.Objects))
	}
}

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
	config := dbtest.Must(pgx.ParseConfig(to))(t)
	network, target := pgxNetwork(config.Host, config.Port)
	listener := dbtest.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
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

// TestNewBucketsEvidence covers four machines: three have a new problem in a version that is one
// day old.
func TestNewBucketsEvidence(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for machine := range 4 {
		h.save(machine, now.AddDate(0, 0, -3), crashtest.Native(crashtest.Version(older)))
	}
	h.save(1, now.AddDate(0, 0, -1), crashtest.Native(crashtest.Version(newer)))
	for i := range 6 {
		h.save(i%3, now, crashtest.Native(crashtest.Version(newer), crashtest.Set("DuplicateSignature", odd)))
	}
	// This release does not have the new version.
	h.save(9, now, crashtest.Native(crashtest.On("Debian 13"), crashtest.Version("1-1")))
	got := get(t, h.Visitor(t), "package-version-new-buckets/?package=tidewatch&previous_version="+older+"&new_version="+
		newer).Objects
	if len(got) != 1 {
		t.Fatalf("got %v, want one problem", got)
	}
	// Four machines, yesterday and three quarters of today: 7 machine-days. The old version has the
	// two days before.
	want := map[string]any{
		"new": map[string]any{
			"crashes": 6., "machine_days": 7., "per_1000_machine_days": 857.143, "interval": []any{314.556, 1865.64},
		},
		"old": map[string]any{"crashes": 0., "machine_days": 8., "per_1000_machine_days": 0.,
			"interval": []any{0., 461.11}},
		"ratio": map[string]any{"ratio": nil, "interval": []any{1.34563, nil}},
	}
	checktest.Diff(t, "", got[0]["evidence"], want)
	if got[0]["reports"] != 6. || got[0]["systems"] != 3. || got[0]["archive"] != "unknown" || got[0]["function"] != odd {
		t.Errorf("got %v", got[0])
	}
}

// TestNewBucketsStrict checks which problems count as new.
func TestNewBucketsStrict(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	save := func(machines int, signature string, changes ...crashtest.Option) {
		t.Helper()
		for i := range machines {
			h.save(i+1, now,
				crashtest.Native(append([]crashtest.Option{crashtest.Version(newer), crashtest.Set("DuplicateSignature",
					signature)}, changes...)...))
		}
	}
	save(3, "new on three")
	save(2, "new on two")
	save(3, "seen before")
	h.save(1, now.AddDate(0, 0, -200), crashtest.Native(crashtest.Version(older), crashtest.Set("DuplicateSignature",
		"seen before")))
	save(3, "failed:/usr/bin/x:11:addresses")
	save(3, "of another package", crashtest.Set("Package", "other "+newer), crashtest.Set("SourcePackage", "other"))
	save(3, "of a binary of it", crashtest.Set("Package", "libtide1 "+newer))
	save(2, "on a third machine elsewhere")
	h.save(3, now, crashtest.Native(crashtest.Version(newer), crashtest.Set("DuplicateSignature",
		"on a third machine elsewhere"), crashtest.On("Debian 13")))
	save(2, "on two that moved on")
	save(2, "on two that moved on", crashtest.On("Debian 13"))
	save(3, "on three that moved on")
	save(3, "on three that moved on", crashtest.On("Debian 13"))
	save(3, "of a third version", crashtest.Version("1.4.9-3"))
	for i := range 3 { // not yet symbolised
		h.save(i+1, now, crashtest.Unsymbolised(crashtest.Version(newer), crashtest.Set("Package", "tidewatch "+newer),
			crashtest.Set("SourcePackage", "tidewatch")))
	}
	c := h.Visitor(t)
	for query, want := range map[string]string{
		"package=tidewatch&previous_version=" + older + "&new_version=" + newer: "new on three: 3, of a " +
			"binary of it: 3, on a third machine elsewhere: 3, on three that moved on: 3",
		"package=other&previous_version=" + older + "&new_version=" + newer:                         "of another package: 3",
		"package=nosuch&previous_version=" + older + "&new_version=" + newer:                        "",
		"package=tidewatch&previous_version=" + newer + "&new_version=" + older:                     "",
		"package=tidewatch&previous_version=" + newer + "&new_version=" + newer:                     "",
		"package=tidewatch&previous_version=" + url.QueryEscape("1:2~3+4") + "&new_version=1.4.9-3": "of a third version: 3",
	} {
		seen := []string{}
		for _, o := range get(t, c, "package-version-new-buckets/?"+query).Objects {
			seen = append(seen, fmt.Sprintf("%v: %v", o["function"], o["systems"]))
		}
		slices.Sort(seen)
		checktest.Equal(t, query, strings.Join(seen, ", "), want)
	}
}
