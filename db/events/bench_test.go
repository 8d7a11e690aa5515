package events_test

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/db/people"
	dbproblems "mishap/db/problems"
	"mishap/handlers/problems"
	"mishap/notify/rules"
)

// BenchmarkRound measures an evaluation of 100 rules on 100,000 problems, of which 256 have changed
// since the last one, and the counting of these 256 reports. It reports their ratio.
func BenchmarkRound(b *testing.B) {
	now := begin.Add(12 * time.Hour)
	s := manyProblems(b, now)
	store := events.New(s)
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
	e := events.NewEvaluator(store, events.EvaluatorOptions{})
	if err := e.Round(b.Context()); err != nil { // loads the index
		b.Fatal(err)
	}
	var counting, evaluating time.Duration
	sent := 0
	for b.Loop() {
		began := time.Now()
		sendMany(b, s, now, sent, func(i int) (signature, pkg, source string) {
			return fmt.Sprint("problem ", i*37+1), fmt.Sprint("reef-", (i*37+1)%9000), "reef"
		})
		sent += changed
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

// BenchmarkSearches measures an evaluation of 256 new problems among 100,000, without followed searches
// and with 1,000 of them. It reports the ratio.
func BenchmarkSearches(b *testing.B) {
	now := begin.Add(12 * time.Hour)
	s := manyProblems(b, now)
	store, users, searches := events.New(s), people.New(s), dbproblems.New(s)
	for user := range 20 {
		name := fmt.Sprint("user-", user)
		dbtest.AddUser(b, s, name, crash.RoleTriager, "correct horse battery")
		u, err := users.ByName(b.Context(), name)
		if err != nil {
			b.Fatal(err)
		}
		for i := range 50 {
			n := user*50 + i
			path := "/search?" + url.Values{"q": {fmt.Sprintf(
				`(package:reef-%d* OR title:problem%d) release:"Ubuntu 24.04" -tag:later -assignee:me`, n%100, n)}}.Encode()
			id, err := searches.SaveSearch(b.Context(), crash.SavedSearch{Name: fmt.Sprint("search ", i), Path: path,
				OwnerID: u.ID})
			if err != nil {
				b.Fatal(err)
			}
			if err := users.Follow(b.Context(), u.ID, crash.Follow{Kind: crash.FollowSearch,
				Name: fmt.Sprint(id)}); err != nil {
				b.Fatal(err)
			}
		}
	}
	reading := events.EvaluatorOptions{Searches: problems.NewSearches(bugs.New(s), s.Now)}
	evaluators := []*events.Evaluator{events.NewEvaluator(store, events.EvaluatorOptions{}),
		events.NewEvaluator(store, reading)}
	if err := evaluators[0].Round(b.Context()); err != nil { // loads the index
		b.Fatal(err)
	}
	var took [2]time.Duration
	sent := 0
	for b.Loop() {
		for which, e := range evaluators {
			batch := sent / changed
			for range 3 { // the shipped rule waits for three machines
				sendMany(b, s, now, sent, func(i int) (signature, pkg, source string) {
					name := fmt.Sprint("reef-", (batch*changed+i)%9000)
					return fmt.Sprintf("fresh %d of %d", i, batch), name, name
				})
				sent += changed
			}
			began := time.Now()
			if err := e.Round(b.Context()); err != nil {
				b.Fatal(err)
			}
			took[which] += time.Since(began)
		}
	}
	var notices int64
	if err := s.Pool.QueryRow(b.Context(), `select count(*) from notices`).Scan(&notices); err != nil || notices == 0 {
		b.Fatalf("no search has found anything: %v", err)
	}
	b.ReportMetric(float64(took[0].Milliseconds())/float64(b.N), "ms/without")
	b.ReportMetric(float64(took[1].Milliseconds())/float64(b.N), "ms/with")
	b.ReportMetric(float64(notices)/float64(b.N), "notices/round")
	b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
}

// changed is the number of reports between two evaluations.
const changed = 256

// manyProblems returns a database with 100,000 problems that rules have seen.
func manyProblems(b *testing.B, now time.Time) *db.Store {
	b.Helper()
	address := dbtest.URL(b)
	s := dbtest.OpenConfig(b, db.Config{URL: address, Now: func() time.Time { return now }})
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
	return s
}

// sendMany stores and counts changed reports of as many machines.
func sendMany(b *testing.B, s *db.Store, now time.Time, sent int, of func(i int) (signature, pkg, source string)) {
	b.Helper()
	in := intake.New(intake.Config{MaxAgeDays: 366, Now: s.Now}, s)
	done := make(chan error)
	for i := range changed {
		signature, pkg, source := of(i)
		n := sent + i
		report := crash.Report{ID: crash.NewOopsID(now), System: crash.NewSystemID(fmt.Sprint("m ", n)),
			Fields: crash.Fields{
				"ProblemType": "Crash", "Package": pkg + " 1.0", "SourcePackage": source,
				"DistroRelease": "Ubuntu 24.04", "Architecture": "amd64", "DuplicateSignature": signature,
				"ProcStatus": fmt.Sprint("Pid:\t", n), "ExecutablePath": "/usr/bin/reef", "Date": now.Format(time.ANSIC),
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
}
