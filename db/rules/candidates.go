package rules

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/notify/rules"
)

var errNoCandidate = crash.Errorf(crash.NotFound, "no_such_candidate",
	"This candidate does not exist, or somebody else has decided about it. Reload the page.")

const (
	// sqlPropose does nothing if the problem has a bug, or a filing that may lead to one, or is a
	// candidate already, even a declined one.
	sqlPropose = `
		insert into candidates (bucket_id, rule_id, automatic, state, why, machines, created)
		select @head, @rule, @automatic, @state, @why, @machines, @now
		where not exists (
				select from buckets as m join bucket_bugs as l on l.bucket_id = m.id where m.head = @head
			) and not exists (
				select from buckets as m join filings as f on f.bucket_id = m.id
				where m.head = @head and f.state not in ('refused', 'abandoned')
			) and not exists (
				select from buckets as m join candidates as c on c.bucket_id = m.id where m.head = @head
			)
		on conflict do nothing`
	candidateColumns = `c.id, m.head, r.name, c.rule_id, c.state, c.why, c.machines, c.created, c.decided_by, c.decided,
		c.reason, c.failure`
	candidateTables = `candidates as c join buckets as m on m.id = c.bucket_id join rules as r on r.id = c.rule_id`
	// withoutBug excludes problems that have got a bug meanwhile, or are getting one.
	withoutBug = `not exists (
			select from buckets as o join bucket_bugs as l on l.bucket_id = o.id where o.head = m.head
		) and not exists (
			select from buckets as o join filings as f on f.bucket_id = o.id
			where o.head = m.head and f.state not in ('refused', 'abandoned')
		)`
	// sqlCandidates lists a problem that was merged from several candidates once.
	sqlCandidates = `
		select * from (
			select distinct on (m.head) ` + candidateColumns + ` from ` + candidateTables + `
			where c.state in ('automatic', 'waiting') and ` + withoutBug + ` order by m.head, c.created, c.id
		) as c order by created, id limit @limit`
	sqlDecided = `
		select ` + candidateColumns + ` from ` + candidateTables + `
		where c.state in ('filed', 'declined') order by c.decided desc, c.id desc limit @limit`
	sqlCandidate = `select ` + candidateColumns + ` from ` + candidateTables + ` where c.id = @id`
	sqlDecide    = `
		with old as (select id, state from candidates where id = @id and state = any(@from) for update)
		update candidates as c
		set state = @state, decided_by = @person, decided = @decided, reason = @reason, failure = ''
		from old where c.id = old.id returning c.bucket_id, old.state`
	sqlCandidateFailed = `update candidates set failure = @failure where id = @id and state = 'waiting'`
)

// propose makes a problem a candidate, in the transaction that stores the edge.
func (r *round) propose(ctx context.Context, tx pgx.Tx, e rules.Edge) error {
	p, ok := r.ix.Problem(*e.Event.Bucket)
	if !ok {
		return nil
	}
	automatic := e.Rule.Actions.File && !p.Provisional && p.Source != ""
	state := rules.CandidateWaiting
	if automatic {
		state = rules.CandidateAutomatic
	}
	if _, err := tx.Exec(ctx, sqlPropose, pgx.NamedArgs{"head": p.ID[:], "rule": e.Rule.ID, "automatic": automatic,
		"state": state, "why": e.Event.Text, "machines": e.Event.Machines, "now": r.now}); err != nil {
		return fmt.Errorf("propose %s for filing: %w", p.ID, err)
	}
	return nil
}

func scanCandidate(row pgx.CollectableRow) (c rules.Candidate, err error) {
	err = row.Scan(&c.ID, db.ScanTo(c.Problem[:]), &c.Rule, &c.RuleID, &c.State, &c.Why, &c.Machines, &c.Created,
		&c.DecidedBy, db.OrZero(&c.Decided), &c.Reason, &c.Failure)
	return c, err
}

// Candidates returns the candidates that wait for a decision or for the rule, oldest first.
func (s *Store) Candidates(ctx context.Context, limit int) ([]rules.Candidate, error) {
	return s.candidates(ctx, sqlCandidates, limit)
}

// DecidedCandidates returns the candidates that were filed or declined, the latest first.
func (s *Store) DecidedCandidates(ctx context.Context, limit int) ([]rules.Candidate, error) {
	return s.candidates(ctx, sqlDecided, limit)
}

func (s *Store) candidates(ctx context.Context, sql string, limit int) ([]rules.Candidate, error) {
	rows, err := s.Pool.Query(ctx, sql, pgx.NamedArgs{"limit": limit})
	if err != nil {
		return nil, fmt.Errorf("candidates: %w", db.Classify(err))
	}
	all, err := pgx.CollectRows(rows, scanCandidate)
	if err != nil {
		return nil, fmt.Errorf("candidates: %w", db.Classify(err))
	}
	return all, nil
}

// Candidate returns a candidate. It returns NotFound if there is none with this id.
func (s *Store) Candidate(ctx context.Context, id int64) (rules.Candidate, error) {
	rows, err := s.Pool.Query(ctx, sqlCandidate, pgx.NamedArgs{"id": id})
	if err != nil {
		return rules.Candidate{}, fmt.Errorf("candidate: %w", db.Classify(err))
	}
	c, err := pgx.CollectExactlyOneRow(rows, scanCandidate)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return c, errNoCandidate
	case err != nil:
		return c, fmt.Errorf("candidate: %w", db.Classify(err))
	}
	return c, nil
}

// ApproveCandidate records that a person filed the bug of a candidate.
func (s *Store) ApproveCandidate(ctx context.Context, id int64, person string) error {
	return s.decide(ctx, id, rules.CandidateFiled, person, "", rules.CandidateWaiting, rules.CandidateAutomatic,
		rules.CandidateFiled)
}

// DeclineCandidate records that a person does not want a bug for a candidate. No rule proposes the
// problem again. It returns NotFound if somebody else has decided already.
func (s *Store) DeclineCandidate(ctx context.Context, id int64, person, reason string) error {
	line, ok := crash.CleanLine(reason, crash.MaxReason)
	if !ok {
		return crash.Errorf(crash.Invalid, "bad_reason", "A reason is one line of at most %d characters.", crash.MaxReason)
	}
	return s.decide(ctx, id, rules.CandidateDeclined, person, line, rules.CandidateWaiting, rules.CandidateAutomatic)
}

// RestoreCandidate undoes DeclineCandidate.
func (s *Store) RestoreCandidate(ctx context.Context, id int64, person string) error {
	return s.decide(ctx, id, rules.CandidateWaiting, person, "", rules.CandidateDeclined)
}

// decide changes the state of a candidate from one of others.
func (s *Store) decide(ctx context.Context, id int64, to rules.CandidateState, person, reason string,
	from ...rules.CandidateState,
) error {
	decided, by := s.Now(), person
	if to == rules.CandidateWaiting {
		decided, by = time.Time{}, ""
	}
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		var problem crash.BucketID
		var before rules.CandidateState
		err := tx.QueryRow(ctx, sqlDecide, pgx.NamedArgs{"id": id, "state": to, "person": by,
			"decided": db.OrNull(decided), "reason": reason, "from": from}).Scan(db.ScanTo(problem[:]), &before)
		if errors.Is(err, pgx.ErrNoRows) {
			return errNoCandidate
		}
		if err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "candidate." + string(to),
			Subject: problem.String(), Before: map[string]any{"state": before},
			After: map[string]any{"state": to}, Detail: map[string]any{"candidate": id, "reason": reason}})
	})
	if err != nil {
		return fmt.Errorf("decide about candidate %d: %w", id, err)
	}
	return nil
}

// FailCandidate stores why no bug could be filed for a candidate that waits.
func (s *Store) FailCandidate(ctx context.Context, id int64, failure string) error {
	if _, err := s.Pool.Exec(ctx, sqlCandidateFailed, pgx.NamedArgs{"id": id, "failure": failure}); err != nil {
		return fmt.Errorf("candidate %d: %w", id, db.Classify(err))
	}
	return nil
}
