// Package archive moves partitions of reports to archives, which are other PostgreSQL servers, and back. In the
// database of mishap an archive is a foreign server of postgres_fdw, and each partition that it stores is a foreign
// table. Package db reads and changes the reports in them.
package archive

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
	"mishap/db"
)

// Store adds archives and moves reports to them. It is safe for concurrent use, also by several processes.
type Store struct{ *db.Store }

// New returns a Store for the database of s.
func New(s *db.Store) *Store { return &Store{s} }

// Archive is an archive with what it stores.
type Archive struct {
	Name    string
	Address string // host, port and database
	Parts   []db.ArchivedPart
	Moves   []Move // unfinished
	Bytes   int64  // size of its database
	Version string // of PostgreSQL
	Problem string // why it cannot be used now; empty: it can
}

// Move is an unfinished move of a partition.
type Move struct {
	Part    string
	Archive string
	Back    bool
	State   string // copying, swapped or dropped; see the table archive_moves
	Copied  time.Time
	Reports int64
}

const (
	sqlMoves    = `select part, archive, back, state, copied, reports from archive_moves order by part`
	sqlCanFDW   = `create extension if not exists postgres_fdw`
	sqlIdentity = `select encode(substr(sha256('archive'::bytea || key), 1, 16), 'hex') from erasure_key`

	sqlIsEmpty = `
		select not exists (
			select from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'f'))`
	sqlSize = `select pg_database_size(current_database()), current_setting('server_version')`
)

// These statements are about tables of an archive, which mishap's own database lacks.
const (
	archiveMade  = `select to_regclass('public.archive_of') is not null`
	archiveOwner = `select installation from public.archive_of`
	makeArchive  = `
		create table archive_of (installation text not null);
		comment on table archive_of is 'The installation of mishap whose reports this database archives.';
		create table archive_changes (received timestamptz not null, id uuid not null);
		comment on table archive_changes is 'Reports that were changed or deleted in a part that is being moved back.';
		create function note_archive_change() returns trigger language plpgsql as $$
		begin
			insert into public.archive_changes (received, id) values (old.received, old.id);
			return null;
		end
		$$`
	readProbe       = `select from archive_probe`
	dropProbe       = `drop foreign table archive_probe`
	setArchiveOwner = `insert into archive_of (installation) values (@installation)`
)

var (
	validName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,29}$`)
	errBadName = crash.Errorf(crash.Invalid, "bad_archive_name", "The name of an archive consists of up to 30 small "+
		"letters, digits and underscores, and begins with a letter.")
	errTaken = crash.Errorf(crash.Conflict, "archive_exists", "There is an archive with this name already.")
)

func errUnknown(name string, known []string) error {
	if len(known) == 0 {
		return crash.Errorf(crash.NotFound, "unknown_archive", "There is no archive %q. Add it first: mishap archive "+
			"add NAME ADDRESS", name)
	}
	return crash.Errorf(crash.NotFound, "unknown_archive", "There is no archive %q. Known are: %s.", name,
		strings.Join(known, ", "))
}

// List returns all archives, in the order in which they were added. It asks each for its size and version.
func (s *Store) List(ctx context.Context) ([]Archive, error) {
	stored, err := db.Archives(ctx, s.Pool)
	if err != nil {
		return nil, err
	}
	moves, err := s.moves(ctx)
	if err != nil {
		return nil, err
	}
	var all []Archive
	for _, state := range stored {
		a := Archive{Name: state.Name, Parts: state.Parts}
		for _, m := range moves {
			if m.Archive == a.Name {
				a.Moves = append(a.Moves, m)
			}
		}
		if err := s.ask(ctx, &a); err != nil {
			a.Problem = db.Reason(err)
		}
		all = append(all, a)
	}
	return all, nil
}

func (s *Store) moves(ctx context.Context) ([]Move, error) {
	all, err := db.List(ctx, s.Pool, sqlMoves, nil, pgx.RowToStructByPos[Move])
	return all, db.Wrap(err, "unfinished moves")
}

// ask sets what an archive says of itself.
func (s *Store) ask(ctx context.Context, a *Archive) error {
	address, err := db.ArchiveAddress(ctx, s.Pool, a.Name)
	if err != nil {
		return err
	}
	a.Address = fmt.Sprintf("%s:%d/%s", address.Host, address.Port, address.Database)
	conn, err := s.connect(ctx, a.Name)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // its result does not matter
	return db.Classify(conn.QueryRow(ctx, sqlSize).Scan(&a.Bytes, &a.Version))
}

// connect connects to an archive, and checks that it belongs to this installation.
func (s *Store) connect(ctx context.Context, name string) (*pgx.Conn, error) {
	conn, err := db.ConnectArchive(ctx, s.Pool, name)
	if err != nil {
		return nil, err
	}
	if err := s.checkOwner(ctx, conn); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return conn, nil
}

var errForeign = crash.Errorf(crash.Conflict, "archive_of_others", "The database belongs to the archive of another "+
	"installation of mishap. Create an empty database for this one.")

func (s *Store) checkOwner(ctx context.Context, conn *pgx.Conn) error {
	var own, owner string
	if err := s.Pool.QueryRow(ctx, sqlIdentity).Scan(&own); err != nil {
		return db.Wrap(err, "identity of the installation")
	}
	if err := conn.QueryRow(ctx, archiveOwner).Scan(&owner); err != nil {
		return fmt.Errorf("owner of the archive: %w", err)
	}
	if owner != own {
		return errForeign
	}
	return nil
}

// Add makes the database at an address an archive. The database must be empty, or have been an archive of this
// installation. PostgreSQL, not mishap, must reach it under this address. Add returns Invalid for a bad name or
// address and for a server that is too old, Conflict if the name is taken or the database is used otherwise,
// Forbidden if mishap's role may not use postgres_fdw, and Unavailable if the server cannot be reached.
func (s *Store) Add(ctx context.Context, name, address string) error {
	if !validName.MatchString(name) {
		return errBadName
	}
	names, err := db.ArchiveNames(ctx, s.Pool)
	if err != nil {
		return err
	}
	if slices.Contains(names, name) {
		return errTaken
	}
	options, credentials, err := optionsOf(address)
	if err != nil {
		return err
	}
	remote, err := db.ConnectTo(ctx, address)
	if err != nil {
		return err
	}
	defer remote.Close(context.WithoutCancel(ctx)) //nolint:errcheck // its result does not matter
	if err := s.adopt(ctx, remote); err != nil {
		return err
	}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		if err := createServer(ctx, tx, name, options, credentials); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Action: "archive.add", Subject: name,
			After: map[string]any{"address": options["host"] + "/" + options["dbname"]}})
	})
	return db.Wrap(err, "add archive %s", name)
}

// adopt makes an empty database an archive of this installation.
func (s *Store) adopt(ctx context.Context, remote *pgx.Conn) error {
	var archive, empty bool
	if err := remote.QueryRow(ctx, archiveMade).Scan(&archive); err != nil {
		return fmt.Errorf("examine the archive: %w", err)
	}
	if archive {
		return s.checkOwner(ctx, remote)
	}
	if err := remote.QueryRow(ctx, sqlIsEmpty).Scan(&empty); err != nil {
		return fmt.Errorf("examine the archive: %w", err)
	}
	if !empty {
		return crash.Errorf(crash.Conflict, "archive_in_use", "The database %s has tables already. Create an empty one "+
			"for the archive.", remote.Config().Database)
	}
	var own string
	if err := s.Pool.QueryRow(ctx, sqlIdentity).Scan(&own); err != nil {
		return db.Wrap(err, "identity of the installation")
	}
	err := pgx.BeginFunc(ctx, remote, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, makeArchive, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		return db.Exec(ctx, tx, pgx.NamedArgs{"installation": own}, setArchiveOwner)
	})
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "42501" {
		return crash.Errorf(crash.Forbidden, "archive_forbidden", "The role %[1]s may not create tables in the archive. "+
			"There, as a superuser: alter database %[2]s owner to %[1]s; and in that database: grant usage, create on "+
			"schema public to %[1]s", quote(remote.Config().User), quote(remote.Config().Database)).Because(err)
	}
	return db.Wrap(err, "prepare the archive")
}

// createServer makes the foreign server of an archive, and reads from it once.
func createServer(ctx context.Context, tx pgx.Tx, name string, options, credentials map[string]string) error {
	server := serverName(name)
	if _, err := tx.Exec(ctx, sqlCanFDW); err != nil {
		return forbidden(err)
	}
	for _, sql := range []string{
		"create server " + server + " foreign data wrapper postgres_fdw options (" + optionList(options) + ")",
		"create user mapping for current_user server " + server + " options (" + optionList(credentials) + ")",
		"create foreign table archive_probe (installation text) server " + server + " options (table_name 'archive_of')",
	} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return forbidden(err)
		}
	}
	if _, err := tx.Exec(ctx, readProbe); err != nil {
		return crash.Errorf(crash.Invalid, "archive_not_for_database", "PostgreSQL itself cannot read the archive: %s. Its "+
			"address must be valid on the machine of mishap's database.", firstLine(err)).Because(err)
	}
	_, err := tx.Exec(ctx, dropProbe)
	return err
}

// forbidden explains an error of a role that may not use postgres_fdw.
func forbidden(err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && pg.Code == "42501":
		return crash.Errorf(crash.Forbidden, "fdw_forbidden", "mishap's role may not use archives: %s. As a superuser, in "+
			"mishap's database: create extension if not exists postgres_fdw; and: grant usage on foreign data wrapper "+
			"postgres_fdw to mishap's role", pg.Message).Because(err)
	case ok && (pg.Code == "0A000" || pg.Code == "58P01"):
		return crash.Errorf(crash.Invalid, "no_fdw", "The database server lacks the extension postgres_fdw: %s. It belongs "+
			"to PostgreSQL; some distributions have it in the package postgresql-contrib.", pg.Message).Because(err)
	}
	return err
}

// firstLine returns what an error of PostgreSQL says, and its detail.
func firstLine(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		text, _, _ := strings.Cut(strings.TrimSpace(pg.Message+": "+pg.Detail), "\n")
		return strings.TrimSuffix(strings.TrimSpace(text), ":")
	}
	return err.Error()
}

// fdwOptions are the options of an archive's server: those of its address, limits after which a server that does
// not answer is given up, and rows at a time.
func fdwOptions() map[string]string {
	return map[string]string{
		"connect_timeout": "2", "keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3",
		"tcp_user_timeout": "10000", "fetch_size": "1000", "application_name": "mishap archive",
	}
}

var errBadAddress = crash.Errorf(crash.Invalid, "bad_archive_address", "The address of an archive looks like "+
	"postgres://mishap:PASSWORD@archive.example.org/archive")

// optionsOf returns the options of a foreign server, and those of its user mapping, for an address.
func optionsOf(address string) (options, credentials map[string]string, err error) {
	c, err := pgconn.ParseConfig(address)
	if err != nil {
		return nil, nil, errBadAddress.Because(err)
	}
	if c.Database == "" {
		return nil, nil, errBadAddress
	}
	options, credentials = fdwOptions(), map[string]string{"user": c.User}
	hosts, ports := []string{c.Host}, []string{strconv.Itoa(int(c.Port))}
	for _, f := range c.Fallbacks {
		if port := strconv.Itoa(int(f.Port)); f.Host != hosts[len(hosts)-1] || port != ports[len(ports)-1] {
			hosts, ports = append(hosts, f.Host), append(ports, port)
		}
	}
	options["host"], options["port"], options["dbname"] = strings.Join(hosts, ","), strings.Join(ports, ","), c.Database
	if c.Password != "" {
		credentials["password"] = c.Password
	}
	if u, err := url.Parse(address); err == nil {
		for _, key := range []string{"sslmode", "sslrootcert", "target_session_attrs"} {
			if value := u.Query().Get(key); value != "" {
				options[key] = value
			}
		}
		for _, key := range []string{"sslcert", "sslkey"} {
			if value := u.Query().Get(key); value != "" {
				credentials[key] = value
			}
		}
	}
	return options, credentials, nil
}

func optionList(options map[string]string) string {
	var list []string
	for key, value := range options {
		list = append(list, key+" "+literal(value))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func serverName(name string) string { return quote("archive_" + name) }

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// literal returns a text as a literal of SQL, with standard_conforming_strings.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Remove forgets an archive that stores nothing. Its database stays.
func (s *Store) Remove(ctx context.Context, name string) error {
	names, err := db.ArchiveNames(ctx, s.Pool)
	if err != nil {
		return err
	}
	if !slices.Contains(names, name) {
		return errUnknown(name, names)
	}
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		parts, err := db.ReadArchived(ctx, tx)
		if err != nil {
			return err
		}
		moves, err := db.List(ctx, tx, sqlMoves, nil, pgx.RowToStructByPos[Move])
		if err != nil {
			return err
		}
		if slices.ContainsFunc(parts, func(p db.ArchivedPart) bool { return p.Archive == name }) ||
			slices.ContainsFunc(moves, func(m Move) bool { return m.Archive == name }) {
			return crash.Errorf(crash.Conflict, "archive_not_empty", "The archive %s stores reports. Move them back first: "+
				"mishap archive back MONTH", name)
		}
		if _, err := tx.Exec(ctx, "drop server "+serverName(name)+" cascade"); err != nil {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{Action: "archive.remove", Subject: name,
			Before: map[string]any{"name": name}})
	})
	return db.Wrap(err, "remove archive %s", name)
}
