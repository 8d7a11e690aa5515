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
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	sqlTotals   = `select (select count(*) from reports), (select count(*) from buckets),
		(select count(distinct bug_number) from bucket_bugs)`
	sqlSize = `select pg_database_size(current_database())`
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
		err = crash.Errorf(crash.Invalid, "no_backup", "%s is no backup, and there is none in it.", place)
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
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func totals(ctx context.Context, q queryer) (t Totals, err error) {
	if err := q.QueryRow(ctx, sqlTotals).Scan(&t.Reports, &t.Problems, &t.Bugs); err != nil {
		return t, fmt.Errorf("count rows: %w", db.Classify(err))
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
	c.ConnConfig.RuntimeParams["application_name"] = "mishap backup"
	c.ConnConfig.RuntimeParams["statement_timeout"] = "0"
	c.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	conn, err := pgx.ConnectConfig(ctx, c.ConnConfig)
	if err == nil {
		return conn, nil
	}
	if refused := db.Refusal(err); refused != nil {
		return nil, refused.Because(err)
	}
	return nil, db.Classify(err)
}

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
