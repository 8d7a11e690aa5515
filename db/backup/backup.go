// Package backup writes backups of a running mishap and restores them. A backup is a folder:
//
//	manifest.json     what is in the backup, with the checksum of every other file
//	manifest.sha256   the checksum of manifest.json
//	database/         the database, as written by pg_dump --format=directory or by pg_basebackup
//	config.toml       the configuration
//	keys/             keys of the data directory
//	blobs/            the store of the key blobs, if wanted
//	data/             cores and added symbols of the data directory, if wanted
//
// The package does not choose where the database is, and does not read the configuration.
package backup

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/blobs"
	"mishap/db"
	"mishap/db/embedded"
	"mishap/db/upkeep"
	"mishap/migrations"
)

const (
	databaseName = "database"
	configName   = "config.toml"
	keysName     = "keys"
	blobsName    = "blobs"
	dataName     = "data"
)

// keyFiles lists the small files of a data directory that every backup contains: keys, and the record of
// erasures (see package upkeep).
var keyFiles = []string{"cores.key", ErasuresName}

// ErasuresName is the name of the record of erasures in a data directory.
const ErasuresName = "erasures.jsonl"

// ErasuresBeside returns the records of erasures in all backups of the folder that contains dir.
func ErasuresBeside(dir string) ([]string, error) {
	return filepath.Glob(filepath.Join(filepath.Dir(filepath.Clean(dir)), "mishap-*", keysName, ErasuresName))
}

// dataFolders lists the folders of a data directory that belong to the blobs. The others are
// caches.
var dataFolders = []string{"cores", "symbols/added"}

// Options say what a backup contains, and where it is written.
type Options struct {
	URL     string // of the database
	Dir     string // folder of all backups
	DataDir string
	Config  []byte      // the configuration file
	Secrets bool        // Config contains secrets
	Files   bool        // with blobs, cores and symbols
	Blobs   blobs.Store // nil: there is none
	Mishap  string      // version of this program
	Keep    int         // number of good backups to keep; 0: all
	Jobs    int         // parallel connections of a dump
	Method  Method
	Private bool // the server is a private PostgreSQL
}

// Result describes a new backup.
type Result struct {
	Path string `json:"path"`
	Manifest
	Deleted []string `json:"deleted"` // older backups
	Damaged []string `json:"damaged"` // older backups that are damaged and were left alone
	Unread  []string `json:"unread"`  // older backups that this account may not read, which were left alone
	Notice  string   `json:"-"`       // why the method is not the one that the size suggests
}

const (
	sqlState = `select now(), current_setting('server_version_num')::int / 10000,
		(select coalesce(max(version), 0) from applied_migrations)`
	sqlSnapshot = `select pg_export_snapshot()`
	sqlTotals   = `select (select count(*) from buckets), (select count(distinct bug_number) from bucket_bugs)`
	sqlSize     = `select pg_database_size(current_database())`
)

// knownSchema returns the schema version of this program.
func knownSchema() (int, error) {
	files, err := fs.Glob(migrations.Files, "*.sql")
	return len(files), err
}

// Create writes a backup of one moment while mishap runs. An incomplete backup never has the name
// of a backup; the next call removes it. Create returns Unavailable if pg_dump is missing or too
// old, or if the disk is full. It returns Conflict if another backup runs or if the schema has
// another version than this program's, and NotFound if the parent of the folder does not exist. It
// never changes another backup, except that it deletes old ones if Keep is set.
func Create(ctx context.Context, o Options) (r Result, err error) {
	unlock, err := openFolder(o.Dir)
	if err != nil {
		return r, explainDisk(o.Dir, err)
	}
	defer unlock()
	if err := removePartials(o.Dir); err != nil {
		return r, fmt.Errorf("remove an incomplete backup: %w", err)
	}
	tmp, err := os.MkdirTemp(o.Dir, partial) // mode 0700
	if err != nil {
		return r, explainDisk(o.Dir, err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // after success, it has been renamed
	if r.Manifest, r.Notice, err = o.fill(ctx, tmp); err != nil {
		return r, explainDisk(o.Dir, err)
	}
	if r.Path, err = publish(o.Dir, tmp, r.Taken); err != nil {
		return r, explainDisk(o.Dir, err)
	}
	if o.Keep > 0 {
		if err := r.deleteOld(ctx, folder(o.Dir), o.Keep); err != nil {
			return r, fmt.Errorf("the backup %s is complete, but an older one cannot be deleted: %w", r.Path, err)
		}
		r.Deleted, r.Damaged, r.Unread = below(o.Dir, r.Deleted), below(o.Dir, r.Damaged), below(o.Dir, r.Unread)
	}
	return r, nil
}

// below returns the paths of names in a folder.
func below(dir string, names []string) (paths []string) {
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// Record stores in the database that a backup is complete, so that pages and metrics can show its
// age. It does nothing if the schema is older than this program's.
func Record(ctx context.Context, url string, r Result) error {
	if known, err := knownSchema(); err != nil || r.Schema < known {
		return err
	}
	conn, err := open(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // everything is committed
	return upkeep.AddBackup(ctx, conn, crash.Backup{Taken: r.Taken, Place: r.Path, Bytes: r.Size(), Reports: r.Reports})
}

// Newest returns dir if it is a backup or named like one, else the newest backup in dir. It returns
// Invalid if there is none. The backup may be damaged.
func Newest(ctx context.Context, dir string) (string, error) {
	_, err := os.Stat(filepath.Join(dir, manifestName))
	if err == nil || IsName(filepath.Base(dir)) {
		return dir, nil
	}
	name, err := newest(ctx, folder(dir), dir)
	return filepath.Join(dir, name), err
}

// newest returns the name of the newest backup at a destination, which place names.
func newest(ctx context.Context, on shelf, place string) (string, error) {
	all, err := on.held(ctx)
	if err == nil && len(all) == 0 {
		err = crash.Errorf(crash.Invalid, "no_backup", "%s is not a backup and contains none.", place)
	}
	if err != nil {
		return "", err
	}
	return all[len(all)-1].name, nil
}

// RecordVerification stores in the database whether the backup with a name is good, so that pages and
// metrics can show that. known is false if the database does not know the backup, or if its schema is
// older than this program's; nothing is stored then.
func RecordVerification(ctx context.Context, url, name, problem string) (known bool, err error) {
	conn, err := open(ctx, url)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // everything is committed
	var now Manifest
	if err := now.readState(ctx, conn); err != nil {
		return false, err
	}
	if latest, err := knownSchema(); err != nil || now.Schema < latest {
		return false, err
	}
	return upkeep.BackupVerified(ctx, conn, name, problem)
}

// fill writes all files of a backup to dir. See server.choose for the notice.
func (o Options) fill(ctx context.Context, dir string) (m Manifest, notice string, err error) {
	conn, err := open(ctx, o.URL)
	if err != nil {
		return m, "", err
	}
	s, err := readServer(ctx, conn)
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return m, "", err
	}
	method, notice, err := s.choose(o.Method)
	if err != nil {
		return m, "", err
	}
	if method == Base {
		m, err = o.base(ctx, s, dir)
	} else {
		m, err = o.dump(ctx, dir)
	}
	if err != nil {
		return m, notice, err
	}
	err = o.addFiles(ctx, &m, dir)
	return m, notice, err
}

// addFiles writes everything but the database to dir, and the manifest.
func (o Options) addFiles(ctx context.Context, m *Manifest, dir string) (err error) {
	if err := writeFile(filepath.Join(dir, configName), o.Config); err != nil {
		return err
	}
	for _, name := range keyFiles {
		key, err := os.ReadFile(filepath.Join(o.DataDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(dir, keysName, name), key); err != nil {
			return err
		}
	}
	if o.Files {
		if err := o.copyBlobs(ctx, dir); err != nil {
			return err
		}
	}
	if m.Files, err = describe(ctx, dir); err != nil {
		return err
	}
	return m.write(dir)
}

// dump writes the database to dir. The numbers in the manifest are those of the same snapshot.
func (o Options) dump(ctx context.Context, dir string) (Manifest, error) {
	m := Manifest{Format: dumpFormat, Mishap: o.Mishap, Method: Dump, Secrets: o.Secrets, Blobs: o.Files}
	conn, err := open(ctx, o.URL)
	if err != nil {
		return m, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it has changed nothing
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return m, db.Classify(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	var snapshot string
	if err := tx.QueryRow(ctx, sqlSnapshot).Scan(&snapshot); err != nil {
		return m, fmt.Errorf("export a snapshot: %w", db.Classify(err))
	}
	if err := m.readState(ctx, tx); err != nil {
		return m, err
	}
	if m.Totals, err = totals(ctx, tx); err != nil {
		return m, err
	}
	program, err := embedded.FindTool(ctx, "pg_dump", m.PostgreSQL)
	if err != nil {
		return m, err
	}
	environ, err := environment(o.URL)
	if err != nil {
		return m, err
	}
	// Bodies of reports are compressed already, so the quickest level is used.
	_, err = embedded.RunTool(ctx, environ, program, "--format=directory", "--file="+filepath.Join(dir, databaseName),
		"--jobs="+strconv.Itoa(max(o.Jobs, 1)), "--compress=1", "--no-owner", "--no-privileges", "--snapshot="+snapshot)
	return m, err
}

// readState reads the time, the version of PostgreSQL and the schema, and returns Conflict if this
// program does not know the schema.
func (m *Manifest) readState(ctx context.Context, q queryer) error {
	if err := q.QueryRow(ctx, sqlState).Scan(&m.Taken, &m.PostgreSQL, &m.Schema); err != nil {
		return fmt.Errorf("read the state of the database: %w", db.Classify(err))
	}
	known, err := knownSchema()
	if err == nil && m.Schema > known {
		err = crash.Errorf(crash.Conflict, "database_newer", "The database was migrated by a newer mishap (schema %d, "+
			"this program knows up to %d); make the backup with that version.", m.Schema, known)
	}
	return err
}

// queryer is a connection or a transaction.
type queryer interface {
	db.Querier
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func totals(ctx context.Context, q queryer) (t Totals, err error) {
	if err := q.QueryRow(ctx, sqlTotals).Scan(&t.Problems, &t.Bugs); err != nil {
		return t, fmt.Errorf("count rows: %w", db.Classify(err))
	}
	parts, err := db.ReportsParts(ctx, q)
	if err != nil {
		return t, err
	}
	for _, p := range parts {
		if p.Archive != "" { // a backup contains no archived reports
			continue
		}
		var n int64
		if err := q.QueryRow(ctx, "select count(*) from "+p.Table).Scan(&n); err != nil {
			return t, fmt.Errorf("count reports: %w", db.Classify(err))
		}
		t.Reports += n
	}
	return t, nil
}

// copyBlobs copies the shared store, and the cores and symbols of the data directory. Files that
// mishap deletes meanwhile are missing in the backup.
func (o Options) copyBlobs(ctx context.Context, dir string) error {
	for _, name := range dataFolders {
		if err := copyTree(filepath.Join(o.DataDir, name), filepath.Join(dir, dataName, name), ctx.Err); err != nil {
			return err
		}
	}
	if o.Blobs == nil {
		return nil
	}
	for info, err := range o.Blobs.List(ctx, "") {
		if err != nil {
			return err
		}
		content, err := o.Blobs.Open(ctx, info.Key, 0, -1)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = writeFrom(filepath.Join(dir, blobsName, filepath.FromSlash(info.Key)), content)
		if err = errors.Join(err, content.Close()); err != nil {
			return fmt.Errorf("copy blob %s: %w", info.Key, err)
		}
	}
	return nil
}

// explainDisk returns a message for people if the cause of err is a full disk or a folder that this
// user cannot write to.
func explainDisk(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return crash.Errorf(crash.Unavailable, "backup_disk_full", "There is no space left in %s for the backup; the "+
			"incomplete backup was removed. Free some space, keep fewer backups with --keep, or choose another folder.",
			dir).Because(err)
	case errors.Is(err, fs.ErrPermission):
		return crash.Errorf(crash.Forbidden, "backup_forbidden", "The backup cannot be written to %s, or a file cannot be "+
			"read; choose another folder or run this as another user.", dir).Because(err)
	}
	return err
}

// Age returns how long ago the backup was taken.
func (m Manifest) Age(now time.Time) time.Duration { return now.Sub(m.Taken).Round(time.Second) }

// The files of a base backup, as written by pg_basebackup --format=tar.
const (
	baseArchive  = "base.tar.gz"
	walArchive   = "pg_wal.tar.gz"
	baseManifest = "backup_manifest"
)

// pg_basebackup's options: an immediate checkpoint, the write-ahead log as it is written meanwhile, and
// the quickest compression, because bodies of reports are compressed already.
var baseOptions = []string{"--format=tar", "--compress=client-gzip:1", "--checkpoint=fast", "--wal-method=stream",
	"--no-password"}

// base writes a base backup to dir. The state of the database is that of the end of the backup, so the
// manifest has the totals before and after it.
func (o Options) base(ctx context.Context, s server, dir string) (Manifest, error) {
	m := Manifest{Format: manifestFormat, Mishap: o.Mishap, Method: Base, Secrets: o.Secrets, Blobs: o.Files,
		Database: s.database, Private: o.Private}
	if err := o.look(ctx, &m); err != nil {
		return m, err
	}
	before := m
	m.Before = &before.Totals
	program, err := embedded.FindTool(ctx, "pg_basebackup", m.PostgreSQL)
	if err != nil {
		return m, err
	}
	environ, err := environment(o.URL)
	if err != nil {
		return m, err
	}
	args := append([]string{"--pgdata=" + filepath.Join(dir, databaseName)}, baseOptions...)
	if _, err := embedded.RunTool(ctx, environ, program, args...); err != nil {
		return m, explainBase(s, err)
	}
	if err := o.look(ctx, &m); err != nil {
		return m, err
	}
	if m.Taken = before.Taken; m.Schema != before.Schema {
		return m, crash.Errorf(crash.Conflict, "schema_changed", "mishap was upgraded during the backup; make it again.")
	}
	return m, nil
}

// look reads the state and the totals of the present moment. It keeps no snapshot, which would hinder
// vacuum during a long backup.
func (o Options) look(ctx context.Context, m *Manifest) error {
	conn, err := open(ctx, o.URL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it has changed nothing
	if err := m.readState(ctx, conn); err != nil {
		return err
	}
	m.Totals, err = totals(ctx, conn)
	return err
}

// explainBase returns a message for people if the server refuses a base backup.
func explainBase(s server, err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "no pg_hba.conf entry"):
		return crash.Errorf(crash.Forbidden, "no_replication_access", "The server does not let the role %s connect for "+
			"replication from this machine: let an administrator of PostgreSQL add a line such as \"host replication %s "+
			"ADDRESS scram-sha-256\" to pg_hba.conf and run \"select pg_reload_conf()\", or use --method dump.", s.role,
			s.role).Because(err)
	case strings.Contains(text, "max_wal_senders"):
		return crash.Errorf(crash.Unavailable, "no_wal_senders", "The server has no connection left for replication, and a "+
			"base backup needs two: raise max_wal_senders and restart PostgreSQL, or use --method dump.").Because(err)
	}
	return err
}

// open connects to the database without time limits on statements.
func open(ctx context.Context, address string) (*pgx.Conn, error) {
	c, err := db.ParseURL(address)
	if err != nil {
		return nil, err
	}
	if _, err := db.CheckPooler(ctx, address); err != nil {
		return nil, db.Classify(err)
	}
	conn, err := pgx.ConnectConfig(ctx, c.ConnConfig)
	if err == nil {
		_, err = conn.Exec(ctx, sqlNoLimits)
	}
	return conn, db.Classify(err)
}

const sqlNoLimits = `
	select set_config('application_name', 'mishap backup', false), set_config('statement_timeout', '0', false),
		set_config('idle_in_transaction_session_timeout', '0', false)`

// variables maps the parameters of an address to the environment variables of PostgreSQL's programs.
// The programs do not know the other parameters that pgx accepts.
var variables = map[string]string{
	"host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT", "dbname": "PGDATABASE", "database": "PGDATABASE",
	"user": "PGUSER", "password": "PGPASSWORD", "passfile": "PGPASSFILE",
	"service": "PGSERVICE", "servicefile": "PGSERVICEFILE",
	"sslmode": "PGSSLMODE", "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY", "sslrootcert": "PGSSLROOTCERT",
	"sslcrl": "PGSSLCRL", "connect_timeout": "PGCONNECT_TIMEOUT", "target_session_attrs": "PGTARGETSESSIONATTRS",
	"channel_binding": "PGCHANNELBINDING", "gssencmode": "PGGSSENCMODE", "krbsrvname": "PGKRBSRVNAME",
	"options": "PGOPTIONS",
}

// environment returns the environment variables with which PostgreSQL's programs connect to the
// database at address. Other users of the machine can read arguments, but not the environment.
func environment(address string) ([]string, error) {
	values, err := parameters(address)
	if err != nil {
		return nil, err
	}
	if values["target_session_attrs"] == "" {
		values["target_session_attrs"] = "read-write" // as in package connect
	}
	var environ []string
	for name, value := range values {
		if variable := variables[name]; variable != "" && value != "" {
			environ = append(environ, variable+"="+value)
		}
	}
	return environ, nil
}

var pair = regexp.MustCompile(`(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S*)`)

var escaped = regexp.MustCompile(`\\(.)`)

// parameters returns the parameters of an address, which is a URL or a list of "key=value".
func parameters(address string) (map[string]string, error) {
	values := map[string]string{}
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		for _, m := range pair.FindAllStringSubmatch(address, -1) {
			values[m[1]] = escaped.ReplaceAllString(strings.TrimSuffix(strings.TrimPrefix(m[2], "'"), "'"), "$1")
		}
		return values, nil
	}
	u, err := url.Parse(address)
	if err != nil { // the error may contain the password
		return nil, crash.Errorf(crash.Invalid, "bad_database_url", "The database address cannot be read.")
	}
	values["user"], values["database"] = u.User.Username(), strings.TrimPrefix(u.Path, "/")
	values["password"], _ = u.User.Password()
	var hosts, ports []string
	for host := range strings.SplitSeq(u.Host, ",") {
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			name, port = strings.Trim(host, "[]"), ""
		}
		hosts, ports = append(hosts, name), append(ports, port)
	}
	values["host"], values["port"] = strings.Join(hosts, ","), strings.Join(ports, ",")
	if strings.Trim(values["port"], ",") == "" {
		values["port"] = ""
	}
	for name, v := range u.Query() {
		values[name] = v[0]
	}
	return values, nil
}

// held is a backup at a destination.
type held struct {
	name   string
	good   bool // the manifest is undamaged, and all files have their sizes
	unread bool // this account may not read it, so nobody knows whether it is good
}

// shelf is a destination of backups.
type shelf interface {
	// held returns the complete backups, oldest first.
	held(ctx context.Context) ([]held, error)
	// remove deletes a backup, in such an order that the rest of it is not complete.
	remove(ctx context.Context, name string) error
}

// deleteOld deletes the backups that are older than the newest keep good ones. It sets the names of the
// deleted backups in r, and those of the ones that are not good or may not be read, which it leaves alone.
func (r *Result) deleteOld(ctx context.Context, on shelf, keep int) error {
	all, err := on.held(ctx)
	if err != nil {
		return err
	}
	good := 0
	for _, h := range slices.Backward(all) {
		if h.unread {
			r.Unread = append(r.Unread, h.name)
			continue
		}
		if !h.good {
			r.Damaged = append(r.Damaged, h.name)
			continue
		}
		if good++; good <= keep {
			continue
		}
		if err := on.remove(ctx, h.name); err != nil {
			return err
		}
		r.Deleted = append(r.Deleted, h.name)
	}
	slices.Sort(r.Deleted)
	slices.Sort(r.Damaged)
	slices.Sort(r.Unread)
	return nil
}

// Method is how a backup contains the database.
type Method string

// The methods. Auto is never in a manifest.
const (
	Auto Method = "auto" // chosen by the size of the database
	Dump Method = "dump" // a logical copy of the database, by pg_dump
	Base Method = "base" // a physical copy of the whole server, by pg_basebackup
)

// baseFrom is the size of a database in bytes from which Auto chooses a base backup: restoring a dump of that
// size takes minutes longer. Below it, a dump that any newer PostgreSQL reads is worth more.
const baseFrom = 4 << 30

// sqlServer reads what decides about the method. Sizes of other databases count only as far as the role
// may know them.
const sqlServer = `
	select pg_database_size(current_database()), (
			select coalesce(sum(pg_database_size(oid)), 0)::bigint from pg_database
			where datname <> current_database() and has_database_privilege(oid, 'connect')
		), current_user::text, (select rolsuper or rolreplication from pg_roles where rolname = current_user),
		(select count(*) > 2 from pg_tablespace), current_database()::text`

// server is what decides about the method.
type server struct {
	size, others   int64 // bytes of the database, and of the other databases of the server
	role           string
	mayReplicate   bool
	hasTablespaces bool
	database       string
}

func readServer(ctx context.Context, conn *pgx.Conn) (s server, err error) {
	err = conn.QueryRow(ctx, sqlServer).Scan(&s.size, &s.others, &s.role, &s.mayReplicate, &s.hasTablespaces,
		&s.database)
	if err != nil {
		return s, fmt.Errorf("read the state of the server: %w", db.Classify(err))
	}
	return s, nil
}

// choose returns the method, and a sentence for people if a base backup would be better but is not
// possible.
func (s server) choose(m Method) (Method, string, error) {
	if m == Dump || m == Auto && s.size < baseFrom {
		return Dump, "", nil
	}
	impossible := s.baseImpossible()
	switch {
	case m == Base:
		return Base, "", impossible
	case impossible != nil:
		notice := "A base backup would be restored quicker. " + impossible.Error()
		return Dump, notice, nil //nolint:nilerr // the notice says it
	case s.others > s.size: // a base backup contains them, too
		return Dump, "", nil
	}
	return Base, "", nil
}

// baseImpossible returns why this server or role cannot make a base backup, or nil.
func (s server) baseImpossible() error {
	switch {
	case !s.mayReplicate:
		return crash.Errorf(crash.Forbidden, "no_replication_right", "The role %s may not make base backups: let an "+
			"administrator of PostgreSQL run \"alter role %s with replication\", or use --method dump.", s.role,
			pgx.Identifier{s.role}.Sanitize())
	case s.hasTablespaces:
		return crash.Errorf(crash.Unavailable, "tablespaces", "The server has tablespaces, with which mishap makes no base "+
			"backups; use --method dump.")
	}
	return nil
}

const (
	sqlNotEmpty = `
		select exists (
			select from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
			where n.nspname <> 'information_schema' and n.nspname not like 'pg\_%'
				and not exists (select from pg_depend as d where d.objid = c.oid and d.deptype = 'e')
		), to_regclass('` + db.UnfinishedRestore + `') is not null, current_setting('server_version_num')::int / 10000`
	sqlLockRestore  = `select pg_try_advisory_lock(@lock)`
	sqlBeginRestore = `create table ` + db.UnfinishedRestore + ` ()`
	sqlEndRestore   = `drop table ` + db.UnfinishedRestore
	sqlMarkRestored = `update filing_writer set restored = now(), backup_taken = @taken`
	// sqlRestartRules makes rules ignore what happened before the restore, so that they do not
	// repeat what they did between the backup and the restore.
	sqlRestartRules = `update rules set since = now(), prepared = false where deleted is null`
	// sqlSkipWarnings marks tokens of which the owners were probably warned after the backup.
	sqlSkipWarnings = `
		update api_tokens set warned = now()
		where warned is null and revoked is null and expires <= now() + @warning::interval`
	// sqlEndSessions also ends sessions that ended after the backup.
	sqlEndSessions = `delete from sessions`
	// sqlOwnTables leaves out foreign tables, and partitioned ones, whose analysis would read their archives.
	sqlOwnTables = `
		select c.oid::regclass::text from pg_class as c where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'`
)

// restoreLock is the key of the advisory lock of a restore in the database that it fills.
const restoreLock = 0x6d697368_72657374

// Load restores the database of the backup in dir, which Verify has checked, into the empty
// database at url, and migrates it. Nothing is sent from the database until it has been compared
// with the tracker (see filings.FinishRestore). Until Load has finished, no mishap can use the
// database. It calls last, if that is not nil, in the transaction that ends the restore.
//
// Load returns Conflict if the database is not empty, if another restore into it runs or was
// interrupted, or if its server is older than that of the backup. It changes nothing then. Stored
// are the totals of the database before it was migrated.
func (m Manifest) Load(ctx context.Context, dir, url string, jobs int, log *slog.Logger,
	last func(context.Context, pgx.Tx) error) (stored Totals, err error) {
	conn, err := open(ctx, url)
	if err != nil {
		return stored, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // everything is committed
	var used, unfinished, locked bool
	var server int
	// The lock belongs to the connection, so that it ends with this process.
	if err := conn.QueryRow(ctx, sqlLockRestore, pgx.NamedArgs{"lock": restoreLock}).Scan(&locked); err != nil {
		return stored, db.Classify(err)
	}
	if !locked {
		return stored, crash.Errorf(crash.Conflict, "restore_running", "Another restore into this database is running; "+
			"wait for its end.")
	}
	if err := conn.QueryRow(ctx, sqlNotEmpty).Scan(&used, &unfinished, &server); err != nil {
		return stored, db.Classify(err)
	}
	if unfinished {
		return stored, crash.Errorf(crash.Conflict, "restore_interrupted", "A restore into this database was interrupted, "+
			"and it cannot be continued. Delete the database and create it again (dropdb, createdb), then restore again.")
	}
	if used {
		return stored, crash.Errorf(crash.Conflict, "database_not_empty", "The database is not empty, and restoring "+
			"would mix "+
			"two states. Create a new database (createdb) and name it, or delete this one first.")
	}
	if err := db.CheckEncoding(conn); err != nil {
		return stored, err
	}
	if server < m.PostgreSQL {
		return stored, crash.Errorf(crash.Conflict, "server_older", "The backup is from PostgreSQL %d, and this server is "+
			"PostgreSQL %d; restore it with PostgreSQL %d or newer.", m.PostgreSQL, server, m.PostgreSQL)
	}
	program, err := embedded.FindTool(ctx, "pg_restore", server)
	if err != nil {
		return stored, err
	}
	environ, err := environment(url)
	if err != nil {
		return stored, err
	}
	if _, err := conn.Exec(ctx, sqlBeginRestore); err != nil {
		return stored, db.Classify(err)
	}
	_, err = embedded.RunTool(ctx, environ, program, "--format=directory", "--jobs="+strconv.Itoa(max(jobs, 1)),
		"--no-owner", "--no-privileges", "--exit-on-error", "--dbname="+databaseOf(environ),
		filepath.Join(dir, databaseName))
	if err != nil {
		return stored, fmt.Errorf("the database is incomplete, delete it before you try again: %w", err)
	}
	if err := analyze(ctx, conn); err != nil {
		return stored, db.Classify(err)
	}
	return m.finish(ctx, conn, url, log, last)
}

// Adopt does the same as Load with a database that is a copy of the server's files, see [Manifest.Copy].
func (m Manifest) Adopt(ctx context.Context, url string, log *slog.Logger, last func(context.Context, pgx.Tx) error) (
	stored Totals, err error,
) {
	conn, err := open(ctx, url)
	if err != nil {
		return stored, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // everything is committed
	if _, err := conn.Exec(ctx, sqlBeginRestore); err != nil {
		return stored, db.Classify(err)
	}
	return m.finish(ctx, conn, url, log, last)
}

// Convert dumps the restored database at url, which nobody changes, to the new folder dir for Load. The
// dump counts as taken when the base backup was.
func (m Manifest) Convert(ctx context.Context, url, dir string, jobs int) (Manifest, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return m, err
	}
	dump, err := Options{URL: url, Jobs: jobs, Mishap: m.Mishap}.dump(ctx, dir)
	dump.Taken = m.Taken
	return dump, err
}

// finish counts, migrates and releases a database that contains the backup.
func (m Manifest) finish(ctx context.Context, conn *pgx.Conn, url string, log *slog.Logger,
	last func(context.Context, pgx.Tx) error) (stored Totals, err error) {
	if stored, err = totals(ctx, conn); err != nil {
		return stored, err
	}
	if err := db.MigrateRestored(ctx, url, log); err != nil {
		return stored, err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"taken": m.Taken, "warning": crash.TokenWarning}
		err := db.Exec(ctx, tx, args, sqlMarkRestored, sqlRestartRules, sqlSkipWarnings, sqlEndSessions, sqlEndRestore)
		if err == nil && last != nil {
			err = last(ctx, tx)
		}
		return err
	})
	return stored, db.Classify(err)
}

// analyze collects statistics for queries.
func analyze(ctx context.Context, conn *pgx.Conn) error {
	tables, err := db.List(ctx, conn, sqlOwnTables, nil, pgx.RowTo[string])
	for _, table := range tables {
		if _, err := conn.Exec(ctx, "analyze "+table); err != nil {
			return err
		}
	}
	return err
}

// databaseOf returns the name of the database in the environment, which pg_restore also needs as an
// argument. An empty name stands for the default.
func databaseOf(environ []string) string {
	for _, v := range environ {
		if name, ok := strings.CutPrefix(v, "PGDATABASE="); ok {
			return name
		}
	}
	return ""
}

// Config returns the configuration in the backup in dir.
func Config(dir string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, configName)) }

// RestoreFiles writes the keys, cores, symbols and blobs of the backup in dir to a data directory,
// as far as the backup has them. It returns the folder of the blobs, or an empty text if there are
// none.
func RestoreFiles(ctx context.Context, dir, dataDir string) (blobs string, err error) {
	err = errors.Join(
		copyTree(filepath.Join(dir, keysName), dataDir, ctx.Err),
		copyTree(filepath.Join(dir, dataName), dataDir, ctx.Err))
	if err != nil {
		return "", fmt.Errorf("restore files: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, blobsName)); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	to := filepath.Join(dataDir, blobsName)
	if err := copyTree(filepath.Join(dir, blobsName), to, ctx.Err); err != nil {
		return "", fmt.Errorf("restore blobs: %w", err)
	}
	return to, nil
}

// Copy returns the files of the server in the base backup in dir, which Verify has checked.
func (m Manifest) Copy(dir string) *embedded.Copy {
	return &embedded.Copy{Major: m.PostgreSQL, Database: m.Database, Private: m.Private,
		Write: func(ctx context.Context, to string) error { return unpackBase(ctx, dir, to) }}
}

// unpackBase unpacks the base backup in dir into the empty directory to.
func unpackBase(ctx context.Context, dir, to string) error {
	dir = filepath.Join(dir, databaseName)
	manifest, err := os.Open(filepath.Join(dir, baseManifest))
	if err == nil {
		err = errors.Join(writeFrom(filepath.Join(to, baseManifest), manifest), manifest.Close())
	}
	if err = errors.Join(err, untar(ctx, filepath.Join(dir, baseArchive), to),
		untar(ctx, filepath.Join(dir, walArchive), filepath.Join(to, "pg_wal"))); err != nil {
		return fmt.Errorf("unpack the database: %w", err)
	}
	return nil
}

// untar unpacks a compressed archive of files and directories. All are for their owner alone.
func untar(ctx context.Context, name, to string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	content, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	root, err := os.OpenRoot(to) // no file of the archive can be elsewhere
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only used to create files
	for archive := tar.NewReader(content); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			if err = root.Mkdir(filepath.Clean(h.Name), 0o700); errors.Is(err, fs.ErrExist) {
				err = nil
			}
		case tar.TypeReg:
			err = unpackFile(root, h.Name, archive)
		default:
			err = fmt.Errorf("unexpected kind of file %q", h.Typeflag)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", name, h.Name, err)
		}
	}
}

func unpackFile(root *os.Root, name string, content io.Reader) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close()) // PostgreSQL syncs all files when it recovers
}
