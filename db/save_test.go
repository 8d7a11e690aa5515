package db_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
)

var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// record returns a report that arrived at a time from a machine. The fields in changes are added to
// those of a Python crash, or removed if empty.
func record(t *testing.T, at time.Time, system string, changes crash.Fields) crash.Record {
	t.Helper()
	fields := crash.Fields{
		"ProblemType": "Crash", "ExecutablePath": "/usr/bin/harbor-sync", "Package": "harbor 1.0-1",
		"SourcePackage": "harbor",
		"DistroRelease": "Ubuntu 24.04", "Architecture": "amd64", "ProcStatus": "Name:\tharbor-sync",
		"Date": at.Format(time.ANSIC),
		"Traceback": "Traceback (most recent call last):\n  File \"/usr/bin/harbor-sync\", line 3, in main\n    " +
			"load()\nValueError: no\n",
	}
	for name, value := range changes {
		fields[name] = value
		if value == "" {
			delete(fields, name)
		}
	}
	rec, err := intake.New(intake.Config{MaxAgeDays: 366}, nil).Examine(
		crash.Report{ID: crash.NewOopsID(at), System: crash.NewSystemID(system), Fields: fields})
	if err != nil {
		t.Fatalf("examine: %v", err)
	}
	return rec
}

func save(t *testing.T, s *db.Store, rec crash.Record) crash.OopsID {
	t.Helper()
	id := store(t, s, rec)
	dbtest.Counted(t, s)
	return id
}

// store stores a report. Under load, it is counted later.
func store(t *testing.T, s *db.Store, rec crash.Record) crash.OopsID {
	t.Helper()
	id, _, err := s.SaveReport(t.Context(), rec)
	if err != nil {
		t.Fatalf("save report: %v", err)
	}
	return id
}

func TestSaveReportRepetition(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)

	first := record(t, today, "machine", nil)
	if id, again, err := s.SaveReport(t.Context(), first); id != first.ID || again || err != nil {
		t.Errorf("first sending: got %v %v %v, want %v false nil", id, again, err, first.ID)
	}
	second := first
	second.ID = crash.NewOopsID(today.Add(2 * time.Hour))
	if id, again, err := s.SaveReport(t.Context(), second); id != first.ID || !again || err != nil {
		t.Errorf("second sending: got %v %v %v, want %v true nil", id, again, err, first.ID)
	}
	unkeyed := record(t, today, "machine", crash.Fields{"ProcStatus": ""})
	save(t, s, unkeyed)
	unkeyed.ID = crash.NewOopsID(today)
	if _, again, err := s.SaveReport(t.Context(), unkeyed); !again || err != nil {
		t.Errorf("a crash without ProcStatus, again: got repetition %v, error %v, want true nil", again, err)
	}
	if b := bucketOf(t, s, first); b.Reports != 2 || b.Systems != 1 {
		t.Errorf("got %d reports of %d machines, want 2 of 1", b.Reports, b.Systems)
	}
	checkCounts(t, url)
}

// TestSaveReportSameID stores a report twice that can be recognised only by its id.
func TestSaveReportSameID(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	rec := record(t, today, "machine", crash.Fields{"Date": ""})
	rec.DuplicateKey = crash.ReportKey{}
	for range 2 {
		if id, _, err := s.SaveReport(t.Context(), rec); err != nil || id != rec.ID {
			t.Errorf("got %v, %v; want its own id", id, err)
		}
	}
	if b := bucketOf(t, s, rec); b.Reports != 1 {
		t.Errorf("got %d reports, want 1", b.Reports)
	}
	checkCounts(t, url)
}

func TestSaveReportSimultaneousRepetitions(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	stores := []*db.Store{dbtest.Open(t, url), dbtest.Open(t, url)}
	rec := record(t, today, "machine", nil)
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		ids = map[crash.OopsID]int{}
	)
	for i := range 50 {
		wg.Go(func() {
			again := rec
			again.ID = crash.NewOopsID(today)
			id, _, err := stores[i%2].SaveReport(t.Context(), again)
			if err != nil {
				t.Errorf("save: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids[id]++
		})
	}
	wg.Wait()
	if len(ids) != 1 {
		t.Errorf("got %d different ids, want 1", len(ids))
	}
	if b := bucketOf(t, stores[0], rec); b.Reports != 1 {
		t.Errorf("got %d reports, want 1", b.Reports)
	}
	checkCounts(t, url)
}

// TestCountsAfterHostileMixture sends all kinds of reports to two instances at once, many of them
// several times. Meanwhile it terminates database connections. Like a machine, each sender repeats
// unconfirmed reports.
func TestCountsAfterHostileMixture(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	url := dbtest.URL(t)
	stores := []*db.Store{dbtest.Open(t, url), dbtest.Open(t, url)}
	const senders, each = 8, 40

	confirmed := make(chan struct{})
	var cutter, sending sync.WaitGroup
	cutter.Go(func() { cutConnections(t, url, confirmed) })
	for sender := range senders {
		sending.Go(func() {
			r := rand.New(rand.NewPCG(uint64(sender), 7))
			for i := range each {
				rec := anyRecord(t, r, i)
				for sends := 1 + r.IntN(3); sends > 0; {
					rec.ID = crash.NewOopsID(rec.Received().Add(time.Duration(sends) * time.Millisecond))
					_, _, err := stores[r.IntN(2)].SaveReport(t.Context(), rec)
					if err == nil {
						sends--
						confirmed <- struct{}{}
					} else if !errors.Is(err, crash.Unavailable) {
						t.Errorf("save: %v", err)
						return
					}
				}
			}
		})
	}
	sending.Wait()
	close(confirmed)
	cutter.Wait()

	checkCounts(t, url)
	keyed := dbtest.Lines(t, url, `select 'keys', count(*)::text from report_keys union all
		select 'reports', count(*)::text from reports`)
	if keyed["keys"] != keyed["reports"] {
		t.Errorf("got %s reports and %s keys, want each report once", keyed["reports"], keyed["keys"])
	}
}

// cutConnections terminates a connection of a store after every twentieth report, if possible one
// that runs a statement.
func cutConnections(t *testing.T, url string, confirmed <-chan struct{}) {
	conn := dbtest.Connect(t, url)
	n, cuts := 0, int64(0)
	for range confirmed {
		if n++; n%20 > 0 {
			continue
		}
		tag, err := conn.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and application_name = 'mishap' order by state = 'active' desc, random() limit 1`)
		if err != nil {
			t.Errorf("cut connections: %v", err)
		}
		cuts += tag.RowsAffected()
	}
	if cuts < 15 {
		t.Errorf("got %d connections cut among %d reports, want many more", cuts, n)
	}
}

// anyRecord returns a random report with few distinct values, so that many reports change the same
// rows.
func anyRecord(t *testing.T, r *rand.Rand, i int) crash.Record {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	changes := crash.Fields{
		"Package":             "harbor " + pick("1.0-1", "1.00-1", "1.0~rc1-1", "2:0.9", "1.10", "not a version", ""),
		"DistroRelease":       pick("Ubuntu 24.04", "Ubuntu 26.04", "Ubuntu 9.10 derivative", "Debian 13", ""),
		"Architecture":        pick("amd64", "arm64"),
		"PackageArchitecture": pick("amd64", "all", "i386", "unknown"),
		"Tags":                pick("", "noble package-from-proposed"),
		"DuplicateSignature":  pick("", "one", "two", "three", "four\nlines 'quoted' %41"),
		"Date": today.AddDate(0, 0, -r.IntN(400)).Add(time.Duration(r.IntN(3600)) * time.Second).Format(
			time.ANSIC),
		"ProcStatus": fmt.Sprintf("Name:\tharbor-sync\nPid:\t%d", i%40),
	}
	switch r.IntN(8) {
	case 0: // has no bucket
		delete(changes, "DuplicateSignature")
		changes["Traceback"] = "nothing known"
	case 1: // has no duplicate key
		changes["Date"] = ""
	}
	system := pick("", "deadbeef01", "ant", "bee", "cat", "dog")
	return record(t, today.Add(time.Duration(r.IntN(1000))*time.Millisecond), system, changes)
}

func TestSaveReportBadOneFailsAlone(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	release := hold(t, url)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			rec := record(t, today, fmt.Sprint("machine", i), nil)
			if i == 17 {
				rec.Title = "a text that PostgreSQL refuses: \x00"
			}
			_, _, err := s.SaveReport(t.Context(), rec)
			if bad := i == 17; bad != (err != nil) {
				t.Errorf("report %d: got error %v, want one only for report 17", i, err)
			} else if bad && crash.KindOf(err) != 0 {
				t.Errorf("bad report: got kind %v, want internal", crash.KindOf(err))
			}
		})
	}
	release()
	wg.Wait()
	if b := bucketOf(t, s, record(t, today, "", nil)); b.Reports != 39 {
		t.Errorf("got %d reports, want 39", b.Reports)
	}
	checkCounts(t, url)
}

func TestSaveReportMakesPartitions(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	save(t, s, record(t, today, "a", nil))
	want := map[string]string{"reports_2026_11": "", "reports_2026_12": ""}
	partitions := `select relname, '' from pg_class where relname like 'reports\_20__\___'`
	if got := dbtest.Lines(t, url, partitions); len(got) != len(want) {
		t.Errorf("got partitions %v, want %v", got, want)
	}
	dbtest.Must(dbtest.Connect(t, url).Exec(t.Context(), "drop table reports_2026_12"))(t)
	save(t, s, record(t, today.AddDate(0, 1, 0), "b", nil))
	save(t, s, record(t, today.AddDate(0, 2, 0), "c", nil))
	if got := dbtest.Lines(t, url, partitions); len(got) != 4 || !strings.Contains(fmt.Sprint(got), "reports_2027_02") {
		t.Errorf("got partitions %v, want November to February", got)
	}
}

func TestSaveReportDatabaseAway(t *testing.T) {
	t.Parallel()
	s := dbtest.Broken(t)
	if _, _, err := s.SaveReport(t.Context(), record(t, today, "a", nil)); !errors.Is(err, crash.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
}

func bucketOf(t *testing.T, s *db.Store, rec crash.Record) crash.Bucket {
	t.Helper()
	dbtest.Counted(t, s)
	b, err := s.Bucket(t.Context(), crash.BucketIDOf(rec.Grouping.Signature))
	if err != nil {
		t.Fatalf("bucket: %v", err)
	}
	return b
}

// hold blocks the storing of reports until release is called.
func hold(t *testing.T, url string) (release func()) {
	t.Helper()
	return holdBy(t, url, "lock table report_keys in access exclusive mode")
}

// holdCounting blocks the counting of reports until release is called.
func holdCounting(t *testing.T, url string) (release func()) {
	t.Helper()
	return holdBy(t, url, "select from counting for update")
}

func holdBy(t *testing.T, url, lock string) (release func()) {
	t.Helper()
	tx := dbtest.Must(dbtest.Connect(t, url).BeginTx(t.Context(), pgx.TxOptions{}))(t)
	dbtest.Must(tx.Exec(t.Context(), lock))(t)
	return func() {
		if err := tx.Commit(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
	}
}

// TestSaveReportFullQueue fills the queue while storing is blocked. Further reports are refused at
// once. Accepted ones are stored although their senders have gone, and closing the store waits for
// them.
func TestSaveReportFullQueue(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	release := hold(t, url)

	gone, leave := context.WithCancel(t.Context())
	leave()
	const bound = 2048 + 2*256 // in the queue and in the two writers
	accepted, refused := 0, 0
	for i := range bound + 100 {
		_, _, err := s.SaveReport(gone, record(t, today, fmt.Sprint("machine", i), nil))
		e, _ := errors.AsType[*crash.Error](err)
		switch {
		case e == nil || e.Kind != crash.Unavailable:
			t.Fatalf("report %d: got %v, want unavailable", i, err)
		case e.Code == "not_waited":
			accepted++
		case e.Code == "overload" && e.RetryAfter > 0:
			refused++
		default:
			t.Fatalf("report %d: got %q, retry after %v", i, e.Code, e.RetryAfter)
		}
	}
	if accepted > bound || refused < 100 {
		t.Errorf("got %d accepted and %d refused, want at most %d accepted", accepted, refused, bound)
	}
	release()
	s.Close()

	s = dbtest.Open(t, url)
	if b := bucketOf(t, s, record(t, today, "", nil)); int(b.Reports) != accepted || int(b.Systems) != accepted {
		t.Errorf("got %d reports of %d machines, want the %d accepted ones", b.Reports, b.Systems, accepted)
	}
	checkCounts(t, url)
}

// TestSaveReportSharesTransactions checks that many concurrent reports take few transactions.
func TestSaveReportSharesTransactions(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.Collectors()...)
	release := hold(t, url)
	const reports = 100
	var wg, sent sync.WaitGroup
	sent.Add(reports)
	for i := range reports {
		wg.Go(func() {
			gone, leave := context.WithCancel(t.Context())
			leave()
			rec := record(t, today, fmt.Sprint("machine", i), nil)
			_, _, _ = s.SaveReport(gone, rec) // the report is queued when this returns
			sent.Done()
			if _, again, err := s.SaveReport(t.Context(), rec); err != nil || again {
				t.Errorf("got %v, repetition %v; want the report's own id again", err, again)
			}
		})
	}
	sent.Wait()
	release()
	wg.Wait()
	families := dbtest.Must(registry.Gather())(t)
	for _, f := range families {
		if f.GetName() == "mishap_save_batch_reports" {
			h := f.GetMetric()[0].GetHistogram()
			if h.GetSampleCount() > reports/4 || h.GetSampleSum() != 2*reports {
				t.Errorf("got %v reports in %d transactions, want %d in far fewer", h.GetSampleSum(), h.GetSampleCount(), 2*reports)
			}
			return
		}
	}
	t.Error("no histogram of batches")
}

// TestSaveReportBesideLargeOnes checks that other reports do not wait while large ones are stored.
func TestSaveReportBesideLargeOnes(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	save(t, s, record(t, today, "first", nil))
	tx := dbtest.Must(dbtest.Connect(t, url).Begin(t.Context()))(t)
	noise := make([]byte, 1<<20) // cannot be compressed
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	var heavy sync.WaitGroup
	for i := range 4 {
		rec := record(t, today, fmt.Sprint("heavy", i),
			crash.Fields{"JournalErrors": base64.StdEncoding.EncodeToString(noise)})
		// Another transaction stores the same crash and stays open.
		dbtest.Must(tx.Exec(t.Context(), "insert into report_keys (key, report_id) values ($1, $2)", rec.DuplicateKey[:],
			crash.NewOopsID(today)))(t)
		heavy.Go(func() {
			if id, again, err := s.SaveReport(t.Context(), rec); err != nil || again || id != rec.ID {
				t.Errorf("heavy report: got %v, repetition %v, %v; want it stored", id, again, err)
			}
		})
	}
	for i := range 50 {
		save(t, s, record(t, today, fmt.Sprint("machine", i), nil))
	}
	if b := bucketOf(t, s, record(t, today, "", nil)); b.Reports != 51 {
		t.Errorf("got %d reports while heavy ones wait, want the 51 others", b.Reports)
	}
	checktest.NoError(t, tx.Rollback(t.Context()))
	heavy.Wait()
	checkCounts(t, url)
}

// TestSaveReportWhileBucketChanges stores a report of a problem that another transaction is changing,
// in a store that does not know the problem yet. It must not wait for that transaction: an erasure would
// wait for the report in turn.
func TestSaveReportWhileBucketChanges(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	save(t, dbtest.Open(t, url), record(t, today, "first", nil))
	release := holdBy(t, url, "update buckets set reports = reports")
	second := dbtest.Open(t, url)
	rec := record(t, today, "second", nil)
	if id, again, err := second.SaveReport(t.Context(), rec); err != nil || again || id != rec.ID {
		t.Errorf("got %v, repetition %v, %v; want it stored", id, again, err)
	}
	release()
	checkCounts(t, url)
}

func TestSaveReportAfterClose(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	s.Close()
	s.Close() // closing twice is harmless
	if _, _, err := s.SaveReport(t.Context(), record(t, today, "a", nil)); !errors.Is(err, crash.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
}
