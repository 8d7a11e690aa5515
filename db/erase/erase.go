// Package erase removes machines with everything that is known about them, and says what that is. The
// package db removes reports and corrects counts (db.Decisions.EraseReports); this package requests
// erasures, works on them, and writes what keeps machines erased when a backup is restored.
package erase

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/db"
)

// Store erases machines. It is safe for concurrent use.
type Store struct{ *db.Store }

// New returns a Store for the database of store.
func New(store *db.Store) *Store { return &Store{store} }

// Cores stores core dumps. Those that other instances store are removed by these instances.
type Cores interface {
	ID() string // identity of the store; empty: it may have cores of any store
	Remove(ctx context.Context, id crash.OopsID) error
}

const (
	columns = `
		id, encode(digest, 'hex'), system, blocked, person, via, requested, until, finished, receipt`
	sqlErasure    = `select ` + columns + ` from erasures where id = @id`
	sqlRunning    = `select ` + columns + ` from erasures where finished is null order by id`
	sqlErasures   = `select ` + columns + ` from erasures order by id desc limit @limit`
	sqlErasuresOf = `select ` + columns + ` from erasures where digest = system_digest(@system) order by id desc`
	// sqlRequest joins a running erasure of the same machine.
	sqlRequest = `
		insert into erasures (digest, system, blocked, person, via, requested, until)
		values (system_digest(@system), @system, @blocked, @person, @via, @at, @until)
		on conflict (digest) where finished is null do update set blocked = erasures.blocked or excluded.blocked
		returning ` + columns
	sqlUnblock = `update erasures set blocked = false where digest = system_digest(@system) and blocked`
	sqlFacts   = `
		select count(*), count(distinct bucket_id),
			coalesce(min(received), '0001-01-01'), coalesce(max(received), '0001-01-01'),
			count(distinct bucket_id) filter (where not exists (
				select from bucket_systems as o where o.bucket_id = r.bucket_id and o.system <> @system_key)),
			(select count(*) from core_requests where system = @system and received is not null),
			(select count(*) from symbol_jobs where report_id in (
				select id from reports where system_key = @system_key and system = @system))
		from reports as r where system_key = @system_key and system = @system`
)

func scan(row pgx.CollectableRow) (e crash.Erasure, err error) {
	err = row.Scan(&e.ID, &e.Digest, &e.System, &e.Blocked, &e.Person, &e.Via, &e.Requested, &e.Until,
		db.OrZero(&e.Finished), &e.Counts)
	return e, err
}

func (s *Store) list(ctx context.Context, sql string, args pgx.NamedArgs) ([]crash.Erasure, error) {
	rows, err := s.Pool.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("erasures: %w", db.Classify(err))
	}
	all, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, fmt.Errorf("erasures: %w", db.Classify(err))
	}
	return all, nil
}

var (
	errUnknown  = crash.Errorf(crash.NotFound, "unknown_erasure", "There is no erasure with this number.")
	errNameless = crash.Errorf(crash.Invalid, "no_machine", "Reports without the id of a machine cannot be assigned to "+
		"one; name the id.")
)

// Erasure returns an erasure. It returns NotFound if there is none with this number.
func (s *Store) Erasure(ctx context.Context, id int64) (crash.Erasure, error) {
	all, err := s.list(ctx, sqlErasure, pgx.NamedArgs{"id": id})
	if err == nil && len(all) == 0 {
		err = errUnknown
	}
	if err != nil {
		return crash.Erasure{}, err
	}
	return all[0], nil
}

// Erasures returns the latest erasures, newest first.
func (s *Store) Erasures(ctx context.Context, limit int) ([]crash.Erasure, error) {
	return s.list(ctx, sqlErasures, pgx.NamedArgs{"limit": limit})
}

// Of returns the erasures of a machine, newest first.
func (s *Store) Of(ctx context.Context, system crash.SystemID) ([]crash.Erasure, error) {
	return s.list(ctx, sqlErasuresOf, pgx.NamedArgs{"system": string(system)})
}

// Facts returns what an erasure of a machine would remove.
func (s *Store) Facts(ctx context.Context, system crash.SystemID) (f crash.MachineFacts, err error) {
	args := pgx.NamedArgs{"system": string(system), "system_key": db.SystemKey(system)}
	err = s.Pool.QueryRow(ctx, sqlFacts, args).Scan(&f.Reports, &f.Problems, &f.First, &f.Last, &f.Only, &f.Cores, &f.Jobs)
	if err != nil {
		return f, fmt.Errorf("facts about a machine: %w", db.Classify(err))
	}
	return f, nil
}

const sqlKnown = `
	select exists (select from reports where system_key = @system_key and system = @system)
		or exists (select from bucket_systems where system = @system_key)
		or exists (select from release_systems where system = @system_key)
		or exists (select from core_requests where system = @system)
		or exists (select from erasures where digest = system_digest(@system) and finished is null)
		or exists (select from audit_events where subject = @system)
		or length(@system::text) >= 16 and (
			exists (select from note_texts where position(@system::text in text) > 0)
			or exists (select from saved_searches where position(@system::text in path || ' ' || name) > 0))`

// ErrUnknownMachine says that there is nothing to erase.
var ErrUnknownMachine = crash.Errorf(crash.NotFound, "unknown_machine", "mishap knows nothing of a machine with this "+
	"id. An id is the last part of the address of the page of a machine.")

// Known returns ErrUnknownMachine if nothing is known about a machine.
func (s *Store) Known(ctx context.Context, system crash.SystemID) error {
	var known bool
	args := pgx.NamedArgs{"system": string(system), "system_key": db.SystemKey(system)}
	err := s.InTx(ctx, func(tx pgx.Tx) error { // without an index, counts take long
		if _, err := tx.Exec(ctx, db.NoTimeLimit); err != nil {
			return err
		}
		return tx.QueryRow(ctx, sqlKnown, args).Scan(&known)
	})
	if err != nil {
		return fmt.Errorf("look for a machine: %w", err)
	}
	if !known {
		return ErrUnknownMachine
	}
	return nil
}

// Request begins to erase a machine: all its reports that have arrived so far. Later reports are new,
// unless block is set: then they are refused. Request does not wait; see Work. It joins an erasure of the
// machine that is running. It returns Invalid if system is empty.
func (s *Store) Request(ctx context.Context, system crash.SystemID, block bool, person string) (e crash.Erasure,
	err error) {
	if system == "" {
		return e, errNameless
	}
	args := pgx.NamedArgs{"system": string(system), "blocked": block, "person": person, "via": "", "at": s.Now(),
		"until": s.Now()}
	if a := audit.ActorOf(ctx); a != nil {
		args["via"] = a.Via
	}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlRequest, args)
		if err != nil {
			return err
		}
		if e, err = pgx.CollectExactlyOneRow(rows, scan); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "machine.erase", Subject: e.Digest,
			After: map[string]any{"blocked": block}})
	})
	if err != nil {
		return e, fmt.Errorf("request an erasure: %w", err)
	}
	return e, nil
}

// Unblock lets a machine send reports again that an erasure has blocked. It reports whether it was
// blocked.
func (s *Store) Unblock(ctx context.Context, system crash.SystemID, person string) (was bool, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlUnblock, pgx.NamedArgs{"system": string(system)})
		if was = err == nil && tag.RowsAffected() > 0; !was {
			return err
		}
		of, err := s.Of(ctx, system)
		if err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "machine.unblock", Subject: of[0].Digest,
			Before: map[string]any{"blocked": true}, After: map[string]any{"blocked": false}})
	})
	if err != nil {
		return false, fmt.Errorf("unblock a machine: %w", err)
	}
	return was, nil
}

// Continue works on all erasures that are running, such as those of instances that have died.
func (s *Store) Continue(ctx context.Context, cores Cores) error {
	running, err := s.list(ctx, sqlRunning, nil)
	if err != nil {
		return err
	}
	for _, e := range running {
		if _, err := s.Work(ctx, e.ID, cores, nil); err != nil {
			return err
		}
	}
	return nil
}

const (
	chunk        = 250                    // reports in one transaction
	countingWait = 200 * time.Millisecond // pause until reports are counted
)

// Work erases until the erasure is finished, and returns it. After each chunk it pauses for as long as
// the chunk took, to leave room for other work, and calls progress unless it is nil. Instances may
// work on the same erasure; each report is erased once. Cores may be nil.
func (s *Store) Work(ctx context.Context, id int64, cores Cores, progress func(crash.Erasure)) (crash.Erasure, error) {
	for {
		began := time.Now()
		e, err := s.Erasure(ctx, id)
		if err != nil || !e.Finished.IsZero() {
			return e, err
		}
		if e.System == "" {
			if e.System, err = s.find(ctx, e); err != nil {
				return e, err
			}
			continue
		}
		if progress != nil {
			progress(e)
		}
		pause, err := s.step(ctx, e, cores)
		if errors.Is(err, db.ErrErasureEnded) {
			continue
		}
		if err != nil {
			return e, err
		}
		if pause == 0 {
			pause = time.Since(began)
		}
		if crash.Sleep(ctx, pause) != nil {
			return e, ctx.Err()
		}
	}
}

// step erases a chunk of reports or, if none is left, finishes. It returns how long to wait for counting,
// if it has to.
func (s *Store) step(ctx context.Context, e crash.Erasure, cores Cores) (wait time.Duration, err error) {
	if err := s.removeCores(ctx, e, cores); err != nil {
		return 0, err
	}
	erased, left, err := db.NewDecisions(s.Store).EraseReports(ctx, e, chunk)
	if err != nil {
		return 0, err
	}
	if left {
		if erased == 0 {
			wait = countingWait
		}
		return wait, nil
	}
	done, err := db.NewDecisions(s.Store).FinishErasure(ctx, e, texts)
	if err != nil || !done {
		return 0, err
	}
	return 0, s.tidy(ctx)
}

const sqlCoresOf = `
	select c.report_id from core_requests as c left join symbol_jobs as j using (report_id)
	where c.system = @system and (j.report_id is null or @store = '' or j.store = @store and j.core_removed is null)`

// removeCores removes the core dumps of a machine that this instance stores, before the database forgets
// them. Each instance removes what is left in its store, and uploads that are under way (worker.Clean).
func (s *Store) removeCores(ctx context.Context, e crash.Erasure, cores Cores) error {
	if cores == nil {
		return nil
	}
	ids, err := s.CoresOf(ctx, e.System, cores.ID())
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := cores.Remove(ctx, id); err != nil {
			return fmt.Errorf("erase a core: %w", err)
		}
	}
	return nil
}

const (
	sqlFindSystem = `select system from reports where system <> '' and system_digest(system) = @digest limit 1`
	sqlFound      = `update erasures set system = @system where id = @id and finished is null`
	sqlNotFound   = `update erasures set finished = @at where id = @id and finished is null`
)

// find searches a restored database for the machine of an erasure. It ends the erasure if the database
// has no report of the machine.
func (s *Store) find(ctx context.Context, e crash.Erasure) (system crash.SystemID, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, db.NoTimeLimit); err != nil {
			return err
		}
		args := pgx.NamedArgs{"id": e.ID, "at": s.Now(), "digest": hexBytes(e.Digest)}
		err := tx.QueryRow(ctx, sqlFindSystem, args).Scan(&system)
		sql := sqlFound
		if errors.Is(err, pgx.ErrNoRows) {
			sql, err = sqlNotFound, nil
		}
		if err != nil {
			return err
		}
		args["system"] = string(system)
		_, err = tx.Exec(ctx, sql, args)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("find an erased machine: %w", err)
	}
	return system, nil
}

// These statements replace a machine in texts that people wrote, in which it can only be a copy of its
// id. An id that could be a word stays.
const (
	inTexts       = ` where length(@machine::text) >= 16 and position(@machine::text in `
	sqlEraseNotes = `update note_texts set text = replace(text, @machine::text, 'erased-machine')` + inTexts + `text) > 0`
	sqlEraseCases = `update triage set reason = replace(reason, @machine::text, 'erased-machine')` + inTexts +
		`reason) > 0`
	sqlEraseWhys = `update decisions set reason = replace(reason, @machine::text, 'erased-machine')` + inTexts +
		`reason) > 0`
	sqlEraseDeclined = `update candidates set reason = replace(reason, @machine::text, 'erased-machine')` + inTexts +
		`reason) > 0`
	sqlEraseEmbargoes = `update embargoes set reason = replace(reason, @machine::text, 'erased-machine')` + inTexts +
		`reason) > 0`
	sqlEraseSearches = `update saved_searches set path = replace(path, @machine::text, 'erased-machine'),
		name = replace(name, @machine::text, 'erased-machine')` + inTexts + `path || ' ' || name) > 0`
	sqlEraseNames = `update buckets set name = replace(name, @machine::text, 'erased-machine')` + inTexts + `name) > 0`
)

var texts = []string{sqlEraseNotes, sqlEraseCases, sqlEraseWhys, sqlEraseDeclined, sqlEraseEmbargoes, sqlEraseSearches,
	sqlEraseNames}

// tidyTables are the tables from which erasures delete rows, or that have texts of reports.
var tidyTables = []string{"audit_events", "buckets", "bucket_arrivals", "bucket_days", "bucket_releases",
	"bucket_systems", "bucket_travellers", "bucket_versions", "core_requests", "erasures", "events", "known_names",
	"package_versions", "release_active", "release_days", "release_systems", "releases", "report_days", "report_keys",
	"reports", "symbol_jobs", "uncounted", "unknown_builds"}

// tidy removes deleted rows from the tables, and the values of erased reports from the statistics of
// PostgreSQL. Where mishap's role does not own a table, PostgreSQL leaves it to autovacuum.
func (s *Store) tidy(ctx context.Context) error {
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("tidy after an erasure: %w", db.Classify(err))
	}
	defer conn.Release()
	sqls := []string{sqlNoLimit}
	for _, table := range tidyTables {
		sqls = append(sqls, "vacuum (analyze) "+table)
	}
	for _, sql := range append(sqls, sqlLimit) {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("tidy after an erasure: %w", db.Classify(err))
		}
	}
	return nil
}

const (
	sqlNoLimit = `set statement_timeout = 0`
	sqlLimit   = `reset statement_timeout`
)
