package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
)

const (
	saveTimeout  = 20 * time.Second // for one transaction
	saveAttempts = 4
	savePause    = 25 * time.Millisecond // before the second attempt; four times as long before each further one
)

// save stores a batch, hands it over to be counted and answers its callers. When the database rejects the contents of a
// batch, its halves are tried one by one, and so on, so that in the end an invalid report fails alone.
func (v *saver) save(ctx context.Context, batch []*pendingReport) {
	v.store.counter.await()
	began := time.Now()
	done, err := v.attempts(ctx, batch)
	if faulty(err) && len(batch) > 1 {
		v.save(ctx, batch[:len(batch)/2])
		v.save(ctx, batch[len(batch)/2:])
		return
	}
	v.stats.batch(len(batch), time.Since(began))
	v.noSpace.Store(noSpace(err))
	if err != nil {
		err = fmt.Errorf("save %d reports: %w", len(batch), err)
		if noSpace(err) {
			err = errNoSpace.Because(err)
		} else if !faulty(err) { // the report is not at fault, and may be sent again
			err = errUnavailable.Because(err)
		}
		v.store.log.ErrorContext(ctx, "reports not stored", "reports", len(batch), "first", batch[0].ID.String(), "error", err)
		for _, p := range batch {
			p.answer <- saved{err: err}
		}
		return
	}
	var counted <-chan struct{}
	if len(done.now) > 0 {
		counted = v.store.counter.add(done.work, len(done.now), v.underWay.Load())
	}
	buckets := map[crash.BucketID]bool{}
	for i, p := range batch {
		p.answer <- saved{id: done.first[i], counted: counted}
		if p.bucket != nil && done.now[p.ID] { // a report that is not stored may have left no bucket
			buckets[*p.bucket] = true
		}
	}
	v.buckets.add(done.server, buckets)
}

// stored is what a transaction has done.
type stored struct {
	first  []crash.OopsID        // for each report of the batch, the id under which its crash is stored
	now    map[crash.OopsID]bool // the reports that were stored by it
	work   [16]byte              // the row of uncounted that lists them
	server serverID              // where they are stored
}

// attempts tries again after transient errors: a deadlock, a lost connection, a missing partition. That is safe even when
// the lost attempt was committed: a report is never stored or counted twice.
func (v *saver) attempts(ctx context.Context, batch []*pendingReport) (done stored, err error) {
	pause := savePause
	for n := range saveAttempts {
		if n > 0 {
			wait(ctx, pause)
			pause *= 4
		}
		if done, err = v.attempt(ctx, batch, n > 0); err == nil || !transient(err) {
			return done, err
		}
		if missingPartition(err) {
			v.partitions.forget()
		}
	}
	return done, err
}

// wait returns after d, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// transient reports whether the next attempt may succeed after err. A time-out of a whole attempt is not transient.
func transient(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "40001", "40P01", "55P03": // serialisation, deadlock, lock not available
			return true
		}
	}
	return missingPartition(err) || alreadyThere(err) || away(err) && !errors.Is(err, context.DeadlineExceeded)
}

// alreadyThere reports whether err says that a report with this id is stored: somebody sent the same one again.
func alreadyThere(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23505" && strings.HasPrefix(pg.TableName, "reports_2")
}

// faulty reports whether err is about the contents: an invalid value, a violated constraint, too large a row.
func faulty(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch pg.Code[:2] {
	case "22", "23", "54":
		return true
	}
	return false
}

// missingPartition reports whether err says that there is no partition for a row. Unlike a violated constraint, it has no name.
func missingPartition(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23514" && pg.ConstraintName == ""
}
