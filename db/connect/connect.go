// Package connect parses database URLs and makes connections that detect a dead server.
package connect

import (
	"cmp"
	"context"
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

// DropFrozen makes the pool ping idle connections before use, and close all connections if one does
// not answer in time. A dead host answers on none of them, and waiting for each in turn would take
// longer than a request may.
func DropFrozen(pc *pgxpool.Config, reset func()) {
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
