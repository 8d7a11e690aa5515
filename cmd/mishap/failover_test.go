//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/db/dbtest"
	"mishap/tracker/trackertest"
)

// failover is two servers of PostgreSQL, two instances of mishap on them, machines and visitors.
type failover struct {
	t        *testing.T
	pair     *dbtest.Pair
	fleet    *fleet
	visitors []*visitor
	urls     []string // of the instances
	mayLack  map[string]bool
}

// TestFailover kills, freezes, stops and promotes real PostgreSQL servers, and puts an older copy
// of one in place, while reports come in and pages are read. In the end every acknowledged report
// is stored once, apart from those that the older copy lacks; every count is what counting again
// gives; and the lists of every instance are those of the database. make hard does all of it
// several times; otherwise each test run does what takes least time.
func TestFailover(t *testing.T) {
	t.Parallel()
	f := startFailover(t)
	rounds, hard := failoverRounds(t)
	for range rounds {
		f.event("kill", func() { f.pair.KillPrimary(); f.pair.Promote() })
		f.compareLists()
		if !hard {
			f.event("older copy", f.restoreOlderCopy)
			break
		}
		f.pair.AddStandby()
		f.event("switchover", func() { f.pair.StopPrimary(); f.pair.Promote() })
		f.pair.AddStandby()
		f.event("freeze", func() { f.pair.FreezePrimary(); f.pair.Promote() })
		f.pair.KillOther()
		f.compareLists()
		f.event("older copy", f.restoreOlderCopy)
		f.compareLists()
		f.pair.AddStandby()
	}
	f.finish()
}

// failoverRounds is how often everything happens; make hard asks for more than one small round.
func failoverRounds(t *testing.T) (rounds int, hard bool) {
	t.Helper()
	text := os.Getenv("MISHAP_TEST_KILLS")
	if text == "" {
		return 1, false
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("MISHAP_TEST_KILLS: %v", err)
	}
	return max(1, n/50), true
}

func startFailover(t *testing.T) *failover {
	t.Helper()
	f := &failover{t: t, pair: dbtest.StartPair(t), fleet: &fleet{t: t}, mayLack: map[string]bool{}}
	tr := trackertest.New(t)
	for range 2 {
		_, addresses := serveProcess(t, trackerEnviron(tr, "MISHAP_DATABASE_URL="+f.pair.URL(), "MISHAP_DATA_DIR="+
			t.TempDir(), "MISHAP_INGEST_RATE_PER_SYSTEM=0"))
		f.fleet.ingest = append(f.fleet.ingest, addresses["ingest_listen"])
		f.urls = append(f.urls, "http://"+addresses["listen"])
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	for _, url := range f.urls {
		v := &visitor{t: t, url: url, faults: map[string]int{}, answers: map[int]int{}}
		f.visitors = append(f.visitors, v)
		go func() {
			v.run(ctx)
			ended <- struct{}{}
		}()
	}
	t.Cleanup(func() {
		f.fleet.stopped.Store(true)
		stop()
		for range f.urls {
			<-ended
		}
	})
	f.fleet.start(6)
	f.fleet.more(100)
	return f
}

// event has something happen and waits until reports and pages go on as before.
func (f *failover) event(name string, happen func()) {
	f.t.Helper()
	began := time.Now()
	happen()
	f.fleet.more(100)
	for _, v := range f.visitors {
		v.more()
	}
	pages := time.Duration(0)
	for _, v := range f.visitors {
		pages = max(pages, v.gap(began))
	}
	f.t.Logf("%s: no report was taken for %.1f s, no page was there for %.1f s", name, f.fleet.gap(began).Seconds(),
		pages.Seconds())
}

// restoreOlderCopy puts a copy of the primary in place that was taken before the last reports. It
// is the end of the standby.
func (f *failover) restoreOlderCopy() {
	f.t.Helper()
	f.pair.DropStandby()
	before := len(f.fleet.acknowledged())
	restore := f.pair.Backup()
	f.fleet.more(150)
	for _, v := range f.visitors {
		v.more() // the instances know what is about to be lost
	}
	restore()
	for _, a := range f.fleet.acknowledged()[before:] {
		f.mayLack[a.id] = true
	}
}

// read returns the rows of a statement with two columns.
func (f *failover) read(sql string) map[string]int64 {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.pair.PrimaryURL())
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = conn.Close(f.t.Context()) }()
	rows, err := conn.Query(f.t.Context(), sql)
	if err != nil {
		f.t.Fatal(err)
	}
	all := map[string]int64{}
	var key string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&key, &n}, func() error {
		all[key] += n
		return nil
	}); err != nil {
		f.t.Fatal(err)
	}
	return all
}

// list returns what an instance lists: how many reports there are of each problem.
func (f *failover) list(url string) map[string]int64 {
	f.t.Helper()
	status, body, _ := statusAt(f.t, url+"/problems.json?period=month")
	var list struct {
		Objects []struct {
			Count int64
			URL   string
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK {
		f.t.Fatalf("list of %s: got %d and %v", url, status, err)
	}
	counts := map[string]int64{}
	for _, o := range list.Objects {
		counts[o.URL[strings.LastIndexByte(o.URL, '/')+1:]] = o.Count
	}
	return counts
}

// compareLists pauses the machines, and compares the lists of every instance with the stored
// reports.
func (f *failover) compareLists() {
	f.t.Helper()
	f.fleet.pause()
	defer f.fleet.resume()
	eventually(f.t, "everything is counted",
		func() bool { return len(f.read(`select id::text, 1::int8 from uncounted`)) == 0 })
	want := f.read(`select encode(bucket_id, 'hex'), count(*) from reports where counted group by 1`)
	for _, url := range f.urls {
		if got := f.list(url); !maps.Equal(got, want) {
			f.t.Errorf("%s lists %d reports of %d problems, the database has %d of %d", url, sum(got), len(got), sum(want),
				len(want))
		}
	}
}

func sum(counts map[string]int64) (all int64) {
	for _, n := range counts {
		all += n
	}
	return all
}

// finish ends the load and compares everything.
func (f *failover) finish() {
	f.t.Helper()
	f.fleet.stopped.Store(true)
	f.fleet.sending.Wait()
	f.compareLists()
	if f.fleet.refused > 0 {
		f.t.Errorf("got %d answers that say no for good, want none", f.fleet.refused)
	}
	stored := f.read(`select id::text, 1::int8 from reports`)
	lost, known := 0, map[string]bool{}
	for _, a := range f.fleet.acknowledged() {
		known[a.id] = true
		switch n := stored[a.id]; {
		case n == 0 && !f.mayLack[a.id]:
			lost++
		case n > 1:
			f.t.Errorf("report %s is stored %d times", a.id, n)
		}
	}
	if lost > 0 {
		f.t.Errorf("%d of %d acknowledged reports are not stored", lost, len(known))
	}
	for id := range stored {
		if !known[id] {
			f.t.Errorf("report %s is stored and was never acknowledged", id)
		}
	}
	for _, v := range f.visitors {
		v.report()
	}
	f.t.Logf("%d reports acknowledged, %d stored, %d of which the older copy lacks some", len(known), len(stored),
		len(f.mayLack))
	environ := []string{"MISHAP_DATABASE_URL=" + f.pair.URL(), "MISHAP_DATA_DIR=" + f.t.TempDir()}
	status, stdout, stderr := runIn(context.WithoutCancel(f.t.Context()), nil, environ, "check", "--all", noConfig(f.t))
	if status != exitOK || !strings.Contains(stdout, fmt.Sprintf(" %d reports", len(stored))) ||
		!strings.Contains(stdout, " 0 differences") {
		f.t.Errorf("check of %d stored reports: got status %d, %q and %q", len(stored), status, stdout, stderr)
	}
}
