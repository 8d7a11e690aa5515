package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/db/dbtest"
	"mishap/tracker/trackertest"
)

// failover has two PostgreSQL servers, two instances of mishap, machines and visitors.
type failover struct {
	t        *testing.T
	pair     *dbtest.Pair
	fleet    *fleet
	visitors []*visitor
	urls     []string // of the instances
	mayLack  map[string]bool
}

// TestMoreFailover kills, freezes, stops and promotes real PostgreSQL servers, and restores an older
// copy, while machines post reports and visitors read pages.
//
// At the end every acknowledged report is stored once, except those that the older copy lacks.
// Every count equals a recount, and the lists of every instance match the database. "make hard"
// repeats everything several times; other runs do only the fastest part.
func TestMoreFailover(t *testing.T) {
	t.Parallel()
	f := startFailover(t)
	hard := kills(t) > 0
	for range max(1, kills(t)/50) {
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

func startFailover(t *testing.T) *failover {
	t.Helper()
	f := &failover{t: t, pair: dbtest.StartPair(t), fleet: &fleet{t: t}, mayLack: map[string]bool{}}
	tr := trackertest.New(t)
	for range 2 {
		_, addresses := serveProcess(t, trackerEnviron(tr, "MISHAP_DATABASE_URL="+f.pair.URL(), "MISHAP_DATA_DIR="+
			t.TempDir(), "MISHAP_INGEST_RATE_PER_SYSTEM=0", "MISHAP_EXPORT_RATE_PER_ADDRESS=0"))
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

// event calls happen and waits until reports and pages work again.
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
		pages = max(pages, longestGap(began, v.seen()))
	}
	f.t.Logf("%s: no report accepted for %.1f s, no page for %.1f s", name, longestGap(began, f.fleet.times()).Seconds(),
		pages.Seconds())
}

// restoreOlderCopy replaces the primary by a copy from before the last reports. The standby stops
// for good.
func (f *failover) restoreOlderCopy() {
	f.t.Helper()
	f.pair.DropStandby()
	before := len(f.fleet.acknowledged())
	restore := f.pair.Backup()
	f.fleet.more(150)
	for _, v := range f.visitors {
		v.more() // makes the instances cache what will be lost
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

// list returns the number of reports of each problem, as an instance lists them.
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

// compareLists pauses the machines and compares the lists of every instance with the stored
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
			f.t.Errorf("%s lists %d reports of %d problems, want %d of %d (database)", url, sum(got), len(got), sum(want),
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

// finish ends the load and checks everything.
func (f *failover) finish() {
	f.t.Helper()
	f.fleet.stopped.Store(true)
	f.fleet.sending.Wait()
	f.compareLists()
	if f.fleet.refused > 0 {
		f.t.Errorf("got %d permanent refusals, want none", f.fleet.refused)
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
		f.t.Errorf("lost %d of %d acknowledged reports", lost, len(known))
	}
	for id := range stored {
		if !known[id] {
			f.t.Errorf("report %s is stored but was never acknowledged", id)
		}
	}
	for _, v := range f.visitors {
		v.report()
	}
	f.t.Logf("%d reports acknowledged, %d stored; the older copy may lack %d", len(known), len(stored),
		len(f.mayLack))
	environ := []string{"MISHAP_DATABASE_URL=" + f.pair.URL(), "MISHAP_DATA_DIR=" + f.t.TempDir()}
	wantOutput(f.t, environ, []string{"check", "--all"}, fmt.Sprintf(" %d reports", len(stored)), " 0 differences")
}
