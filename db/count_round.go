package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
)

const (
	// sqlSetRound makes the statements of a round look up rows by index, whatever the statistics say
	// about table sizes. PostgreSQL then plans each statement once for each connection. Without it, a
	// report takes 5 % more processor time, and a tenth fewer are stored per second (measured by devtool
	// bench programs on 20,000 reports).
	sqlSetRound = `
		select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
			set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`
	sqlWorkOf = `select id, reports from uncounted where id = any(@ids::uuid[]) order by stored, id`
	// sqlWorkOlderThan has a limit to bound memory: a row lists up to 256 reports.
	sqlWorkOlderThan = `
		select id, reports from uncounted where stored <= clock_timestamp() - @age::interval order by stored, id limit 256`
	sqlDeleteWork     = `delete from uncounted where id = any(@ids::uuid[])`
	sqlShortenWork    = `update uncounted set reports = @reports where id = @id`
	sqlReportsToCount = `
		select r.id, r.counted, r.day, r.received, r.occurred, r.system_key, r.bucket_id, r.rule, r.problem_type, r.title,
			r.executable, r.package, r.version, r.source_package, r.release, r.architecture, r.package_architecture, r.proposed,
			r.address_signature
		from unnest(@ids::uuid[], @received::timestamptz[]) as m (id, received)
			join reports as r on r.received = m.received and r.id = m.id`
)

// inRound runs fn in a transaction that holds the counting lock and has the next round number.
// While it runs, no other instance changes counts.
func (s *Store) inRound(ctx context.Context, fn func(tx pgx.Tx, at stamp) error) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		var at stamp
		if err := tx.QueryRow(ctx, sqlNextRound).Scan(append([]any{&at.round}, at.server.columns()...)...); err != nil {
			return fmt.Errorf("next round: %w", err)
		}
		return fn(tx, at)
	})
}

// errNothing rolls back a round that has found nothing to count, so that its number is reused.
var errNothing = errors.New("nothing to count")

// workChoice is a query that selects rows of the table uncounted.
type workChoice struct {
	sql  string
	args pgx.NamedArgs
}

func workOf(ids [][16]byte) workChoice { return workChoice{sqlWorkOf, pgx.NamedArgs{"ids": ids}} }

func workOlderThan(age time.Duration) workChoice {
	return workChoice{sqlWorkOlderThan, pgx.NamedArgs{"age": age}}
}

// roundResult is the outcome of a round.
type roundResult struct {
	reports   int // counted, or attempted if the round failed
	remaining int // uncounted reports left in the last work row
	names     map[crash.BucketID]bool
	spans     map[cachedMachine]cachedSpan
}

// countRound counts up to limit reports of the selected work rows in one transaction. After the
// commit it caches the names and spans that it has written.
func (s *Store) countRound(ctx context.Context, which workChoice, limit int) (r roundResult, err error) {
	var server serverID
	err = s.inRound(ctx, func(tx pgx.Tx, at stamp) error {
		if _, err := tx.Exec(ctx, sqlSetRound); err != nil {
			return err
		}
		server = at.server
		r, err = s.countWork(ctx, tx, at, which, limit)
		return err
	})
	if errors.Is(err, errNothing) {
		return roundResult{}, nil
	}
	if err == nil {
		s.names.add(server, r.names)
		s.spans.add(server, r.spans)
	}
	return r, err
}

// countWork runs a round in tx, which must hold the counting lock. It returns errNothing if there
// is no work.
func (s *Store) countWork(ctx context.Context, tx pgx.Tx, at stamp, which workChoice, limit int) (r roundResult,
	err error) {
	var write pgx.Batch
	ids, remaining, err := takeWork(ctx, tx, &write, which, limit)
	if err != nil {
		return r, fmt.Errorf("take work: %w", err)
	}
	if len(ids) == 0 {
		return r, errNothing
	}
	r.reports, r.remaining = len(ids), remaining
	reports, err := s.readReports(ctx, tx, ids)
	if err != nil {
		return r, fmt.Errorf("read reports to count: %w", err)
	}
	sum := newRoundSum(&s.spans, at.server)
	for i := range reports {
		sum.add(&reports[i])
	}
	machines, cells, err := sum.countMachines(ctx, tx)
	if err != nil {
		return r, fmt.Errorf("count machines: %w", err)
	}
	if r.spans, err = sum.countActive(ctx, tx, &write); err != nil {
		return r, fmt.Errorf("count active machines: %w", err)
	}
	sum.write(&write, at.round, machines, cells)
	if err := tx.SendBatch(ctx, &write).Close(); err != nil {
		return r, fmt.Errorf("write counts: %w", err)
	}
	if r.names, err = s.insertNames(ctx, tx, at.server, sum.names); err != nil {
		return r, err
	}
	return r, s.adoptProvisional(ctx, tx, at.round)
}

// takeWork returns the ids of up to limit uncounted reports, and queues the statements that remove
// them from the table uncounted. It also returns how many reports remain in the last row that it
// has read.
func takeWork(ctx context.Context, tx pgx.Tx, write *pgx.Batch, which workChoice, limit int) (ids [][16]byte,
	remaining int, err error) {
	rows, err := tx.Query(ctx, which.sql, which.args)
	if err != nil {
		return nil, 0, err
	}
	var whole [][16]byte
	var id [16]byte
	var reports [][16]byte
	_, err = pgx.ForEachRow(rows, []any{&id, &reports}, func() error {
		n := min(len(reports), limit-len(ids))
		ids = append(ids, reports[:n]...)
		switch {
		case n == len(reports):
			whole = append(whole, id)
		case n > 0:
			remaining = len(reports) - n
			write.Queue(sqlShortenWork, pgx.NamedArgs{"id": id, "reports": reports[n:]})
		}
		reports = nil
		return nil
	})
	write.Queue(sqlDeleteWork, pgx.NamedArgs{"ids": whole})
	return ids, remaining, err
}

// storedReport holds the parts of a stored report that are counted.
type storedReport struct {
	crash.Summary
	id             crash.OopsID
	counted        bool      // false for a test machine, whose reports at most describe their bucket
	day            time.Time // UTC day on which the report counts
	received, seen time.Time // seen: time of the occurrence
	system         *int64    // nil for a machine without an id
	bucket         *crash.BucketID
	rule           crash.Rule
}

// readReports reads the reports to count, after moving those that match a split. It omits reports
// whose partition has been dropped.
func (s *Store) readReports(ctx context.Context, tx pgx.Tx, ids [][16]byte) ([]storedReport, error) {
	if _, err := s.placeReports(ctx, tx, ids); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, sqlReportsToCount, pgx.NamedArgs{
		"ids": ids, "received": column(ids, func(id [16]byte) time.Time { return crash.OopsID(id).Received() }),
	})
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r storedReport, err error) {
		var bucket []byte
		var occurred time.Time
		err = row.Scan((*[16]byte)(&r.id), &r.counted, &r.day, &r.received, OrZero(&occurred), &r.system, &bucket, &r.rule,
			&r.ProblemType, &r.Title, &r.Executable, &r.Package, &r.Version, &r.SourcePackage, &r.Release, &r.Architecture,
			&r.PackageArchitecture, &r.Proposed, &r.AddressSignature)
		if bucket != nil && err == nil {
			r.bucket = (*crash.BucketID)(bucket)
		}
		r.seen = seenAt(occurred, r.day, r.received)
		return r, err
	})
}

// seenAt returns the time of the crash according to the machine if the report counts on that day.
// Otherwise the machine's clock was not trusted, and seenAt returns the time of arrival.
func seenAt(occurred, day, received time.Time) time.Time {
	if !occurred.IsZero() && occurred.UTC().Truncate(24*time.Hour).Equal(day) {
		return occurred
	}
	return received
}

func keysOf[K comparable, V any](m map[K]V) []K { return slices.Collect(maps.Keys(m)) }
