package filings

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
)

const (
	sqlLedger = `
		select ` + filingColumns + `,
			coalesce((select coalesce(nullif(name, ''), nullif(title, ''), left(signature, 200))
				from buckets where id = filings.bucket_id), ''),
			coalesce((select package from buckets where id = filings.bucket_id), ''),
			coalesce((select max(bug_number) from bucket_bugs where bucket_id = filings.bucket_id), 0)
		from filings
		where (@state = '' or state = @state) and (@bucket::bytea is null or bucket_id in ` + db.Members +
		`) and (@id = 0 or id = @id)
			and (@after = 0 or (created, id) < (@created, @after))
		order by created desc, id desc limit @limit`
	sqlLedgerCalls = `
		select filing_id, started, ended, action, outcome, status, request_id, words, account from (
			select *, row_number() over (partition by filing_id order by id desc) as back from filing_attempts
			where filing_id = any(@ids)) as a
		where back <= @most order by filing_id, id`
	sqlLedgerCallCounts = `
		select filing_id, count(*)::int from filing_attempts where filing_id = any(@ids) group by filing_id`
	sqlLedgerEvents = `
		select f.id, e.at, e.person, e.action, coalesce(e.detail ->> 'words', ''),
			case when e.bug ~ '^[0-9]{1,18}$' then e.bug::bigint else 0 end
		from filings as f, lateral (
			select *, coalesce(after ->> 'bug', before ->> 'bug', detail ->> 'bug') as bug from audit_events
			where subject = encode(f.bucket_id, 'hex') and action like 'bug.%' order by at desc limit @most) as e
		where f.id = any(@ids)`
)

// maxLines limits how many calls, and how many actions of people, an entry of the ledger contains.
const maxLines = 40

// Ledger returns filings, latest first, with the calls and actions about each, earliest first.
func (s *Store) Ledger(ctx context.Context, filter crash.LedgerFilter) ([]crash.LedgerEntry, error) {
	args := pgx.NamedArgs{
		"state": string(filter.State), "bucket": nil, "id": filter.ID, "after": filter.After.ID,
		"created": filter.After.Created, "limit": filter.Limit,
	}
	if filter.Bucket != (crash.BucketID{}) {
		args["bucket"] = filter.Bucket[:]
	}
	rows, err := s.Pool.Query(ctx, sqlLedger, args)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", db.Classify(err))
	}
	entries, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e crash.LedgerEntry, err error) {
		err = scanFiling(row, &e.Filing, &e.Heading, &e.Package, &e.Linked)
		return e, err
	})
	if err == nil && len(entries) > 0 {
		err = s.addLines(ctx, entries)
	}
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", db.Classify(err))
	}
	return entries, nil
}

// addLines adds the calls and actions to entries.
func (s *Store) addLines(ctx context.Context, entries []crash.LedgerEntry) error {
	at := map[int64]*crash.LedgerEntry{}
	ids := make([]int64, len(entries))
	for i := range entries {
		ids[i] = entries[i].ID
		at[ids[i]] = &entries[i]
	}
	args := pgx.NamedArgs{"ids": ids, "most": maxLines}
	var id int64
	var line crash.LedgerLine
	each := func(sql string, into []any, do func(*crash.LedgerEntry)) error {
		rows, err := s.Pool.Query(ctx, sql, args)
		if err != nil {
			return err
		}
		_, err = pgx.ForEachRow(rows, append([]any{&id}, into...), func() error {
			do(at[id])
			return nil
		})
		return err
	}
	err := each(sqlLedgerEvents, []any{&line.At, &line.Person, &line.Action, &line.Text, &line.Bug},
		func(e *crash.LedgerEntry) {
			e.Lines = append(e.Lines, line)
		})
	if err != nil {
		return err
	}
	line = crash.LedgerLine{}
	calls := []any{&line.At, db.OrZero(&line.Ended), &line.Call, &line.Outcome, &line.Status, &line.RequestID, &line.Text,
		&line.Account}
	err = each(sqlLedgerCalls, calls, func(e *crash.LedgerEntry) {
		if line.Took = 0; !line.Ended.IsZero() {
			line.Took = line.Ended.Sub(line.At)
		}
		e.Lines = append(e.Lines, line)
	})
	if err != nil {
		return err
	}
	var count int
	err = each(sqlLedgerCallCounts, []any{&count}, func(e *crash.LedgerEntry) { e.Left = max(0, count-maxLines) })
	for i := range entries {
		entries[i].SortLines()
	}
	return err
}
