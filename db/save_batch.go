package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
)

const (
	saveTimeout  = 20 * time.Second // for one transaction
	saveAttempts = 4
	savePause    = 25 * time.Millisecond // before the second attempt; four times as long before each further one
)

// save stores a batch, hands it over to be counted and answers everyone in it. When the database finds fault with the
// contents of a batch, its halves are tried by themselves, and so on, so that in the end a bad report fails alone.
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
		} else if !faulty(err) { // whatever it is, it is not the report's fault, which may be sent again
			err = errUnavailable.Because(err)
		}
		v.store.log.ErrorContext(ctx, "reports not stored", "reports", len(batch), "first", batch[0].ID.String(), "error", err)
		for _, p := range batch {
			p.answer <- saved{err: err}
		}
		return
	}
	v.buckets.add(done.server, storedBuckets(batch, done.now))
	counted := v.toCount(batch, done)
	for i, p := range batch {
		p.answer <- saved{id: done.first[i], counted: counted}
	}
}

// stored is what a transaction has done.
type stored struct {
	first  []crash.OopsID        // for each report of the batch, the id under which its crash is stored
	now    map[crash.OopsID]bool // the reports that were stored by it
	work   [16]byte              // under which they are to be counted
	server serverID              // where they are stored
}

// toCount hands over what was stored now, and returns what answers wait for; nil: nothing.
func (v *saver) toCount(batch []*pendingReport, done stored) <-chan struct{} {
	w := newWork(done.work, len(done.now))
	for _, p := range batch {
		if done.now[p.ID] {
			w.sightings = append(w.sightings, p.sighting())
		}
	}
	if len(w.sightings) == 0 {
		return nil
	}
	v.store.counter.add(w, v.underWay.Load())
	return w.answer
}

// attempts tries again after troubles that pass: a deadlock, a lost connection, a missing partition. Trying again is
// safe even when the lost attempt was in fact committed, for a report that is stored is never stored or counted twice.
func (v *saver) attempts(ctx context.Context, batch []*pendingReport) (done stored, err error) {
	pause := savePause
	for n := range saveAttempts {
		if n > 0 {
			wait(ctx, pause)
			pause *= 4
		}
		if done, err = v.attempt(ctx, batch, n > 0); err == nil || !passing(err) {
			return done, err
		}
		if missingPartition(err) {
			v.partitions.forget()
		}
	}
	return done, err
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func collectIDs(rows pgx.Rows) (map[crash.OopsID]bool, error) {
	ids := map[crash.OopsID]bool{}
	var id [16]byte
	_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
		ids[id] = true
		return nil
	})
	return ids, err
}

// passing reports whether err may be gone at the next attempt. Having waited in vain for as long as one attempt may take
// is not of that kind.
func passing(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "40001", "40P01", "55P03": // serialisation, deadlock, lock not available
			return true
		}
	}
	return missingPartition(err) || alreadyThere(err) || away(err) && !errors.Is(err, context.DeadlineExceeded)
}

// alreadyThere: a report with this id is stored, since somebody hands the same one in again.
func alreadyThere(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23505" && strings.HasPrefix(pg.TableName, "reports_2")
}

// faulty reports whether err speaks of the contents: a value that does not fit, a violated constraint, too large a row.
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

// missingPartition is told from a violated constraint by its having no name.
func missingPartition(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23514" && pg.ConstraintName == ""
}
