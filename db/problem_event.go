package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/redact"
)

const sqlLockProblem = `
	select b.id, b.rule, b.title, b.name, b.executable, left(b.signature, 1000), b.package, b.source_package
	from buckets as b where b.id = (select head from buckets where id = @bucket) for no key update`

// maxEventTitle is the largest length of the title of an event, in code points.
const maxEventTitle = 200

// LockProblem returns the head of a bucket's problem, as an event describes it: without private
// data. It locks the head, so that changes of one problem follow each other. It returns NotFound
// for an unknown bucket.
func (s *Handle) LockProblem(ctx context.Context, tx pgx.Tx, bucket crash.BucketID) (crash.Event, error) {
	var id crash.BucketID
	var rule crash.Rule
	var t redact.Texts
	e := crash.Event{Bucket: &id}
	err := tx.QueryRow(ctx, sqlLockProblem, pgx.NamedArgs{"bucket": bucket[:]}).Scan(
		ScanTo(id[:]), &rule, &t.Title, &t.Name, &t.Executable, &t.Signature, &e.Package, &e.Source)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, crash.ErrUnknownBucket
	}
	if err != nil {
		return e, fmt.Errorf("problem of %s: %w", bucket, Classify(err))
	}
	t = t.Public()
	switch { // as the heading of the page for visitors; other titles can end with a private message
	case t.Name != "":
		e.Title = t.Name
	case t.Title != "" && rule == crash.RuleStacktrace:
		e.Title = t.Title
	default:
		e.Title = t.Signature
	}
	e.Title = crash.Truncate(e.Title, maxEventTitle)
	e.Package, e.Source = redact.Label(e.Package), redact.Label(e.Source)
	return e, nil
}
