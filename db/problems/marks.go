package problems

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

// restriction holds what the audit log and errors say about embargoes or holds.
type restriction struct {
	set, lift string // actions in the audit log
	state     string // its name there
	none      error  // if there is nothing to lift
}

var restrictions = map[crash.MarkKind]restriction{
	crash.MarkEmbargo: {"problem.embargo", "problem.lift-embargo", "embargoed",
		crash.Errorf(crash.Conflict, "not_embargoed", "This problem is not embargoed.")},
	crash.MarkHold: {"problem.hold", "problem.lift-hold", "held",
		crash.Errorf(crash.Conflict, "not_held", "This problem is not held.")},
}

// event returns the entry of the audit log for setting or lifting a mark.
func (r restriction) event(bucket crash.BucketID, person string, set bool, detail map[string]any) db.AuditEvent {
	e := db.AuditEvent{Person: person, Action: r.lift, Subject: bucket.String(), Detail: detail,
		Before: map[string]any{r.state: !set}, After: map[string]any{r.state: set}}
	if set {
		e.Action = r.set
	}
	return e
}

// sqlLift lifts the standing embargo or hold of a problem, with those of the buckets that were merged into it.
const sqlLift = `
	update marks set undone_by = @person, undone_at = @at
	where bucket_id in ` + db.Members + ` and kind = @kind and undone_at is null`

// Lift ends the embargo or the hold of the problem of any bucket; the bugs of the problem stay as they are. It
// returns NotFound for an unknown bucket, and Conflict if there is no such mark.
func (s *Store) Lift(ctx context.Context, bucket crash.BucketID, kind crash.MarkKind, person string) error {
	r := restrictions[kind]
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockProblem(ctx, tx, &bucket, kind); err != nil {
			return err
		}
		lifted, err := tx.Exec(ctx, sqlLift,
			pgx.NamedArgs{"bucket": bucket[:], "kind": kind, "person": person, "at": s.Now()})
		if err != nil {
			return err
		}
		if lifted.RowsAffected() == 0 {
			return r.none
		}
		return s.Audit(ctx, tx, r.event(bucket, person, false, nil))
	})
	if err != nil {
		return fmt.Errorf("lift the %s of %s: %w", kind, bucket, err)
	}
	return nil
}

// lockProblem makes other changes of a problem's marks of a kind wait, and sets bucket to the problem. It
// returns NotFound for an unknown bucket.
func lockProblem(ctx context.Context, tx pgx.Tx, bucket *crash.BucketID, kind crash.MarkKind) error {
	if kind == crash.MarkHold {
		if _, err := tx.Exec(ctx, db.ShareHolds); err != nil {
			return err
		}
	}
	err := tx.QueryRow(ctx, sqlLockProblem, pgx.NamedArgs{"bucket": bucket[:]}).Scan(db.ScanTo(bucket[:]))
	if errors.Is(err, pgx.ErrNoRows) {
		return crash.ErrUnknownBucket
	}
	return err
}

// sqlRestricted selects the oldest standing mark of a kind for each problem.
const sqlRestricted = `
	select * from (
		select distinct on (b.head) ` + db.MarkColumns + `, b.head
		from marks as t join buckets as b on b.id = t.bucket_id
		where t.kind = @kind and t.undone_at is null order by b.head, t.id
	) as x order by case when @newest then -extract(epoch from at) else extract(epoch from at) end, id limit @limit`

// Restricted returns up to limit standing embargoes, the oldest first, or holds, the newest first, of problems
// that the reader of ctx may see. The bucket of each is the problem that it covers now.
func (s *Store) Restricted(ctx context.Context, kind crash.MarkKind, limit int) ([]crash.Mark, error) {
	rows, err := s.Pool.Query(ctx, sqlRestricted,
		pgx.NamedArgs{"kind": kind, "newest": kind == crash.MarkHold, "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("problems with the mark %s: %w", kind, db.Classify(err))
	}
	marks, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m crash.Mark, err error) {
		err = row.Scan(append(db.MarkTargets(&m), db.ScanTo(m.Bucket[:]))...)
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("problems with the mark %s: %w", kind, db.Classify(err))
	}
	return marks, nil
}

// sqlCountEmbargoed counts the embargoed problems among those of some buckets.
const sqlCountEmbargoed = `
	select count(*) from (select distinct head from buckets where id = any(@buckets::bytea[])) as p
	where exists (
		select from buckets as m join marks as e on e.bucket_id = m.id
		where m.head = p.head and e.kind = 'embargo' and e.undone_at is null)`

// CountEmbargoed returns how many of the problems of some buckets are embargoed.
func (s *Store) CountEmbargoed(ctx context.Context, buckets []crash.BucketID) (n int, err error) {
	err = s.Pool.QueryRow(ctx, sqlCountEmbargoed, pgx.NamedArgs{"buckets": db.IDBytes(buckets)}).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count embargoed problems: %w", db.Classify(err))
	}
	return n, nil
}
