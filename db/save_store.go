package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"mishap/crash"
	"mishap/crash/grouping"
)

// attempt stores a batch in one transaction. Each attempt uses a new id for its row of uncounted.
// So if its outcome is lost, it has stored either nothing, or reports that are later counted as
// orphans. Argument again says that some of the batch may be stored already.
func (v *saver) attempt(ctx context.Context, batch []*pendingReport, again bool) (done stored, err error) {
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	if err := v.partitions.ensure(ctx, v.store, batch); err != nil {
		return done, err
	}
	done.work = crash.NewOopsID(batch[0].Received())
	err = v.store.Pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		err := v.transact(ctx, c.Conn(), batch, &done, again)
		if err != nil {
			_, _ = c.Exec(ctx, sqlRollback) // if that fails too, the pool closes the connection
		}
		return err
	})
	if err == nil {
		done.first, err = v.firsts(ctx, batch, done.now)
	}
	return done, err
}

const (
	sqlBegin    = `begin`
	sqlCommit   = `commit`
	sqlRollback = `rollback`
)

// transact makes three round trips: it finds the new reports, copies them, and stores the rows that
// depend on them.
func (v *saver) transact(ctx context.Context, c *pgx.Conn, batch []*pendingReport, done *stored, again bool) error {
	fresh, err := freshReports(ctx, c, batch, done, again)
	if err != nil {
		return err
	}
	done.now = make(map[crash.OopsID]bool, len(fresh))
	var last pgx.Batch
	if len(fresh) > 0 {
		if _, err := c.CopyFrom(ctx, pgx.Identifier{"reports"}, reportRowColumns, &copyRows{reports: fresh}); err != nil {
			return err
		}
		last.Queue(sqlSaveWork, pgx.NamedArgs{"work": done.work, "ids": column(fresh, reportID)})
		var newBuckets []*pendingReport
		for _, p := range fresh {
			done.now[p.ID] = true
			if p.bucket == nil {
				continue
			}
			if _, ok := v.buckets.find(done.server, *p.bucket); !ok {
				newBuckets = append(newBuckets, p)
			}
		}
		if len(newBuckets) > 0 {
			last.Queue(sqlSaveBuckets, newBucketArgs(newBuckets))
		}
	}
	last.Queue(sqlCommit)
	return c.SendBatch(ctx, &last).Close()
}

func reportID(p *pendingReport) [16]byte { return p.ID }

// freshReports begins a transaction and returns the reports to store in it: the first of each
// crash, and all reports without a duplicate key. It sets done.server.
func freshReports(ctx context.Context, c *pgx.Conn, batch []*pendingReport, done *stored,
	again bool) (fresh []*pendingReport, err error) {
	var keys, former [][]byte
	var keyed [][16]byte
	var systems []string
	save := sqlSaveKeys
	for _, p := range batch {
		if p.duplicateKey != nil {
			keys, keyed, former = append(keys, p.duplicateKey), append(keyed, p.ID), append(former, p.formerKey)
			systems = append(systems, string(p.System))
		}
		if p.formerKey != nil {
			save = sqlSaveNewKeys
		}
	}
	first, stored := map[crash.OopsID]bool{}, map[crash.OopsID]bool{}
	collect := func(ids map[crash.OopsID]bool) func(pgx.Rows) error {
		return func(rows pgx.Rows) error {
			var id [16]byte
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error { ids[id] = true; return nil })
			return err
		}
	}
	var b pgx.Batch
	b.Queue(sqlBegin)
	b.Queue(sqlShareErasing, pgx.NamedArgs{"lock": eraseLock})
	b.Queue(sqlServerID).QueryRow(func(row pgx.Row) error { return row.Scan(done.server.columns()...) })
	if len(keys) > 0 {
		b.Queue(save, pgx.NamedArgs{"keys": keys, "ids": keyed, "former": former, "systems": systems}).Query(collect(first))
	}
	if again {
		b.Queue(sqlStoredReports, pgx.NamedArgs{
			"received": column(batch, func(p *pendingReport) time.Time { return p.Received() }), "ids": column(batch, reportID),
		}).Query(collect(stored))
	}
	if err := c.SendBatch(ctx, &b).Close(); err != nil {
		return nil, err
	}
	for _, p := range batch {
		if (p.duplicateKey == nil || first[p.ID]) && !stored[p.ID] {
			fresh = append(fresh, p)
			stored[p.ID] = true
		}
	}
	return fresh, nil
}

// firsts returns, for each report of a batch, the id under which its crash is stored. It returns a zero
// id for a report that was erased, or whose machine is blocked.
func (v *saver) firsts(ctx context.Context, batch []*pendingReport, stored map[crash.OopsID]bool) ([]crash.OopsID,
	error) {
	first := make([]crash.OopsID, len(batch))
	var keys [][]byte
	for i, p := range batch {
		first[i] = p.ID
		if !stored[p.ID] && p.duplicateKey != nil {
			keys = append(keys, p.duplicateKey)
			if p.formerKey != nil {
				keys = append(keys, p.formerKey)
			}
		}
	}
	if len(keys) == 0 {
		return first, nil
	}
	rows, err := v.store.Pool.Query(ctx, sqlFirstReports, pgx.NamedArgs{"keys": keys})
	if err != nil {
		return nil, err
	}
	byKey := map[crash.ReportKey]crash.OopsID{}
	var key []byte
	var id [16]byte
	if _, err := pgx.ForEachRow(rows, []any{&key, &id}, func() error {
		byKey[crash.ReportKey(key)] = id
		return nil
	}); err != nil {
		return nil, err
	}
	for i, p := range batch {
		if stored[p.ID] {
			continue
		}
		if id, ok := byKey[p.DuplicateKey]; ok {
			first[i] = id
		} else if id, ok := byKey[p.FormerKey]; ok {
			first[i] = id
		} else if p.duplicateKey != nil {
			first[i] = crash.OopsID{}
		}
	}
	return first, nil
}

const (
	// sqlSaveKeys stores the keys of a batch. It returns the reports that are the first of their
	// crash, in the batch and in the database. It inserts keys in order, so that two writers cannot
	// deadlock.
	sqlSaveKeys = `
		insert into report_keys (key, report_id)
		select distinct on (key) key, id
		from unnest(@keys::bytea[], @ids::uuid[], @former::bytea[], @systems::text[]) as t (key, id, former, system)
		where ` + notErased + ` order by key, id
		on conflict do nothing
		returning report_id`
	// sqlSaveNewKeys does the same, but skips reports that are stored under their former key.
	sqlSaveNewKeys = `
		insert into report_keys (key, report_id)
		select distinct on (key) key, id
		from unnest(@keys::bytea[], @ids::uuid[], @former::bytea[], @systems::text[]) as t (key, id, former, system)
		where not exists (select from report_keys as k where k.key = t.former) and ` + notErased + `
		order by key, id
		on conflict do nothing
		returning report_id`
	// notErased is the condition that a report t was not erased, and that its machine is not blocked.
	notErased = `
		not exists (
			select from erased_reports as e
			where e.digest in (sha256((select key from erasure_key) || t.key), sha256((select key from erasure_key) || t.former))
		) and not exists (select from erasures as e where e.blocked and e.digest = system_digest(t.system))`
	// sqlStoredReports selects the reports of a batch that are stored already.
	sqlStoredReports = `
		select r.id from unnest(@received::timestamptz[], @ids::uuid[]) as t (received, id)
			join reports as r on r.received = t.received and r.id = t.id`
	// sqlSaveWork lists the reports that this transaction stores, to be counted once each.
	sqlSaveWork = `insert into uncounted (id, reports) values (@work, @ids)`
	// sqlSaveBuckets stores all buckets that are not cached as stored, so that every report has its
	// bucket. It leaves out stored ones first, because "on conflict" waits for a transaction that is
	// changing the row. An erasure that changes it waits for this transaction in turn (see eraseLock).
	sqlSaveBuckets = `
		insert into buckets (
			id, head, signature, rule, provisional, problem_type, title, executable, package, source_package, changed)
		select distinct on (id)
			id, id, signature, rule, provisional, problem_type, title, executable, package, source_package, 0
		from unnest(
			@id::bytea[], @report::uuid[], @signature::text[], @rule::text[], @provisional::boolean[],
			@problem_type::text[], @title::text[], @executable::text[], @package::text[], @source_package::text[]
		) as n (id, report, signature, rule, provisional, problem_type, title, executable, package, source_package)
		where not exists (select from buckets as b where b.id = n.id)
		order by id, report desc
		on conflict do nothing`
	// sqlFirstReports selects the stored reports of crashes.
	sqlFirstReports = `select key, report_id from report_keys where key = any(@keys::bytea[])`
)

func newBucketArgs(first []*pendingReport) pgx.NamedArgs {
	return pgx.NamedArgs{
		"id":             column(first, func(p *pendingReport) []byte { return p.bucketID() }),
		"report":         column(first, func(p *pendingReport) [16]byte { return p.ID }),
		"signature":      column(first, func(p *pendingReport) string { return p.Grouping.Signature }),
		"rule":           column(first, func(p *pendingReport) string { return string(p.Grouping.Rule) }),
		"provisional":    column(first, func(p *pendingReport) bool { return p.Grouping.Provisional }),
		"problem_type":   column(first, func(p *pendingReport) string { return p.ProblemType }),
		"title":          column(first, func(p *pendingReport) string { return p.Title }),
		"executable":     column(first, func(p *pendingReport) string { return p.Executable }),
		"package":        column(first, func(p *pendingReport) string { return p.Package }),
		"source_package": column(first, func(p *pendingReport) string { return p.SourcePackage }),
	}
}

// copyRows implements pgx.CopyFromSource. COPY takes half of PostgreSQL's time for an INSERT of
// arrays.
type copyRows struct {
	reports []*pendingReport
	values  []any
}

var reportRowColumns = []string{
	"rules", "id", "received", "occurred", "day", "counted", "system", "system_key", "bucket_id", "unbucketed", "rule",
	"problem_type", "title", "executable", "package", "version", "source_package", "release", "architecture",
	"package_architecture",
	"address_signature", "proposed", "complete", "quality", "body",
}

// Next implements pgx.CopyFromSource.
func (r *copyRows) Next() bool {
	if len(r.reports) == 0 {
		return false
	}
	p := r.reports[0]
	r.reports = r.reports[1:]
	r.values = append(r.values[:0],
		grouping.RulesVersion, (*[16]byte)(&p.ID), p.Received(), p.occurred, p.Day, p.Counted, (*string)(&p.System),
		p.systemKey, p.bucketID(), &p.Grouping.Reason, (*string)(&p.Grouping.Rule),
		&p.ProblemType, &p.Title, &p.Executable, &p.Package, &p.Version,
		&p.SourcePackage, (*string)(&p.Release), &p.Architecture, &p.PackageArchitecture, &p.AddressSignature, p.Proposed,
		p.Complete, p.Quality, p.body)
	return true
}

// Values implements pgx.CopyFromSource.
func (r *copyRows) Values() ([]any, error) { return r.values, nil }

// Err implements pgx.CopyFromSource.
func (r *copyRows) Err() error { return nil }
