package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	// The statements of a round look up as many rows as they are given, by their keys, whatever is known of the sizes of tables.
	sqlSetRound = `
		select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
			set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`
	// Some of the reports of a transaction may have been counted before, by another instance or by a round whose outcome was
	// lost: then the row has fewer than are expected, and says which.
	sqlTakeWork = `
		delete from uncounted as u using unnest(@ids::uuid[], @expected::integer[]) as t (id, expected) where u.id = t.id
		returning u.id, case when cardinality(u.reports) <> t.expected then u.reports end`
	sqlTakePart = `
		update uncounted set reports = @rest where id = @id and cardinality(reports) = @expected returning id`
	// The lock on counting is held: nobody else takes work meanwhile.
	sqlFindLeftOver = `
		select id, reports from uncounted where stored <= clock_timestamp() - @waiting::interval order by stored limit @limit`
	sqlLeftOver = `
		select r.id, r.counted, r.day, r.received, r.occurred, r.system_key, r.bucket_id, r.rule,
			r.problem_type, r.title, r.executable, r.package, r.version, r.source_package, r.release, r.architecture, r.package_architecture, r.proposed, r.address_signature
		from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join reports as r on r.received = m.received and r.id = m.id`
)

// maxLeftOver is how many transactions' reports are read back and counted by one round.
const maxLeftOver = 64

// countWork counts so many reports that this process has stored, in one transaction. It returns how many it counted, and in
// part, how many of the one transaction taken if these were not all of it; else part is 0. Work that is no longer there was
// counted before: by another instance that took it for left over, or by an attempt whose outcome was lost.
func (s *Store) countWork(ctx context.Context, taken []*work, reports int) (counted, part int, err error) {
	var learnt roundLearnt
	err = s.inCountingRound(ctx, func(tx pgx.Tx, at stamp) error {
		var sightings []sighting
		if sightings, part, err = takeWork(ctx, tx, taken, reports); err != nil {
			return fmt.Errorf("take work: %w", err)
		}
		counted = len(sightings)
		learnt, err = s.count(ctx, tx, at, sightings)
		return err
	})
	if err == nil {
		s.names.add(learnt.server, learnt.names)
		s.spans.add(learnt.server, learnt.spans.last())
	}
	return counted, part, err
}

// takeWork deletes what a round counts from the uncounted reports, and returns it.
func takeWork(ctx context.Context, tx pgx.Tx, taken []*work, reports int) (sightings []sighting, part int, err error) {
	if len(taken) == 1 && reports < len(taken[0].sightings) {
		return takePart(ctx, tx, taken[0], reports)
	}
	rows, err := tx.Query(ctx, sqlTakeWork, pgx.NamedArgs{
		"ids":      column(taken, func(w *work) [16]byte { return w.id }),
		"expected": column(taken, func(w *work) int { return len(w.sightings) }),
	})
	if err != nil {
		return nil, 0, err
	}
	there := map[[16]byte][][16]byte{} // nil: all of it
	var id [16]byte
	var left [][16]byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &left}, func() error {
		there[id] = left
		left = nil
		return nil
	}); err != nil {
		return nil, 0, err
	}
	sightings = make([]sighting, 0, reports)
	for _, w := range taken {
		switch left, ok := there[w.id]; {
		case !ok:
		case left == nil:
			sightings = append(sightings, w.sightings...)
		default:
			for _, s := range w.sightings {
				if slices.Contains(left, [16]byte(s.id)) {
					sightings = append(sightings, s)
				}
			}
		}
	}
	return sightings, 0, nil
}

// takePart is takeWork for so many reports of one transaction. If some of them were counted before, it takes none: the
// others are found as left over.
func takePart(ctx context.Context, tx pgx.Tx, w *work, reports int) (sightings []sighting, part int, err error) {
	rest := column(w.sightings[reports:], func(s sighting) [16]byte { return s.id })
	tag, err := tx.Exec(ctx, sqlTakePart, pgx.NamedArgs{"id": w.id, "rest": rest, "expected": len(w.sightings)})
	if err != nil || tag.RowsAffected() == 0 {
		return nil, 0, err
	}
	return w.sightings[:reports], reports, nil
}

// countLeftOver counts some of what has been waiting for so long, by reading it back, and returns how many reports these
// were; 0: nothing was left.
func (s *Store) countLeftOver(ctx context.Context, waiting time.Duration) (reports int, err error) {
	err = s.inCountingRound(ctx, func(tx pgx.Tx, at stamp) error {
		reports, err = s.countLeftOverIn(ctx, tx, at, waiting)
		return err
	})
	if reports > 0 {
		s.counter.leftSize.result(reports, err)
	}
	if err != nil {
		return 0, err
	}
	return reports, nil
}

// countLeftOverIn is countLeftOver within a transaction that holds the lock on counting. It returns errNothing when nothing
// was left, and the number of reports also with another error.
func (s *Store) countLeftOverIn(ctx context.Context, tx pgx.Tx, at stamp, waiting time.Duration) (reports int, err error) {
	ids, err := takeLeftOver(ctx, tx, waiting, s.counter.leftSize.get())
	if err != nil {
		return 0, fmt.Errorf("take what is left: %w", err)
	}
	if len(ids) == 0 {
		return 0, errNothing
	}
	return len(ids), s.countStored(ctx, tx, at, ids)
}

// takeLeftOver deletes up to limit of the oldest uncounted reports and returns their ids.
func takeLeftOver(ctx context.Context, tx pgx.Tx, waiting time.Duration, limit int) (ids [][16]byte, err error) {
	rows, err := tx.Query(ctx, sqlFindLeftOver, pgx.NamedArgs{"waiting": waiting, "limit": min(maxLeftOver, limit)})
	if err != nil {
		return nil, err
	}
	var whole [][16]byte
	var sizes []int
	var part, id [16]byte
	var expected int
	var of, rest [][16]byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &of}, func() error {
		n := min(len(of), limit-len(ids))
		ids = append(ids, of[:n]...)
		switch {
		case n == len(of):
			whole, sizes = append(whole, id), append(sizes, n)
		case n > 0:
			part, rest, expected = id, of[n:], len(of)
		}
		of = nil
		return nil
	}); err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		if _, err := tx.Exec(ctx, sqlTakePart, pgx.NamedArgs{"id": part, "rest": rest, "expected": expected}); err != nil {
			return nil, err
		}
	}
	if len(whole) > 0 {
		if _, err := tx.Exec(ctx, sqlTakeWork, pgx.NamedArgs{"ids": whole, "expected": sizes}); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// countStored counts stored reports within a transaction that holds the lock on counting.
func (s *Store) countStored(ctx context.Context, tx pgx.Tx, at stamp, ids [][16]byte) error {
	received := column(ids, func(id [16]byte) time.Time { return crash.OopsID(id).Received() })
	rows, err := tx.Query(ctx, sqlLeftOver, pgx.NamedArgs{"ids": ids, "received": received})
	if err != nil {
		return fmt.Errorf("read what is left: %w", err)
	}
	sightings, err := pgx.CollectRows(rows, scanSighting)
	if err != nil {
		return fmt.Errorf("read what is left: %w", err)
	}
	if _, err := s.count(ctx, tx, at, sightings); err != nil && !errors.Is(err, errNothing) { // their partition was dropped
		return err
	}
	return nil
}

func scanSighting(row pgx.CollectableRow) (s sighting, err error) {
	var bucket []byte
	var occurred time.Time
	err = row.Scan((*[16]byte)(&s.id), &s.counted, &s.day, &s.received, orZero(&occurred), &s.system, &bucket, &s.rule,
		&s.ProblemType, &s.Title, &s.Executable, &s.Package, &s.Version, &s.SourcePackage, &s.Release, &s.Architecture, &s.PackageArchitecture, &s.Proposed,
		&s.AddressSignature)
	s.names = nameOf(s.counted, s.rule, s.AddressSignature)
	if bucket != nil && err == nil {
		id := crash.BucketID(bucket)
		s.bucket = &id
	}
	s.seen = seenAt(occurred, s.day, s.received)
	return s, err
}

// errNothing rolls back a round that found nothing to do.
var errNothing = errors.New("nothing to count")

// inRound runs fn in a transaction that holds the lock on counting and has the next number. Nothing else changes counts
// meanwhile, in no unit.
func (s *Store) inRound(ctx context.Context, fn func(tx pgx.Tx, at stamp) error) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		var at stamp
		if err := tx.QueryRow(ctx, sqlNextRound).Scan(&at.round, &at.server.started, &at.server.database); err != nil {
			return fmt.Errorf("next round: %w", err)
		}
		return fn(tx, at)
	})
}

// inCountingRound is inRound for what is counted from stored reports. It is on disk when it is committed, like all else,
// though its reports could be counted again: whoever has seen the number of a round must never see it a second time.
func (s *Store) inCountingRound(ctx context.Context, fn func(tx pgx.Tx, at stamp) error) error {
	err := s.inRound(ctx, func(tx pgx.Tx, at stamp) error {
		if _, err := tx.Exec(ctx, sqlSetRound); err != nil {
			return err
		}
		return fn(tx, at)
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}

// roundLearnt is what a round has put into the database and a process remembers.
type roundLearnt struct {
	server serverID
	names  map[crash.BucketID]bool
	spans  machineSpans
}

// count adds sightings to all counts. It returns what is to be remembered after the commit.
func (s *Store) count(ctx context.Context, tx pgx.Tx, at stamp, sightings []sighting) (learnt roundLearnt, err error) {
	learnt.server = at.server
	if len(sightings) == 0 {
		return learnt, errNothing
	}
	ids := make([][16]byte, len(sightings))
	for i := range sightings {
		ids[i] = sightings[i].id
	}
	placed, err := s.placeReports(ctx, tx, ids)
	if err != nil {
		return learnt, err
	}
	names := map[crash.BucketID]crash.BucketID{}
	for i := range sightings {
		one := &sightings[i]
		if to, ok := placed[one.id]; ok {
			one.bucket = &to
		}
		if one.names != nil && one.bucket != nil {
			if _, known := names[*one.names]; !known {
				names[*one.names] = *one.bucket
			}
		}
	}
	p := s.counter.newPace(len(sightings))
	sum := newRoundSum(&s.spans, at.server)
	for some := range slices.Chunk(sightings, pieceReports) {
		for i := range some {
			sum.add(&some[i])
		}
		p.rest()
	}
	if learnt.spans, err = writeRound(ctx, tx, p, at.round, sum); err != nil {
		return learnt, err
	}
	if learnt.names, err = s.learnNames(ctx, tx, at.server, names); err != nil {
		return learnt, err
	}
	return learnt, s.adoptProvisional(ctx, tx, at.round)
}
