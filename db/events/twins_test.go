package events_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/db/problems"
	"mishap/notify/rules"
)

// merging queues merges as the server does, and refuses all else.
type merging struct {
	notes
	s *problems.Store
}

func (m merging) Merge(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, rule string) error {
	return m.s.AddTwinsJob(ctx, tx, bucket, rule)
}

// TestMergeTwinsByRule checks that a rule merges a new problem with its twin, by a job, that a person can undo
// that, and that the rule does not repeat it.
func TestMergeTwinsByRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	s := problems.New(w.store)
	w.o = events.EvaluatorOptions{Actions: merging{s: s}}
	w.restart(t, 1)
	s = problems.New(w.store)
	w.evals = []*events.Evaluator{events.NewEvaluator(w.rules, events.EvaluatorOptions{Actions: merging{s: s}})}
	done := make(chan error, 10)
	jobs := dbtest.Must(db.NewJobs(w.store, db.JobsConfig{Log: dbtest.Log(t), Twins: func(ctx context.Context,
		id crash.BucketID, rule string) error {
		err := s.MergeTwins(ctx, id, rule)
		done <- err
		return err
	}}))(t)
	checktest.NoError(t, jobs.Start(t.Context()))
	t.Cleanup(func() { checktest.NoError(t, jobs.Stop(context.Background())) })
	w.save(t, rules.Rule{Name: "family", When: crash.EventNew, Actions: rules.Actions{Merge: true}})
	w.evaluate(t)
	w.set(begin.Add(time.Minute))

	walk := func(n int) (crash.Grouping, crash.Fields) {
		stack := "#0  0x0000000000401000 in weigh () at q.c:3\n" +
			strings.Repeat("#1  0x0000000000401010 in walk () at q.c:5\n", n) +
			"#2  0x0000000000401020 in stow () at q.c:7\n#3  0x0000000000401030 in main () at q.c:9\n"
		return crash.Grouping{Signature: "/usr/bin/quay:11:weigh:" + strings.Repeat("walk:", n) + "stow",
			Rule: crash.RuleStacktrace}, crash.Fields{"Stacktrace": stack, "Signal": "11"}
	}
	report := func(n int, machine string) crash.BucketID {
		bucket, fields := walk(n)
		w.grouped(t, bucket, machine, "quay 1.0-1", fields)
		return crash.BucketIDOf(bucket.Signature)
	}
	first := report(1, "a")
	report(1, "b")
	w.evaluate(t)
	checktest.NoError(t, <-done) // it has no twins yet
	w.set(begin.Add(time.Hour))
	second := report(3, "a")
	w.evaluate(t)
	checktest.NoError(t, <-done)
	head := func(id crash.BucketID) crash.BucketID { return dbtest.Must(w.store.Bucket(t.Context(), id))(t).ID }
	checktest.Equal(t, "head", head(second), first)
	wantLines(t, "decisions", w.lines(t, `select person || ' ' || reason from decisions`),
		"rule: family Twins: walk recurs 1 and 3 times.")
	wantLines(t, "audited", w.lines(t, `select person || ' ' || kind || ' ' || via from audit_events
		where action = 'problem.merge'`), "rule: family rule family")

	d := db.NewDecisions(w.store)
	last := dbtest.Must(d.Decisions(t.Context(), first, 1))(t)
	dbtest.Must(d.Undo(t.Context(), last[0].ID, "ada"))(t)
	w.set(begin.Add(2 * time.Hour))
	third := report(2, "a") // the rule acts on this one, which is a twin of both
	w.evaluate(t)
	checktest.NoError(t, <-done)
	checktest.Equal(t, "head after the undo", head(second), second)
	checktest.Equal(t, "head of the third", head(third), third) // nobody knows of which of the two it is one
}
