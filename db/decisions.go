package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db/reader"
)

// sqlNextRound takes the lock that counting rounds take, and returns a new round number. Rows that
// the transaction stamps with it are reloaded by every instance that caches problems.
const sqlNextRound = `update counting set round = round + 1 returning round, ` + serverIDColumns

// deciding is a transaction that changes decisions about problems. Only one runs at a time in all
// instances, and none during a counting round. So two people cannot merge problems into each other,
// or decide about reports while they are counted.
type deciding struct {
	pgx.Tx
	store  *Store
	round  int64
	server serverID
}

// Decisions stores what people decide about problems, and regroups reports. It is safe for
// concurrent use.
type Decisions struct{ *Store }

// NewDecisions returns the Decisions of a store.
func NewDecisions(s *Store) *Decisions { return &Decisions{s} }

func (s *Decisions) decide(ctx context.Context, do func(*deciding) error) error {
	return s.inRound(ctx, func(tx pgx.Tx, at stamp) error {
		return do(&deciding{Tx: tx, store: s.Store, round: at.round, server: at.server})
	})
}

// InRound runs do in a transaction that holds the lock on counting. No other transaction changes counts
// meanwhile.
func (s *Decisions) InRound(ctx context.Context, do func(tx pgx.Tx) error) error {
	return s.inRound(ctx, func(tx pgx.Tx, _ stamp) error { return do(tx) })
}

// countAll counts all reports stored before the call. It ignores those that arrive meanwhile.
func (d *deciding) countAll(ctx context.Context) error {
	return reader.Bare(ctx, d, func() error { return d.countStored(ctx) })
}

func (d *deciding) countStored(ctx context.Context) error {
	for began := time.Now(); ; {
		_, err := d.store.countWork(ctx, d, stamp{d.server, d.round}, workOlderThan(time.Since(began)), maxRoundReports)
		if errors.Is(err, errNothing) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

const (
	decisionColumns = `
		d.id, d.kind, d.cause, d.bucket_id, d.other_id,
		coalesce((select coalesce(nullif(name, ''), nullif(title, ''), left(signature, 200))
			from buckets where id = d.bucket_id), ''),
		coalesce((select coalesce(nullif(name, ''), nullif(title, ''), left(signature, 200))
			from buckets where id = d.other_id), ''),
		d.before, d.after, coalesce(d.condition, '{}'), d.person, d.reason, d.at, d.undone_by, d.undone_at,
		d.looked_at, d.moved, d.finished`
	sqlDecision = `select ` + decisionColumns + ` from decisions as d where d.id = @id`
	// sqlDecisions includes decisions about problems that were or are merged into this one. It
	// excludes decisions that mishap made because another one was undone.
	sqlDecisions = `
		with members as ` + Members + `
		select ` + decisionColumns + ` from decisions as d
		where (d.bucket_id in (select id from members) or d.other_id in (select id from members)) and d.cause <> 'emptied'
		order by d.id desc limit @limit`
)

func scanDecision(row pgx.CollectableRow) (d crash.Decision, err error) {
	var other []byte
	err = row.Scan(
		&d.ID, &d.Kind, &d.Cause, ScanTo(d.Bucket[:]), &other, &d.BucketLabel, &d.OtherLabel,
		&d.Before, &d.After, &d.Condition, &d.Person, &d.Reason, &d.At, &d.UndoneBy, OrZero(&d.UndoneAt),
		&d.LookedAt, &d.Moved, &d.Finished)
	copy(d.Other[:], other)
	return d, err
}

// Decisions returns up to limit decisions about a problem and its merged buckets, latest first.
func (s *Decisions) Decisions(ctx context.Context, id crash.BucketID, limit int) ([]crash.Decision, error) {
	rows, err := s.Pool.Query(ctx, sqlDecisions, pgx.NamedArgs{"bucket": id[:], "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("decisions about %s: %w", id, Classify(err))
	}
	found, err := pgx.CollectRows(rows, scanDecision)
	if err != nil {
		return nil, fmt.Errorf("decisions about %s: %w", id, Classify(err))
	}
	return found, nil
}

var (
	errUnknownDecision = crash.Errorf(crash.NotFound, "unknown_decision", "There is no such entry in the history.")
	errUndone          = crash.Errorf(crash.Conflict, "undone_already", "This has already been undone.")
)

// Decision returns one entry of the history. It returns NotFound if there is none.
func (s *Decisions) Decision(ctx context.Context, id int64) (crash.Decision, error) {
	rows, err := s.Pool.Query(ctx, sqlDecision, pgx.NamedArgs{"id": id})
	if err != nil {
		return crash.Decision{}, fmt.Errorf("decision %d: %w", id, Classify(err))
	}
	return oneDecision(id, rows)
}

func oneDecision(id int64, rows pgx.Rows) (crash.Decision, error) {
	d, err := pgx.CollectExactlyOneRow(rows, scanDecision)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, errUnknownDecision
	}
	if err != nil {
		return d, fmt.Errorf("decision %d: %w", id, Classify(err))
	}
	return d, nil
}

const sqlUndone = `update decisions set undone_by = @person, undone_at = @at where id = @id`

// Undo reverses a decision on behalf of person, whoever made it. The history shows both. Undoing a
// split moves its reports back in steps (see StepSplit). Undo returns NotFound for an
// unknown decision. It returns Conflict if the decision is undone already, or if a later one
// depends on it.
func (s *Decisions) Undo(ctx context.Context, id int64, person string) (crash.Decision, error) {
	var decision crash.Decision
	err := s.decide(ctx, func(d *deciding) error {
		rows, err := d.Query(ctx, sqlDecision, pgx.NamedArgs{"id": id})
		if err != nil {
			return err
		}
		if decision, err = oneDecision(id, rows); err != nil {
			return err
		}
		if !decision.Stands() {
			return errUndone
		}
		decision.UndoneBy, decision.UndoneAt = person, s.Now()
		if _, err := d.Exec(ctx, sqlUndone, pgx.NamedArgs{"id": id, "person": person, "at": decision.UndoneAt}); err != nil {
			return err
		}
		event := AuditEvent{Person: person, Subject: decision.Bucket.String(), Detail: map[string]any{"decision": id}}
		switch decision.Kind {
		case crash.DecisionMerged:
			event.Action, err = "problem.unmerge", d.unmerge(ctx, decision)
			event.Before = map[string]any{"into": decision.Other.String()}
		case crash.DecisionRenamed:
			event.Action, err = "problem.unname", d.unname(ctx, decision)
			event.Before, event.After = map[string]any{"name": decision.After}, map[string]any{"name": decision.Before}
		case crash.DecisionSplit:
			event.Action, err = "problem.unsplit", d.unsplit(ctx, decision)
			event.Before = auditedSplit(decision.Other, decision.Condition)
		}
		if err != nil {
			return err
		}
		return s.Audit(ctx, d, event)
	})
	if err != nil {
		return decision, fmt.Errorf("undo decision %d: %w", id, err)
	}
	return decision, nil
}

const sqlSignature = `select signature, head from buckets where id = @id`

// Signature returns the signature of a bucket, and the head of its problem. It returns NotFound if
// there is no such bucket.
func (s *Decisions) Signature(ctx context.Context, id crash.BucketID) (signature string, head crash.BucketID,
	err error) {
	err = s.Pool.QueryRow(ctx, sqlSignature, pgx.NamedArgs{"id": id[:]}).Scan(&signature, ScanTo(head[:]))
	if errors.Is(err, pgx.ErrNoRows) {
		return "", head, crash.ErrUnknownBucket
	}
	if err != nil {
		return "", head, fmt.Errorf("signature of %s: %w", id, Classify(err))
	}
	return signature, head, nil
}
