package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
)

// An archive is another PostgreSQL server that stores some partitions of reports. Each of them is a foreign table
// here, so that statements see all reports. A statement whose condition on the time of arrival leaves out the
// archived partitions neither plans nor opens them, and works while an archive is down. Package archive moves
// partitions.

// archiveServer begins the names of the foreign servers that are archives.
const archiveServer = "archive_"

// archiveTime limits how long a page waits for archives.
const archiveTime = 1500 * time.Millisecond

// archiveRest is how long pages do without archives after one of them has failed. It keeps pages with several
// reads fast.
const archiveRest = 10 * time.Second

const (
	sqlDroppedForeign = `
		insert into archive_moves (part, archive, back, state, started) values (@part, @archive, false, 'dropped', @now)`
)

// archives is what a process knows about archives.
type archives struct {
	mu      sync.Mutex
	read    time.Time    // when parts were read
	parts   ArchivedList // at that time
	reading bool         // a caller reads them again
	rest    time.Time    // until when pages do without archives
	away    error        // why
}

// ArchivedPart is a partition in an archive.
type ArchivedPart struct {
	Table       string
	Archive     string
	From, Until time.Time // of arrival, UTC
}

// Period returns the period for people: 2026-03, or 2026-03-08 to 2026-03-14.
func (p ArchivedPart) Period() string {
	if p.Until.Sub(p.From) > 27*24*time.Hour {
		return p.From.Format("2006-01")
	}
	return p.From.Format(time.DateOnly) + " to " + p.Until.AddDate(0, 0, -1).Format(time.DateOnly)
}

// ArchivedList lists the partitions in archives, oldest first.
type ArchivedList []ArchivedPart

// Until returns the time from which all reports are here; zero: all are.
func (l ArchivedList) Until() (until time.Time) {
	for _, p := range l {
		if p.Until.After(until) {
			until = p.Until
		}
	}
	return until
}

// Archived returns the partitions in archives. What other processes have moved may be missing for ten seconds, and for
// as long as one caller reads them again.
func (h *Handle) Archived(ctx context.Context) (ArchivedList, error) {
	a := &h.archives
	a.mu.Lock()
	parts, first, recent := a.parts, a.read.IsZero(), time.Since(a.read) < archiveRest || a.reading
	a.reading = a.reading || !recent
	a.mu.Unlock()
	if recent && !first {
		return parts, nil
	}
	parts, err := ReadArchived(ctx, h.Pool)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reading = false
	if err == nil {
		a.read, a.parts = time.Now(), parts
	}
	return parts, err
}

// ReadArchived returns the partitions that are in archives.
func ReadArchived(ctx context.Context, q Querier) (archived ArchivedList, err error) {
	parts, err := ReportsParts(ctx, q)
	for _, p := range parts {
		if p.Archive != "" {
			archived = append(archived, p.ArchivedPart)
		}
	}
	return archived, err
}

// ErrArchiveAway is the error of an archive that cannot be reached, or does not answer in time.
var ErrArchiveAway = crash.Errorf(crash.Unavailable, "archive_away", "An archive server cannot be reached. What it "+
	"stores is missing until it answers again; everything else works.")

// IsArchiveAway reports whether err is ErrArchiveAway.
func IsArchiveAway(err error) bool {
	e, ok := errors.AsType[*crash.Error](err)
	return ok && e.Code == ErrArchiveAway.Code
}

// Reason returns what an error says to people, without its causes.
func Reason(err error) string {
	if e, ok := errors.AsType[*crash.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// archiveAway returns ErrArchiveAway with the name of the archive if err says that an archive has failed, and else
// nil.
func archiveAway(err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return nil
	}
	if _, name, ok := strings.Cut(pg.Message, `could not connect to server "`+archiveServer); ok {
		name, _, _ = strings.Cut(name, `"`)
		return crash.Errorf(crash.Unavailable, ErrArchiveAway.Code, "The archive server %s cannot be reached. What it "+
			"stores is missing until it answers again; everything else works.", name).Because(err)
	}
	if strings.HasPrefix(pg.Code, "08") || strings.Contains(pg.Where, "remote SQL command") {
		return ErrArchiveAway.Because(err)
	}
	return nil
}

// Recent calls read with a time since which all reports are here. If that does not find enough, and there are older
// reports in archives, Recent calls it again with the zero time. If an archive does not answer in time, Recent returns
// what is here, and notes in the context what may be missing (see [WatchMissing]).
func Recent[T any](
	ctx context.Context, h *Handle, read func(ctx context.Context, since time.Time) (found T, enough bool, err error),
) (T, error) {
	parts, err := h.Archived(ctx)
	if err != nil {
		var none T
		return none, err
	}
	found, enough, err := read(ctx, parts.Until())
	if err != nil || enough || len(parts) == 0 {
		return found, err
	}
	all, err := FromArchives(ctx, h, func(ctx context.Context) (T, error) {
		all, _, err := read(ctx, time.Time{})
		return all, err
	})
	if IsArchiveAway(err) {
		NoteMissing(ctx, parts)
		return found, nil
	}
	return all, err
}

// Since calls read, which needs all reports that arrived since a time. If an archive has some of them, and does not
// answer in time, Since calls read again with a later time since which all reports are here, and notes in the context
// what may be missing.
func Since[T any](
	ctx context.Context, h *Handle, since time.Time, read func(ctx context.Context, since time.Time) (T, error),
) (T, error) {
	parts, err := h.Archived(ctx)
	if err != nil {
		var none T
		return none, err
	}
	if !since.Before(parts.Until()) {
		return read(ctx, since)
	}
	all, err := FromArchives(ctx, h, func(ctx context.Context) (T, error) { return read(ctx, since) })
	if IsArchiveAway(err) {
		NoteMissing(ctx, parts)
		return read(ctx, parts.Until())
	}
	return all, err
}

// AtReport calls read, which reads a report. If an archive may have it, it calls [FromArchives].
func AtReport[T any](
	ctx context.Context, h *Handle, id crash.OopsID, read func(ctx context.Context) (T, error),
) (T, error) {
	parts, err := h.Archived(ctx)
	if err != nil || !id.Received().Before(parts.Until()) {
		return read(ctx)
	}
	return FromArchives(ctx, h, read)
}

// FromArchives calls read, which may need archives, with a limited time. It returns ErrArchiveAway if one of them
// does not answer in time, or has not a short time ago.
func FromArchives[T any](
	ctx context.Context, h *Handle, read func(ctx context.Context) (T, error),
) (value T, err error) {
	a := &h.archives
	a.mu.Lock()
	away := a.away
	if time.Now().After(a.rest) {
		away = nil
	}
	a.mu.Unlock()
	if away != nil {
		return value, away
	}
	limited, cancel := context.WithTimeout(ctx, archiveTime)
	defer cancel()
	value, err = read(limited)
	if err = Classify(err); err == nil {
		return value, nil
	}
	if limited.Err() != nil && ctx.Err() == nil {
		err = ErrArchiveAway.Because(err)
	}
	if IsArchiveAway(err) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.rest, a.away = time.Now().Add(archiveRest), err
	}
	return value, err
}

// ReachArchives returns ErrArchiveAway if an archive does not answer in time. Work that needs all reports asks before
// it takes the lock on counting, so that counting does not wait for an archive.
func (h *Handle) ReachArchives(ctx context.Context) error {
	parts, err := h.Archived(ctx)
	if err != nil || len(parts) == 0 {
		return err
	}
	_, err = FromArchives(ctx, h, func(ctx context.Context) (asked map[string]bool, err error) {
		asked = map[string]bool{}
		for _, p := range parts {
			if !asked[p.Archive] && err == nil {
				_, err = h.Pool.Exec(ctx, "select from "+pgx.Identifier{p.Table}.Sanitize()+" limit 1")
			}
			asked[p.Archive] = true
		}
		return asked, err
	})
	return err
}

// MarkWaiting sets the flags of work that waits, if an archive does not answer in time: flag returns that of unfinished
// work, and nil for other work.
func MarkWaiting[T any](ctx context.Context, h *Handle, all []T, flag func(*T) *bool) {
	var flags []*bool
	for i := range all {
		if f := flag(&all[i]); f != nil {
			flags = append(flags, f)
		}
	}
	if len(flags) > 0 && IsArchiveAway(h.ReachArchives(ctx)) {
		for _, f := range flags {
			*f = true
		}
	}
}

// UnlessAway returns nil for ErrArchiveAway, which is no failure of periodic work: the next call continues it.
func UnlessAway(err error) error {
	if IsArchiveAway(err) {
		return nil
	}
	return err
}

// NoteAway notes in the context that reports may be missing if an archive does not answer in time. Reads in several
// parts begin with it, so that the first part can say it.
func (h *Handle) NoteAway(ctx context.Context) error {
	err := h.ReachArchives(ctx)
	if IsArchiveAway(err) {
		var parts ArchivedList
		parts, err = h.Archived(ctx)
		NoteMissing(ctx, parts)
	}
	return err
}

type missingKey struct{}

// missing collects what the reads of a request could not find, because an archive was down.
type missing struct {
	mu    sync.Mutex
	parts ArchivedList
}

// WatchMissing returns a context whose reads note what is missing. MissingIn returns that.
func WatchMissing(ctx context.Context) context.Context {
	return context.WithValue(ctx, missingKey{}, &missing{})
}

// NoteMissing notes in the context that the reports of some partitions may be missing.
func NoteMissing(ctx context.Context, parts ArchivedList) {
	if m, ok := ctx.Value(missingKey{}).(*missing); ok && len(parts) > 0 {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.parts = parts
	}
}

// MissingIn returns the partitions whose reports may be missing in what a request has read.
func MissingIn(ctx context.Context) ArchivedList {
	m, ok := ctx.Value(missingKey{}).(*missing)
	if !ok {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.parts
}

// Text says that reports of these partitions may be missing; empty if there are none.
func (l ArchivedList) Text() string {
	if len(l) == 0 {
		return ""
	}
	var names []string
	for _, p := range l {
		if !slices.Contains(names, p.Archive) {
			names = append(names, p.Archive)
		}
	}
	which := "the archive " + names[0]
	if len(names) > 1 {
		which = "one of the archives " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("Reports that arrived before %s may be missing here: %s cannot be reached.",
		l.Until().Format(time.DateOnly), which)
}

// dropForeign drops a detached partition of an archive, and notes that the archive's own table is to be dropped.
func dropForeign(ctx context.Context, tx pgx.Tx, p partition, archive string, now time.Time) error {
	if _, err := tx.Exec(ctx, "drop foreign table "+p.table()); err != nil {
		return fmt.Errorf("drop %s: %w", p.table(), err)
	}
	return Exec(ctx, tx, pgx.NamedArgs{"part": p.table(), "archive": archive, "now": now}, sqlDroppedForeign)
}

const (
	sqlArchiveNames = `
		select substr(srvname, length('` + archiveServer + `') + 1) from pg_foreign_server
		where starts_with(srvname, '` + archiveServer + `') order by oid`
	sqlColumns = `
		select a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage = 'e',
			coalesce(pg_get_expr(d.adbin, d.adrelid), '')
		from pg_attribute as a left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
		where a.attrelid = to_regclass(@table::text) and a.attnum > 0 and not a.attisdropped order by a.attnum`
	sqlArchiveOptions = `
		select coalesce(s.srvoptions, '{}'), coalesce(m.umoptions, '{}')
		from pg_foreign_server as s left join pg_user_mappings as m on m.srvid = s.oid and m.usename = current_user
		where s.srvname = '` + archiveServer + `' || @name`
	sqlArchiveSession = `
		select set_config('timezone', 'UTC', false), set_config('datestyle', 'ISO', false),
			set_config('bytea_output', 'hex', false), set_config('statement_timeout', '0', false)`
)

// ArchiveAddress returns the connection settings of an archive. It returns NotFound if there is none with this name.
func ArchiveAddress(ctx context.Context, q Querier, name string) (*pgx.ConnConfig, error) {
	type options struct{ Server, User []string }
	o, err := One(ctx, q, sqlArchiveOptions, pgx.NamedArgs{"name": name}, pgx.RowToStructByPos[options])
	if err != nil {
		return nil, WrapOr(err, crash.Errorf(crash.NotFound, "unknown_archive", "There is no archive %q.", name),
			"archive %s", name)
	}
	var settings []string
	escape := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	for _, option := range slices.Concat(o.Server, o.User) {
		if key, value, _ := strings.Cut(option, "="); slices.Contains(connectionKeys, key) {
			settings = append(settings, key+"='"+escape.Replace(value)+"'")
		}
	}
	c, err := pgx.ParseConfig(strings.Join(settings, " "))
	return c, Wrap(err, "address of archive %s", name)
}

// connectionKeys are the options of a foreign server that pgx knows too.
var connectionKeys = []string{"host", "port", "dbname", "user", "password", "sslmode", "sslrootcert", "sslcert",
	"sslkey", "connect_timeout", "target_session_attrs", "application_name"}

// ConnectArchive connects to an archive. It returns ErrArchiveAway if that fails.
func ConnectArchive(ctx context.Context, q Querier, name string) (*pgx.Conn, error) {
	c, err := ArchiveAddress(ctx, q, name)
	if err != nil {
		return nil, err
	}
	return connectArchive(ctx, c)
}

// ConnectTo connects to a database that may become an archive. It returns Invalid if the server is too old or
// cannot store all characters, and ErrArchiveAway if it cannot be reached.
func ConnectTo(ctx context.Context, address string) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("address of the archive: %w", err)
	}
	return connectArchive(ctx, c)
}

func connectArchive(ctx context.Context, c *pgx.ConnConfig) (*pgx.Conn, error) {
	c.ConnectTimeout = archiveConnectTime
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, crash.Errorf(crash.Unavailable, ErrArchiveAway.Code, "The archive server at %s:%d cannot be reached: %s.",
			c.Host, c.Port, connectReason(err)).Because(err)
	}
	_, err = conn.Exec(ctx, sqlArchiveSession)
	if err = errors.Join(err, checkServer(conn), CheckEncoding(conn)); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return conn, nil
}

// archiveConnectTime limits how long connecting to an archive takes.
const archiveConnectTime = 5 * time.Second

// connectReason returns the last part of an error of connecting, which says why.
func connectReason(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Message
	}
	text := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		return "it does not answer"
	}
	return strings.TrimSpace(text[strings.LastIndex(text, ": ")+1:])
}

// ConnectAlone opens a connection that is not in the pool, for work that takes long. Rows have the same text as with
// [ConnectArchive].
func (h *Handle) ConnectAlone(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, h.Pool.Config().ConnConfig.Copy())
	if err != nil {
		return nil, errUnavailable.Because(err)
	}
	if _, err := conn.Exec(ctx, sqlArchiveSession); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, Classify(err)
	}
	return conn, nil
}

// Column is a column of a table.
type Column struct {
	Name, Type     string
	NotNull, Apart bool   // Apart: long values are stored uncompressed in a table of their own
	Default        string // as an expression; empty: none
}

// Columns returns the columns of a table, or none if there is no such table.
func Columns(ctx context.Context, q Querier, table string) ([]Column, error) {
	all, err := List(ctx, q, sqlColumns, pgx.NamedArgs{"table": table}, pgx.RowToStructByPos[Column])
	return all, Wrap(err, "columns of %s", table)
}

// Quoted returns the name for SQL.
func (c Column) Quoted() string { return pgx.Identifier{c.Name}.Sanitize() }

// Definition returns the definition of the column for a new table.
func (c Column) Definition() string {
	text := c.Quoted() + " " + c.Type
	if c.Default != "" {
		text += " default " + c.Default
	}
	if c.NotNull {
		text += " not null"
	}
	return text
}

// AlignArchives gives the tables in archives the columns that migrations have added here. Until an archive that is
// down has them, its reports cannot be read.
func AlignArchives(ctx context.Context, conn Querier) error {
	parts, err := ReadArchived(ctx, conn)
	if err != nil || len(parts) == 0 {
		return err
	}
	here, err := Columns(ctx, conn, "reports")
	if err != nil {
		return err
	}
	remotes := map[string]*pgx.Conn{}
	for _, p := range parts {
		remote, known := remotes[p.Archive]
		if !known {
			remote, err = ConnectArchive(ctx, conn, p.Archive)
			if err != nil {
				return err
			}
			defer remote.Close(context.WithoutCancel(ctx)) //nolint:errcheck // its result does not matter
			remotes[p.Archive] = remote
		}
		if err := alignColumns(ctx, remote, p.Table, here); err != nil {
			return fmt.Errorf("columns of %s in the archive %s: %w", p.Table, p.Archive, err)
		}
	}
	return nil
}

func alignColumns(ctx context.Context, remote *pgx.Conn, table string, here []Column) error {
	there, err := Columns(ctx, remote, table)
	if err != nil {
		return err
	}
	known := map[string]Column{}
	for _, c := range there {
		known[c.Name] = c
	}
	for _, c := range here {
		var change string
		switch old, ok := known[c.Name]; {
		case !ok:
			change = "add column " + c.Definition()
		case old.NotNull && !c.NotNull:
			change = "alter column " + c.Quoted() + " drop not null"
		default:
			continue
		}
		if _, err := remote.Exec(ctx, "alter table "+table+" "+change); err != nil {
			return err
		}
	}
	return nil
}

// ArchiveNames returns the names of all archives, in the order in which they were added.
func ArchiveNames(ctx context.Context, q Querier) ([]string, error) {
	names, err := List(ctx, q, sqlArchiveNames, nil, pgx.RowTo[string])
	return names, Wrap(err, "archives")
}

// ArchiveState is what an archive stores, and whether it answers.
type ArchiveState struct {
	Name    string
	Parts   ArchivedList
	Problem string // why it does not answer; empty: it does
}

// Archives returns what each archive stores, in the order in which they were added. It does not ask them.
func Archives(ctx context.Context, q Querier) ([]ArchiveState, error) {
	names, err := ArchiveNames(ctx, q)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	parts, err := ReadArchived(ctx, q)
	states := make([]ArchiveState, len(names))
	for i, name := range names {
		states[i] = ArchiveState{Name: name, Parts: slices.DeleteFunc(slices.Clone(parts),
			func(p ArchivedPart) bool { return p.Archive != name })}
	}
	return states, err
}

// archiveAnswerTime limits how long ArchiveStates waits for an archive.
const archiveAnswerTime = time.Second

// ArchiveStates asks all archives at the same time whether they answer.
func ArchiveStates(ctx context.Context, h *Handle) ([]ArchiveState, error) {
	states, err := Archives(ctx, h.Pool)
	if err != nil || len(states) == 0 {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, archiveAnswerTime)
	defer cancel()
	var asking sync.WaitGroup
	for i := range states {
		address, err := ArchiveAddress(ctx, h.Pool, states[i].Name)
		if err != nil {
			return nil, err
		}
		asking.Go(func() {
			conn, err := connectArchive(ctx, address)
			if err != nil {
				states[i].Problem = Reason(err)
				return
			}
			_ = conn.Close(context.WithoutCancel(ctx))
		})
	}
	asking.Wait()
	return states, nil
}
