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
	sqlTakeWork = `delete from uncounted where id = any(@ids::uuid[]) returning id`
	// Whoever waits for the lock sees, once it has it, what was committed meanwhile: a row of work is taken by one round only.
	sqlTakeLeftOver = `
		delete from uncounted where id in (
			select id from uncounted where stored <= clock_timestamp() - @waiting::interval order by stored limit @limit
		) returning reports`
	sqlLeftOver = `
		select r.id, r.counted, r.day, r.received, r.occurred, r.system_key, r.bucket_id, r.rule,
			r.problem_type, r.title, r.executable, r.package, r.version, r.source_package, r.release, r.architecture, r.package_architecture, r.proposed, r.address_signature
		from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join reports as r on r.received = m.received and r.id = m.id`
)

// maxLeftOver is how many transactions' reports are read back and counted by one round.
const maxLeftOver = 64

// countWork counts what this process has stored, in one transaction, and returns how many reports these were. Work that is
// no longer there was counted before: by another unit that took it for left over, or by an attempt whose outcome was lost.
func (s *Store) countWork(ctx context.Context, taken []*work) (reports int, err error) {
	var learnt roundLearnt
	err = s.inCountingRound(ctx, func(tx pgx.Tx, round int64) error {
		ids := make([][16]byte, len(taken))
		for i, w := range taken {
			ids[i] = w.id
		}
		rows, err := tx.Query(ctx, sqlTakeWork, pgx.NamedArgs{"ids": ids})
		if err != nil {
			return fmt.Errorf("take work: %w", err)
		}
		there, err := collectIDs(rows)
		if err != nil {
			return fmt.Errorf("take work: %w", err)
		}
		all := 0
		for _, w := range taken {
			all += len(w.sightings)
		}
		sightings := make([]sighting, 0, all)
		for _, w := range taken {
			if there[w.id] {
				sightings = append(sightings, w.sightings...)
			}
		}
		reports = len(sightings)
		learnt, err = s.count(ctx, tx, round, sightings)
		return err
	})
	if err == nil {
		s.names.add(learnt.names)
		s.spans.add(learnt.spans)
	}
	return reports, err
}

// countLeftOver counts some of what has been waiting for so long, by reading it back, and returns how many reports these
// were; 0: nothing was left.
func (s *Store) countLeftOver(ctx context.Context, waiting time.Duration) (reports int, err error) {
	err = s.inCountingRound(ctx, func(tx pgx.Tx, round int64) error {
		reports, err = s.takeLeftOver(ctx, tx, round, waiting)
		return err
	})
	return reports, err
}

// takeLeftOver is countLeftOver within a transaction that holds the lock on counting.
func (s *Store) takeLeftOver(ctx context.Context, tx pgx.Tx, round int64, waiting time.Duration) (int, error) {
	rows, err := tx.Query(ctx, sqlTakeLeftOver, pgx.NamedArgs{"waiting": waiting, "limit": maxLeftOver})
	if err != nil {
		return 0, fmt.Errorf("take what is left: %w", err)
	}
	var ids [][16]byte
	var of [][16]byte
	if _, err := pgx.ForEachRow(rows, []any{&of}, func() error {
		ids = append(ids, of...)
		return nil
	}); err != nil {
		return 0, fmt.Errorf("take what is left: %w", err)
	}
	if len(ids) == 0 {
		return 0, errNothing
	}
	received := make([]time.Time, len(ids))
	for i, id := range ids {
		received[i] = crash.OopsID(id).Received()
	}
	if rows, err = tx.Query(ctx, sqlLeftOver, pgx.NamedArgs{"ids": ids, "received": received}); err != nil {
		return 0, fmt.Errorf("read what is left: %w", err)
	}
	sightings, err := pgx.CollectRows(rows, scanSighting)
	if err != nil {
		return 0, fmt.Errorf("read what is left: %w", err)
	}
	if _, err := s.count(ctx, tx, round, sightings); err != nil && !errors.Is(err, errNothing) { // their partition was dropped
		return 0, err
	}
	return len(ids), nil
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
func (s *Store) inRound(ctx context.Context, fn func(tx pgx.Tx, round int64) error) error {
	return s.inTx(ctx, func(tx pgx.Tx) error {
		var round int64
		if err := tx.QueryRow(ctx, sqlNextRound).Scan(&round); err != nil {
			return fmt.Errorf("next round: %w", err)
		}
		return fn(tx, round)
	})
}

// inCountingRound is inRound for what is counted from stored reports. It is on disk when it is committed, like all else,
// though its reports could be counted again: whoever has seen the number of a round must never see it a second time.
func (s *Store) inCountingRound(ctx context.Context, fn func(tx pgx.Tx, round int64) error) error {
	err := s.inRound(ctx, func(tx pgx.Tx, round int64) error {
		if _, err := tx.Exec(ctx, sqlSetRound); err != nil {
			return err
		}
		return fn(tx, round)
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}

// roundLearnt is what a round has put into the database and a process remembers.
type roundLearnt struct {
	names []crash.BucketID
	spans machineSpans
}

// count adds sightings to all counts. It returns what is to be remembered after the commit.
func (s *Store) count(ctx context.Context, tx pgx.Tx, round int64, sightings []sighting) (learnt roundLearnt, err error) {
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
		at := &sightings[i]
		if to, ok := placed[at.id]; ok {
			at.bucket = &to
		}
		if at.names != nil && at.bucket != nil {
			if _, known := names[*at.names]; !known {
				names[*at.names] = *at.bucket
			}
		}
	}
	p := s.counter.newPace(len(sightings))
	sum := newRoundSum(&s.spans)
	for some := range slices.Chunk(sightings, pieceReports) {
		for i := range some {
			sum.add(&some[i])
		}
		p.rest()
	}
	if learnt.spans, err = writeRound(ctx, tx, p, round, sum); err != nil {
		return learnt, err
	}
	if learnt.names, err = s.learnNames(ctx, tx, names); err != nil {
		return learnt, err
	}
	return learnt, s.adoptProvisional(ctx, tx, round)
}
