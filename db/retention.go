package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"mishap/crash"
	"mishap/crash/privacy"
)

// Retention drops reports by whole months of arrival, or those of some types, and duplicate keys by whole
// years. It drops entire partitions, so it blocks nobody and frees the space at once. The counts stay. A
// year of keys may also contain keys of recent reports, because a report can have an old date or none.
// Such a year is deleted row by row, except for those keys.

const (
	// sqlPartitions selects partitions, including detached ones that were not dropped yet. It returns
	// whether each is attached, whether an interrupted call has detached it only in part, and its archive.
	sqlPartitions = `
		select c.relname, i.inhrelid is not null, coalesce(i.inhdetachpending, false),
			coalesce(substr(f.srvname, length('` + archiveServer + `') + 1), '')
		from pg_class as c left join pg_inherits as i on i.inhrelid = c.oid
			left join pg_foreign_table as t on t.ftrelid = c.oid left join pg_foreign_server as f on f.oid = t.ftserver
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'f') and c.relname ~ @pattern
		order by c.relname`
	sqlDroppedMonth = `
		insert into dropped_months as d (month, reports, dropped) values (@month, @reports, @now)
		on conflict (month) do update set reports = d.reports + excluded.reports, dropped = excluded.dropped`
	// Held are the buckets of held problems.
	sqlHeld       = `select coalesce(array_agg(id), '{}') from (` + HeldBuckets + `) as held`
	sqlDropWorkOf = `
		with dropped as (delete from core_requests where report_id = any(@ids::uuid[]))
		delete from symbol_jobs where report_id = any(@ids::uuid[])`
	sqlDropWork = `
		with dropped as (delete from core_requests where report_id >= @from and report_id < @until)
		delete from symbol_jobs where report_id >= @from and report_id < @until`
)

// Transactions that change holds share an advisory lock. LockHolds waits until there are none, and lets none begin
// before the end of this one. The number spells "misHolds".
const (
	LockHolds  = `select pg_advisory_xact_lock(7883959377632978035)`
	ShareHolds = `select pg_advisory_xact_lock_shared(7883959377632978035)`
)

// HeldBuckets selects the buckets of all held problems.
const HeldBuckets = `
	select m.id from (
		select distinct b.head from marks as h join buckets as b on b.id = h.bucket_id
		where h.kind = 'hold' and h.undone_at is null
	) as held join buckets as m on m.head = held.head`

// retentionLock is the advisory lock of the instance that drops or moves partitions of reports. The number is
// arbitrary.
const retentionLock = int64(0x6d697344726f7073) // "misDrops"

// keyLifetime is the minimum time for which mishap recognises a crash that is sent again.
const keyLifetime = 400 * 24 * time.Hour

// DropOldReports drops the reports of all months of arrival that ended more days ago than keep says for
// their type. The counts stay.
func (s *Store) DropOldReports(ctx context.Context, keep privacy.Keep) error {
	if keep.Forever() {
		return nil
	}
	until := newExpiry(s.Now(), keep)
	months, err := dropReports(ctx, s, until)
	if len(months) > 0 {
		s.Log.InfoContext(ctx, "dropped reports; their counts stay", "months", months, "reports_keep_days", keep.Days,
			"reports_keep_types", keep.Types)
	}
	return err
}

// DropReports drops the reports of all months of arrival that ended before the given time, once
// they are counted. It returns these months, in the form "2025-11". It does nothing while another
// instance drops reports. If a call was interrupted, the next one finishes its work.
func (s *Store) DropReports(ctx context.Context, before time.Time) ([]string, error) {
	return dropReports(ctx, s, expiry{others: before})
}

// expiry says before which time a month of arrival must have ended for its reports to be dropped.
type expiry struct {
	others time.Time            // of types that are not in types
	types  map[string]time.Time // zero: never
}

func newExpiry(now time.Time, keep privacy.Keep) expiry {
	e := expiry{types: map[string]time.Time{}}
	for _, l := range keep.Limits() {
		var before time.Time
		if l.Days > 0 {
			before = now.AddDate(0, 0, -l.Days)
		}
		if l.Type == "" {
			e.others = before
		} else {
			e.types[l.Type] = before
		}
	}
	return e
}

// expiredTypes are the types of which the reports of a month are dropped: those that are listed or, if
// except is set, all others.
type expiredTypes struct {
	except bool
	listed []string
}

func (e expiry) of(month partition) expiredTypes {
	t := expiredTypes{except: !month.until.After(e.others), listed: []string{}}
	for name, before := range e.types {
		if !month.until.After(before) != t.except {
			t.listed = append(t.listed, name)
		}
	}
	return t
}

func (t expiredTypes) none() bool { return !t.except && len(t.listed) == 0 }

// where is a condition on reports, with the argument @types.
func (t expiredTypes) where() string {
	if t.except {
		return "problem_type <> all(@types::text[])"
	}
	return "problem_type = any(@types::text[])"
}

// LockPartitions returns a connection that holds the lock for dropping and moving partitions of reports, and a
// function that ends it. It returns no connection if another instance holds the lock.
func (s *Store) LockPartitions(ctx context.Context) (conn *pgxpool.Conn, unlock func() error, err error) {
	conn, err = s.Pool.Acquire(ctx)
	if err != nil {
		return nil, nil, Wrap(err, "lock partitions")
	}
	var locked bool
	lock := pgx.NamedArgs{"lock": retentionLock}
	if err := conn.QueryRow(ctx, sqlTryLock, lock).Scan(&locked); err != nil || !locked {
		conn.Release()
		return nil, nil, Wrap(err, "lock partitions")
	}
	return conn, func() error {
		defer conn.Release()
		_, err := conn.Exec(context.WithoutCancel(ctx), sqlUnlock, lock)
		return Classify(err)
	}, nil
}

func dropReports(ctx context.Context, s *Store, until expiry) (months []string, err error) {
	conn, unlock, err := s.LockPartitions(ctx)
	if err != nil || conn == nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	d := &dropping{store: s, conn: conn.Conn()}
	if err := d.drop(ctx, until, false); err != nil {
		return d.months, fmt.Errorf("drop reports: %w", Classify(err))
	}
	keys := expiry{others: until.others}
	if oldest := s.Now().Add(-keyLifetime); keys.others.After(oldest) {
		keys.others = oldest
	}
	err = d.drop(ctx, keys, true)
	return d.months, Wrap(err, "drop keys of reports")
}

// dropping is a run of retention on one connection, which holds the lock.
type dropping struct {
	store  *Store
	conn   *pgx.Conn
	months []string
}

type foundPartition struct {
	name              string
	attached, pending bool
	archive           string // where its reports are; empty: here
}

func (d *dropping) drop(ctx context.Context, until expiry, keys bool) error {
	pattern := `^reports_[0-9]{4}_[0-9]{2}(_[0-9]{2})?$`
	if keys {
		pattern = `^report_keys_[0-9]{4}$`
	}
	found, err := List(ctx, d.conn, sqlPartitions, pgx.NamedArgs{"pattern": pattern},
		Into(func(f *foundPartition) []any { return []any{&f.name, &f.attached, &f.pending, &f.archive} }))
	if err != nil {
		return err
	}
	var away error // the archives that are down
	for _, f := range found {
		p, ok := partitionNamed(f.name)
		if !ok {
			continue
		}
		of := until.of(p)
		if of.none() && f.attached && !f.pending {
			continue
		}
		if keys && f.attached && !f.pending {
			if recent, err := d.clearKeys(ctx, p, until.others); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			} else if recent {
				continue
			}
		}
		if err := d.dropOne(ctx, p, f, of); err != nil {
			err = fmt.Errorf("%s: %w", f.name, Classify(err))
			if !IsArchiveAway(err) {
				return err
			}
			away = err
		}
	}
	return away
}

// clearChunk is the number of keys that one statement deletes.
const clearChunk = 50_000

// clearKeys reports whether a partition has keys of reports that arrived at or after the given
// time. If so, it deletes the other keys.
func (d *dropping) clearKeys(ctx context.Context, p partition, before time.Time) (recent bool, err error) {
	oldest := crash.FirstOopsID(before)
	has := "select exists (select from " + p.table() + " where report_id >= @oldest)"
	if err := d.conn.QueryRow(ctx, has, pgx.NamedArgs{"oldest": [16]byte(oldest)}).Scan(&recent); err != nil || !recent {
		return false, err
	}
	clearing := "delete from " + p.table() + " where ctid = any(array(select ctid from " + p.table() +
		" where report_id < @oldest limit @most))"
	for {
		tag, err := d.conn.Exec(ctx, clearing, pgx.NamedArgs{"oldest": [16]byte(oldest), "most": clearChunk})
		if err != nil || tag.RowsAffected() < clearChunk {
			return true, err
		}
	}
}

func (d *dropping) dropOne(ctx context.Context, p partition, f foundPartition, of expiredTypes) error {
	if !p.keys {
		if err := d.store.WaitCounted(ctx); err != nil {
			return err
		}
		if keep, err := d.keepsSome(ctx, d.conn, p, of); err != nil {
			return err
		} else if keep {
			return d.dropOthers(ctx, p, f, of)
		}
	}
	// Detaching concurrently waits for statements that read the partition, and blocks no others.
	detach := "concurrently"
	if f.pending {
		detach = "finalize"
	}
	if f.attached {
		if _, err := d.conn.Exec(ctx, fmt.Sprintf("alter table %s detach partition %s %s", p.parent(), p.table(),
			detach)); err != nil {
			return err
		}
	}
	return pgx.BeginFunc(ctx, d.conn, func(tx pgx.Tx) error {
		if !p.keys {
			// Somebody may hold a problem while the partition is detached.
			if _, err := tx.Exec(ctx, LockHolds); err != nil {
				return err
			}
			if keep, err := d.keepsSome(ctx, tx, p, of); err != nil {
				return err
			} else if keep {
				return attach(ctx, tx, p)
			}
			var reports int64
			if err := tx.QueryRow(ctx, "select count(*) from "+p.table()).Scan(&reports); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, sqlDroppedMonth, pgx.NamedArgs{"month": monthOf(p.from).from,
				"reports": reports, "now": d.store.Now()}); err != nil {
				return err
			}
			ids := pgx.NamedArgs{"from": [16]byte(crash.FirstOopsID(p.from)), "until": [16]byte(crash.FirstOopsID(p.until))}
			if _, err := tx.Exec(ctx, sqlDropWork, ids); err != nil {
				return err
			}
			if err := dropBodies(ctx, tx, p); err != nil {
				return err
			}
			if month := p.from.Format("2006-01"); !slices.Contains(d.months, month) {
				d.months = append(d.months, month)
			}
		}
		if f.archive != "" {
			return dropForeign(ctx, tx, p, f.archive, d.store.Now())
		}
		_, err := tx.Exec(ctx, "drop table "+p.table())
		return err
	})
}

// queryer is a connection or a transaction.
type queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// keepsSome reports whether a partition has reports of held problems, or of types that stay.
func (d *dropping) keepsSome(ctx context.Context, q queryer, p partition, of expiredTypes) (some bool, err error) {
	var held [][]byte
	if err := q.QueryRow(ctx, sqlHeld).Scan(&held); err != nil || len(held) == 0 && of.except && len(of.listed) == 0 {
		return false, err
	}
	err = q.QueryRow(ctx, "select exists (select from "+p.table()+" where bucket_id = any(@held::bytea[]) or not ("+
		of.where()+"))", pgx.NamedArgs{"held": held, "types": of.listed}).Scan(&some)
	return some, err
}

// dropChunk is the number of reports that one statement deletes.
const dropChunk = 1000

// dropOthers deletes the reports of a partition whose type has expired and that do not belong to held
// problems, and pauses after each chunk for as long as it took. The partition is dropped when nothing of
// it stays.
func (d *dropping) dropOthers(ctx context.Context, p partition, f foundPartition, of expiredTypes) error {
	if f.pending {
		if _, err := d.conn.Exec(ctx, fmt.Sprintf("alter table %s detach partition %s finalize", p.parent(),
			p.table())); err != nil {
			return err
		}
	}
	if f.pending || !f.attached { // an interrupted call detached it before somebody held the problem
		if err := pgx.BeginFunc(ctx, d.conn, func(tx pgx.Tx) error { return attach(ctx, tx, p) }); err != nil {
			return err
		}
	}
	choosing := "select ctid, id, bucket_id, body is not null, " + isLimited + " from " + p.table() + " as r " +
		"where (bucket_id = any(@held::bytea[])) is not true and " + of.where() + " limit @most for update skip locked"
	deleting := "delete from " + p.table() + " where ctid = any(@rows::tid[])"
	month := p.from.Format("2006-01")
	return paced(ctx, func() (done bool, err error) {
		deleted := 0
		err = pgx.BeginFunc(ctx, d.conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, LockHolds); err != nil {
				return err
			}
			var held [][]byte
			if err := tx.QueryRow(ctx, sqlHeld).Scan(&held); err != nil {
				return err
			}
			var rows []pgtype.TID
			var row pgtype.TID
			var ids [][16]byte
			var id [16]byte
			r, bodies := storedReport{received: p.from}, bodyCounts{}
			err := Each(ctx, tx, choosing, pgx.NamedArgs{"held": held, "types": of.listed, "most": dropChunk},
				[]any{&row, &id, &r.bucket, &r.full, &r.limited}, func() {
					rows, ids = append(rows, row), append(ids, id)
					bodies.count(r.bucket, &r, -1)
				})
			if err != nil || len(ids) == 0 {
				return err
			}
			deleted = len(ids)
			if _, err := tx.Exec(ctx, deleting, pgx.NamedArgs{"rows": rows}); err != nil {
				return err
			}
			if err := bodies.apply(ctx, tx); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, sqlDropWorkOf, pgx.NamedArgs{"ids": ids}); err != nil {
				return err
			}
			return Exec(ctx, tx, pgx.NamedArgs{"month": monthOf(p.from).from, "reports": deleted, "now": d.store.Now()},
				sqlDroppedMonth)
		})
		if err == nil && deleted > 0 && !slices.Contains(d.months, month) {
			d.months = append(d.months, month)
		}
		return deleted < dropChunk, err
	})
}
