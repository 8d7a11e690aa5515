// Package db stores all data in PostgreSQL. It stores reports, counts them in rounds, loads the
// index of problems, and records decisions about problems. The packages below it hold the SQL of
// other areas; they embed [Handle], or [Store] if they also need its reads. An exported method does
// one job, in at most one transaction. Package db knows nothing about HTTP, pages or the tracker,
// and makes no external calls while a transaction is open.
//
// Methods return the kinds of error that their comments name. Each may also return
// [crash.Unavailable] if the database is unavailable; any other error is internal.
package db

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/puddle/v2"
	"github.com/riverqueue/river"

	"mishap/crash"
	"mishap/crash/cache"
	"mishap/crash/privacy"
	"mishap/crash/span"
)

// Config selects the database and configures the store.
type Config struct {
	URL      string // URL or key=value form
	MaxConns int32  // maximum number of connections; 0 means pgx's default, four or the number of cores
	Log      *slog.Logger
	Now      func() time.Time   // returns the current time; nil means time.Now
	Privacy  *privacy.Table     // which fields are secret; nil means the built-in table
	Rights   crash.RightsConfig // that people have beside those that administrators give them
	Roles    []string           // what this instance does, as other instances see it: "web", "ingest"
	DataDir  string             // folder of the snapshot of the index; empty: there is none
	// KeepBodies is about how many reports of a problem and month are stored in full; 0 means all.
	KeepBodies int

	Partitions PartitionsBy // of reports; empty means PartitionsBySize

	Tracer     *span.Tracer    // records rounds and batches; nil means none
	Statements pgx.QueryTracer // records statements; nil means none
}

// Store gives access to the database. It is safe for concurrent use.
type Store struct {
	*Handle

	reading    *readBudget
	saver      *saver
	counter    *counter
	indexCache *indexCache
	bodies     *bodyLimit

	privacy      *privacy.Table
	partitionsBy PartitionsBy
	dataDir      string // of the snapshot of the index; empty: none

	answerDelay time.Duration // see usualAnswerDelay

	counts *cache.Cache[stamp]            // see CachedCounts
	names  rowCache[crash.BucketID, bool] // provisional buckets whose names are stored
	spans  cachedSpans                    // periods in which machines are active
}

// sessionSettings are PostgreSQL settings of each connection, unless the URL sets them. They
// prevent endless statements, and make dates in SQL UTC dates.
var sessionSettings = settings{
	"application_name":                    "mishap",
	"timezone":                            "UTC",
	"statement_timeout":                   "30s",
	"idle_in_transaction_session_timeout": "60s",
}

// NoTimeLimit is a statement that lets the later ones of its transaction take any time, because they
// read whole tables.
const NoTimeLimit = `set local statement_timeout = 0`

// Open connects to the database, checks that it answers, and starts the background writers. It does
// not migrate. It returns Invalid for an invalid URL, and Unavailable if the database does not
// answer or has another schema.
func Open(ctx context.Context, c Config) (*Store, error) {
	pc, err := ParseURL(c.URL)
	if err != nil {
		return nil, err
	}
	if c.MaxConns > 0 {
		pc.MaxConns = c.MaxConns
	}
	unset := maps.Clone(sessionSettings)
	maps.DeleteFunc(unset, func(name, _ string) bool { _, given := pc.ConnConfig.RuntimeParams[name]; return given })
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		timesInUTC(conn)
		return unset.apply(ctx, conn)
	}
	pc.PrepareConn = prepareReader
	pc.ConnConfig.Tracer = c.Statements
	var pool *pgxpool.Pool
	dropFrozen(pc, func() { pool.Reset() })
	pool, err = pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	h, err := newHandle(ctx, pool, c)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s := &Store{
		Handle: h, reading: newReadBudget(), indexCache: newIndexCache(),
		counts: cache.New[stamp](maxCountBytes, 0), answerDelay: usualAnswerDelay,
		privacy: c.Privacy, partitionsBy: cmp.Or(c.Partitions, PartitionsBySize), dataDir: c.DataDir,
		bodies: &bodyLimit{limit: c.KeepBodies, buckets: map[bucketMonth]*usedBodies{}},
	}
	s.names.limit, s.spans.limit = maxCachedNames, maxCachedSpans
	if err := s.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	if c.KeepBodies > 0 {
		if err := Exec(ctx, pool, pgx.NamedArgs{"now": s.Now()}, sqlLimitBodies); err != nil {
			pool.Close()
			return nil, Wrap(err, "limit bodies")
		}
	}
	s.counter = newCounter(s)
	s.counter.start(ctx)
	s.saver = startSaver(ctx, s)
	return s, nil
}

// Close stores and counts all accepted reports, then closes the connections. Calls that are still
// running return Unavailable. Close may be called more than once.
func (s *Store) Close() {
	s.counter.release()
	s.saver.close()
	s.counter.close()
	s.indexCache.background.Wait()
	s.instance.close()
	s.Pool.Close()
}

// Ping returns Unavailable if the database does not answer, or has a schema that this program
// cannot work with.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.Pool.Ping(ctx); err != nil {
		return errUnavailable.Because(err)
	}
	return s.checkSchema(ctx)
}

// timesInUTC makes pgx return all timestamps in UTC.
func timesInUTC(conn *pgx.Conn) {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
}

// OrZero returns a scan target that sets *t to a time, or to the zero time for null.
func OrZero(t *time.Time) *nullTime { return (*nullTime)(t) }

type nullTime time.Time

// ScanTimestamptz implements [pgtype.TimestamptzScanner].
func (t *nullTime) ScanTimestamptz(v pgtype.Timestamptz) error {
	*t = nullTime(v.Time)
	if !v.Valid {
		*t = nullTime{}
	}
	return nil
}

// OrNull returns a pointer to t, or nil if t is zero.
func OrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Handle is the part of a [Store] that all packages below db need. They embed it in stores of their
// own.
type Handle struct {
	Pool *pgxpool.Pool
	Log  *slog.Logger
	Now  func() time.Time
	// Rights are those of people beside the ones that administrators give them.
	Rights crash.RightsConfig

	instance *instance             // shows other instances that this one is alive
	password string                // of the database; it encrypts the tracker's secrets
	inserter *river.Client[pgx.Tx] // inserts jobs into the queue
	audited  recentAudits
	archives archives
	tracer   *span.Tracer
}

func newHandle(ctx context.Context, pool *pgxpool.Pool, c Config) (*Handle, error) {
	inserter, err := newInserter(pool)
	if err != nil {
		return nil, err
	}
	h := &Handle{
		Pool: pool, Log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)), Now: c.Now,
		instance: newInstance(ctx, pool.Config().ConnConfig, c.Roles),
		password: pool.Config().ConnConfig.Password, inserter: inserter, tracer: c.Tracer, Rights: c.Rights,
	}
	if h.Now == nil {
		h.Now = time.Now
	}
	h.Rights.GroupsMaxAge = cmp.Or(h.Rights.GroupsMaxAge, crash.GroupsMaxAge)
	return h, nil
}

const sqlReadOnly = `select set_config('default_transaction_read_only', 'on', false)`

// OpenReadOnly connects to the database without background work, in sessions that cannot write. It
// neither migrates nor checks the schema; [Handle.Inspect] does. It returns Invalid for an invalid
// URL. Close the pool afterwards.
func OpenReadOnly(ctx context.Context, url string) (*Handle, error) {
	pc, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	pc.MaxConns = 1
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		return Exec(ctx, conn, nil, sqlReadOnly)
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	h, err := newHandle(ctx, pool, Config{})
	if err != nil {
		pool.Close()
	}
	return h, err
}

// InstanceNumber returns the number under which this instance claims work. Other instances may take
// over the work once this one no longer holds the lock on the number.
func (h *Handle) InstanceNumber(ctx context.Context) (int64, error) { return h.instance.number(ctx) }

var (
	errUnavailable = crash.Errorf(crash.Unavailable, "database_away", "The database cannot be reached "+
		"right now. Try again shortly.")
	errStatementTimeout = crash.Errorf(crash.Unavailable, "too_slow", "The database took too long to answer. Try "+
		"again shortly.")
	errNoSpace = &crash.Error{Kind: crash.Unavailable, Code: "no_space", RetryAfter: 10 * time.Minute,
		Message: "There is no space left on the disk of the database; please try again later."}
)

// Classify gives err the kind Unavailable if the database is unreachable, full, shutting down or
// too slow. It returns other errors unchanged, and those that have a kind already.
func Classify(err error) error {
	if err == nil || crash.KindOf(err) != 0 {
		return err
	}
	if away := archiveAway(err); away != nil {
		return away
	}
	if noSpace(err) {
		return errNoSpace.Because(err)
	}
	if isUnavailable(err) {
		return errUnavailable.Because(err)
	}
	if pgCode(err) == queryCanceled {
		return errStatementTimeout.Because(err)
	}
	return err
}

// pgCode returns PostgreSQL's code of an error, or "" if it is none of PostgreSQL's.
func pgCode(err error) string {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return ""
	}
	return pg.Code
}

// IsOutage reports whether err says that the database is unreachable, full or shutting down. Errors of
// other servers do not count.
func IsOutage(err error) bool {
	if e, ok := errors.AsType[*crash.Error](err); ok {
		return e.Code == errUnavailable.Code || e.Code == errNoSpace.Code
	}
	_, answered := errors.AsType[*pgconn.PgError](err)
	return (answered || isConnectError(err)) && isUnavailable(err)
}

// notAllowed is PostgreSQL's code for connections to a database that does not allow any.
const notAllowed = "55000"

func isConnectError(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}

// IsFull reports whether err says that the database's disk is full.
func IsFull(err error) bool {
	e, ok := errors.AsType[*crash.Error](err)
	return ok && e.Code == errNoSpace.Code || noSpace(err)
}

// queryCanceled is PostgreSQL's code for a statement that exceeded statement_timeout or was
// cancelled by an administrator.
const queryCanceled = "57014"

// noSpace reports whether err says that the database's disk is full.
func noSpace(err error) bool { return pgCode(err) == "53100" }

// isUnavailable reports whether err says that the database is unreachable, overloaded, shutting
// down or read-only.
func isUnavailable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code[:min(2, len(pg.Code))] { // class of the error
		case "08", "53": // connection failure; insufficient resources
			return true
		case "57": // shutting down or starting up, unless a statement was cancelled
			return pg.Code != queryCanceled
		}
		// Read-only: a standby that is not promoted yet. Connections are not allowed: maintenance.
		return pg.Code == "25006" || pg.Code == notAllowed && isConnectError(err)
	}
	if isConnectError(err) {
		return true
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	if errors.Is(err, context.Canceled) {
		return false // the caller has gone away
	}
	// The connection broke before or during a statement, none was free in time, or the pool is closed.
	return pgconn.SafeToRetry(err) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, puddle.ErrClosedPool)
}

// sealer encrypts the tracker's secrets, so that a copy of the database does not reveal them. It
// derives the key from the database password, which all instances have and a dump lacks. Without a
// password, the key depends only on data in the same row, so anyone who can read the database can
// read the secret. After a change of the password, an administrator must connect the tracker again.
type sealer struct{ password string }

// A sealed secret consists of one byte for the format, the salt, the nonce, and the output of
// AES-GCM.
const (
	sealForm  = 1
	saltSize  = 16
	nonceSize = 12
	sealInfo  = "mishap: access token of the tracker"
)

var errSeal = errors.New("the saved access token cannot be decrypted: the database password has changed, or an " +
	"instance with another password has encrypted the token")

// Seal encrypts a secret. Open needs the same context.
func (s sealer) Seal(secret crash.Secret, context string) ([]byte, error) {
	head := make([]byte, 1+saltSize+nonceSize)
	head[0] = sealForm
	_, _ = rand.Read(head[1:]) // never fails
	gcm, err := aead(s.password, head[1:1+saltSize])
	if err != nil {
		return nil, err
	}
	return gcm.Seal(head, head[1+saltSize:], []byte(secret), []byte(context)), nil
}

// Open decrypts a secret. It also accepts one that was encrypted without a password.
func (s sealer) Open(sealed []byte, context string) (crash.Secret, error) {
	if len(sealed) < 1+saltSize+nonceSize || sealed[0] != sealForm {
		return "", errSeal
	}
	salt, nonce := sealed[1:1+saltSize], sealed[1+saltSize:1+saltSize+nonceSize]
	ciphertext := sealed[1+saltSize+nonceSize:]
	for _, password := range []string{s.password, ""} {
		gcm, err := aead(password, salt)
		if err != nil {
			return "", err
		}
		if secret, err := gcm.Open(nil, nonce, ciphertext, []byte(context)); err == nil {
			return crash.Secret(secret), nil
		}
	}
	return "", errSeal
}

// SealSecret encrypts a secret for the database, with a key derived from the database password (see
// sealer). [Handle.OpenSecret] needs the same context, which names the purpose of the secret.
func (s *Handle) SealSecret(secret crash.Secret, context string) (string, error) {
	sealed, err := s.Sealer().Seal(secret, context)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(sealed), nil
}

// OpenSecret decrypts a text that SealSecret has returned. It fails if the database password or the
// context has changed.
func (s *Handle) OpenSecret(sealed, context string) (crash.Secret, error) {
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return "", errSeal
	}
	return s.Sealer().Open(raw, context)
}

func aead(password string, salt []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(password), salt, sealInfo, 32)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	return cipher.NewGCM(block)
}

// Sealer returns the sealer that uses the database password.
func (s *Handle) Sealer() sealer { return sealer{password: s.password} }

const (
	sqlInsertEvent = `
		insert into events
			(edge, kind, at, bucket_id, title, package, source_package, release, version, machines, text, rule_id)
		values (@edge, @kind, @at, @bucket, @title, @package, @source, @release, @version, @machines, @text,
			nullif(@rule::bigint, 0))
		on conflict (edge) do nothing
		returning id`
	sqlInsertNotices = `
		insert into notices (event_id, user_id, reason, at)
		select @event, n.user_id, n.reason, @at
		from unnest(@users::bigint[], @reasons::text[]) as n(user_id, reason)
			join users on users.id = n.user_id and not users.disabled
		where @own::boolean or users.id in (` + Readers + `)
		on conflict do nothing`
	sqlInsertDeliveries = `
		insert into deliveries (event_id, endpoint_id, created, due)
		select @event, id, @at, @at from endpoints where id = any(@endpoints) and disabled is null
		on conflict do nothing`
)

// Publish stores an event and who is told about it, in the transaction that detects it. It returns
// false, and stores nothing, if the same edge has been published before. It sets e.At to the present
// time if it is zero. It ignores disabled accounts and endpoints, and
// people who may not read about the event.
func (s *Handle) Publish(ctx context.Context, tx pgx.Tx, e crash.Event, to crash.Recipients) (bool, error) {
	if !slices.Contains(crash.EventKinds, e.Kind) {
		return false, fmt.Errorf("publish event: unknown kind %q", e.Kind)
	}
	if e.At.IsZero() {
		e.At = s.Now()
	}
	var id int64
	err := tx.QueryRow(ctx, sqlInsertEvent, pgx.NamedArgs{
		"edge": e.Edge, "kind": e.Kind, "at": e.At, "bucket": e.Bucket, "title": e.Title, "package": e.Package,
		"source": e.Source, "release": e.Release, "version": e.Version, "machines": e.Machines, "text": e.Text,
		"rule": e.Rule,
	}).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("publish event %s: %w", e.Edge, Classify(err))
	}
	users, reasons := make([]int64, len(to.People)), make([]string, len(to.People))
	for i, p := range to.People {
		users[i], reasons[i] = p.User, p.Reason
	}
	if _, err := tx.Exec(ctx, sqlInsertNotices, s.RightsArgs(pgx.NamedArgs{
		"event": id, "users": users, "reasons": reasons, "at": s.Now(), "own": slices.Contains(crash.OwnEvents, e.Kind),
	})); err != nil {
		return false, fmt.Errorf("publish event %s: %w", e.Edge, Classify(err))
	}
	_, err = tx.Exec(ctx, sqlInsertDeliveries, pgx.NamedArgs{
		"event": id, "endpoints": to.Endpoints, "at": s.Now(),
	})
	return true, Wrap(err, "publish event %s", e.Edge)
}

const sqlLockProblem = `
	select b.id, b.rule, b.title, b.name, b.executable, left(b.signature, 1000), b.package, b.source_package
	from buckets as b where b.id = (select head from buckets where id = @bucket) for no key update`

// maxEventTitle is the largest length of the title of an event, in code points.
const maxEventTitle = 200

// LockProblem returns the head of a bucket's problem, as an event describes it: without private
// data. It locks the head, so that changes of one problem follow each other. It returns NotFound
// for an unknown bucket.
func (s *Handle) LockProblem(ctx context.Context, tx pgx.Tx, bucket crash.BucketID) (crash.Event, error) {
	var id crash.BucketID
	var t privacy.Texts
	e := crash.Event{Bucket: &id}
	err := tx.QueryRow(ctx, sqlLockProblem, pgx.NamedArgs{"bucket": bucket[:]}).Scan(
		&id, &t.Rule, &t.Title, &t.Name, &t.Executable, &t.Signature, &e.Package, &e.Source)
	if err != nil {
		return e, WrapOr(err, crash.ErrUnknownBucket, "problem of %s", bucket)
	}
	t = t.Public()
	// The title is the heading of the page for visitors.
	e.Title = crash.Truncate(crash.OneLine(cmp.Or(t.Name, t.Title, t.Signature)), maxEventTitle)
	e.Package, e.Source = privacy.RedactLabel(e.Package), privacy.RedactLabel(e.Source)
	return e, nil
}

// NotStopped is the condition, in SQL, that notifications may be sent: nobody has stopped them, and
// no restore from a backup is pending.
const NotStopped = `(not exists (select from notification_stop)
	and not exists (select from filing_writer where restored is not null))`

const sqlStopOfNotifications = `
	select n.stopped, coalesce(n.person, ''), w.restored from filing_writer as w left join notification_stop as n on true`

// StopState returns why no notifications are sent, or the zero value if they are.
func (s *Handle) StopState(ctx context.Context) (crash.NotificationStop, error) {
	var stop crash.NotificationStop
	err := s.Pool.QueryRow(ctx, sqlStopOfNotifications).Scan(OrZero(&stop.Stopped), &stop.Person, OrZero(&stop.Restored))
	return stop, Wrap(err, "stop of notifications")
}

// errBadURL does not wrap the parser's error, because that may contain the password.
var errBadURL = crash.Errorf(crash.Invalid, "bad_database_url", "The database address cannot be read; it should look "+
	"like postgres://user:password@host:5432/mishap.")

// These settings make a failover quick, unless the URL sets others. A host that has lost its power
// or network does not answer at all, so only a time limit ends the wait for it.
const (
	connectTimeout = 3 * time.Second  // for each host of the URL
	keepAlive      = 10 * time.Second // time without traffic before a connection is probed
	keepAliveEvery = 5 * time.Second  // interval of further probes
	keepAliveCount = 2                // unanswered probes before the connection is closed
	tcpUserTimeout = 10 * time.Second // time without an acknowledgement before the connection is closed
	pingTimeout    = 3 * time.Second  // limit for a pooled connection to answer a ping
	pingIdle       = time.Second      // idle time after which a pooled connection is pinged before use
)

// ParseURL parses a database URL, and applies mishap's defaults. Every connection to the database
// uses it. It returns Invalid for an invalid URL.
func ParseURL(url string) (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errBadURL
	}
	cc := pc.ConnConfig
	if !given(url, "connect_timeout") {
		cc.ConnectTimeout = connectTimeout
	}
	d, err := newDialer(cc)
	if err != nil {
		return nil, err
	}
	cc.DialFunc = d.DialContext
	if !given(url, "target_session_attrs") {
		cc.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite // mishap cannot use a standby
	}
	return pc, nil
}

// given reports whether the URL or the environment sets a parameter.
func given(url, parameter string) bool {
	return strings.Contains(url, parameter) ||
		os.Getenv("PG"+strings.ToUpper(strings.ReplaceAll(parameter, "_", ""))) != ""
}

// newDialer returns a dialer with libpq's TCP parameters. It removes them from c, because pgx does
// not support them and would send them to the server as settings. They have no effect on Unix
// sockets.
func newDialer(c *pgx.ConnConfig) (*net.Dialer, error) {
	options := map[string]int{
		"keepalives": 1, "keepalives_idle": seconds(keepAlive), "keepalives_interval": seconds(keepAliveEvery),
		"keepalives_count": keepAliveCount, "tcp_user_timeout": int(tcpUserTimeout.Milliseconds()),
	}
	for name := range options {
		text, ok := c.RuntimeParams[name]
		if !ok {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, errBadURL
		}
		options[name] = n
		delete(c.RuntimeParams, name)
	}
	d := &net.Dialer{
		Timeout: c.ConnectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{
			Enable:   options["keepalives"] != 0,
			Idle:     time.Duration(options["keepalives_idle"]) * time.Second,
			Interval: time.Duration(options["keepalives_interval"]) * time.Second,
			Count:    options["keepalives_count"],
		},
		Control: limitUnacknowledged(options["tcp_user_timeout"]),
	}
	if options["keepalives"] == 0 {
		d.KeepAlive = -1
	}
	return d, nil
}

func seconds(d time.Duration) int { return int(d / time.Second) }

// dropFrozen makes the pool ping idle connections before use, and close all connections if one does
// not answer in time. A dead host answers on none of them, and waiting for each in turn would take
// longer than a request may.
func dropFrozen(pc *pgxpool.Config, reset func()) {
	pc.PingTimeout = cmp.Or(pc.PingTimeout, pingTimeout)
	pc.ShouldPing = func(ctx context.Context, p pgxpool.ShouldPingParams) bool {
		if p.IdleDuration < pingIdle {
			return false
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pc.PingTimeout)
		defer cancel()
		if p.Conn.Ping(ctx) == nil {
			return false
		}
		if ctx.Err() != nil {
			reset()
		}
		return true // the ping has closed the connection, so the pool's own ping fails at once
	}
}

var errNoPrimary = crash.Errorf(crash.Unavailable, "no_primary", "No PostgreSQL server that takes writes can "+
	"be reached. Start one, or correct database_url.")

const sqlInRecovery = `select pg_is_in_recovery()`

// CheckPrimary connects to the database at url once, and checks that the server accepts writes. It
// returns Unavailable if there is no such server at the moment: none answers, it is starting, or
// there is only a standby. It returns Invalid if waiting does not help: the URL is invalid, or the
// server refuses the user, the password or the database.
func CheckPrimary(ctx context.Context, url string) error {
	pc, err := ParseURL(url)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, pc.ConnConfig)
	if err != nil {
		if refused := Refusal(err); refused != nil {
			return refused.Because(err)
		}
		return errNoPrimary.Because(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var standby bool
	if err := conn.QueryRow(ctx, sqlInRecovery).Scan(&standby); err != nil {
		return errNoPrimary.Because(err)
	}
	if standby {
		return errNoPrimary.Because(fmt.Errorf("%s:%d is a standby", pc.ConnConfig.Host, pc.ConnConfig.Port))
	}
	return nil
}

// refusals are the errors of a server that do not go away by waiting.
var refusals = map[string]*crash.Error{
	"28P01": crash.Errorf(crash.Invalid, "database_password", "The database refuses the password in database_url. "+
		"Correct it there."),
	"28000": crash.Errorf(crash.Invalid, "database_user", "The database refuses the user in database_url, or connections "+
		"from this machine. Correct the user, or pg_hba.conf on the server."),
	"3D000": crash.Errorf(crash.Invalid, "no_database", "There is no database of the name in database_url; create it on "+
		"the server first."),
	"42501": crash.Errorf(crash.Invalid, "database_privilege", "The user in database_url may not connect to "+
		"the database. Grant it that: grant connect on database NAME to USER."),
}

// Refusal returns the refusal by any of the hosts that were tried, or nil if there is none.
func Refusal(err error) *crash.Error {
	if pg, ok := err.(*pgconn.PgError); ok { //nolint:errorlint // this walks the tree of errors itself
		return refusals[pg.Code]
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		if next := e.Unwrap(); next != nil {
			return Refusal(next)
		}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if found := Refusal(one); found != nil {
				return found
			}
		}
	}
	return nil
}
