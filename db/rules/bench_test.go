package rules_test

import (
	"fmt"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
	dbrules "mishap/db/rules"
	"mishap/notify/rules"
)

// BenchmarkRound measures an evaluation of 100 rules on 100,000 problems, of which 256 have changed
// since the last one, and the counting of these 256 reports. It reports their ratio.
func BenchmarkRound(b *testing.B) {
	const changed = 256
	now := begin.Add(12 * time.Hour)
	url := dbtest.URL(b)
	s := dbtest.OpenConfig(b, db.Config{URL: url, Now: func() time.Time { return now }})
	var ids [][]byte
	var signatures []string
	for i := range 100_000 {
		id := crash.BucketIDOf(fmt.Sprint("problem ", i))
		ids, signatures = append(ids, id[:]), append(signatures, fmt.Sprint("problem ", i))
	}
	if _, err := s.Pool.Exec(b.Context(), `
		insert into buckets (id, head, signature, rule, provisional, problem_type, title, executable, package, source_package,
			reports, systems, changed)
		select id, id, s, 'DuplicateSignature', false, 'Crash', s, '', 'reef-' || i % 9000, 'reef', 30, 12, 1
		from unnest($1::bytea[], $2::text[]) with ordinality as n (id, s, i)`, ids, signatures); err != nil {
		b.Fatal(err)
	}
	for _, sql := range []string{`
		insert into bucket_releases (bucket_id, release, first_seen, last_seen)
		select id, 'Ubuntu 24.04', row('2026-01-01', '', '1.0')::occurrence,
			row('2026-05-30', '', '1.0')::occurrence from buckets`, `
		insert into bucket_days
			(bucket_id, day, release, version, architecture, reports, proposed, changed, package_architecture)
		select id, date '2026-05-01' + 6 * d, 'Ubuntu 24.04', '1.0', 'amd64', 1, 0, 1, 'amd64'
		from buckets, generate_series(0, 4) as d`, `
		insert into bucket_arrivals select id, 'epoch', 0 from buckets`, `
		update counting set round = 1`, `
		update rule_progress set round = 1`, `
		analyze`,
	} {
		if _, err := s.Pool.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	store := dbrules.New(s)
	for i := range 100 {
		kind := rules.Kinds[i%len(rules.Kinds)]
		r := rules.Rule{Name: fmt.Sprint("Rule ", i), When: kind, Machines: 10, Weeks: 4, Enabled: true,
			Scope:   rules.Scope{Kind: rules.OfPackage, Names: []string{fmt.Sprintf("reef-%d*", i%10)}},
			Actions: rules.Actions{Followers: true}}
		if kind == crash.EventTracker {
			r.Scope, r.Actions = rules.Scope{Kind: rules.Everything}, rules.Actions{Administrators: true}
		}
		if _, err := store.SaveRule(b.Context(), r, "ada"); err != nil {
			b.Fatal(err)
		}
	}
	e := dbrules.NewEvaluator(store, dbrules.EvaluatorOptions{})
	if err := e.Round(b.Context()); err != nil { // loads the index
		b.Fatal(err)
	}
	in := intake.New(intake.Config{MaxAgeDays: 366, Now: s.Now}, s)
	var counting, evaluating time.Duration
	sent := 0
	for b.Loop() {
		began := time.Now()
		done := make(chan error)
		for i := range changed {
			sent++
			report := crash.Report{ID: crash.NewOopsID(now), System: crash.NewSystemID(fmt.Sprint("m ", sent)),
				Fields: crash.Fields{
					"ProblemType": "Crash", "Package": fmt.Sprintf("reef-%d 1.0", (i*37+1)%9000), "SourcePackage": "reef",
					"DistroRelease": "Ubuntu 24.04", "Architecture": "amd64", "DuplicateSignature": fmt.Sprint("problem ", i*37+1),
					"ProcStatus": fmt.Sprint("Pid:\t", sent), "ExecutablePath": "/usr/bin/reef", "Date": now.Format(time.ANSIC),
				}}
			go func() {
				_, err := in.Accept(b.Context(), report)
				done <- err
			}()
		}
		for range changed {
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		}
		dbtest.Counted(b, s)
		counting += time.Since(began)
		began = time.Now()
		if err := e.Round(b.Context()); err != nil {
			b.Fatal(err)
		}
		evaluating += time.Since(began)
	}
	b.ReportMetric(float64(evaluating.Milliseconds())/float64(b.N), "ms/round")
	b.ReportMetric(float64(counting.Milliseconds())/float64(b.N), "ms/256reports")
	b.ReportMetric(float64(evaluating)/float64(counting), "ratio")
}
