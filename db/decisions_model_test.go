package db_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/grouping"
	"mishap/db"
	"mishap/db/dbtest"
)

// fakeRules groups reports by a number in the field Fault. Each version groups more coarsely or
// more finely than the one before, so that regrouping merges and splits buckets.
func fakeRules(version int) crash.GroupingRules {
	return crash.GroupingRules{Version: version,
		Group: func(f crash.Fields) crash.Grouping { return fakeGroup(version, f) }}
}

func fakeGroup(version int, f crash.Fields) crash.Grouping {
	var fault int
	if _, err := fmt.Sscan(f["Fault"], &fault); err != nil {
		return crash.Grouping{Reason: "There is no fault."}
	}
	if fault == 0 && version%3 == 1 {
		return crash.Grouping{Reason: "This version of the rules makes nothing of it."}
	}
	if f["Nameless"] != "" {
		return crash.Grouping{Signature: f["StacktraceAddressSignature"], Rule: crash.RuleAddress, Provisional: true}
	}
	return crash.Grouping{Signature: fmt.Sprintf("/usr/bin/tide:11:v%d:f%d", version%2, fault/(1+version%3)),
		Rule: crash.RuleStacktrace}
}

// fleet makes reports, and stores which rules group them.
type fleet struct {
	r     *rand.Rand
	n     int
	rules int
}

func (f *fleet) record(t *testing.T) crash.Record {
	t.Helper()
	f.n++
	at := today.Add(-time.Duration(f.r.IntN(40*24)) * time.Hour).Add(time.Duration(f.n) * time.Millisecond)
	fault := f.r.IntN(6)
	changes := crash.Fields{
		"Fault": fmt.Sprint(fault), "ProcStatus": fmt.Sprint("Pid:\t", f.n),
		"Package": []string{"tide", "tide-bin"}[f.r.IntN(2)] + " " + []string{"1.0-1", "1.0-2", "1:0.9",
			"odd_one"}[f.r.IntN(4)],
		"DistroRelease": []string{"Ubuntu 24.04", "Ubuntu 22.04", "Debian 13"}[f.r.IntN(3)],
		"Architecture":  []string{"amd64", "arm64"}[f.r.IntN(2)],
		// These do not use f.r, so that the sequence of its random values stays the same.
		"PackageArchitecture":        []string{"amd64", "all", "i386", "unknown"}[f.n%4],
		"StacktraceAddressSignature": fmt.Sprintf("/usr/bin/tide:11:/usr/bin/tide+%d", fault),
		"Stacktrace":                 fmt.Sprintf("#0  0x01 in frame_%d () from /lib/a.so\n#1  0x02 in main ()", f.r.IntN(3)),
		"Tags":                       []string{"", "package-from-proposed"}[f.r.IntN(2)],
	}
	if f.r.IntN(5) == 0 {
		changes["Nameless"] = "yes"
	}
	system := []string{"a", "b", "c", "", "deadbeef"}[f.r.IntN(5)]
	rec := record(t, at, system, changes)
	rec.Grouping = fakeGroup(f.rules, rec.Fields)
	return rec
}

// desk makes decisions at random, through one of two stores.
type desk struct {
	*fleet
	stores []*db.Store
	url    string
}

func (d *desk) store() *db.Store { return d.stores[d.r.IntN(len(d.stores))] }

// anyBucket returns a random bucket, which may be a head or not.
func (d *desk) anyBucket(t *testing.T) crash.BucketID {
	ids := dbtest.Lines(t, d.url, `select encode(id, 'hex'), '' from buckets`)
	var all []string
	for id := range ids {
		all = append(all, id)
	}
	slices.Sort(all)
	return dbtest.Must(crash.ParseBucketID(all[d.r.IntN(len(all))]))(t)
}

func (d *desk) condition(t *testing.T) crash.Condition {
	switch d.r.IntN(4) {
	case 0:
		return crash.Condition{Terms: []crash.Term{{Field: crash.TermArchitecture, Value: "arm64"}}}
	case 1:
		return crash.Condition{Terms: []crash.Term{{Field: crash.TermFrom, Value: "1.0-2"},
			{Field: crash.TermRelease, Value: "Ubuntu 24.04"}}}
	case 2:
		return crash.Condition{Terms: []crash.Term{{Field: crash.TermFrame, Value: "frame_1"}}}
	}
	var c crash.Condition
	for id := range dbtest.Lines(t, d.url, `select id::text, '' from reports`) {
		if len(c.Reports) < 3 {
			oops := dbtest.Must(crash.ParseOopsID(id))(t)
			c.Reports = append(c.Reports, oops)
		}
	}
	return c
}

// standing returns the decisions that are not undone, latest first.
func (d *desk) standing(t *testing.T) []int64 {
	var ids []int64
	for id := range dbtest.Lines(t, d.url, `select id::text, '' from decisions where undone_at is null`) {
		var n int64
		_, _ = fmt.Sscan(id, &n)
		ids = append(ids, n)
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	return ids
}

// expected reports whether an error is a correct answer to an impossible decision.
func expected(err error) bool {
	return err == nil || errors.Is(err, crash.Conflict) || errors.Is(err, crash.NotFound)
}

// step makes one random decision, and returns its name.
func (d *desk) step(t *testing.T) string {
	t.Helper()
	ctx, s := t.Context(), d.store()
	var did string
	var err error
	switch what := d.r.IntN(12); {
	case what < 4:
		n := 1 + d.r.IntN(12)
		did = fmt.Sprintf("save %d", n)
		var saving sync.WaitGroup
		for range n {
			rec, to := d.record(t), d.store()
			saving.Go(func() {
				if _, _, err := to.SaveReport(ctx, rec); err != nil {
					t.Errorf("save: %v", err)
				}
			})
		}
		saving.Wait()
	case what < 6:
		did = "merge"
		_, err = db.NewDecisions(s).Merge(ctx, d.anyBucket(t), []crash.BucketID{d.anyBucket(t), d.anyBucket(t)}, "ada",
			"they are one")
	case what < 7:
		did = "rename"
		err = db.NewDecisions(s).Rename(ctx, d.anyBucket(t), fmt.Sprint("Name ", d.r.IntN(3)), "ada", "")
	case what < 9:
		did = "split"
		var decision crash.Decision
		if decision, err = db.NewDecisions(s).Split(ctx, d.anyBucket(t), d.condition(t), "ada", ""); err == nil &&
			d.r.IntN(2) == 0 {
			err = db.NewDecisions(s).FinishSplit(ctx, decision.ID) // otherwise it continues later
		}
	case what < 11:
		did = "undo"
		if ids := d.standing(t); len(ids) > 0 {
			_, err = db.NewDecisions(s).Undo(ctx, ids[d.r.IntN(len(ids))], "bob")
		}
	default:
		did = "regroup"
		err = d.regroup(t)
	}
	if !expected(err) {
		t.Fatalf("%s: %v", did, err)
	}
	return did
}

// regroup applies the next version of the rules after a dry run. It repeats some steps, as after
// the death of an instance.
func (d *desk) regroup(t *testing.T) error {
	t.Helper()
	ctx := t.Context()
	d.rules++
	rules := fakeRules(d.rules)
	for _, dry := range []bool{true, false} {
		run, err := db.NewDecisions(d.store()).StartRegroup(ctx, rules.Version, dry, "ada")
		if err != nil {
			return err
		}
		for _, s := range d.stores { // the latest reports may still be queued
			if err := s.WaitCounted(ctx); err != nil {
				return err
			}
		}
		before := storedCounts(t, d.url)
		for run.State == crash.RegroupRunning {
			if run, err = db.NewDecisions(d.store()).StepRegroup(ctx, run.ID, rules); err != nil {
				return err
			}
		}
		if after := storedCounts(t, d.url); dry && fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("a dry run changed counts")
		}
	}
	return nil
}

func (d *desk) finish(ctx context.Context, t *testing.T) {
	t.Helper()
	ids := dbtest.Must(db.NewDecisions(d.store()).UnfinishedSplits(ctx))(t)
	for _, id := range ids {
		if err := db.NewDecisions(d.store()).FinishSplit(ctx, id); err != nil {
			t.Fatalf("finish split %d: %v", id, err)
		}
	}
}

// checkHeads checks that heads agree with the merges, and that there is no cycle.
func (d *desk) checkHeads(t *testing.T) {
	t.Helper()
	parents := dbtest.Lines(t, d.url,
		`select encode(bucket_id, 'hex'), encode(other_id, 'hex') from decisions
		where kind = 'merged' and undone_at is null`)
	for id, head := range dbtest.Lines(t, d.url, `select encode(id, 'hex'), encode(head, 'hex') from buckets`) {
		root := id
		for steps := 0; parents[root] != ""; steps++ {
			if root = parents[root]; steps > len(parents) {
				t.Fatalf("%s is in a circle of merges", id)
			}
		}
		if head != root {
			t.Errorf("head of %s: got %s, want %s", id, head, root)
		}
	}
}

// checkPlaces checks that no report is in the wrong bucket after a finished split.
func (d *desk) checkPlaces(t *testing.T) {
	t.Helper()
	for key := range dbtest.Lines(t, d.url, `
		select r.id || ' ' || d.id, '' from reports as r join split_sources as s on s.bucket_id = r.bucket_id
			join decisions as d on d.id = s.decision_id
		where d.undone_at is null and d.finished and d.condition -> 'terms' -> 0 ->> 'field' = 'architecture'
			and r.architecture = 'arm64'`) {
		t.Errorf("report and split %s: it was not taken out", key)
	}
}

// TestDecisions makes random decisions through two stores at once, checks all counts by counting
// again, and finally undoes all decisions. Every second time, most reports are stored without their text.
func TestDecisions(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	for i := range uint64(checktest.Rounds(2, 80)) {
		seed, keep := i/2, int(i%2*2)
		t.Run(fmt.Sprint("seed ", seed, " keep ", keep), func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t)
			config := db.Config{URL: url, KeepBodies: keep}
			if keep > 0 {
				dbtest.Exec(t, url, `update counting set bodies_since = $1`, today.AddDate(0, -2, 0))
			}
			d := &desk{
				fleet:  &fleet{r: rand.New(rand.NewPCG(seed, 4)), rules: grouping.RulesVersion + 1},
				stores: []*db.Store{dbtest.OpenConfig(t, config), dbtest.OpenConfig(t, config)}, url: url,
			}
			for range 10 {
				store(t, d.store(), d.record(t))
			}
			var done []string
			for i := range 40 {
				done = append(done, d.step(t))
				if i%8 == 7 || t.Failed() {
					d.check(t)
				}
				if t.Failed() {
					t.Fatalf("seed %d: %v", seed, done)
				}
			}
			d.undoAll(t)
		})
	}
}

func (d *desk) check(t *testing.T) {
	t.Helper()
	for range 2 {
		checkCountsOf(t, d.url, d.store())
		d.finish(t.Context(), t)
	}
	d.checkHeads(t)
	d.checkPlaces(t)
}

// undoAll undoes decisions until none is left. Afterwards every report is in the bucket of its own
// signature.
func (d *desk) undoAll(t *testing.T) {
	t.Helper()
	for round := 0; ; round++ {
		ids := d.standing(t)
		if len(ids) == 0 {
			break
		}
		undone := 0
		for _, id := range ids {
			if _, err := db.NewDecisions(d.store()).Undo(t.Context(), id, "bob"); err == nil {
				undone++
			} else if !errors.Is(err, crash.Conflict) {
				t.Fatalf("undo %d: %v", id, err)
			}
			d.finish(t.Context(), t)
		}
		if undone == 0 || round > 20 {
			t.Fatalf("%d decisions cannot be undone: %v", len(ids), ids)
		}
	}
	d.check(t)
	if err := d.regroup(t); err != nil { // now the same rules have grouped all reports
		t.Fatal(err)
	}
	d.check(t)
	places := map[string]string{}
	for id, bucket := range dbtest.Lines(t, d.url,
		`select id::text, coalesce(encode(bucket_id, 'hex'), '') from reports`) {
		places[id] = bucket
	}
	typed := 0
	defer func() {
		if limited := d.stores[0].Limited(); limited != (typed > 0) {
			t.Errorf("got %d reports without their text, want some: %v", typed, limited)
		}
	}()
	for id, got := range places {
		oops := dbtest.Must(crash.ParseOopsID(id))(t)
		r := dbtest.Must(d.store().Report(t.Context(), oops))(t)
		want := ""
		if r.TypedOnly { // it has followed others
			typed++
			continue
		}
		if g := fakeGroup(d.rules, r.Fields); g.Signature != "" {
			want = crash.BucketIDOf(g.Signature).String()
		}
		if got != want {
			t.Errorf("report %s after everything was undone: got bucket %q, want %q", id, got, want)
		}
	}
}
