package rules

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/db"
	"mishap/notify/rules"
)

const (
	// sqlLockFiling makes instances take turns in claiming candidates, so that they keep the limits.
	sqlLockFiling = `select true from rule_progress for update`
	// sqlNextFiling also finds candidates whose instance died while it handed them over.
	sqlNextFiling = `
		select c.id, m.head, r.name, r.actions, r.enabled and r.deleted is null, c.state = 'filing',
			(select count(*) from candidates where automatic and state in ('filing', 'filed') and decided > @since
				and rule_id = c.rule_id and id <> c.id),
			(select count(*) from candidates where automatic and state in ('filing', 'filed') and decided > @since
				and id <> c.id),
			b.signature, ` + withoutBug + `
		from ` + candidateTables + ` join buckets as b on b.id = m.head
		where c.state = 'automatic' or c.state = 'filing' and c.decided < @lost
		order by c.created, c.id limit 1`
	sqlClaimFiling = `
		update candidates set state = @state, decided = @decided, decided_by = @by, failure = @failure,
			automatic = @automatic
		where id = @id`
)

const (
	filingPeriod = time.Hour
	// filingLost is how long an instance may take to hand a bug over. Handing it over twice files one
	// bug.
	filingLost = 5 * time.Minute
	// filingsPerRound limits the length of a round. The next one continues.
	filingsPerRound = 50
)

// dueFiling is a candidate that a rule files.
type dueFiling struct {
	id        int64
	problem   crash.BucketID
	signature string
	rule      string
}

// fileDue files the bugs that rules file without asking, within their limits. What exceeds a limit
// waits for a person.
func (e *Evaluator) fileDue(ctx context.Context) error {
	if e.o.File == nil {
		return nil
	}
	for range filingsPerRound {
		due, more, err := e.claimFiling(ctx)
		if err != nil {
			return fmt.Errorf("file bugs for rules: %w", err)
		}
		if due == nil && !more {
			return nil
		}
		if due == nil {
			continue
		}
		state, failure := rules.CandidateFiled, ""
		// A tracker that is not reachable gets the bug later: the intent is stored.
		ctx := audit.WithActor(ctx, &audit.Actor{Kind: audit.Rule, Via: due.rule})
		if err := e.o.File(ctx, due.signature, RulePerson(due.rule)); err != nil && crash.KindOf(err) != crash.Unavailable {
			state, failure = rules.CandidateWaiting, "The bug could not be filed. The log has details."
			if known, ok := errors.AsType[*crash.Error](err); ok {
				failure = known.Message
			}
			e.o.Log.WarnContext(ctx, "a rule could not file a bug", "rule", due.rule, "problem", due.problem.String(),
				"error", err)
		}
		if _, err := e.store.Pool.Exec(ctx, sqlClaimFiling, pgx.NamedArgs{"id": due.id, "state": state,
			"decided": e.store.Now(), "by": RulePerson(due.rule), "failure": failure, "automatic": failure == ""}); err != nil {
			return fmt.Errorf("file bugs for rules: %w", db.Classify(err))
		}
	}
	return nil
}

// RulePerson returns the name under which a rule files bugs. No account has such a name.
func RulePerson(rule string) string { return "rule: " + rule }

// claimFiling claims the next candidate that a rule files. due is nil if there is none, or if it
// exceeds a limit; more says which.
func (e *Evaluator) claimFiling(ctx context.Context) (due *dueFiling, more bool, err error) {
	now := e.store.Now()
	err = e.store.InTx(ctx, func(tx pgx.Tx) error {
		var locked, active, again, free bool
		if err := tx.QueryRow(ctx, sqlLockFiling).Scan(&locked); err != nil {
			return err
		}
		var d dueFiling
		var actions rules.Actions
		var ofRule, ofAll int
		err := tx.QueryRow(ctx, sqlNextFiling, pgx.NamedArgs{
			"since": now.Add(-filingPeriod), "lost": now.Add(-filingLost),
		}).Scan(&d.id, db.ScanTo(d.problem[:]), &d.rule, &actions, &active, &again, &ofRule, &ofAll, &d.signature, &free)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		more = true
		args := pgx.NamedArgs{"id": d.id, "state": rules.CandidateFiling, "decided": now, "by": RulePerson(d.rule),
			"failure":   "",
			"automatic": true}
		switch {
		case !free && !again: // a person was faster
			args["state"], args["automatic"] = rules.CandidateFiled, false
		case !again && !active:
			args["state"], args["failure"] = rules.CandidateWaiting, "The rule was switched off before it filed the bug."
		case !again && ofRule >= actions.HourlyLimit:
			args["state"], args["failure"] = rules.CandidateWaiting, fmt.Sprintf(
				"The rule has filed %d bugs within an hour, which is its limit.", ofRule)
		case !again && ofAll >= e.o.HourlyLimit:
			args["state"], args["failure"] = rules.CandidateWaiting, fmt.Sprintf(
				"Rules have filed %d bugs within an hour, which is the limit (rule_filings_per_hour).", ofAll)
		default:
			due = &d
		}
		if args["state"] == rules.CandidateWaiting {
			args["decided"], args["by"], args["automatic"] = nil, "", false
		}
		_, err = tx.Exec(ctx, sqlClaimFiling, args)
		return err
	})
	return due, more, err
}
