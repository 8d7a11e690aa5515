package db

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

// A native crash without function names goes to a provisional bucket, which is keyed by the address
// signature. Once a report has names for the same address signature, the provisional bucket is
// merged into the bucket of that report. Its counts, links and address then belong to the other
// problem, and so do later reports without names. If an address signature gets two different names,
// the first one stays: neither is known to be better, and reports must not move back and forth. A
// person can undo the merge, and then it is not repeated.

// nameOf returns the provisional bucket for which a grouped report has function names, or nil if
// there is none.
func nameOf(counted bool, rule crash.Rule, address string) *crash.BucketID {
	if !counted || address == "" || rule != crash.RuleStacktrace && rule != crash.RuleStackNames {
		return nil
	}
	id := crash.BucketIDOf(address)
	return &id
}

// maxCachedNames is the maximum number of provisional buckets whose names a process caches as
// stored.
const maxCachedNames = 1 << 16

const sqlInsertNames = `
	insert into known_names (address_id, bucket_id)
	select * from unnest(@ids::bytea[], @buckets::bytea[]) as n (address_id, bucket_id)
	on conflict (address_id) do nothing`

// insertNames stores, in a transaction, which buckets have names for which provisional buckets. It
// skips those that are cached as stored. It returns the rest, which the caller adds to s.names
// after the commit.
func (s *Store) insertNames(
	ctx context.Context, tx pgx.Tx, server serverID, names map[crash.BucketID]crash.BucketID,
) (inserted map[crash.BucketID]bool, err error) {
	var ids []crash.BucketID
	for id := range names {
		if _, ok := s.names.find(server, id); !ok {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.SortFunc(ids, compareIDs) // a fixed order prevents deadlocks
	buckets := make([]crash.BucketID, len(ids))
	inserted = make(map[crash.BucketID]bool, len(ids))
	for i, id := range ids {
		buckets[i], inserted[id] = names[id], true
	}
	if _, err := tx.Exec(ctx, sqlInsertNames, pgx.NamedArgs{"ids": IDBytes(ids),
		"buckets": IDBytes(buckets)}); err != nil {
		return nil, fmt.Errorf("store names: %w", err)
	}
	return inserted, nil
}

const (
	// sqlToAdopt selects provisional buckets that this round has changed, and those with a new name.
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
	sqlNamesUsed = `
		update known_names set fresh = false
		where fresh and exists (select from buckets where id = known_names.bucket_id)`
)

// adoptProvisional merges provisional buckets into the buckets that have names for them. tx holds
// the counting lock, and the buckets of the round exist already. A round without provisional
// buckets or new names costs only two index look-ups.
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
		// Read the heads for each pair, because a merge may change those of the next pair.
		heads, err := d.heads(ctx, []crash.BucketID{p.from, p.named})
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
