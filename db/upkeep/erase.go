package upkeep

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/db"
)

// Erasing erases machines. It is safe for concurrent use.
type Erasing struct{ *db.Store }

// NewErasing returns a Store for the database of store.
func NewErasing(store *db.Store) *Erasing { return &Erasing{store} }

// ErasedCores stores core dumps. Those that other instances store are removed by these instances.
type ErasedCores interface {
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
				select id from reports where system_key = @system_key and system = @system and received >= @here))
		from reports as r where system_key = @system_key and system = @system and received >= @here`
)

func scan(row pgx.CollectableRow) (e crash.Erasure, err error) {
	err = row.Scan(&e.ID, &e.Digest, &e.System, &e.Blocked, &e.Person, &e.Via, &e.Requested, &e.Until,
		db.OrZero(&e.Finished), &e.Counts)
	return e, err
}

func (s *Erasing) list(ctx context.Context, sql string, args pgx.NamedArgs) ([]crash.Erasure, error) {
	all, err := db.List(ctx, s.Pool, sql, args, scan)
	s.markWaiting(ctx, all)
	return all, db.Wrap(err, "erasures")
}

func (s *Erasing) markWaiting(ctx context.Context, all []crash.Erasure) {
	db.MarkWaiting(ctx, s.Handle, all, func(e *crash.Erasure) *bool {
		if e.Finished.IsZero() {
			return &e.Waits
		}
		return nil
	})
}

var (
	errUnknown  = crash.Errorf(crash.NotFound, "unknown_erasure", "There is no erasure with this number.")
	errNameless = crash.Errorf(crash.Invalid, "no_machine", "Reports without the id of a machine cannot be assigned to "+
		"one; name the id.")
)

// Erasure returns an erasure. It returns NotFound if there is none with this number.
func (s *Erasing) Erasure(ctx context.Context, id int64) (crash.Erasure, error) {
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
func (s *Erasing) Erasures(ctx context.Context, limit int) ([]crash.Erasure, error) {
	return s.list(ctx, sqlErasures, pgx.NamedArgs{"limit": limit})
}

// Of returns the erasures of a machine, newest first.
func (s *Erasing) Of(ctx context.Context, system crash.SystemID) ([]crash.Erasure, error) {
	return s.list(ctx, sqlErasuresOf, pgx.NamedArgs{"system": string(system)})
}

// Facts returns what an erasure of a machine would remove.
func (s *Erasing) Facts(ctx context.Context, system crash.SystemID) (f crash.MachineFacts, err error) {
	f, err = db.Since(ctx, s.Handle, time.Time{}, func(ctx context.Context, since time.Time) (f crash.MachineFacts,
		err error) {
		args := pgx.NamedArgs{"system": string(system), "system_key": db.SystemKey(system), "here": since}
		err = s.Pool.QueryRow(ctx, sqlFacts, args).Scan(&f.Reports, &f.Problems, &f.First, &f.Last, &f.Only, &f.Cores,
			&f.Jobs)
		return f, db.Classify(err)
	})
	return f, db.Wrap(err, "facts about a machine")
}

const sqlKnown = `
	select exists (select from reports where system_key = @system_key and system = @system and received >= @here)
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
func (s *Erasing) Known(ctx context.Context, system crash.SystemID) error {
	parts, err := s.Archived(ctx)
	if err != nil {
		return err
	}
	args := pgx.NamedArgs{"system": string(system), "system_key": db.SystemKey(system), "here": parts.Until()}
	read := func(ctx context.Context) (known bool, err error) {
		err = s.InTx(ctx, func(tx pgx.Tx) error { // without an index, counts take long
			if _, err := tx.Exec(ctx, db.NoTimeLimit); err != nil {
				return err
			}
			return tx.QueryRow(ctx, sqlKnown, args).Scan(&known)
		})
		return known, err
	}
	known, err := read(ctx)
	if err == nil && !known && len(parts) > 0 {
		args["here"] = time.Time{}
		known, err = db.FromArchives(ctx, s.Handle, read)
	}
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
func (s *Erasing) Request(ctx context.Context, system crash.SystemID, block bool, person string) (e crash.Erasure,
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
		if e, err = db.One(ctx, tx, sqlRequest, args, scan); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "machine.erase", Subject: e.Digest,
			After: map[string]any{"blocked": block}})
	})
	all := []crash.Erasure{e}
	s.markWaiting(ctx, all)
	return all[0], db.Wrap(err, "request an erasure")
}

// Unblock lets a machine send reports again that an erasure has blocked. It reports whether it was
// blocked.
func (s *Erasing) Unblock(ctx context.Context, system crash.SystemID, person string) (was bool, err error) {
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
	return was, db.Wrap(err, "unblock a machine")
}

// Continue works on all erasures that are running, such as those of instances that have died. It returns
// ErrArchiveAway if they wait for an archive.
func (s *Erasing) Continue(ctx context.Context, cores ErasedCores) error {
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
func (s *Erasing) Work(ctx context.Context, id int64, cores ErasedCores, progress func(crash.Erasure)) (
	crash.Erasure, error,
) {
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
func (s *Erasing) step(ctx context.Context, e crash.Erasure, cores ErasedCores) (wait time.Duration, err error) {
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
func (s *Erasing) removeCores(ctx context.Context, e crash.Erasure, cores ErasedCores) error {
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
func (s *Erasing) find(ctx context.Context, e crash.Erasure) (system crash.SystemID, err error) {
	if err := s.ReachArchives(ctx); err != nil {
		return "", err
	}
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
		return db.Exec(ctx, tx, args, sql)
	})
	return system, db.Wrap(err, "find an erased machine")
}

// These statements replace a machine in texts that people wrote, in which it can only be a copy of its
// id. An id that could be a word stays.
const (
	inTexts       = ` where length(@machine::text) >= 16 and position(@machine::text in `
	sqlEraseNotes = `update note_texts set text = replace(text, @machine::text, 'erased-machine')` + inTexts + `text) > 0`
	sqlEraseCases = `update marks set reason = replace(reason, @machine::text, 'erased-machine')` + inTexts +
		`reason) > 0`
	sqlEraseWhys = `update decisions set reason = replace(reason, @machine::text, 'erased-machine')` + inTexts +
		`reason) > 0`
	sqlEraseProposed = `update candidates set reason = replace(reason, @machine::text, 'erased-machine'),
		why = replace(why, @machine::text, 'erased-machine')` + inTexts + `reason || ' ' || why) > 0`
	sqlEraseSearches = `update saved_searches set path = replace(path, @machine::text, 'erased-machine'),
		name = replace(name, @machine::text, 'erased-machine')` + inTexts + `path || ' ' || name) > 0`
	sqlEraseNames = `update buckets set name = replace(name, @machine::text, 'erased-machine')` + inTexts + `name) > 0`
)

var texts = []string{sqlEraseNotes, sqlEraseCases, sqlEraseWhys, sqlEraseProposed, sqlEraseSearches, sqlEraseNames}

// tidyTables are the tables from which erasures delete rows, or that have texts of reports.
var tidyTables = []string{"audit_events", "buckets", "bucket_arrivals", "bucket_days", "bucket_releases",
	"bucket_systems", "bucket_travellers", "bucket_versions", "core_requests", "erasures", "events", "known_names",
	"package_versions", "release_active", "release_days", "release_hours", "release_systems", "releases", "report_days",
	"report_hours", "report_keys", "reports", "symbol_jobs", "uncounted", "unknown_builds"}

// tidy removes deleted rows from the tables, and the values of erased reports from the statistics of
// PostgreSQL. Where mishap's role does not own a table, PostgreSQL leaves it to autovacuum.
func (s *Erasing) tidy(ctx context.Context) error {
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("tidy after an erasure: %w", db.Classify(err))
	}
	defer conn.Release()
	defer func() { _ = conn.Conn().Close(context.WithoutCancel(ctx)) }() // it has no time limit any more
	sqls := []string{sqlNoLimit}
	for _, table := range tidyTables {
		sqls = append(sqls, "vacuum (analyze) "+table)
	}
	for _, sql := range sqls {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("tidy after an erasure: %w", db.Classify(err))
		}
	}
	return nil
}

const sqlNoLimit = `set statement_timeout = 0`

// ErasureLine is a line of a dump: one thing that is known about a machine.
type ErasureLine struct {
	Kind string `json:"kind"`
	Data any    `json:"data"`
}

// dumped lists what a dump contains besides reports. Each statement selects objects of JSON.
var dumped = []struct{ kind, sql string }{
	{"core request", sqlDumpRequests}, {"symbolising", sqlDumpJobs}, {"missing build", sqlDumpUnknown},
	{"counted in a problem", sqlDumpSystems}, {"counted in several releases", sqlDumpTravellers},
	{"active in a release", sqlDumpSpans}, {"waits to be counted", sqlDumpUncounted}, {"audit record", sqlDumpAudit},
	{"note", sqlDumpNotes}, {"saved search", sqlDumpSearches}, {"erasure", sqlDumpErasures},
}

const (
	ofMachine       = ` where system_key = @system_key and system = @system`
	itsReports      = `(select id from reports` + ofMachine + `)`
	sqlDumpRequests = `
		select to_jsonb(c) || jsonb_build_object('problem', encode(c.problem, 'hex')) from core_requests as c
		where system = @system order by report_id`
	sqlDumpJobs = `
		select to_jsonb(j) || jsonb_build_object('problem', encode(j.problem, 'hex')) from symbol_jobs as j
		where report_id in ` + itsReports + ` order by report_id`
	sqlDumpUnknown = `select to_jsonb(u) from unknown_builds as u where report_id in ` + itsReports + ` order by report_id`
	sqlDumpSystems = `
		select jsonb_build_object('problem', encode(bucket_id, 'hex'), 'release', release, 'version', version, 'reports',
			reports) from bucket_systems where system = @system_key order by bucket_id, release, version`
	sqlDumpTravellers = `
		select jsonb_build_object('problem', encode(bucket_id, 'hex'), 'version', version, 'extra', extra)
		from bucket_travellers where system = @system_key order by bucket_id, version`
	sqlDumpSpans = `
		select jsonb_build_object('release', release, 'from', from_day, 'until', until_day) from release_systems
		where system = @system_key order by release, from_day`
	sqlDumpUncounted = `
		select jsonb_build_object('report', r, 'stored', u.stored) from uncounted as u, unnest(u.reports) as r
		where r in ` + itsReports + ` order by r`
	sqlDumpAudit = `
		select to_jsonb(a) from audit_events as a
		where subject = @system or length(@system::text) >= 16 and (position(@system::text in subject) > 0
			or position(@system::text in detail::text) > 0 or position(@system::text in before::text) > 0
			or position(@system::text in after::text) > 0) order by id`
	sqlDumpNotes = `
		select jsonb_build_object('problem', encode(n.bucket_id, 'hex'), 'at', t.at, 'person', t.person, 'text', t.text)
		from note_texts as t join notes as n on n.id = t.note_id
		where length(@system::text) >= 16 and position(@system::text in t.text) > 0 order by t.id`
	sqlDumpSearches = `
		select to_jsonb(s) from saved_searches as s
		where length(@system::text) >= 16 and position(@system::text in path || ' ' || name) > 0 order by id`
	sqlDumpErasures = `
		select to_jsonb(e) - '{digest,touched}'::text[] from erasures as e where digest = system_digest(@system) order by id`
	sqlDumpReports = `
		select id from reports` + ofMachine + ` and received >= @received and (received, id) > (@received, @id)
		order by received, id limit 500`
)

// report is a report in a dump, with all its fields.
type report struct {
	ID         string       `json:"id"`
	Received   time.Time    `json:"received"`
	Occurred   time.Time    `json:"occurred,omitzero"`
	Problem    string       `json:"problem,omitempty"`
	Unbucketed string       `json:"unbucketed,omitempty"`
	Rule       string       `json:"rule"`
	Title      string       `json:"title"`
	Fields     crash.Fields `json:"fields"`
	TypedOnly  bool         `json:"full_text_not_stored,omitempty"`
}

// Dump writes everything that is known about a machine as lines of JSON: first the machine, then its
// reports with all fields, then what else refers to it. Core dumps are references to their reports. It
// needs little memory, and records in the audit log that somebody has read it.
func (s *Erasing) Dump(ctx context.Context, system crash.SystemID, person string, to io.Writer) error {
	if system == "" {
		return errNameless
	}
	if err := s.AuditAlone(ctx, db.AuditEvent{Person: person, Action: "read.machine-dump",
		Subject: string(system)}); err != nil {
		return err
	}
	lines := json.NewEncoder(to)
	if err := lines.Encode(ErasureLine{"machine", map[string]any{"system": system, "taken": s.Now().UTC()}}); err != nil {
		return err
	}
	if err := s.dumpReports(ctx, system, lines); err != nil {
		return fmt.Errorf("dump reports: %w", err)
	}
	args := pgx.NamedArgs{"system": string(system), "system_key": db.SystemKey(system)}
	for _, d := range dumped {
		rows, err := s.Pool.Query(ctx, d.sql, args)
		if err == nil {
			var data json.RawMessage
			_, err = pgx.ForEachRow(rows, []any{&data}, func() error { return lines.Encode(ErasureLine{d.kind, data}) })
		}
		if err != nil {
			return fmt.Errorf("dump %s: %w", d.kind, db.Classify(err))
		}
	}
	return nil
}

func (s *Erasing) dumpReports(ctx context.Context, system crash.SystemID, lines *json.Encoder) error {
	args := db.ReportArgs(crash.OopsID{})
	args["system"], args["system_key"] = string(system), db.SystemKey(system)
	for {
		ids, err := db.List(ctx, s.Pool, sqlDumpReports, args, pgx.RowTo[[16]byte])
		if err != nil || len(ids) == 0 {
			return db.Classify(err)
		}
		for _, id := range ids {
			r, err := s.Report(ctx, id)
			if errors.Is(err, crash.NotFound) { // it was erased meanwhile
				continue
			}
			if err != nil {
				return err
			}
			if err := lines.Encode(ErasureLine{"report", asReport(r)}); err != nil {
				return err
			}
		}
		last := crash.OopsID(ids[len(ids)-1])
		args["id"], args["received"] = [16]byte(last), last.Received()
	}
}

func asReport(r crash.StoredReport) report {
	out := report{ID: r.ID.String(), Received: r.ID.Received().UTC(), Occurred: r.Occurred, Unbucketed: r.Unbucketed,
		Rule: string(r.Rule), Title: r.Title, Fields: r.Fields, TypedOnly: r.TypedOnly}
	if r.Bucket != nil {
		out.Problem = r.Bucket.String()
	}
	return out
}

// CoresOf returns the reports of a machine that may have a core dump in a store.
func (s *Erasing) CoresOf(ctx context.Context, system crash.SystemID, store string) ([]crash.OopsID, error) {
	ids, err := db.List(ctx, s.Pool, sqlCoresOf, pgx.NamedArgs{"system": string(system), "store": store},
		db.ScanReportID)
	return ids, db.Wrap(err, "cores of a machine")
}

// ErasureReceipt is the receipt of an erasure as JSON. It does not contain the machine.
type ErasureReceipt struct {
	ID        int64              `json:"id"`
	Digest    string             `json:"digest"`
	Blocked   bool               `json:"blocked"`
	Person    string             `json:"person"`
	Via       string             `json:"via"`
	Requested time.Time          `json:"requested"`
	Finished  *time.Time         `json:"finished"` // nil: it is running
	Waits     bool               `json:"waits"`    // for an archive that cannot be reached
	Removed   crash.ErasedCounts `json:"removed"`
}

// NewErasureReceipt returns the receipt of an erasure.
func NewErasureReceipt(e crash.Erasure) ErasureReceipt {
	return ErasureReceipt{e.ID, e.Digest, e.Blocked, e.Person, e.Via, e.Requested, db.OrNull(e.Finished), e.Waits,
		e.Counts}
}

// ErasuresFile is the name of the file in a data directory, and in backups, with all erasures of the
// database. A restore reads it, so that what was erased after the backup is erased again. It contains
// digests and their key, no machine and no report. Package backup has the same name.
const ErasuresFile = "erasures.jsonl"

// header is the first line of the file.
type header struct {
	Format int    `json:"format"`
	Key    string `json:"key"`
}

// entry is a further line of the file.
type entry struct {
	Digest    string    `json:"digest"`
	Blocked   bool      `json:"blocked"`
	Person    string    `json:"person"`
	Via       string    `json:"via"`
	Requested time.Time `json:"requested"`
	Until     time.Time `json:"until"`
	Reports   []string  `json:"reports"` // digests of keys
}

const fileFormat = 1

const (
	sqlKey     = `select encode(key, 'hex') from erasure_key`
	sqlEntries = `
		select encode(e.digest, 'hex'), e.blocked, e.person, e.via, e.requested, e.until,
			array(select encode(r.digest, 'hex') from erased_reports as r where r.erasure = e.id order by r.digest)
		from erasures as e order by e.id`
	sqlState = `select concat_ws('.', count(*), count(finished), count(*) filter (where blocked)) from erasures`
)

// State returns a text that changes when WriteFile would write something else.
func (s *Erasing) State(ctx context.Context) (state string, err error) {
	err = s.Pool.QueryRow(ctx, sqlState).Scan(&state)
	return state, db.Wrap(err, "state of erasures")
}

// WriteFile writes all erasures to the file in a folder. The file is always complete, and only its owner
// can read it. Nothing is written if there are no erasures.
func (s *Erasing) WriteFile(ctx context.Context, folder string) (err error) {
	h := header{Format: fileFormat}
	if err := s.Pool.QueryRow(ctx, sqlKey).Scan(&h.Key); err != nil {
		return fmt.Errorf("key of erasures: %w", db.Classify(err))
	}
	all, err := db.List(ctx, s.Pool, sqlEntries, nil, db.Into(func(e *entry) []any {
		return []any{&e.Digest, &e.Blocked, &e.Person, &e.Via, &e.Requested, &e.Until, &e.Reports}
	}))
	if err != nil {
		return fmt.Errorf("erasures: %w", db.Classify(err))
	}
	if len(all) == 0 {
		return nil
	}
	f, err := os.CreateTemp(folder, "."+ErasuresFile+"-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write erasures: %w", err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after success, it has been renamed
	out := bufio.NewWriter(f)
	lines := json.NewEncoder(out)
	err = lines.Encode(h)
	for _, e := range all {
		err = errors.Join(err, lines.Encode(e))
	}
	if err = errors.Join(err, out.Flush(), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(folder, ErasuresFile))
	}
	return db.Wrap(err, "write erasures")
}

// ErasureRecord holds the erasures of files, to be applied to a restored database.
type ErasureRecord struct {
	key     string
	entries map[string]entry // by digest and time of the request
}

// Empty reports whether there are no erasures.
func (r *ErasureRecord) Empty() bool { return len(r.entries) == 0 }

// ReadFile adds the erasures of a file. It does nothing if the file does not exist. It returns Invalid
// if the file is damaged, and Conflict if it is from another database than the files before.
func (r *ErasureRecord) ReadFile(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read erasures: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	damaged := crash.Errorf(crash.Invalid, "erasures_damaged", "The file %s is damaged. Without it, machines that were "+
		"erased after the backup come back: restore another copy of the file, or remove it to accept that.", name)
	lines := json.NewDecoder(bufio.NewReader(f))
	var h header
	if err := lines.Decode(&h); err != nil || h.Format != fileFormat || len(hexBytes(h.Key)) != 32 {
		return damaged.Because(err)
	}
	if r.key != "" && r.key != h.Key {
		return crash.Errorf(crash.Conflict, "erasures_foreign", "The file %s is from another database.", name)
	}
	r.key = h.Key
	if r.entries == nil {
		r.entries = map[string]entry{}
	}
	for {
		var e entry
		err := lines.Decode(&e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || len(hexBytes(e.Digest)) != 32 {
			return damaged.Because(err)
		}
		id := e.Digest + e.Requested.UTC().Format(time.RFC3339Nano)
		if known, ok := r.entries[id]; !ok || len(known.Reports) <= len(e.Reports) {
			r.entries[id] = e
		}
	}
}

const (
	// sqlTakeKey takes over the key of the file if the database has not used its own.
	sqlTakeKey = `
		update erasure_key set key = @key
		where not exists (select from erasures) and key <> @key`
	sqlSameKey  = `select key = @key from erasure_key`
	sqlAddEntry = `
		insert into erasures (digest, system, blocked, person, via, requested, until)
		select @digest, '', @blocked, @person, @via, @requested, @until
		where not exists (select from erasures where digest = @digest and requested = @requested)
		on conflict do nothing returning id`
	sqlAddReports = `
		insert into erased_reports (digest, erasure) select *, @erasure from unnest(@reports::bytea[]) on conflict do nothing`
	sqlExtendUntil = `
		update erasures set until = greatest(until, @until), blocked = blocked or @blocked
		where digest = @digest and finished is null returning id`
)

// Add adds the erasures to a restored database that lacks them, in the transaction that ends the
// restore. Store.Continue then erases the machines. It returns how many it has added. It returns Conflict
// if the erasures are from another database.
func (r *ErasureRecord) Add(ctx context.Context, tx pgx.Tx) (added int, err error) {
	if r.Empty() {
		return 0, nil
	}
	key := pgx.NamedArgs{"key": hexBytes(r.key)}
	if _, err := tx.Exec(ctx, sqlTakeKey, key); err != nil {
		return 0, err
	}
	var same bool
	if err := tx.QueryRow(ctx, sqlSameKey, key).Scan(&same); err != nil {
		return 0, err
	}
	if !same {
		return 0, crash.Errorf(crash.Conflict, "erasures_foreign", "The record of erasures is from another database than "+
			"the backup.")
	}
	for _, e := range r.entries {
		reports := make([][]byte, len(e.Reports))
		for i, digest := range e.Reports {
			reports[i] = hexBytes(digest)
		}
		args := pgx.NamedArgs{"digest": hexBytes(e.Digest), "blocked": e.Blocked, "person": e.Person, "via": e.Via,
			"requested": e.Requested, "until": e.Until, "reports": reports}
		var id int64
		err := tx.QueryRow(ctx, sqlAddEntry, args).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) { // the database has it, or another one of the same machine
			err = tx.QueryRow(ctx, sqlExtendUntil, args).Scan(&id)
		}
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		if err != nil {
			return added, err
		}
		added++
		args["erasure"] = id
		if _, err := tx.Exec(ctx, sqlAddReports, args); err != nil {
			return added, err
		}
	}
	return added, nil
}

// hexBytes returns the bytes of hexadecimal digits, or nil for other texts.
func hexBytes(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}
