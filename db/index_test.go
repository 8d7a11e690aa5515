package db_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

// The index equals the tables, whether it is loaded at once or updated step by step.
func TestIndexFollows(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	in := intake.New(intake.Config{MaxAgeDays: 366, Now: func() time.Time { return now }}, s)
	followed, err := s.Index(t.Context())
	if err != nil || followed.Len() != 0 {
		t.Fatalf("got %d problems and %v, want none", followed.Len(), err)
	}
	r := rand.New(rand.NewPCG(1, 0))
	n := 0
	for report := range crashtest.Fleet(3, 400, now) {
		dbtest.Must(in.Accept(t.Context(), report))(t)
		if n++; n%97 == 0 {
			dbtest.Must(s.Index(t.Context()))(t)
		}
	}
	dbtest.Counted(t, s)
	if followed, err = s.Index(t.Context()); err != nil {
		t.Fatal(err)
	}
	loaded := dbtest.Must(dbtest.Open(t, url).Index(t.Context()))(t)
	if loaded.Len() != followed.Len() || loaded.Len() < 40 {
		t.Errorf("got %d problems loaded and %d followed, want the same, some dozens", loaded.Len(), followed.Len())
	}
	releases := append(loaded.Types(), "")
	for range 200 {
		until := now.AddDate(0, 0, -r.IntN(30))
		since := until.AddDate(0, 0, -r.IntN(60))
		f := index.Filter{Since: index.DayOf(since), Until: index.DayOf(until), Type: releases[r.IntN(len(releases))]}
		if r.IntN(2) == 0 {
			f.Release = "Ubuntu 24.04"
		}
		if r.IntN(3) == 0 {
			f.Package = "reef"
		}
		checkIndex(t, s, f, since, until, loaded, followed)
	}
}

// checkIndex compares lists of several indexes with each other and with the results of SQL.
func checkIndex(t *testing.T, s *db.Store, f index.Filter, since, until time.Time, indexes ...*index.Index) {
	t.Helper()
	var want []string
	if f.Type == "" {
		problems := dbtest.Must(problems.New(s).CommonProblems(t.Context(), f, true, true, 1000))(t)
		slices.SortStableFunc(problems, func(a, b crash.Problem) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), slices.Compare(a.ID[:], b.ID[:]))
		})
		for _, p := range problems {
			want = append(want, fmt.Sprint(p.Count, p.ID))
		}
	}
	for i, b := range indexes {
		rows, totals := b.All(f, nil)
		var got []string
		var sum int64
		for _, row := range rows {
			got = append(got, fmt.Sprint(row.Count, row.ID))
			sum += row.Count
		}
		if totals.Reports != sum || totals.Problems != int64(len(rows)) {
			t.Errorf("%+v: got totals %+v, want %d reports of %d problems", f, totals, sum, len(rows))
		}
		if f.Type != "" && i == 0 {
			want = got
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%+v, index %d:\n got %v\nwant %v", f, i, got, want)
		}
	}
}

// The index follows merges and their undoing.
func TestIndexMerges(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	system := crash.SystemID("m")
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	in := intake.New(intake.Config{MaxAgeDays: 366, Now: func() time.Time { return now }}, s)
	save := func(report crashtest.Report) crash.BucketID {
		dbtest.Must(in.Accept(t.Context(), crash.Report{System: system, Fields: report.Fields()}))(t)
		dbtest.Counted(t, s)
		return crash.BucketIDOf(grouping.SignatureOf(report.Fields()).Signature)
	}
	one, two := save(crashtest.Native()), save(crashtest.Python())
	f := index.Filter{Since: index.DayOf(now.AddDate(0, 0, -30)), Until: index.DayOf(now)}
	want := func(problems int, counts ...int64) {
		t.Helper()
		b := dbtest.Must(s.Index(t.Context()))(t)
		rows, _ := b.All(f, nil)
		var got []int64
		for _, row := range rows {
			got = append(got, row.Count)
		}
		if len(rows) != problems || fmt.Sprint(got) != fmt.Sprint(counts) || b.Len() != problems {
			t.Errorf("got %v of %d, want %v of %d", got, b.Len(), counts, problems)
		}
	}
	want(2, 1, 1)
	dbtest.Must(db.NewDecisions(s).Merge(t.Context(), one, []crash.BucketID{two}, "ada", "the same"))(t)
	decisions, err := db.NewDecisions(s).Decisions(t.Context(), one, 1)
	if err != nil || len(decisions) != 1 {
		t.Fatalf("got %d decisions and %v, want one", len(decisions), err)
	}
	want(1, 2)
	b, _ := s.Index(t.Context())
	if p, ok := b.Problem(two); !ok || p.ID != one || p.Reports != 2 || p.Systems != 1 {
		t.Errorf("got %+v, want the problem that it was merged into, with one machine", p)
	}
	save(crashtest.Python(crashtest.Process(7)))
	want(1, 3)
	system = "another"
	save(crashtest.Python(crashtest.Process(8)))
	want(1, 4)
	counted, err := s.Bucket(t.Context(), two)
	loaded, errLoaded := dbtest.Open(t, url).Index(t.Context())
	checktest.NoError(t, errors.Join(err, errLoaded))
	for name, ix := range map[string]*index.Index{"updated": b, "loaded": loaded} {
		if p, ok := ix.Problem(one); !ok || p.Systems != 2 || counted.Systems != 2 {
			t.Errorf("got %d machines in the %s index and %d on the page, want 2", p.Systems, name, counted.Systems)
		}
	}
	dbtest.Must(db.NewDecisions(s).Undo(t.Context(), decisions[0].ID, "ada"))(t)
	want(2, 3, 1)
	for id, systems := range map[crash.BucketID]int64{one: 1, two: 2} {
		if p, ok := b.Problem(id); !ok || p.Systems != systems {
			t.Errorf("got %d machines after the merge was undone, want %d", p.Systems, systems)
		}
	}
}

// A lower round number means that an older copy of the database was restored, so the index is
// loaded again.
func TestIndexOfAnOlderCopy(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	in := intake.New(intake.Config{MaxAgeDays: 366, Now: func() time.Time { return now }}, s)
	for n := range 3 {
		dbtest.Must(in.Accept(t.Context(),
			crash.Report{System: "m", Fields: crashtest.Native(crashtest.Process(n + 1)).Fields()}))(t)
	}
	dbtest.Counted(t, s)
	f := index.Filter{Since: index.DayOf(now.AddDate(0, 0, -30)), Until: index.DayOf(now)}
	for _, want := range []int64{3, 1} {
		b := dbtest.Must(s.Index(t.Context()))(t)
		if rows, _ := b.All(f, nil); len(rows) != 1 || rows[0].Count != want {
			t.Errorf("got %+v, want %d reports of one problem", rows, want)
		}
		dbtest.Exec(t, url, "update bucket_days set reports = 1, changed = 1")
		dbtest.Exec(t, url, "update counting set round = 1")
	}
}

// TestStatesFollow changes counts, links, bugs and merges at random. It checks that the state of
// every problem in the index, which is updated step by step, equals that on its page, and that of a
// new store.
func TestStatesFollow(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	r := rand.New(rand.NewPCG(1, 2))
	now := time.Now().UTC()
	releases := []string{"Ubuntu 24.04", "Ubuntu 26.04", "Debian sid"}
	words := map[crash.StateWord]int{}
	save(t, s, record(t, now, "first", crash.Fields{"DuplicateSignature": "problem 0"}))
	for step := range 30 {
		for range r.IntN(6) {
			n, age, version := r.IntN(10), r.IntN(40), r.IntN(5)
			if n%2 == 0 { // neither this week nor in the newest version
				age, version = 8+r.IntN(30), r.IntN(3)
			}
			at := now.AddDate(0, 0, -age)
			save(t, s, record(t, at, fmt.Sprint("machine", r.IntN(50)), crash.Fields{
				"DuplicateSignature": fmt.Sprint("problem ", n), "DistroRelease": releases[r.IntN(1+n%3)],
				"Package":       fmt.Sprintf("tidewatch 1.%d-1", version),
				"SourcePackage": "tidewatch", "Date": at.Format(time.ANSIC),
			}))
		}
		if r.IntN(4) == 0 { // versions that have long been in use
			dbtest.Exec(t, url, `
				update package_versions set arrived = arrived - interval '9 days', first_day = first_day - 9;
				update counting set round = round + 1, versions_changed = round + 1`)
		}
		number := 1 + r.Int64N(5)
		_, err := bugs.New(s).LinkBug(t.Context(), crash.BucketIDOf(fmt.Sprint("problem ", r.IntN(6))),
			crash.Bug{Number: number, URL: "u", By: "ada"})
		if err != nil && crash.KindOf(err) != crash.NotFound {
			t.Fatal(err)
		}
		status := []string{"New", "Fix Released", "Won't Fix"}[r.IntN(3)]
		err = bugs.New(s).SaveBugReading(t.Context(), crash.BugReading{
			Number: number, Tasks: []crash.BugTask{{Target: "/ubuntu/+source/tidewatch", Status: status,
				Complete: status != "New", Closed: now.AddDate(0, 0, -r.IntN(20))}},
			Fixes: []crash.BugFix{{Package: "tidewatch", Version: fmt.Sprintf("1.%d-1", r.IntN(6)),
				Series: []string{"", "noble", "resolute"}[r.IntN(3)]}},
		}, "", time.Hour)
		if err != nil && crash.KindOf(err) != crash.NotFound {
			t.Fatal(err)
		}
		b := dbtest.Must(s.IndexWithStates(t.Context()))(t)
		wantJudged(t, s, b, step)
		for _, p := range b.Select(func(*index.Problem) bool { return true }) {
			words[p.State]++
		}
	}
	fresh := dbtest.Open(t, url)
	all := dbtest.Must(fresh.IndexWithStates(t.Context()))(t)
	b := dbtest.Must(s.IndexWithStates(t.Context()))(t)
	for _, p := range all.Select(func(*index.Problem) bool { return true }) {
		if other, ok := b.Problem(p.ID); !ok || other.State != p.State || other.Bug != p.Bug {
			t.Errorf("%s: got %s, bug %d, step by step; want %s, bug %d", p.Signature, other.State, other.Bug, p.State, p.Bug)
		}
	}
	if len(words) < 5 {
		t.Errorf("got the words %v, want more kinds of them", words)
	}
}

// wantJudged checks that the index has the same state of each problem as its page.
func wantJudged(t *testing.T, s *db.Store, b *index.Index, step int) {
	t.Helper()
	for _, p := range b.Select(func(*index.Problem) bool { return true }) {
		bucket := dbtest.Must(s.Bucket(t.Context(), p.ID))(t)
		checktest.NoError(t, s.Judge(t.Context(), &bucket))
		if got := s.StatusOf(p); bucket.Status.Word != p.State || bucket.Bug.Number != p.Bug ||
			got.Text() != bucket.Status.Text() {
			t.Fatalf("step %d: %s: the index says %s, bug %d, and %q; the page %s, bug %d, and %q", step, p.Signature,
				p.State, p.Bug, got.Text(), bucket.Status.Word, bucket.Bug.Number, bucket.Status.Text())
		}
	}
}

// TestListsWhileJudging blocks the judging of problems with a lock on a table. It checks that only
// callers who need the result wait. Lists show what is counted meanwhile and, on a new day, the
// states of the day before.
func TestListsWhileJudging(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	var later atomic.Int64
	now := time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)
	s := dbtest.Must(db.Open(t.Context(), db.Config{URL: url, Log: dbtest.Log(t),
		Now: func() time.Time { return now.Add(time.Duration(later.Load())) }}))(t)
	t.Cleanup(s.Close)
	other := dbtest.Open(t, url) // counts reports
	add := func(machine string) {
		t.Helper()
		save(t, other, record(t, now.AddDate(0, 0, -6), machine, crash.Fields{"DuplicateSignature": "one",
			"DistroRelease": "Ubuntu 24.04"}))
		dbtest.Counted(t, other)
	}
	id := crash.BucketIDOf("one")
	problem := func(read func() (*index.Index, error)) (p index.Problem) {
		t.Helper()
		b := dbtest.Must(read())(t)
		if found, ok := b.Problem(id); ok {
			p = *found
		}
		return p
	}
	loaded := func() (*index.Index, error) { return s.Index(t.Context()) }
	withStates := func() (*index.Index, error) { return s.IndexWithStates(t.Context()) }
	stop := func() (goOn func()) {
		t.Helper()
		tx := begin(t, url)
		dbtest.Must(tx.Exec(t.Context(), `lock table bucket_bugs in access exclusive mode`))(t)
		return func() { commit(t, tx) }
	}

	add("a")
	goOn := stop()
	judged := make(chan crash.StateWord, 1)
	go func() {
		b, err := s.IndexWithStates(t.Context())
		if err != nil {
			t.Error(err)
			judged <- ""
			return
		}
		p, _ := b.Problem(id)
		judged <- p.State
	}()
	waitForLock(t, url)
	if p := problem(loaded); p.Reports != 1 || p.State != "" {
		t.Errorf("first use: got %d reports, state %q, want 1 without a state", p.Reports, p.State)
	}
	add("b")
	if p := problem(loaded); p.Reports != 2 {
		t.Errorf("counted while problems are judged: got %d reports, want 2", p.Reports)
	}
	select {
	case state := <-judged:
		t.Fatalf("got the state %q while its table was locked", state)
	default:
	}
	goOn()
	if state := <-judged; state != crash.StateNew {
		t.Errorf("first use: got state %q, want %q", state, crash.StateNew)
	}

	goOn = stop()
	later.Store(int64(24 * time.Hour))
	for range 2 {
		if p := problem(withStates); p.State != crash.StateNew {
			t.Errorf("new day: got state %q, want yesterday's %q", p.State, crash.StateNew)
		}
	}
	waitForLock(t, url)
	add("c")
	if p := problem(withStates); p.Reports != 3 || p.State != crash.StateNew {
		t.Errorf("new day: got %d reports, state %q, want 3 with yesterday's %q", p.Reports, p.State, crash.StateNew)
	}
	goOn()
	for problem(withStates).State == crash.StateNew {
		if t.Context().Err() != nil {
			t.Fatal("new day: got yesterday's state for good")
		}
	}
}

// waitForLock waits until a statement waits for a lock on bucket_bugs.
func waitForLock(t *testing.T, url string) {
	t.Helper()
	conn := dbtest.Connect(t, url)
	for waiting := false; !waiting; {
		checktest.NoError(t, conn.QueryRow(t.Context(),
			`select exists (select from pg_locks where not granted and relation = 'bucket_bugs'::regclass)`).Scan(&waiting))
	}
}

// crashed stores a native crash of machine m at some addresses, with function names unless names is
// empty. It returns the bucket of its own signature.
func crashed(t *testing.T, s *db.Store, m int, place, names string, changes crash.Fields) crash.BucketID {
	t.Helper()
	address := "/usr/bin/tide:11:/usr/bin/tide+" + place
	fields := crash.Fields{"StacktraceAddressSignature": address, "ProcStatus": fmt.Sprint("Pid:\t", m, place, names)}
	for name, value := range changes {
		fields[name] = value
	}
	rec := record(t, today, fmt.Sprint("machine ", m), fields)
	rec.Grouping = crash.Grouping{Signature: address, Rule: crash.RuleAddress, Provisional: true}
	if names != "" {
		rec.Grouping = crash.Grouping{Signature: "/usr/bin/tide:11:" + names, Rule: crash.RuleStacktrace}
	}
	save(t, s, rec)
	dbtest.Counted(t, s)
	return crash.BucketIDOf(rec.Grouping.Signature)
}

func TestSymbolised(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s, other := dbtest.Open(t, url), dbtest.Open(t, url)

	// When a name becomes known, the provisional problem is merged into the one with names.
	waiting := crashed(t, s, 1, "aa", "", nil)
	crashed(t, other, 2, "aa", "", nil)
	if b := bucket(t, s, waiting); b.ID != waiting || !b.Provisional || b.Reports != 2 {
		t.Fatalf("before: got %s, provisional %v, %d reports, want a provisional one of 2", b.ID, b.Provisional, b.Reports)
	}
	named := crashed(t, other, 3, "aa", "parse:load", nil)
	b := bucket(t, s, waiting)
	if b.ID != named || b.Provisional || b.Reports != 3 || b.Systems != 3 {
		t.Errorf("symbolised: got %s, provisional %v, %d reports of %d machines, want %s with 3 of 3", b.ID, b.Provisional,
			b.Reports, b.Systems, named)
	}
	history := decisions(t, s, named)
	if len(history) != 1 || history[0].Cause != crash.CauseSymbolised || history[0].Bucket != waiting ||
		history[0].Person != "" {
		t.Errorf("history: got %+v, want that it was symbolised", history)
	}

	// Later crashes without names join it at once. Test machines do not make names known.
	crashed(t, s, 4, "aa", "", nil)
	if b := bucket(t, s, named); b.Reports != 4 {
		t.Errorf("without names later: got %d reports, want 4", b.Reports)
	}
	second := crashed(t, s, 5, "bb", "parse:load", nil)
	first := crashed(t, s, 6, "bb", "", nil)
	if b := bucket(t, s, first); second != named || b.ID != named || b.Members != 3 {
		t.Errorf("another place with the same names: got %s with %d members, want %s with 3", b.ID, b.Members, named)
	}

	// Of two names, the first one stays.
	better := crashed(t, s, 7, "aa", "parse:load:main", nil)
	if b := bucket(t, s, waiting); b.ID != named || better == named {
		t.Errorf("two names: got %s, want the first, %s", b.ID, named)
	}
	checkCounts(t, url)

	// A merge that a person has undone is not repeated.
	undo(t, s, history[0])
	crashed(t, other, 8, "aa", "", nil)
	crashed(t, dbtest.Open(t, url), 9, "aa", "parse:load", nil)
	if b := bucket(t, s, waiting); b.ID != waiting || b.Reports != 4 {
		t.Errorf("undone: got %s with %d reports, want the provisional one with 4", b.ID, b.Reports)
	}
	checkCounts(t, url)
}

func TestTestMachinesTeachNoNames(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	rec := record(t, today, "deadbeef1", crash.Fields{"StacktraceAddressSignature": "/usr/bin/tide:11:/usr/bin/tide+cc"})
	rec.Grouping = crash.Grouping{Signature: "/usr/bin/tide:11:f:g", Rule: crash.RuleStacktrace}
	save(t, s, rec)
	waiting := crashed(t, s, 1, "cc", "", nil)
	if b := bucket(t, s, waiting); b.ID != waiting {
		t.Errorf("got %s, want it to wait for a name", b.ID)
	}
}
