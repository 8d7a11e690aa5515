package events_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/db/people"
	"mishap/notify/rules"
)

// world is a database with a clock that the test moves, and the instances on it.
type world struct {
	url   string
	clock atomic.Pointer[time.Time]
	store *db.Store // of the last of stores
	rules *events.Store
	o     events.EvaluatorOptions
	evals []*events.Evaluator

	stores []*db.Store // one for each instance
	sent   int
}

// begin is the first day of the tests. Its month has 30 days.
var begin = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, o events.EvaluatorOptions) *world {
	t.Helper()
	w := &world{url: dbtest.URL(t), o: o}
	w.set(begin)
	w.restart(t, 1)
	return w
}

func (w *world) set(at time.Time) { w.clock.Store(&at) }
func (w *world) now() time.Time   { return *w.clock.Load() }

// restart replaces all instances by new ones.
func (w *world) restart(t *testing.T, instances int) {
	t.Helper()
	w.evals, w.stores = nil, nil
	for range instances {
		w.store = dbtest.OpenConfig(t, db.Config{URL: w.url, Now: w.now, MaxConns: 4})
		w.stores = append(w.stores, w.store)
		w.rules = events.New(w.store)
		w.evals = append(w.evals, events.NewEvaluator(w.rules, w.o))
	}
}

// report stores a crash of a machine, by a rule whose titles are public.
func (w *world) report(t *testing.T, signature, machine, pkg string, fields crash.Fields) {
	t.Helper()
	w.grouped(t, crash.Grouping{Signature: signature, Rule: crash.RuleStacktrace}, machine, pkg, fields)
}

// grouped stores a crash that belongs to a bucket, and returns its id.
func (w *world) grouped(t *testing.T, bucket crash.Grouping, machine, pkg string, fields crash.Fields) crash.OopsID {
	t.Helper()
	w.sent++
	name, _, _ := strings.Cut(pkg, " ")
	all := crash.Fields{
		"ProblemType": "Crash", "ExecutablePath": "/usr/bin/" + name, "Package": pkg, "SourcePackage": name,
		"DistroRelease": "Ubuntu 24.04", "Architecture": "amd64", "DuplicateSignature": bucket.Signature,
		"ProcStatus": fmt.Sprint("Pid:\t", w.sent), "Date": w.now().Format(time.ANSIC),
	}
	for field, value := range fields {
		all[field] = value
	}
	rec, err := intake.New(intake.Config{MaxAgeDays: 366, Now: w.now}, nil).Examine(crash.Report{
		ID: crash.NewOopsID(w.now()), System: crash.NewSystemID(machine), Fields: all})
	if err != nil {
		t.Fatalf("examine: %v", err)
	}
	rec.Grouping, rec.Title = bucket, bucket.Signature+" crashed"
	if _, _, err := w.store.SaveReport(t.Context(), rec); err != nil {
		t.Fatalf("save report: %v", err)
	}
	return rec.ID
}

// machines stores a crash of each of some machines.
func (w *world) machines(t *testing.T, signature string, n int, pkg string, fields crash.Fields) {
	t.Helper()
	for i := range n {
		w.report(t, signature, fmt.Sprint("machine ", i), pkg, fields)
	}
}

// evaluate runs a round in all instances at the same time.
func (w *world) evaluate(t *testing.T) {
	t.Helper()
	dbtest.Counted(t, w.store)
	var all sync.WaitGroup
	for _, e := range w.evals {
		all.Go(func() {
			if err := e.Round(t.Context()); err != nil {
				t.Errorf("%s: %v", w.now().Format(time.DateTime), err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// user adds an account that follows packages.
func (w *world) user(t *testing.T, name string, role crash.Role, follows ...crash.Follow) int64 {
	t.Helper()
	dbtest.AddUser(t, w.store, name, role, "correct horse battery")
	a := people.New(w.store)
	u := dbtest.Must(a.ByName(t.Context(), name))(t)
	for _, f := range follows {
		checktest.NoError(t, a.Follow(t.Context(), u.ID, f))
	}
	return u.ID
}

func follow(pkg string) crash.Follow { return crash.Follow{Kind: crash.FollowPackage, Name: pkg} }

// save stores a rule and returns its id.
func (w *world) save(t *testing.T, r rules.Rule) int64 {
	t.Helper()
	r.Enabled = true
	if r.Scope.Kind == "" {
		r.Scope.Kind = rules.Everything
	}
	r.Machines = max(r.Machines, 1)
	if r.Name == "" {
		r.Name = "Rule about " + string(r.When)
	}
	if wrong := r.Check(); len(wrong) > 0 {
		t.Fatalf("the rule is not valid: %v", wrong)
	}
	return dbtest.Must(w.rules.SaveRule(t.Context(), r, "ada"))(t)
}

func (w *world) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	dbtest.Must(w.store.Pool.Exec(t.Context(), sql, args...))(t)
}

// lines returns the rows of a query for one text.
func (w *world) lines(t *testing.T, sql string, args ...any) []string {
	t.Helper()
	rows := dbtest.Must(w.store.Pool.Query(t.Context(), sql, args...))(t)
	return dbtest.Must(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
}

// events returns the day, kind, title and reader of each notice.
func (w *world) events(t *testing.T) []string {
	t.Helper()
	return w.lines(t, `
		select to_char(e.at at time zone 'utc', 'DD') || ' ' || e.kind || ' ' || e.title || ' to ' || u.name
		from events as e join notices as n on n.event_id = e.id join users as u on u.id = n.user_id order by 1`)
}

func wantLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", what, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

func bucketOf(signature string) crash.BucketID { return crash.BucketIDOf(signature) }
