package db

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"mishap/crash"
)

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
	"be reached.")

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
	"28P01": crash.Errorf(crash.Invalid, "database_password", "The database refuses the password in database_url."),
	"28000": crash.Errorf(crash.Invalid, "database_user", "The database refuses the user in database_url, or connections "+
		"from this machine."),
	"3D000": crash.Errorf(crash.Invalid, "no_database", "There is no database of the name in database_url; create it on "+
		"the server first."),
	"42501": crash.Errorf(crash.Invalid, "database_privilege", "The user in database_url may not connect to "+
		"the database."),
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
