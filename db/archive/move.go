package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/db"
)

// Moving a partition copies its reports in small chunks, compares counts and hashes of each day, and then puts the
// copy in the place of the source in one short transaction. Only then it drops the source. A trigger on the source
// notes reports that change meanwhile; they are copied again. A move that was interrupted at any point continues
// where it was.

const (
	moveChunk  = 2000 // reports that are copied at a time
	swapChange = 500  // changed reports that may be copied while the partition is locked
	swapTries  = 30   // attempts to lock reports, each with a limit of two seconds
	hashTries  = 5    // comparisons of a day whose reports change meanwhile
)

const (
	sqlMove      = `select part, archive, back, state, copied, reports from archive_moves where part = @part`
	sqlBeginMove = `
		insert into archive_moves (part, archive, back, copied, started) values (@part, @archive, @back, @from, @now)`
	sqlCopied      = `update archive_moves set copied = @until, reports = reports + @n where part = @part`
	sqlSwapped     = `update archive_moves set state = 'swapped' where part = @part`
	sqlEndMove     = `delete from archive_moves where part = @part`
	sqlNoChanges   = `delete from archive_changes`
	sqlErasing     = `select exists (select from erasures where finished is null)`
	sqlTakeChanges = `
		delete from archive_changes where ctid = any(array(select ctid from archive_changes limit @limit))
		returning received, id`
	sqlTables = `
		select c.relname, c.relkind = 'f' from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
		where i.inhparent = 'reports'::regclass order by c.relname`
	sqlIndexes = `
		select pg_get_indexdef(i.indexrelid), c.relname
		from pg_index as i join pg_class as c on c.oid = i.indexrelid where i.indrelid = 'reports'::regclass`
	sqlLockTimeout = `set local lock_timeout = '2s'`
	sqlLockReports = `lock table only reports in access exclusive mode`
	sqlTableThere  = `select to_regclass(@table) is not null`
)

// Progress is told how far a move is: what it does, and how many of its parts are done.
type Progress func(what string, done, total int)

var (
	errBusy = crash.Errorf(crash.Conflict, "partitions_busy", "Reports are being dropped or moved right now. Try again "+
		"when that is done.")
	errMonth = crash.Errorf(crash.Invalid, "bad_month", "A month looks like 2026-03.")
)

// Move moves the reports of a month to an archive, and returns how many. It continues an interrupted move. It
// returns NotFound if there is no such archive or month, Conflict if the month is not over, is being erased or is
// in another archive, and Unavailable if a database cannot be reached or has no space left. After an error nothing
// has changed for readers.
func (s *Store) Move(ctx context.Context, month, archive string, progress Progress) (int64, error) {
	names, err := db.ArchiveNames(ctx, s.Pool)
	if err != nil {
		return 0, err
	}
	if !slices.Contains(names, archive) {
		return 0, errUnknown(archive, names)
	}
	return s.moveMonth(ctx, month, archive, false, progress)
}

// Back moves the reports of a month back from its archive. It is the reverse of Move, with the same errors. If the
// month is being moved to an archive, Back ends that move instead.
func (s *Store) Back(ctx context.Context, month string, progress Progress) (int64, error) {
	return s.moveMonth(ctx, month, "", true, progress)
}

// moveMonth moves all partitions of a month.
func (s *Store) moveMonth(ctx context.Context, month, archive string, back bool, progress Progress) (
	n int64, err error) {
	begin, err := time.Parse("2006-01", month)
	if err != nil {
		return 0, errMonth
	}
	conn, unlock, err := s.LockPartitions(ctx)
	if err != nil {
		return 0, err
	}
	if conn == nil {
		return 0, errBusy
	}
	defer func() { err = errors.Join(err, unlock()) }()
	parts, err := s.partsOf(ctx, conn, begin)
	if err != nil {
		return 0, err
	}
	for _, p := range parts {
		moved, err := s.movePart(ctx, conn, p, archive, back, progress)
		n += moved
		if err != nil {
			return n, db.Wrap(err, "move %s", p.Table)
		}
	}
	return n, nil
}

// partsOf returns the partitions of a month. It returns NotFound if there are none.
func (s *Store) partsOf(ctx context.Context, conn *pgxpool.Conn, month time.Time) (parts []db.ReportsPart, err error) {
	all, err := db.ReportsParts(ctx, conn)
	if err != nil {
		return nil, err
	}
	var months []string
	for _, p := range all {
		name := p.From.Format("2006-01")
		if p.From.Year() == month.Year() && p.From.Month() == month.Month() {
			parts = append(parts, p)
		}
		if !slices.Contains(months, name) && !p.Until.After(s.Now()) {
			months = append(months, name)
		}
	}
	if len(parts) == 0 {
		return nil, crash.Errorf(crash.NotFound, "unknown_month", "No reports of %s are stored. There are: %s.",
			month.Format("2006-01"), strings.Join(months, ", "))
	}
	return parts, nil
}

// settle is how long a month must be over, so that no instance with a slow clock writes to it.
const settle = time.Hour

func (s *Store) movePart(ctx context.Context, conn *pgxpool.Conn, p db.ReportsPart, archive string, back bool,
	progress Progress) (int64, error) {
	move, err := db.One(ctx, conn, sqlMove, pgx.NamedArgs{"part": p.Table}, pgx.RowToStructByPos[Move])
	begun := err == nil
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, err
	}
	switch {
	case begun && move.State == "copying" && move.Back != back:
		return 0, s.cancel(ctx, conn, move)
	case begun && move.State == "copying" && !back && move.Archive != archive:
		return 0, crash.Errorf(crash.Conflict, "move_begun", "The reports of %s are being moved to the "+
			"archive %s. Continue with that one, or end that move: mishap archive back %s",
			p.Period(), move.Archive, p.From.Format("2006-01"))
	case begun && move.State != "copying":
		if err := s.finish(ctx, conn, move); err != nil || move.Back == back {
			return move.Reports, err
		}
		begun = false
	case !begun && back && p.Archive == "" || !begun && !back && p.Archive == archive:
		return 0, nil // it is there already
	case !begun && !back && p.Archive != "":
		return 0, crash.Errorf(crash.Conflict, "archived_elsewhere", "The reports of %s are in the archive %s. "+
			"Move them back first: mishap archive back %s", p.Period(), p.Archive, p.From.Format("2006-01"))
	}
	if !begun {
		if move, err = s.begin(ctx, conn, p, archive, back); err != nil {
			return 0, err
		}
	}
	remote, err := s.connect(ctx, move.Archive)
	if err != nil {
		return 0, err
	}
	defer remote.Close(context.WithoutCancel(ctx)) //nolint:errcheck // its result does not matter
	local, err := s.ConnectAlone(ctx)
	if err != nil {
		return 0, err
	}
	defer local.Close(context.WithoutCancel(ctx)) //nolint:errcheck // its result does not matter
	m := newMover(s, local, remote, p, move, progress)
	err = m.run(ctx)
	if err != nil && ctx.Err() == nil && remote.IsClosed() {
		return 0, crash.Errorf(crash.Unavailable, db.ErrArchiveAway.Code, "The connection to the archive %s has broken. The "+
			"same command continues where it was.", move.Archive).Because(err)
	}
	if db.IsFull(err) {
		full := crash.Errorf(crash.Unavailable, "archive_full", "There is not enough space for the reports of "+
			"%s on the server that they are moved to: %s. Nothing has changed.", p.Period(), firstLine(err)).Because(err)
		return 0, errors.Join(full, s.cancel(ctx, conn, move))
	}
	if err != nil {
		return 0, err
	}
	moved := m.moved
	if err := s.finish(ctx, conn, m.move); err != nil {
		return 0, err
	}
	return moved, s.AuditAlone(ctx, db.AuditEvent{Action: "archive.move", Subject: p.Table,
		Before: map[string]any{"archive": p.Archive}, After: map[string]any{"archive": m.after(), "reports": moved}})
}

// begin records a new move, after it has made sure that the partition can be moved.
func (s *Store) begin(ctx context.Context, conn *pgxpool.Conn, p db.ReportsPart, archive string, back bool) (
	Move, error) {
	if now := s.Now(); p.Until.Add(settle).After(now) {
		return Move{}, crash.Errorf(crash.Conflict, "month_not_over", "Reports of %s may still arrive. They can be "+
			"moved from %s.",
			p.Period(), p.Until.Add(settle).Format("2006-01-02 15:04 UTC"))
	}
	var erasing bool
	if err := conn.QueryRow(ctx, sqlErasing).Scan(&erasing); err != nil {
		return Move{}, err
	}
	if erasing {
		return Move{}, crash.Errorf(crash.Conflict, "erasure_running", "A machine is being erased, perhaps also from %s. "+
			"Try again when that is done.", p.Period())
	}
	if err := s.WaitCounted(ctx); err != nil {
		return Move{}, err
	}
	move := Move{Part: p.Table, Archive: archive, Back: back, State: "copying", Copied: p.From}
	if back {
		move.Archive = p.Archive
	}
	remote, err := s.connect(ctx, move.Archive) // before anything is written
	if err != nil {
		return move, err
	}
	defer remote.Close(context.WithoutCancel(ctx)) //nolint:errcheck // its result does not matter
	return move, db.Exec(ctx, conn, pgx.NamedArgs{"part": p.Table, "archive": move.Archive, "back": back, "from": p.From,
		"now": s.Now()}, sqlBeginMove)
}

// mover moves one partition.
type mover struct {
	store          *Store
	part           db.ReportsPart
	move           Move
	local, remote  *pgx.Conn
	source, target *pgx.Conn // of local and remote
	copy           string    // name of the table of target
	names          string    // of all columns
	columns        []db.Column
	progress       Progress
	moved          int64
}

func newMover(s *Store, local, remote *pgx.Conn, p db.ReportsPart, move Move, progress Progress) *mover {
	m := &mover{store: s, part: p, move: move, local: local, remote: remote, progress: progress,
		source: local, target: remote, copy: p.Table}
	if move.Back {
		m.source, m.target, m.copy = remote, local, "back_"+p.Table
	}
	return m
}

// after returns the archive where the reports are after the move; empty: here.
func (m *mover) after() string {
	if m.move.Back {
		return ""
	}
	return m.move.Archive
}

func (m *mover) run(ctx context.Context) error {
	if err := m.prepare(ctx); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	if err := m.copyAll(ctx); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if err := m.index(ctx); err != nil {
		return fmt.Errorf("make indexes: %w", err)
	}
	if err := m.compare(ctx); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	return m.swap(ctx)
}

// prepare makes the table of the target and the trigger of the source, unless they are there.
func (m *mover) prepare(ctx context.Context) (err error) {
	if m.columns, err = db.Columns(ctx, m.local, "reports"); err != nil {
		return err
	}
	var names, definitions []string
	for _, c := range m.columns {
		names, definitions = append(names, c.Quoted()), append(definitions, c.Definition())
	}
	m.names = strings.Join(names, ", ")
	if m.move.Copied.Equal(m.part.From) { // nothing is copied yet
		if _, err := m.source.Exec(ctx, sqlNoChanges); err != nil {
			return err
		}
	}
	if err := pgx.BeginFunc(ctx, m.source, func(tx pgx.Tx) error {
		trigger := "create or replace trigger archive_changes after update or delete on " + m.part.Table +
			" for each row execute function note_archive_change()"
		return db.Exec(ctx, tx, nil, sqlLockTimeout, trigger)
	}); err != nil {
		return err
	}
	var there bool
	err = m.target.QueryRow(ctx, sqlTableThere, pgx.NamedArgs{"table": m.copy}).Scan(&there)
	if err != nil || there {
		return err
	}
	return pgx.BeginFunc(ctx, m.target, func(tx pgx.Tx) error {
		statements := []string{"create table " + m.copy + " (" + strings.Join(definitions, ", ") + ")",
			"alter table " + m.copy + " add constraint " + m.part.Table + "_pkey primary key (received, id)"}
		for _, c := range m.columns {
			if c.Apart {
				statements = append(statements, "alter table "+m.copy+" alter column "+c.Quoted()+" set storage external")
			}
		}
		if m.move.Back { // so that PostgreSQL need not read the table to make it a partition
			statements = append(statements, fmt.Sprintf("alter table %s add constraint bounds check (%s)", m.copy,
				between(m.part.From, m.part.Until)))
		}
		return db.Exec(ctx, tx, nil, statements...)
	})
}

func between(from, until time.Time) string {
	const form = "2006-01-02 15:04:05.999999Z07:00"
	return fmt.Sprintf("received >= '%s' and received < '%s'", from.UTC().Format(form), until.UTC().Format(form))
}

// copyAll copies the partition from where an earlier call has stopped. It rests after each chunk for as long as
// that took.
func (m *mover) copyAll(ctx context.Context) error {
	next := "select received from " + m.part.Table + " where received >= $1 order by received, id offset $2 limit 1"
	for m.move.Copied.Before(m.part.Until) {
		began := time.Now()
		m.progress("copying "+m.part.Period(), m.done(m.move.Copied), 100)
		until := m.part.Until
		err := m.source.QueryRow(ctx, next, m.move.Copied, moveChunk).Scan(&until)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if !until.After(m.move.Copied) { // very many reports arrived within a millisecond
			until = m.move.Copied.Add(time.Millisecond)
		}
		n, err := m.copyRange(ctx, m.move.Copied, until)
		if err != nil {
			return err
		}
		if err := db.Exec(ctx, m.local, pgx.NamedArgs{"part": m.part.Table, "until": until, "n": n}, sqlCopied); err != nil {
			return err
		}
		m.move.Copied = until
		if err := crash.Sleep(ctx, time.Since(began)); err != nil {
			return err
		}
	}
	return nil
}

// done returns what share of the partition arrived before a time, in percent.
func (m *mover) done(at time.Time) int {
	return int(100 * at.Sub(m.part.From) / m.part.Until.Sub(m.part.From))
}

// copyRange replaces the reports in the copy that arrived in a period by those of the source. It returns their
// number.
func (m *mover) copyRange(ctx context.Context, from, until time.Time) (int64, error) {
	return m.copyWhere(ctx, between(from, until))
}

// copyWhere replaces the reports in the copy that meet a condition.
func (m *mover) copyWhere(ctx context.Context, where string) (n int64, err error) {
	err = pgx.BeginFunc(ctx, m.target, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "delete from "+m.copy+" where "+where); err != nil {
			return err
		}
		r, w := io.Pipe()
		var both errgroup.Group
		both.Go(func() error {
			_, err := m.source.PgConn().CopyTo(ctx, w, "copy (select "+m.names+" from "+m.part.Table+" where "+where+
				") to stdout (format binary)")
			_ = w.CloseWithError(err) // with nil: the end
			return err
		})
		tag, err := m.target.PgConn().CopyFrom(ctx, r, "copy "+m.copy+" ("+m.names+") from stdin (format binary)")
		_ = r.CloseWithError(errors.New("the copy has failed"))
		n = tag.RowsAffected()
		return errors.Join(err, both.Wait())
	})
	return n, err
}

// index makes the indexes of reports on the copy.
func (m *mover) index(ctx context.Context) error {
	m.progress("making indexes of "+m.part.Period(), 100, 100)
	type index struct{ Definition, Name string }
	all, err := db.List(ctx, m.local, sqlIndexes, nil, pgx.RowToStructByPos[index])
	if err != nil {
		return err
	}
	for _, i := range all {
		_, rest, found := strings.Cut(i.Definition, " USING ")
		if !found {
			return fmt.Errorf("unexpected definition of the index %s: %s", i.Name, i.Definition)
		}
		name := m.part.Table + strings.TrimPrefix(i.Name, "reports")
		if _, err := m.target.Exec(ctx, "create index if not exists "+quote(name)+" on "+m.copy+" using "+rest); err != nil {
			return err
		}
	}
	_, err = m.target.Exec(ctx, "analyze "+m.copy)
	return err
}

// summary is what two tables with the same reports agree on.
type summary struct {
	reports int64
	hash    string // sum of the hashes of all columns
}

func (m *mover) summary(ctx context.Context, conn *pgx.Conn, table, where string) (s summary, err error) {
	err = conn.QueryRow(ctx, "select count(*), coalesce(sum(('x' || left(md5(row("+m.names+
		")::text), 15))::bit(60)::bigint), 0)::text from "+table+" where "+where).Scan(&s.reports, &s.hash)
	return s, err
}

// compare compares counts and hashes of each day. It copies a day again in which they differ because of changes.
func (m *mover) compare(ctx context.Context) error {
	m.moved = 0
	for day := m.part.From; day.Before(m.part.Until); day = day.AddDate(0, 0, 1) {
		m.progress("comparing "+m.part.Period(), m.done(day), 100)
		where := between(day, day.AddDate(0, 0, 1))
		for try := 1; ; try++ {
			source, err := m.summary(ctx, m.source, m.part.Table, where)
			if err != nil {
				return err
			}
			target, err := m.summary(ctx, m.target, m.copy, where)
			if err != nil {
				return err
			}
			if source == target {
				m.moved += source.reports
				break
			}
			if try == hashTries {
				return fmt.Errorf("the copies of %s differ: %d reports with the hash %s, and %d with %s",
					day.Format(time.DateOnly), source.reports, source.hash, target.reports, target.hash)
			}
			if err := m.copyAllChanges(ctx); err != nil {
				return err
			}
			if try > 1 {
				if _, err := m.copyRange(ctx, day, day.AddDate(0, 0, 1)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// copyChanges copies up to limit reports again that were changed in the source since they were copied. It returns
// how many.
func (m *mover) copyChanges(ctx context.Context, limit int) (n int, err error) {
	err = pgx.BeginFunc(ctx, m.source, func(tx pgx.Tx) error {
		n, err = m.copyChangesIn(ctx, tx, limit)
		return err
	})
	return n, err
}

// copyAllChanges does so until nothing has changed since.
func (m *mover) copyAllChanges(ctx context.Context) error {
	for {
		if n, err := m.copyChanges(ctx, moveChunk); err != nil || n == 0 {
			return err
		}
	}
}

// copyChangesIn does so in a transaction of the source.
func (m *mover) copyChangesIn(ctx context.Context, tx pgx.Tx, limit int) (n int, err error) {
	var received, ids []string
	var at time.Time
	var id [16]byte
	if err := db.Each(ctx, tx, sqlTakeChanges, pgx.NamedArgs{"limit": limit}, []any{&at, &id}, func() {
		received = append(received, at.UTC().Format("2006-01-02 15:04:05.999999Z07:00"))
		ids = append(ids, crash.OopsID(id).String())
	}); err != nil || len(ids) == 0 {
		return 0, err
	}
	_, err = m.copyWhere(ctx, fmt.Sprintf("received = any('{%s}') and id = any('{%s}')",
		`"`+strings.Join(received, `","`)+`"`, strings.Join(ids, ",")))
	return len(ids), err
}

// swap puts the copy in the place of the source. Reports cannot be read or stored meanwhile, so it gives up and
// tries again if it cannot lock the table soon.
func (m *mover) swap(ctx context.Context) error {
	m.progress("swapping "+m.part.Period(), 100, 100)
	for try := 1; ; try++ {
		if err := m.copyAllChanges(ctx); err != nil {
			return err
		}
		err := m.swapOnce(ctx)
		pg, ok := errors.AsType[*pgconn.PgError](err)
		busy := ok && (pg.Code == "55P03" || pg.Code == "40P01") || errors.Is(err, errChanges)
		if err == nil || !busy || try == swapTries {
			return err
		}
		if err := crash.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// errChanges says that too much has changed for a short transaction.
var errChanges = errors.New("the reports change too quickly")

func (m *mover) swapOnce(ctx context.Context) error {
	return pgx.BeginFunc(ctx, m.local, func(tx pgx.Tx) error {
		if err := db.Exec(ctx, tx, nil, sqlLockTimeout, sqlLockReports); err != nil {
			return err
		}
		if m.move.Back {
			return m.swapBack(ctx, tx)
		}
		if n, err := m.copyChangesIn(ctx, tx, swapChange); err != nil {
			return err
		} else if n == swapChange {
			return errChanges
		}
		var definitions []string
		for _, c := range m.columns {
			definitions = append(definitions, c.Definition())
		}
		return m.place(ctx, tx,
			"alter table "+m.part.Table+" rename to moved_"+m.part.Table,
			"create foreign table "+m.part.Table+" ("+strings.Join(definitions, ", ")+") server "+serverName(m.move.Archive)+
				" options (schema_name 'public', table_name "+literal(m.part.Table)+")")
	})
}

// swapBack locks the table of the archive, so that nothing changes there before the copy has taken its place here.
func (m *mover) swapBack(ctx context.Context, tx pgx.Tx) error {
	return pgx.BeginFunc(ctx, m.remote, func(remote pgx.Tx) error {
		lock := "lock table " + m.part.Table + " in access exclusive mode"
		if err := db.Exec(ctx, remote, nil, sqlLockTimeout, lock); err != nil {
			return err
		}
		if n, err := m.copyChangesIn(ctx, remote, swapChange); err != nil {
			return err
		} else if n == swapChange {
			return errChanges
		}
		return m.place(ctx, tx, "drop foreign table "+m.part.Table, "alter table "+m.copy+" rename to "+m.part.Table)
	})
}

// place detaches the partition, runs statements that put another table in its place, and attaches that.
func (m *mover) place(ctx context.Context, tx pgx.Tx, statements ...string) error {
	all := append([]string{"alter table reports detach partition " + m.part.Table}, statements...)
	all = append(all, "alter table reports attach partition "+m.part.Table+" for values "+m.part.Bounds)
	if m.move.Back {
		all = append(all, "alter table "+m.part.Table+" drop constraint bounds")
	}
	if err := db.Exec(ctx, tx, nil, all...); err != nil {
		return err
	}
	m.move.State = "swapped"
	return db.Exec(ctx, tx, pgx.NamedArgs{"part": m.part.Table}, sqlSwapped)
}

// finish drops the source of a move whose copy is in use.
func (s *Store) finish(ctx context.Context, conn *pgxpool.Conn, move Move) error {
	if move.State == "swapped" && !move.Back {
		if _, err := conn.Exec(ctx, "drop table if exists moved_"+move.Part); err != nil {
			return err
		}
	} else if err := s.dropRemote(ctx, move); err != nil {
		return err
	}
	return db.Exec(ctx, conn, pgx.NamedArgs{"part": move.Part}, sqlNoChanges, sqlEndMove)
}

func (s *Store) dropRemote(ctx context.Context, move Move) error {
	remote, err := s.connect(ctx, move.Archive)
	if err != nil {
		return err
	}
	defer remote.Close(context.WithoutCancel(ctx)) //nolint:errcheck // its result does not matter
	return db.Exec(ctx, remote, nil, "drop table if exists "+move.Part, sqlNoChanges)
}

// cancel ends a move whose source is still in use. It drops the copy.
func (s *Store) cancel(ctx context.Context, conn *pgxpool.Conn, move Move) error {
	untrigger := "drop trigger if exists archive_changes on " + move.Part
	if move.Back {
		remote, err := s.connect(ctx, move.Archive)
		if err != nil {
			return err
		}
		defer remote.Close(context.WithoutCancel(ctx)) //nolint:errcheck // its result does not matter
		if err := db.Exec(ctx, remote, nil, untrigger, sqlNoChanges); err != nil {
			return err
		}
		if err := db.Exec(ctx, conn, nil, "drop table if exists back_"+move.Part); err != nil {
			return err
		}
	} else {
		if err := s.dropRemote(ctx, move); err != nil {
			return err
		}
		if err := db.Exec(ctx, conn, nil, untrigger); err != nil {
			return err
		}
	}
	return db.Exec(ctx, conn, pgx.NamedArgs{"part": move.Part}, sqlNoChanges, sqlEndMove)
}

// Finish drops what finished moves and retention have left behind. The nightly task calls it.
func (s *Store) Finish(ctx context.Context) (err error) {
	conn, unlock, err := s.LockPartitions(ctx)
	if err != nil || conn == nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	moves, err := s.moves(ctx)
	if err != nil {
		return err
	}
	for _, m := range moves {
		if m.State != "copying" {
			err = errors.Join(err, db.Wrap(s.finish(ctx, conn, m), "finish the move of %s", m.Part))
		}
	}
	return err
}

// MoveOld moves the months that ended before a time to the archive that was added last, the oldest first. It
// finishes earlier moves. It does nothing if there is no archive.
func (s *Store) MoveOld(ctx context.Context, before time.Time) error {
	if err := errors.Join(s.Finish(ctx), db.AlignArchives(ctx, s.Pool)); err != nil {
		return err
	}
	names, err := db.ArchiveNames(ctx, s.Pool)
	if err != nil || len(names) == 0 || before.IsZero() {
		return err
	}
	parts, err := db.ReportsParts(ctx, s.Pool)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if p.Archive != "" || p.Until.After(before) {
			continue
		}
		month := p.From.Format("2006-01")
		n, err := s.Move(ctx, month, names[len(names)-1], func(string, int, int) {})
		if err != nil {
			return err
		}
		if n > 0 {
			s.Log.InfoContext(ctx, "moved reports to an archive", "month", month, "archive", names[len(names)-1], "reports", n)
		}
	}
	return nil
}
