package db_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/version"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

// TestCountedWhenAnswered checks that under low load a report is counted before its caller gets the
// answer.
func TestCountedWhenAnswered(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	s.SetAnswerDelay(time.Hour) // a busy machine is no load
	for i := range 5 {
		rec := record(t, today, fmt.Sprint("machine", i), nil)
		store(t, s, rec)
		b, err := s.Bucket(t.Context(), crash.BucketIDOf(rec.Grouping.Signature))
		if err != nil || b.Reports != int64(i+1) || b.Systems != int64(i+1) {
			t.Fatalf("after report %d: got %d reports of %d machines, %v", i+1, b.Reports, b.Systems, err)
		}
	}
}

// TestWaitCounted checks that WaitCounted waits for all reports that two instances store at once.
func TestWaitCounted(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	instances := [...]*db.Store{dbtest.Open(t, url), dbtest.Open(t, url)}
	const reports = 300
	var wg sync.WaitGroup
	for i := range reports {
		rec := record(t, today.AddDate(0, 0, -i%5), fmt.Sprint("machine", i%40),
			crash.Fields{"ProcStatus": fmt.Sprint("Pid:\t", i)})
		wg.Go(func() {
			if _, _, err := instances[i%2].SaveReport(t.Context(), rec); err != nil {
				t.Errorf("report %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	b := bucketOf(t, dbtest.Open(t, url), record(t, today, "", nil))
	if b.Reports != reports || b.Systems != 40 {
		t.Errorf("got %d reports of %d machines, want %d of 40", b.Reports, b.Systems, reports)
	}
	checkCounts(t, url)
}

// TestActiveMachineIsCached checks that active days are complete despite cached spans, in whatever
// order reports arrive and whichever instance counts them.
func TestActiveMachineIsCached(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	instances := [...]*db.Store{dbtest.Open(t, url), dbtest.Open(t, url)}
	for i, day := range []int{-40, -40, -30, -41, -130, -129, -131, -220, 0, 0, -300, -40, -219, -390} {
		for _, machine := range []string{"a", "b"} {
			rec := record(t, today.AddDate(0, 0, day), machine, crash.Fields{"ProcStatus": fmt.Sprint("Pid:\t", i)})
			save(t, instances[(i+i/3)%2], rec) // each report has a round of its own
		}
	}
	checkCounts(t, url)
}

// TestCountingHeldUp checks that reports are stored while counting is blocked. Afterwards they are
// counted once, by the instance that stored them or by another one.
func TestCountingHeldUp(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	release := holdCounting(t, url)
	rec := record(t, today, "machine", nil)
	store(t, s, rec)
	if b, err := s.Bucket(t.Context(), crash.BucketIDOf(rec.Grouping.Signature)); err != nil || b.Reports != 0 {
		t.Errorf("while it cannot be counted: got %d reports, %v", b.Reports, err)
	}
	release()
	checkCounts(t, url)
	if b := bucketOf(t, s, rec); b.Reports != 1 {
		t.Errorf("got %d reports, want 1", b.Reports)
	}
}

// TestNoOrphans checks that an instance uses up no round number when it looks for orphans and there
// are none. Each instance looks when it starts and then every few seconds.
func TestNoOrphans(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	release := holdCounting(t, url)
	looks := dbtest.Open(t, url)
	conn := dbtest.Connect(t, url)
	value := func(sql string) (n int64) {
		t.Helper()
		checktest.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&n))
		return n
	}
	const round = "select round from counting"
	before := value(round)
	waitFor(t, "it looks", func() bool {
		return value("select count(*) from pg_locks where not granted and pid in (select pid from pg_stat_activity where "+
			"datname = current_database())") > 0
	})
	release()
	looks.Close()
	if after := value(round); after != before {
		t.Errorf("round %d became %d, and nothing was counted", before, after)
	}
}

// TestUncountedIsLimited checks that a limited number of reports is stored and queued while
// counting is blocked. Further reports are refused, and all accepted ones are counted in the end.
func TestUncountedIsLimited(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	const (
		reports, most      = 3500, 40
		queued             = 2048
		batches, batchSize = 2, 256 // batches that may be running when the limit is reached
	)
	s.SetMaxUncounted(most)
	release := holdCounting(t, url)
	refused, taken := make(chan error, reports), make(chan struct{}, reports)
	for i := range reports {
		rec := record(t, today, "machine", crash.Fields{"ProcStatus": fmt.Sprint("Pid:\t", i)})
		go func() {
			if _, _, err := s.SaveReport(context.WithoutCancel(t.Context()), rec); err != nil {
				refused <- err
			} else {
				taken <- struct{}{}
			}
		}()
	}
	// These are the queue, the stored reports, and the batches of the writers.
	atLeast := reports - queued - (most + batches*batchSize) - batches*batchSize
	for range atLeast {
		wantOverload(t, <-refused)
	}
	var stored int
	if err := dbtest.Connect(t, url).QueryRow(t.Context(), "select count(*) from reports").Scan(&stored); err != nil ||
		stored > most+batches*batchSize {
		t.Errorf("while counting is blocked: %d reports are stored, %v; want at most %d", stored, err,
			most+batches*batchSize)
	}
	release()
	answered, took := atLeast, 0
	for ; answered < reports; answered++ {
		select {
		case err := <-refused:
			wantOverload(t, err)
		case <-taken:
			took++
		}
	}
	checkCounts(t, url)
	if b := bucketOf(t, s, record(t, today, "", nil)); int(b.Reports) != took {
		t.Errorf("got %d reports counted, want the %d that were taken", b.Reports, took)
	}
}

func wantOverload(t *testing.T, err error) {
	t.Helper()
	if e, ok := errors.AsType[*crash.Error](err); !ok || e.Code != "overload" || e.RetryAfter <= 0 {
		t.Errorf("got %v, want an error that says when to try again", err)
	}
}

// TestRepetitionCreatesNoBucket checks that a repeated report that would now belong to another
// bucket does not create that bucket. The next new report of the bucket does.
func TestRepetitionCreatesNoBucket(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	save(t, s, record(t, today, "machine", nil))
	again := record(t, today, "machine", crash.Fields{"DuplicateSignature": "harbor:other"})
	if _, duplicate, err := s.SaveReport(t.Context(), again); err != nil || !duplicate {
		t.Fatalf("got duplicate %t, %v; want a repetition", duplicate, err)
	}
	next := record(t, today, "machine", crash.Fields{"DuplicateSignature": "harbor:other", "ProcStatus": "Pid:\t2"})
	save(t, s, next)
	if b := bucketOf(t, s, next); b.Reports != 1 || b.Signature != "harbor:other" {
		t.Errorf("got %d reports of %q, want 1 of the other signature", b.Reports, b.Signature)
	}
	checkCounts(t, url)
}

// TestCountManyAtOnce counts many different reports in one round.
func TestCountManyAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	first := dbtest.Open(t, url)
	release := holdCounting(t, url)
	r := rand.New(rand.NewPCG(8, 9))
	var wg sync.WaitGroup
	for i := range 1200 {
		rec := anyRecord(t, r, i)
		wg.Go(func() {
			if _, _, err := first.SaveReport(t.Context(), rec); err != nil {
				t.Errorf("save report: %v", err)
			}
		})
	}
	wg.Wait() // all reports are stored, and wait for the counting lock
	release()
	checkCountsOf(t, url, first)
}

// slowCounting makes counting slow for each machine of a bucket.
const slowCounting = `
	create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.02); return new; end $$;
	create trigger slow before insert on bucket_systems for each row execute function slow()`

// storeUncounted stores one report from each of many machines while counting is blocked. Several
// reports share a transaction.
func storeUncounted(t *testing.T, url string, s *db.Store, reports int) crash.Record {
	t.Helper()
	release := holdCounting(t, url)
	defer release()
	var wg sync.WaitGroup
	for i := range reports {
		rec := record(t, today, fmt.Sprint("machine", i), nil)
		wg.Go(func() {
			if _, _, err := s.SaveReport(t.Context(), rec); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return record(t, today, "", nil)
}

// untilCounted waits until a bucket has a number of counted reports.
func untilCounted(t *testing.T, s *db.Store, rec crash.Record, reports int64) {
	t.Helper()
	for t.Context().Err() == nil {
		_ = s.WaitCounted(t.Context()) // counting may take longer than WaitCounted waits
		if b, err := s.Bucket(t.Context(), crash.BucketIDOf(rec.Grouping.Signature)); err == nil && b.Reports >= reports {
			return
		}
	}
}

// TestCountingTooSlow checks that reports that are too slow to count in one round are counted in
// smaller ones. The instance that stored them does so, or another one that finds them as orphans.
func TestCountingTooSlow(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	const reports = 50 // take a second in one round
	for _, who := range []string{"own", "orphans"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t)
			s := dbtest.Open(t, url)
			dbtest.Must(dbtest.Connect(t, url).Exec(t.Context(), slowCounting))(t)
			s.SetRoundTimeout(time.Second / 2)
			counting := s
			if who == "orphans" {
				s.SetRoundTimeout(time.Nanosecond) // this instance cannot count anything before it closes
				counting = dbtest.Open(t, url)
				counting.SetRoundTimeout(time.Second / 2)
			}
			rec := storeUncounted(t, url, s, reports)
			untilCounted(t, counting, rec, reports)
			checkCounts(t, url)
		})
	}
}

// TestCountingFails checks that Health reports that counting fails, and that it works again.
func TestCountingFails(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	problem := func() (problem, detail string) {
		for _, c := range s.Health(t.Context()) {
			if c.Problem != "" {
				return c.Problem, c.Detail
			}
		}
		return "", ""
	}
	if p, _ := problem(); p != "" {
		t.Fatalf("got %q, want no problem", p)
	}
	conn := dbtest.Connect(t, url)
	run := func(sql string) {
		t.Helper()
		dbtest.Must(conn.Exec(t.Context(), sql))(t)
	}
	run("alter table report_days rename to elsewhere")
	rec := record(t, today, "machine", nil)
	store(t, s, rec)
	for p, detail := problem(); ; p, detail = problem() {
		if p != "" {
			if !strings.Contains(p, "cannot be counted") || !strings.Contains(detail, "1 stored reports") ||
				!strings.Contains(detail, "report_days") {
				t.Errorf("got %q, %q; want that counting fails, and why", p, detail)
			}
			break
		}
	}
	run("alter table elsewhere rename to report_days")
	untilCounted(t, s, rec, 1)
	if p, _ := problem(); p != "" {
		t.Errorf("afterwards: got %q, want no problem", p)
	}
	checkCounts(t, url)
}

// TestDatabaseDiskFull checks that a full disk of the database has another error than an
// unavailable database.
func TestDatabaseDiskFull(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	conn := dbtest.Connect(t, url)
	dbtest.Must(conn.Exec(t.Context(), `
		create function full_disk() returns trigger language plpgsql as
			$$ begin raise 'could not extend file "base/1/2": No space left on device' using errcode = 'disk_full'; end $$;
		create trigger full_disk before insert on report_keys for each row execute function full_disk()`))(t)
	rec := record(t, today, "machine", nil)
	_, _, err := s.SaveReport(t.Context(), rec)
	//nolint:errorlint // the error must not be wrapped
	if e, ok := err.(*crash.Error); !ok || e.Kind != crash.Unavailable || e.Code != "no_space" {
		t.Errorf("got %v, want no_space", err)
	}
	if got := s.Health(context.WithoutCancel(t.Context()))[1]; !strings.Contains(got.Problem, "no space left") {
		t.Errorf("got %+v, want a full disk", got)
	}
	dbtest.Must(conn.Exec(t.Context(), "drop trigger full_disk on report_keys"))(t)
	save(t, s, rec)
	if got := s.Health(t.Context())[1]; got.Problem != "" {
		t.Errorf("afterwards: got %+v, want no problem", got)
	}
}

// countedTables holds the contents of all count tables, as a line of text for each row.
type countedTables struct {
	Buckets, Seen, Systems, Travellers, Versions, Days, Reports, Releases, Active, Packages, Hours,
	ReleaseHours map[string]string
}

// checkCounts counts the stored reports again in Go, and compares the result with all stored
// counts.
func checkCounts(t *testing.T, url string) {
	t.Helper()
	checkCountsOf(t, url, dbtest.Open(t, url))
}

// checkCountsOf does the same through an open store.
func checkCountsOf(t *testing.T, url string, s *db.Store) {
	t.Helper()
	dbtest.Counted(t, s)
	for _, d := range checkStore(t, s, crash.CheckScope{Most: 3}).Differences {
		t.Errorf("check: %s of %s: kept %q, recounted %q", d.Count, d.Of, d.Stored, d.Recounted)
	}
	if diff := gocmp.Diff(recount(t, url), storedCounts(t, url)); diff != "" {
		t.Errorf("counts differ from the stored reports (-recounted +kept):\n%s", diff)
	}
}

func storedCounts(t *testing.T, url string) countedTables {
	return countedTables{
		Buckets: dbtest.Lines(t, url, `select encode(id, 'hex'), concat_ws('|', reports, systems,
			coalesce((first_version).version, '-'), coalesce((first_version).release, '-'),
			coalesce((last_version).version, '-'), coalesce((last_version).release, '-'),
			coalesce((first_release).release, '-'), coalesce((last_release).release, '-')) from buckets
			where reports <> 0 or systems <> 0 or exists (select from reports where bucket_id = buckets.id)`),
		Seen: dbtest.Lines(t, url, `select concat_ws('|', encode(bucket_id, 'hex'), release), concat_ws('|',
			extract(epoch from (first_seen).seen)::bigint, (first_seen).version,
			extract(epoch from (last_seen).seen)::bigint, (last_seen).version,
			coalesce((lowest_version).version, '-'), coalesce((highest_version).version, '-')) from bucket_releases`),
		Systems: dbtest.Lines(t, url,
			`select concat_ws('|', encode(bucket_id, 'hex'), system, release, version), reports::text from bucket_systems`),
		Travellers: dbtest.Lines(t, url,
			`select concat_ws('|', encode(bucket_id, 'hex'), version, system), extra::text from bucket_travellers`),
		Versions: dbtest.Lines(t, url,
			`select concat_ws('|', encode(bucket_id, 'hex'), release, version), reports || '|' || systems from bucket_versions`),
		Days: dbtest.Lines(t, url,
			`select concat_ws('|', encode(bucket_id, 'hex'), day, release, version, architecture, package_architecture),
				reports || '|' || proposed
			from bucket_days`),
		Reports: dbtest.Lines(t, url,
			`select concat_ws('|', day, release, package, version, architecture, problem_type, proposed::text),
			reports::text from report_days`),
		Releases: dbtest.Lines(t, url,
			`select concat_ws('|', day, release, architecture, problem_type, proposed::text), reports::text from release_days`),
		Hours: dbtest.Lines(t, url, `
			select concat_ws('|', to_char(hour at time zone 'UTC', 'YYYY-MM-DD HH24'), release, package, version),
				reports::text from report_hours`),
		ReleaseHours: dbtest.Lines(t, url, `
			select concat_ws('|', to_char(hour at time zone 'UTC', 'YYYY-MM-DD HH24'), release), reports::text
			from release_hours`),
		Active: dbtest.Lines(t, url, `select concat_ws('|', release, day), active::text from (
			select release, day, sum(change) over (partition by release order by day) as active, change from release_active
			) as a where change <> 0`),
		Packages: dbtest.Lines(t, url,
			`select concat_ws('|', package, release, version),
				to_char(arrived, 'YYYY-MM-DD HH24:MI:SS.US') || '|' || first_day
			from package_versions`),
	}
}

type place struct {
	versionKey                   []byte
	releaseKey, version, release string
}

func comparePlaces(a, b place) int {
	return cmp.Or(bytes.Compare(a.versionKey, b.versionKey), cmp.Compare(a.releaseKey, b.releaseKey),
		cmp.Compare(a.version, b.version), cmp.Compare(a.release, b.release))
}

type bucketCount struct {
	reports  int
	systems  map[string]bool
	versions []place
	releases []place
}

// seenCount holds when, and in which versions, a bucket occurred in a release.
type seenCount struct {
	reports  []seenPlace
	versions []place
}

type seenPlace struct {
	at time.Time
	place
}

func compareSeen(a, b seenPlace) int {
	return cmp.Or(a.at.Compare(b.at), comparePlaces(a.place, b.place))
}

// recounted sums up reports, one after another.
type recounted struct {
	buckets  map[string]*bucketCount
	seen     map[string]*seenCount // by bucket and release
	reports  map[string]int
	releases map[string]int
	hours    map[string]int
	byHour   map[string]int // of releases
	versions map[string]int
	days     map[string][2]int                        // all reports, and those from the proposed pocket
	machines map[string]int                           // by cell and machine
	active   map[string]map[string]map[time.Time]bool // by release and machine: days with a report
	packages map[string][2]string                     // arrival of the first report, day of the oldest
}

// storedReport holds the properties of a report that counts depend on.
type storedReport struct {
	counted, proposed                                                         bool
	system, bucket, day, release, pkg, version, architecture, problemType, of string
	received                                                                  time.Time
	occurred                                                                  *time.Time
}

func recount(t *testing.T, url string) countedTables {
	t.Helper()
	c := recounted{
		buckets: map[string]*bucketCount{}, seen: map[string]*seenCount{}, reports: map[string]int{},
		releases: map[string]int{}, hours: map[string]int{}, byHour: map[string]int{}, versions: map[string]int{},
		days: map[string][2]int{}, machines: map[string]int{}, active: map[string]map[string]map[time.Time]bool{},
		packages: map[string][2]string{},
	}
	conn := dbtest.Connect(t, url)
	defer func() { _ = conn.Close(t.Context()) }()
	rows := dbtest.Must(conn.Query(t.Context(), `select counted, system, coalesce(encode(bucket_id, 'hex'), ''),
		day::text, received, occurred, release, package, version, architecture, problem_type, proposed,
		package_architecture from reports`))(t)
	var r storedReport
	dbtest.Must(pgx.ForEachRow(rows, []any{&r.counted, &r.system, &r.bucket, &r.day, &r.received, &r.occurred, &r.release,
		&r.pkg, &r.version,
		&r.architecture, &r.problemType, &r.proposed, &r.of}, func() error {
		c.add(r)
		return nil
	}))(t)
	return c.counts()
}

func (c *recounted) add(r storedReport) {
	if r.bucket != "" && c.buckets[r.bucket] == nil {
		c.buckets[r.bucket] = &bucketCount{systems: map[string]bool{}}
	}
	if !r.counted {
		return
	}
	c.reports[fmt.Sprintf("%s|%s|%s|%s|%s|%s|%v", r.day, r.release, r.pkg, r.version, r.architecture, r.problemType,
		r.proposed)]++
	c.releases[fmt.Sprintf("%s|%s|%s|%s|%v", r.day, r.release, r.architecture, r.problemType, r.proposed)]++
	seen := r.received
	if r.occurred != nil && r.occurred.UTC().Format("2006-01-02") == r.day {
		seen = *r.occurred
	}
	if r.day >= db.HoursFrom(time.Now()).Format(time.DateOnly) {
		hour := seen.UTC().Format("2006-01-02 15") + "|" + r.release
		c.hours[hour+"|"+r.pkg+"|"+r.version]++
		c.byHour[hour]++
	}
	at, order := r.received.UTC().Format("2006-01-02 15:04:05.000000"), crash.Release(r.release).VersionOrder()
	if r.pkg != "" && order.Valid(r.version) {
		key := r.pkg + "|" + r.release + "|" + r.version
		if known, ok := c.packages[key]; ok {
			c.packages[key] = [2]string{min(known[0], at), min(known[1], r.day)}
		} else {
			c.packages[key] = [2]string{at, r.day}
		}
	}
	if r.system != "" {
		if c.active[r.release] == nil {
			c.active[r.release] = map[string]map[time.Time]bool{}
		}
		if c.active[r.release][r.system] == nil {
			c.active[r.release][r.system] = map[time.Time]bool{}
		}
		day, _ := time.Parse("2006-01-02", r.day)
		c.active[r.release][r.system][day] = true
	}
	if r.bucket == "" {
		return
	}
	cell := r.bucket + "|" + r.release + "|" + r.version
	c.versions[cell]++
	if r.system != "" {
		c.machines[cell+"|"+r.system]++
	}
	key := r.bucket + "|" + r.day + "|" + r.release + "|" + r.version + "|" + r.architecture + "|" + r.of
	n := c.days[key]
	n[0]++
	if r.proposed {
		n[1]++
	}
	c.days[key] = n
	c.buckets[r.bucket].add(r.system, r.release, r.version)
	if c.seen[r.bucket+"|"+r.release] == nil {
		c.seen[r.bucket+"|"+r.release] = &seenCount{}
	}
	c.seen[r.bucket+"|"+r.release].add(seen, r.version, crash.Release(r.release).VersionOrder())
}

// counts returns the results in the form of the tables.
func (c *recounted) counts() countedTables {
	text := func(sums map[string]int) map[string]string {
		found := map[string]string{}
		for key, n := range sums {
			found[key] = fmt.Sprint(n)
		}
		return found
	}
	all := countedTables{
		Buckets: map[string]string{}, Seen: map[string]string{}, Systems: map[string]string{}, Versions: map[string]string{},
		Days:       map[string]string{},
		Travellers: map[string]string{}, Reports: text(c.reports), Releases: text(c.releases), Active: c.activity(),
		Hours: text(c.hours), ReleaseHours: text(c.byHour),
		Packages: map[string]string{},
	}
	for key, use := range c.packages {
		all.Packages[key] = use[0] + "|" + use[1]
	}
	for id, b := range c.buckets {
		all.Buckets[id] = b.String()
	}
	for key, s := range c.seen {
		all.Seen[key] = s.String()
	}
	inCell, releases := map[string]int{}, map[string]int{}
	for key, n := range c.machines {
		at := strings.LastIndexByte(key, '|')
		inCell[key[:at]]++
		bucket, cell, _ := strings.Cut(key[:at], "|")
		system := systemKey(key[at+1:])
		all.Systems[fmt.Sprintf("%s|%d|%s", bucket, system, cell)] = fmt.Sprint(n)
		_, version, _ := strings.Cut(cell, "|")
		traveller := fmt.Sprintf("%s|%s|%d", bucket, version, system)
		if releases[traveller]++; releases[traveller] > 1 {
			all.Travellers[traveller] = fmt.Sprint(releases[traveller] - 1)
		}
	}
	for cell, n := range c.versions {
		all.Versions[cell] = fmt.Sprintf("%d|%d", n, inCell[cell])
	}
	for key, n := range c.days {
		all.Days[key] = fmt.Sprintf("%d|%d", n[0], n[1])
	}
	return all
}

func systemKey(system string) int64 {
	sum := sha256.Sum256([]byte(system))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// activity returns the number of active machines for each day on which it changes. A machine is
// active for 90 days, starting with the day of its report.
func (c *recounted) activity() map[string]string {
	found := map[string]string{}
	for release, machines := range c.active {
		active := map[time.Time]int{}
		for _, days := range machines {
			covered := map[time.Time]bool{}
			for day := range days {
				for i := range 90 {
					covered[day.AddDate(0, 0, i)] = true
				}
			}
			for day := range covered {
				active[day]++
			}
		}
		for day := range active {
			for _, at := range []time.Time{day, day.AddDate(0, 0, 1)} {
				if active[at] != active[at.AddDate(0, 0, -1)] {
					found[release+"|"+at.Format("2006-01-02")] = fmt.Sprint(active[at])
				}
			}
		}
	}
	return found
}

func (s *seenCount) add(at time.Time, text string, order version.Order) {
	in := place{version: text}
	if order.Valid(text) {
		in.versionKey = order.Key(text)
		s.versions = append(s.versions, in)
	}
	s.reports = append(s.reports, seenPlace{at, in})
}

func (s *seenCount) String() string {
	first, last := slices.MinFunc(s.reports, compareSeen), slices.MaxFunc(s.reports, compareSeen)
	lowest, highest := ends(s.versions)
	return fmt.Sprintf("%d|%s|%d|%s|%s|%s", roundSeconds(first.at), first.version, roundSeconds(last.at), last.version,
		lowest.version, highest.version)
}

func (b *bucketCount) add(system, release, version string) {
	b.reports++
	if system != "" {
		b.systems[system] = true
	}
	at := place{releaseKey: crash.Release(release).Key(), version: version, release: release}
	if release != "" {
		b.releases = append(b.releases, place{releaseKey: at.releaseKey, release: release})
	}
	if order := crash.Release(release).VersionOrder(); order.Valid(version) {
		at.versionKey = order.Key(version)
		b.versions = append(b.versions, at)
	}
}

func (b *bucketCount) String() string {
	firstVersion, lastVersion := ends(b.versions)
	firstRelease, lastRelease := ends(b.releases)
	return fmt.Sprintf("%d|%d|%s|%s|%s|%s|%s|%s", b.reports, len(b.systems), firstVersion.version, firstVersion.release,
		lastVersion.version, lastVersion.release, firstRelease.release, lastRelease.release)
}

// roundSeconds rounds in the same way as PostgreSQL when it converts a time to whole seconds.
func roundSeconds(t time.Time) int64 { return t.Round(time.Second).Unix() }

func ends(places []place) (first, last place) {
	if len(places) == 0 {
		none := place{version: "-", release: "-"}
		return none, none
	}
	first, last = places[0], places[0]
	for _, p := range places {
		if comparePlaces(p, first) < 0 {
			first = p
		}
		if comparePlaces(p, last) > 0 {
			last = p
		}
	}
	return first, last
}

func checkStore(t *testing.T, s *db.Store, scope crash.CheckScope) crash.CheckResult {
	t.Helper()
	steps := 0
	result, err := upkeep.Check(t.Context(), s, scope, func() { steps++ })
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	if steps != upkeep.CheckSteps {
		t.Errorf("got %d steps, want the %d that were announced", steps, upkeep.CheckSteps)
	}
	return result
}

// mixture stores reports with few distinct values and counts them.
func mixture(t *testing.T, url string, reports int) *db.Store {
	t.Helper()
	s := dbtest.Open(t, url)
	r := rand.New(rand.NewPCG(1, 2))
	var wg sync.WaitGroup
	for i := range reports {
		rec := anyRecord(t, r, i)
		wg.Go(func() {
			if _, _, err := s.SaveReport(t.Context(), rec); err != nil {
				t.Errorf("save report: %v", err)
			}
		})
	}
	wg.Wait()
	dbtest.Counted(t, s)
	return s
}

// TestCheckSeesDamage changes each count by one. It checks that a complete check, and one of a
// sample that happens to include everything, report this. Unless the run is thorough, it changes a third of them.
func TestCheckSeesDamage(t *testing.T) {
	t.Parallel()
	for _, damage := range checktest.EveryNth([]string{
		"update buckets set reports = reports + 1 where id = (select id from buckets where reports > 1 order by id limit 1)",
		"update buckets set systems = systems - 1 where id = (select id from buckets where systems > 0 order by id limit 1)",
		"update bucket_releases set last_seen.seen = (last_seen).seen + interval '1 day' where ctid = (select ctid from " +
			"bucket_releases limit 1)",
		"update bucket_releases set first_seen.version = 'other' where ctid = (select ctid from bucket_releases limit 1)",
		"update bucket_releases set first_seen.version_key = '\\x00' where ctid = (select ctid from bucket_releases limit 1)",
		"update bucket_releases set lowest_version = null where ctid = (select ctid from bucket_releases where " +
			"lowest_version is not null limit 1)",
		"update bucket_releases set highest_version.version = '0~' where ctid = (select ctid from bucket_releases where " +
			"highest_version is not null limit 1)",
		"delete from bucket_releases where ctid = (select ctid from bucket_releases limit 1)",
		"update buckets set last_version = null where id = (select id from buckets where last_version is not null order by " +
			"id limit 1)",
		"update buckets set first_release = null where id = (select id from buckets where first_release is not null order " +
			"by id limit 1)",
		"update buckets set head = '\\x00' where id = (select id from buckets order by id limit 1)",
		"delete from bucket_versions where ctid = (select ctid from bucket_versions limit 1)",
		"update bucket_versions set systems = systems + 1 where ctid = (select ctid from bucket_versions limit 1)",
		"update bucket_versions set version_key = '\\x00' where ctid = (select ctid from bucket_versions limit 1)",
		"delete from bucket_systems where ctid = (select ctid from bucket_systems limit 1)",
		"update bucket_systems set reports = reports + 1 where ctid = (select ctid from bucket_systems limit 1)",
		"update bucket_travellers set extra = extra + 1 where ctid = (select ctid from bucket_travellers limit 1)",
		"update bucket_days set reports = reports - 1 where ctid = (select ctid from bucket_days limit 1)",
		"update bucket_days set proposed = proposed + 1 where ctid = (select ctid from bucket_days limit 1)",
		"update report_days set reports = reports + 1 where ctid = (select ctid from report_days limit 1)",
		"delete from release_days where ctid = (select ctid from release_days limit 1)",
		"update report_hours set reports = reports + 1 where ctid = (select ctid from report_hours limit 1)",
		"delete from release_hours where ctid = (select ctid from release_hours limit 1)",
		"update release_active set change = change + 1 where ctid = (select ctid from release_active limit 1)",
		"delete from reports where ctid = (select ctid from reports where counted and bucket_id is not null limit 1)",
	}, 3, 0) {
		t.Run(damage, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t)
			s := mixture(t, url, 60)
			if got := checkStore(t, s, crash.CheckScope{Most: 5}); got.Found != 0 || got.Reports < 30 || got.Buckets == 0 ||
				got.Counts < 100 {
				t.Fatalf("got %+v, want most of 60 reports, many counts and no difference", got)
			}
			if tag, err := dbtest.Connect(t, url).Exec(t.Context(), damage); err != nil || tag.RowsAffected() != 1 {
				t.Fatalf("got %v, %v; want one row", tag, err)
			}
			for _, scope := range []crash.CheckScope{{Most: 5}, {Buckets: 1 << 20, Seed: 7, Most: 5}} {
				if got := checkStore(t, s, scope); got.Found == 0 || len(got.Differences) == 0 {
					t.Errorf("check %+v: got no difference", scope)
				}
			}
		})
	}
}
