package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/grouping"
	"mishap/crash/privacy"
	"mishap/db"
)

// Store works on runs over stored reports.
type Store struct {
	*db.Store
	table *privacy.Table
}

// New returns a Store that applies a table; nil is the built-in one.
func New(s *db.Store, table *privacy.Table) *Store { return &Store{s, table} }

const (
	stepReports = 250                    // reports in one step
	busyPause   = 250 * time.Millisecond // pause while another instance works on the run
)

const (
	runColumns = `id, kind, person, started, until, finished, estimate, looked_at, secret, private, changed, held, found`
	// sqlStart continues after the last run that has removed private fields, unless the table has changed
	// or a hold was lifted since. Then it begins with the oldest report.
	sqlStart = `
		insert into privacy_runs (kind, person, fields, started, updated, until, received, report_id, estimate)
		select @kind, @person, @fields, @at, @at, @until, p.received, p.report_id, coalesce((
			select case when min(c.reltuples) < 0 then null else sum(c.reltuples)::bigint end
			from pg_inherits as i join pg_class as c on c.oid = i.inhrelid where i.inhparent = 'reports'::regclass
		), (select count(*) from (select from reports limit 1000000) as r))
		from (
			select coalesce(last.received, '0001-01-01') as received,
				coalesce(last.report_id, '00000000-0000-0000-0000-000000000000') as report_id
			from (select) as one left join (
				select received, report_id, started from privacy_runs
				where kind = 'expire' and fields = @fields and @kind = 'expire' and finished is not null
				order by id desc limit 1
			) as last on not exists (select from holds where lifted_at >= last.started)
		) as p
		where @kind <> 'expire' or exists (
			select from reports as r
			where r.received >= p.received and (r.received, r.id) > (p.received, p.report_id) and r.received < @until
		)
		on conflict ((true)) where finished is null do nothing
		returning ` + runColumns
	sqlRuns       = `select ` + runColumns + ` from privacy_runs order by id desc limit @limit`
	sqlUnfinished = `select ` + runColumns + ` from privacy_runs where finished is null`
	sqlRun        = `select ` + runColumns + ` from privacy_runs where id = @id`
	// sqlClaim locks a run until the end of the step, so that two instances do not work on it.
	sqlClaim = `
		select ` + runColumns + `, received, report_id, fields from privacy_runs
		where id = @id and finished is null for update skip locked`
	sqlHeld    = `select coalesce(array_agg(id), '{}') from (` + db.HeldBuckets + `) as held`
	sqlReports = `
		select id, coalesce(bucket_id = any(@held::bytea[]), false), body from reports
		where received >= @received and (received, id) > (@received, @id) and received < @until
		order by received, id limit @limit`
	sqlLockReport = `select address_signature, complete, body from reports where received = @received and id = @id for update`
	sqlSaveBody   = `update reports set body = @body, quality = @quality where received = @received and id = @id`
	sqlSaveStep   = `
		update privacy_runs set updated = @at, received = @received, report_id = @report, looked_at = @looked_at,
			secret = @secret, private = @private, changed = @changed, held = @held, found = @found,
			finished = case when @ended::boolean then @at::timestamptz end
		where id = @id`
)

func scanRun(row pgx.CollectableRow, more ...any) (r privacy.Run, err error) {
	var found []byte
	err = row.Scan(append([]any{&r.ID, &r.Kind, &r.Person, &r.Started, &r.Until, db.OrZero(&r.Finished), &r.Estimate,
		&r.LookedAt, &r.Secret, &r.Private, &r.Changed, &r.Held, &found}, more...)...)
	if err == nil {
		err = json.Unmarshal(found, &r.Found)
	}
	return r, err
}

// Errors of runs.
var (
	errRunning    = crash.Errorf(crash.Conflict, "privacy_running", "A run over the stored reports has not ended yet.")
	errUnknownRun = crash.Errorf(crash.NotFound, "unknown_run", "There is no such run.")
)

// Start starts a run over the reports that arrived before a time. [Store.Work] does the work. It returns
// Conflict if another run has not ended.
func (s *Store) Start(ctx context.Context, kind privacy.RunKind, until time.Time, person string) (privacy.Run, error) {
	var run privacy.Run
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlStart, pgx.NamedArgs{"kind": string(kind), "person": person, "fields": s.table.Hash(),
			"at": s.Now(), "until": until})
		if err != nil {
			return err
		}
		run, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (privacy.Run, error) { return scanRun(row) })
		if errors.Is(err, pgx.ErrNoRows) {
			return errRunning
		}
		if err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Person: person, Action: "privacy." + string(kind), Subject: "reports",
			After: map[string]any{"run": run.ID}})
	})
	if err != nil {
		return run, fmt.Errorf("start a run over stored reports: %w", err)
	}
	return run, nil
}

// StartExpiring starts a run that removes the private fields of reports that are older than keepDays
// days, unless there are none, another run has not ended, or keepDays is 0.
func (s *Store) StartExpiring(ctx context.Context, keepDays int) error {
	if keepDays == 0 {
		return nil
	}
	_, err := s.Start(ctx, privacy.RunExpire, s.Now().AddDate(0, 0, -keepDays), "")
	if errors.Is(err, crash.Conflict) {
		return nil
	}
	return err
}

// Runs returns the newest runs, the newest first.
func (s *Store) Runs(ctx context.Context, limit int) ([]privacy.Run, error) {
	return s.query(ctx, sqlRuns, pgx.NamedArgs{"limit": limit})
}

// Run returns a run. It returns NotFound if there is none with this number.
func (s *Store) Run(ctx context.Context, id int64) (privacy.Run, error) {
	runs, err := s.query(ctx, sqlRun, pgx.NamedArgs{"id": id})
	if err != nil || len(runs) == 1 {
		return append(runs, privacy.Run{})[0], err
	}
	return privacy.Run{}, errUnknownRun
}

func (s *Store) query(ctx context.Context, sql string, args pgx.NamedArgs) ([]privacy.Run, error) {
	rows, err := s.Pool.Query(ctx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("runs over stored reports: %w", db.Classify(err))
	}
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (privacy.Run, error) { return scanRun(row) })
	if err != nil {
		return nil, fmt.Errorf("runs over stored reports: %w", db.Classify(err))
	}
	return runs, nil
}

// Continue works on the run that has not ended, if there is one.
func (s *Store) Continue(ctx context.Context) error {
	runs, err := s.query(ctx, sqlUnfinished, pgx.NamedArgs{})
	if err != nil || len(runs) == 0 {
		return err
	}
	_, err = s.Work(ctx, runs[0].ID, func(privacy.Run) {})
	return err
}

// Work does all remaining steps of a run, and calls progress after each. It pauses after each step for
// as long as the step took, so that storing reports has priority. It may be interrupted at any time.
// If another instance works on the run, Work waits for it, and takes over if that instance dies.
func (s *Store) Work(ctx context.Context, id int64, progress func(privacy.Run)) (privacy.Run, error) {
	for {
		began := time.Now()
		run, mine, err := s.step(ctx, id)
		if err != nil {
			return run, fmt.Errorf("run %d over stored reports: %w", id, db.Classify(err))
		}
		pause := time.Since(began)
		if !mine {
			if run, err = s.Run(ctx, id); err != nil {
				return run, err
			}
			pause = busyPause
		}
		progress(run)
		if !run.Finished.IsZero() {
			return run, nil
		}
		if err := crash.Sleep(ctx, pause); err != nil {
			return run, err
		}
	}
}

// step examines some reports in one transaction. mine is false if the run has ended, or another
// instance works on it.
func (s *Store) step(ctx context.Context, id int64) (run privacy.Run, mine bool, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlClaim, pgx.NamedArgs{"id": id})
		if err != nil {
			return err
		}
		var received time.Time
		var last crash.OopsID
		var hash string
		run, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (privacy.Run, error) {
			return scanRun(row, &received, (*[16]byte)(&last), &hash)
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		mine = true
		ended := hash != s.table.Hash()
		if !ended {
			examined, err := s.examine(ctx, tx, &run, received, &last)
			if err != nil {
				return err
			}
			if examined > 0 {
				received = last.Received()
			}
			ended = examined < stepReports
		}
		return s.saveStep(ctx, tx, &run, received, last, ended)
	})
	return run, mine, err
}

func (s *Store) saveStep(ctx context.Context, tx pgx.Tx, run *privacy.Run, received time.Time, last crash.OopsID,
	ended bool) error {
	found, err := json.Marshal(run.Found)
	if err != nil {
		return err
	}
	at := s.Now()
	if ended {
		run.Finished = at
	}
	if _, err := tx.Exec(ctx, sqlSaveStep, pgx.NamedArgs{
		"id": run.ID, "at": at, "received": received, "report": [16]byte(last), "looked_at": run.LookedAt,
		"secret": run.Secret, "private": run.Private, "changed": run.Changed, "held": run.Held, "found": found,
		"ended": ended,
	}); err != nil {
		return err
	}
	if !ended || run.Kind == privacy.RunCheck {
		return nil
	}
	return s.Audit(ctx, tx, db.AuditEvent{Person: run.Person, Action: "privacy.finished", Subject: "reports",
		Detail: map[string]any{"run": run.ID, "kind": string(run.Kind), "reports": run.LookedAt, "changed": run.Changed,
			"held": run.Held}})
}

// examine examines the next reports after last, sets last to the last of them, and returns their
// number. It holds no more than one report in memory.
func (s *Store) examine(ctx context.Context, tx pgx.Tx, run *privacy.Run, received time.Time,
	last *crash.OopsID) (examined int, err error) {
	var held [][]byte
	if err := tx.QueryRow(ctx, sqlHeld).Scan(&held); err != nil {
		return 0, err
	}
	rows, err := tx.Query(ctx, sqlReports, pgx.NamedArgs{"held": held, "received": received, "id": [16]byte(*last),
		"until": run.Until, "limit": stepReports})
	if err != nil {
		return 0, err
	}
	var change []crash.OopsID
	var body []byte
	var isHeld bool
	if _, err := pgx.ForEachRow(rows, []any{(*[16]byte)(last), &isHeld, &body}, func() error {
		examined++
		fields, err := s.Decompress(body)
		if err != nil {
			return err
		}
		highest := s.count(run, fields)
		if run.Kind == privacy.RunCheck || run.Kind == privacy.RunApply && highest < privacy.Secret ||
			highest < privacy.Private {
			return nil
		}
		if isHeld {
			run.Held++
		} else {
			change = append(change, *last)
		}
		return nil
	}); err != nil {
		return 0, err
	}
	for _, id := range change {
		if err := s.remove(ctx, tx, run, id); err != nil {
			return 0, err
		}
	}
	return examined, nil
}

// count counts the fields of a report, and returns their highest class.
func (s *Store) count(run *privacy.Run, fields crash.Fields) (highest privacy.Class) {
	private := false
	for name := range fields {
		class := s.table.Class(name)
		if class >= privacy.Private {
			run.Found.Add(class, name)
		}
		private = private || class == privacy.Private
		highest = max(highest, class)
	}
	run.LookedAt++
	if highest == privacy.Secret {
		run.Secret++
	}
	if private {
		run.Private++
	}
	return highest
}

// remove removes fields of a report, which it locks, because symbolising may change it.
func (s *Store) remove(ctx context.Context, tx pgx.Tx, run *privacy.Run, id crash.OopsID) error {
	args := db.ReportArgs(id)
	var address string
	var complete bool
	var body []byte
	err := tx.QueryRow(ctx, sqlLockReport, args).Scan(&address, &complete, &body)
	if errors.Is(err, pgx.ErrNoRows) { // retention has dropped it
		return nil
	}
	if err != nil {
		return err
	}
	fields, err := s.Decompress(body)
	if err != nil {
		return err
	}
	rest, removed := s.table.DropSecrets(fields)
	if run.Kind == privacy.RunExpire {
		var expired []string
		rest, expired = Expire(s.table, rest, address)
		removed = append(removed, expired...)
	}
	if len(removed) == 0 {
		return nil
	}
	run.Changed++
	args["body"], args["quality"] = s.Compress(rest), grouping.Quality(rest, complete)
	_, err = tx.Exec(ctx, sqlSaveBody, args)
	return err
}
