package db

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// A native crash whose frames have no names waits in a provisional bucket, under its address signature. As soon as a report
// brings names for the same address signature, the bucket counts under the one with names, for good: its head is set, so that
// counts, first and last, reports, links and its address go over at once, and reports without names that come later are
// counted there from the start. Of two names for one address signature the first stays: which one is better cannot be told,
// and nothing moves back and forth. A person may undo it; then it is not done again.

// nameOf is the provisional bucket that a grouped report tells the name of; nil: of none.
func nameOf(counted bool, rule crash.Rule, address string) *crash.BucketID {
	if !counted || address == "" || rule != crash.RuleStacktrace && rule != crash.RuleStackNames {
		return nil
	}
	id := crash.BucketIDOf(address)
	return &id
}

// maxSeenNames bounds what a process remembers of names that are in the database.
const maxSeenNames = 1 << 16

const sqlInsertNames = `
	insert into known_names (address_id, bucket_id)
	select * from unnest(@ids::bytea[], @buckets::bytea[]) as n (address_id, bucket_id) on conflict (address_id) do nothing`

// learnNames notes, within a transaction, under which names address signatures are known. Those that are noted already cost
// nothing; what it returns is noted once the transaction is committed, and then to be added to s.names.
func (s *Store) learnNames(
	ctx context.Context, tx pgx.Tx, server serverID, names map[crash.BucketID]crash.BucketID,
) (learnt map[crash.BucketID]bool, err error) {
	var ids []crash.BucketID
	for id := range names {
		if _, ok := s.names.find(server, id); !ok {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.SortFunc(ids, compareIDs) // rows are always taken in this order
	buckets := make([]crash.BucketID, len(ids))
	learnt = make(map[crash.BucketID]bool, len(ids))
	for i, id := range ids {
		buckets[i], learnt[id] = names[id], true
	}
	if _, err := tx.Exec(ctx, sqlInsertNames, pgx.NamedArgs{"ids": IDBytes(ids),
		"buckets": IDBytes(buckets)}); err != nil {
		return nil, fmt.Errorf("learn names: %w", err)
	}
	return learnt, nil
}

const (
	// Provisional buckets that this round has touched, and all whose name has just become known.
	sqlToAdopt = `
		select b.id, h.id
		from (
			select id from buckets where changed = @round and provisional
			union
			select address_id from known_names where fresh
		) as c
			join buckets as b on b.id = c.id
			join known_names as n on n.address_id = b.id
			join buckets as h on h.id = n.bucket_id
		where b.provisional and b.head = b.id and not n.refused and h.head <> b.id
		order by b.id`
	sqlNamesUsed = `update known_names set fresh = false where fresh and exists (select from buckets where id = known_names.bucket_id)`
)

// adoptProvisional lets provisional buckets whose name is known count under it. Its transaction holds the lock on counting;
// buckets that the round made are there. In a round with neither provisional buckets nor new names it costs two looks into
// indexes.
func (s *Store) adoptProvisional(ctx context.Context, tx pgx.Tx, round int64) error {
	rows, err := tx.Query(ctx, sqlToAdopt, pgx.NamedArgs{"round": round})
	if err != nil {
		return fmt.Errorf("names for provisional problems: %w", err)
	}
	type pair struct{ from, named crash.BucketID }
	pairs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p pair, err error) {
		err = row.Scan(ScanTo(p.from[:]), ScanTo(p.named[:]))
		return p, err
	})
	if err != nil {
		return fmt.Errorf("names for provisional problems: %w", err)
	}
	d := &deciding{Tx: tx, store: s, round: round}
	for _, p := range pairs {
		heads, err := d.heads(ctx, []crash.BucketID{p.from, p.named}) // each merge may change those of the next
		if err != nil {
			return err
		}
		head := heads[p.named]
		if heads[p.from] != p.from || head == p.from {
			continue
		}
		if err := d.merge(ctx, p.from, head, crash.CauseSymbolised, "", "A report with the same addresses has brought the "+
			"names of the functions."); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, sqlNamesUsed); err != nil {
		return fmt.Errorf("names for provisional problems: %w", err)
	}
	return nil
}
