package db_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
)

// limited opens a store that keeps some bodies of a problem and month.
func limited(t *testing.T, url string, keep int) *db.Store {
	t.Helper()
	return dbtest.OpenConfig(t, db.Config{URL: url, KeepBodies: keep, Now: func() time.Time { return today }})
}

// sent returns the n-th report of a crash from a machine.
func sent(t *testing.T, n int, machine string, changes crash.Fields) crash.Record {
	t.Helper()
	fields := crash.Fields{"ProcStatus": fmt.Sprint("Pid:\t", n)}
	for name, value := range changes {
		fields[name] = value
	}
	return record(t, today.Add(time.Duration(n)*time.Second), machine, fields)
}

// wantBodies checks how many reports of a problem are stored in full, according to the counts and the reports.
func wantBodies(t *testing.T, url string, s *db.Store, of crash.BucketID, stored, all int64) {
	t.Helper()
	dbtest.Counted(t, s)
	b, err := s.Bodies(t.Context(), of)
	if err != nil || b.Stored != stored || b.All != all {
		t.Errorf("got %d of %d in full, %v; want %d of %d", b.Stored, b.All, err, stored, all)
	}
	full := dbtest.Lines(t, url, `select id::text, '' from reports where body is not null and bucket_id in (
		select id from buckets where head = (select head from buckets where id = '\x`+of.String()+`'))`)
	checktest.Equal(t, "bodies in reports", int64(len(full)), stored)
}

func isFull(t *testing.T, s *db.Store, id crash.OopsID) bool {
	t.Helper()
	return !dbtest.Must(s.Report(t.Context(), id))(t).TypedOnly
}

func TestBodies(t *testing.T) {
	t.Parallel()
	const keep = 11 // six as they come, five by machines
	url := dbtest.URL(t)
	s := limited(t, url, keep)
	n := 0
	send := func(machine string, changes crash.Fields) crash.OopsID {
		t.Helper()
		n++
		return save(t, s, sent(t, n, machine, changes))
	}
	of := *bucketIDOf(sent(t, 0, "", nil))

	for range 30 {
		send("one machine", nil)
	}
	wantBodies(t, url, s, of, 7, 30)
	for i := range 100 {
		send(fmt.Sprint("machine ", i), nil)
	}
	wantBodies(t, url, s, of, keep, 130)
	if id := send("one machine", nil); isFull(t, s, id) {
		t.Errorf("got the report of a full month in full")
	} else if r := dbtest.Must(s.Report(t.Context(), id))(t); r.Fields["Package"] != "harbor 1.0-1" ||
		r.Fields["ExecutablePath"] != "/usr/bin/harbor-sync" || r.Fields["Traceback"] != "" || r.Bucket == nil {
		t.Errorf("got %+v, want the fields of columns", r)
	}
	for _, changes := range []crash.Fields{
		{"Package": "harbor 1.0-2"}, {"DistroRelease": "Ubuntu 22.04"}, {"Architecture": "arm64"},
		{"Comment": "It fell over."}, {"Traceback": "", "Signal": "11"},
	} {
		first := send("one machine", changes)
		second := send("one machine", changes)
		always := changes["Comment"] != "" || changes["Signal"] != ""
		if !isFull(t, s, first) || isFull(t, s, second) != always {
			t.Errorf("%v: got full %v and then %v, want true and %v", changes, isFull(t, s, first), isFull(t, s, second), always)
		}
	}
	wantBodies(t, url, s, of, keep+5, 139)
	if !isFull(t, s, send("deadbeef", nil)) {
		t.Errorf("got the report of a test machine without its text")
	}
	later := record(t, today.AddDate(0, 0, 12), "one machine", nil)
	if save(t, s, later); !isFull(t, s, later.ID) {
		t.Errorf("got the first report of the next month without its text")
	}
	best := dbtest.Must(s.RepresentativeReport(t.Context(), of))(t)
	newest := dbtest.Must(s.NewestInFull(t.Context(), of))(t)
	if best.ID != later.ID || newest != later.ID {
		t.Errorf("got %s as the representative report and %s as the newest in full, want %s", best.ID, newest, later.ID)
	}
	checkCounts(t, url)
}

func bucketIDOf(rec crash.Record) *crash.BucketID {
	id := crash.BucketIDOf(rec.Grouping.Signature)
	return &id
}

// TestBodiesAtOnce stores reports through several connections of two instances. One instance is exact.
func TestBodiesAtOnce(t *testing.T) {
	t.Parallel()
	for stores := 1; stores <= 2; stores++ {
		t.Run(strconv.Itoa(stores), func(t *testing.T) {
			t.Parallel()
			const keep, each = 20, 50
			url := dbtest.URL(t)
			all := make([]*db.Store, stores)
			for i := range all {
				all[i] = limited(t, url, keep)
			}
			var sending sync.WaitGroup
			for i := range 4 {
				sending.Go(func() {
					for n := range each {
						if _, _, err := all[i%stores].SaveReport(t.Context(), sent(t, i*each+n, "one machine", nil)); err != nil {
							t.Errorf("save: %v", err)
						}
					}
				})
			}
			sending.Wait()
			for _, s := range all {
				dbtest.Counted(t, s)
			}
			b := dbtest.Must(all[0].Bodies(t.Context(), *bucketIDOf(sent(t, 0, "", nil))))(t)
			if most := int64(stores * (keep/2 + 1)); b.All != 4*each || b.Stored < keep/2+1 || b.Stored > most {
				t.Errorf("got %d of %d in full, want %d to %d of %d", b.Stored, b.All, keep/2+1, most, 4*each)
			}
			checkCounts(t, url)
		})
	}
}

// TestBodiesSince tests that the limit does not apply to reports that arrived before it was set, and that
// bodies are still counted when it is no longer set.
func TestBodiesSince(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	of := *bucketIDOf(sent(t, 0, "", nil))
	before := dbtest.Open(t, url)
	for n := range 5 {
		save(t, before, sent(t, n-10, "one machine", nil))
	}
	if b := dbtest.Must(before.Bodies(t.Context(), of))(t); b != (crash.Bodies{}) {
		t.Errorf("got %+v before the limit is set, want nothing", b)
	}
	s := limited(t, url, 2)
	save(t, s, sent(t, -1, "one machine", nil))
	for n := range 5 {
		save(t, s, sent(t, n, "one machine", nil))
	}
	dbtest.Counted(t, s)
	if b := dbtest.Must(s.Bodies(t.Context(), of))(t); b.Stored != 2 || b.All != 5 || !b.Since.Equal(today) {
		t.Errorf("got %+v, want 2 of 5 since %v", b, today)
	}
	save(t, before, sent(t, 10, "one machine", nil))
	if b := dbtest.Must(s.Bodies(t.Context(), of))(t); b.Stored != 3 || b.All != 6 {
		t.Errorf("got %+v, want 3 of 6", b)
	}
	checkCounts(t, url)
}

// TestKeepBody tests that the body of a report can be stored after the report, before and after it is counted.
func TestKeepBody(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := limited(t, url, 2)
	var rec crash.Record
	for n := range 5 {
		rec = sent(t, n, "one machine", nil)
		save(t, s, rec)
	}
	of := *bucketIDOf(rec)
	wantBodies(t, url, s, of, 2, 5)
	for range 2 {
		checktest.NoError(t, s.KeepBody(t.Context(), rec.ID, rec.Fields, rec.Quality))
	}
	wantBodies(t, url, s, of, 3, 5)
	best := dbtest.Must(s.RepresentativeReport(t.Context(), of))(t)
	if best.ID != rec.ID || best.Fields["Traceback"] == "" {
		t.Errorf("got %s as the representative report, want %s", best.ID, rec.ID)
	}
	checktest.NoError(t, s.KeepBody(t.Context(), crash.NewOopsID(today), rec.Fields, rec.Quality)) // was erased
	checkCounts(t, url)
}

// TestRegroupWithoutBodies tests that reports without a body follow those of the same version.
func TestRegroupWithoutBodies(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := limited(t, url, 2)
	for n := range 30 {
		version := "1." + strconv.Itoa(n%3)
		save(t, s, sent(t, n, "one machine", crash.Fields{"Package": "harbor " + version,
			"Fault": version, "Stay": map[string]string{"1.0": "yes"}[version]}))
	}
	old := *bucketIDOf(sent(t, 0, "", nil))
	wantBodies(t, url, s, old, 3, 30)
	signature := sent(t, 0, "", nil).Grouping.Signature
	rules := crash.GroupingRules{Version: 1000, Group: func(f crash.Fields) crash.Grouping {
		switch f["Fault"] {
		case "1.0":
			return crash.Grouping{Signature: signature, Rule: crash.RuleTraceback}
		case "1.1":
			return crash.Grouping{Signature: "new " + f["Fault"], Rule: crash.RuleTraceback}
		}
		return crash.Grouping{Reason: "There is no fault."}
	}}
	d := db.NewDecisions(s)
	for _, dry := range []bool{true, false} {
		run := dbtest.Must(d.StartRegroup(t.Context(), rules.Version, dry, "ada"))(t)
		for run.State == crash.RegroupRunning {
			run = dbtest.Must(d.StepRegroup(t.Context(), run.ID, rules))(t)
		}
		checktest.Equal(t, "moved", run.Moved, 20)
	}
	wantBodies(t, url, s, old, 1, 10)
	wantBodies(t, url, s, crash.BucketIDOf("new 1.1"), 1, 10)
	checktest.Equal(t, "rows of the runs", countRows(t, url, `select count(*) from regroup_followed`), 0)
	checkCounts(t, url)
}

// TestEraseWithoutBodies tests that an erasure forgets the keys of reports without a body, also of one without
// a date.
func TestEraseWithoutBodies(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := limited(t, url, 2)
	var all []crash.Record
	for n := range 8 {
		changes := crash.Fields{}
		if n%2 == 1 {
			changes["Date"] = ""
		}
		all = append(all, sent(t, n, "one machine", changes))
		save(t, s, all[n])
	}
	wantBodies(t, url, s, *bucketIDOf(all[0]), 2, 8)
	erasure := crash.Erasure{System: all[0].System, Until: today.Add(time.Hour)}
	dbtest.Exec(t, url, `insert into erasures (digest, system, blocked, person, via, requested, until)
		values (sha256('x'), $1, false, '', '', now(), $2)`, string(erasure.System), erasure.Until)
	erasure.ID = 1
	dbtest.Exec(t, url, `insert into erasure_key (key) values (sha256('k')) on conflict do nothing`)
	if n, left, err := db.NewDecisions(s).EraseReports(t.Context(), erasure, 100); n != 8 || left || err != nil {
		t.Errorf("got %d erased, left %v, %v; want 8", n, left, err)
	}
	checktest.Equal(t, "keys", countRows(t, url, `select count(*) from report_keys`), 0)
	checktest.Equal(t, "bodies", countRows(t, url, `select count(*) from bucket_bodies`), 0)
	for _, rec := range all {
		rec.ID = crash.NewOopsID(today.Add(time.Minute))
		if _, _, err := s.SaveReport(t.Context(), rec); crash.KindOf(err) != crash.Invalid {
			t.Errorf("sent again: got %v, want it refused", err)
		}
	}
	checkCounts(t, url)
}

// TestRepairBodies damages the numbers of bodies, repairs them, and checks that the limit still holds.
func TestRepairBodies(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := limited(t, url, 2)
	for n := range 12 {
		save(t, s, sent(t, n, "one machine", crash.Fields{"Package": fmt.Sprintf("harbor 1.%d-1", n%2),
			"DuplicateSignature": fmt.Sprint("problem ", n%4)}))
	}
	dbtest.Counted(t, s)
	if n, err := s.RepairBodies(t.Context()); n != 0 || err != nil {
		t.Errorf("got %d wrong, %v; want none", n, err)
	}
	rows := `select encode(bucket_id, 'hex') || month, concat_ws('|', reports, kept, slots, combinations)
		from bucket_bodies`
	before := dbtest.Lines(t, url, rows)
	damage := []string{
		`update bucket_bodies set reports = reports + 1 where bucket_id = $1`,
		`update bucket_bodies set kept = kept - 1 where bucket_id = $1`,
		`update bucket_bodies set bucket_id = '\x00' || substr(bucket_id, 2) where bucket_id = $1`,
	}
	for i, sql := range damage {
		id := crash.BucketIDOf(fmt.Sprint("problem ", i))
		dbtest.Exec(t, url, sql, id[:])
	}
	if found := checkStore(t, s, crash.CheckScope{Most: 5}).Found; found != 6 { // a moved row has two numbers, twice
		t.Errorf("got %d differences, want 6", found)
	}
	if n, err := s.RepairBodies(t.Context()); n != 4 || err != nil {
		t.Errorf("got %d wrong, %v; want 4", n, err)
	}
	checkCounts(t, url)
	after := dbtest.Lines(t, url, rows)
	for i := range 2 { // the third has lost what its row knew
		key := crash.BucketIDOf(fmt.Sprint("problem ", i)).String() + today.Format("2006-01") + "-01"
		if after[key] != before[key] || before[key] == "" {
			t.Errorf("problem %d: got %q, want %q as before", i, after[key], before[key])
		}
	}
	next := sent(t, 100, "one machine", crash.Fields{"Package": "harbor 1.0-1", "DuplicateSignature": "problem 0"})
	if save(t, s, next); isFull(t, s, next.ID) {
		t.Errorf("got the next report in full")
	}
	checkCounts(t, url)
}

// TestRetentionOfBodies tests that the counts of bodies go with the reports, by month, type and week.
func TestRetentionOfBodies(t *testing.T) {
	t.Parallel()
	for _, by := range []db.PartitionsBy{db.PartitionsByMonth, db.PartitionsByWeek} {
		url := dbtest.URL(t)
		s := dbtest.OpenConfig(t, db.Config{URL: url, KeepBodies: 2, Now: func() time.Time { return today }, Partitions: by})
		dbtest.Exec(t, url, `update counting set bodies_since = $1`, today.AddDate(0, -5, 0))
		in := intake.New(intake.Config{MaxAgeDays: 366}, nil)
		for month := range 3 {
			for n := range 10 {
				rec := sent(t, n, "one machine", nil)
				rec.ID = crash.NewOopsID(today.AddDate(0, -month, -n))
				rec = dbtest.Must(in.Examine(rec.Report))(t)
				save(t, s, rec)
			}
		}
		checkCountsOf(t, url, s)
		dbtest.Must(s.DropReports(t.Context(), today.AddDate(0, -1, -12)))(t)
		for _, d := range checkStore(t, s, crash.CheckScope{Most: 3}).Differences {
			t.Errorf("%s: %s of %s: kept %q, recounted %q", by, d.Count, d.Of, d.Stored, d.Recounted)
		}
	}
}
