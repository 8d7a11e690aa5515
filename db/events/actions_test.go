package events_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db/events"
	"mishap/notify/rules"
)

// filer records the bugs that rules file.
type filer struct {
	filed []string
	fail  error
}

func (f *filer) file(_ context.Context, signature, rule string) error {
	if f.fail != nil {
		return f.fail
	}
	f.filed = append(f.filed, signature+" by "+rule)
	return nil
}

// TestFiling checks that rules file within their limits, and that what exceeds them waits.
func TestFiling(t *testing.T) {
	t.Parallel()
	f := &filer{}
	w := newWorld(t, events.EvaluatorOptions{File: f.file, HourlyLimit: 3})
	w.exec(t, `update rules set enabled = false`)
	w.save(t, rules.Rule{Name: "Two", When: crash.EventNew, Actions: rules.Actions{File: true, HourlyLimit: 2},
		Scope: rules.Scope{Kind: rules.OfPackage, Names: []string{"tide"}}})
	w.save(t, rules.Rule{Name: "Many", When: crash.EventNew, Actions: rules.Actions{File: true, HourlyLimit: 9},
		Scope: rules.Scope{Kind: rules.OfPackage, Names: []string{"reef"}}})
	w.set(begin.Add(time.Minute))
	w.report(t, "has a bug", "m", "tide 1.0-1", nil)
	w.link(t, "has a bug", 5)
	for i := range 4 {
		w.report(t, fmt.Sprint("tide ", i), "m", "tide 1.0-1", nil)
		w.report(t, fmt.Sprint("reef ", i), "m", "reef 1.0-1", nil)
	}
	w.report(t, "no source", "m", "reef 1.0-1", crash.Fields{"SourcePackage": ""})
	w.evaluate(t)
	w.evaluate(t)
	if len(f.filed) != 3 {
		t.Errorf("filed %q, want 3, the limit of all", f.filed)
	}
	for _, bug := range f.filed {
		if !strings.HasSuffix(bug, " by rule: Two") && !strings.HasSuffix(bug, " by rule: Many") {
			t.Errorf("filed %q, want the name of the rule", bug)
		}
	}
	waiting, err := w.rules.Candidates(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range waiting {
		if c.State != rules.CandidateWaiting || c.Problem == bucketOf("has a bug") {
			t.Errorf("candidate %+v", c)
		}
	}
	if len(waiting) < 5 { // of 8 or 9 problems, 3 were filed
		t.Errorf("got %d candidates: %+v", len(waiting), waiting)
	}
	// An hour later there is room for others. A refusal waits for a person.
	w.set(begin.Add(2 * time.Hour))
	w.report(t, "later", "m", "tide 1.0-1", nil)
	f.fail = crash.Errorf(crash.Unprocessable, "no", "It cannot be filed.")
	w.evaluate(t)
	w.set(begin.Add(4 * time.Hour))
	w.report(t, "unreachable", "m", "tide 1.0-1", nil)
	f.fail = crash.Errorf(crash.Unavailable, "away", "The tracker is away.") // the intent is stored
	w.evaluate(t)
	states := w.lines(t, `select b.signature || ' ' || c.state || ' ' || c.failure from candidates as c
		join buckets as b on b.id = c.bucket_id where b.signature in ('later', 'unreachable')`)
	wantLines(t, "after failures", states, "later waiting It cannot be filed.", "unreachable filed ")
}

// TestCandidateLost checks that a candidate whose instance died while it filed is filed again.
func TestCandidateLost(t *testing.T) {
	t.Parallel()
	f := &filer{}
	w := newWorld(t, events.EvaluatorOptions{File: f.file, HourlyLimit: 3})
	w.save(t, rules.Rule{When: crash.EventNew, Actions: rules.Actions{File: true, HourlyLimit: 2}})
	w.set(begin.Add(time.Minute))
	w.report(t, "lost", "m", "tide 1.0-1", nil)
	w.evaluate(t)
	w.exec(t, `update candidates set state = 'filing'`)
	w.evaluate(t)
	if len(f.filed) != 1 {
		t.Errorf("at once: %q", f.filed)
	}
	w.set(begin.Add(10 * time.Minute))
	w.evaluate(t)
	if len(f.filed) != 2 || f.filed[0] != f.filed[1] {
		t.Errorf("later: %q", f.filed)
	}
}

// TestFilingOff checks that nothing is proposed while filing is off, and that the rule says so.
func TestFilingOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{})
	id := w.save(t, rules.Rule{When: crash.EventNew, Actions: rules.Actions{Queue: true, Tag: "x"}})
	w.set(begin.Add(time.Minute))
	w.report(t, "any", "m", "tide 1.0-1", nil)
	w.evaluate(t)
	r, err := w.rules.Rule(t.Context(), id)
	if err != nil || !strings.Contains(r.Failure, "allow_bug_filing") || r.Failed.IsZero() {
		t.Errorf("got %q, %v", r.Failure, err)
	}
	if n := w.lines(t, `select state from candidates`); len(n) != 0 {
		t.Errorf("candidates: %q", n)
	}
}

// notes stands for the manual status and tags of problems: it writes notes.
type notes struct{ fail bool }

func (n notes) add(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, what, rule string) error {
	if _, err := tx.Exec(ctx, `insert into audit_events (at, person, action, subject) values (now(), $1, $2, $3)`, rule,
		what,
		bucket.String()); err != nil {
		return err
	}
	if n.fail && strings.HasPrefix(what, "assign") {
		return crash.Errorf(crash.NotFound, "nobody", "There is no person or team “nobody”.")
	}
	return nil
}

func (n notes) Mute(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, until rules.Mute, rule string) error {
	return n.add(ctx, tx, bucket, fmt.Sprintf("mute %d days", until.Days), rule)
}

func (n notes) Assign(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, to, rule string) error {
	return n.add(ctx, tx, bucket, "assign "+to, rule)
}

func (n notes) Tag(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, tag, rule string) error {
	return n.add(ctx, tx, bucket, "tag "+tag, rule)
}

func (n notes) Embargo(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, when rules.Embargo,
	rule rules.Rule) error {
	return n.Tag(ctx, tx, bucket, "embargo "+string(when), rule.Name)
}

// TestActions checks that an action that fails is undone and shown, and that the others are done.
func TestActions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.EvaluatorOptions{Actions: notes{fail: true}})
	w.user(t, "fay", crash.RoleTriager, follow("tide"))
	id := w.save(t, rules.Rule{When: crash.EventNew, Actions: rules.Actions{Followers: true, Mute: &rules.Mute{Days: 3},
		Assign: "~nobody", Tag: "x"}})
	w.set(begin.Add(time.Minute))
	w.report(t, "any", "m", "tide 1.0-1", nil)
	w.evaluate(t)
	wantLines(t, "done", w.lines(t, `select action from audit_events where action !~ '^(rule|follow)'`), "mute 3 days", "tag x")
	wantLines(t, "notices", w.events(t), "01 new any crashed to fay")
	r, err := w.rules.Rule(t.Context(), id)
	if err != nil || r.Failure != "There is no person or team “nobody”." {
		t.Errorf("failure: got %q, %v", r.Failure, err)
	}
}
