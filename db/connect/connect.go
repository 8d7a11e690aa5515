// Package connect reads the URL of the database and sets up connections that notice a dead server.
package connect

import (
	"cmp"
	"context"
	"mishap/crash"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errBadURL does not wrap the parser's error, which may contain the password.
var errBadURL = crash.Errorf(crash.Invalid, "bad_database_url", "The database address cannot be read; it should look "+
	"like postgres://user:password@host:5432/mishap.")

// Connection settings that make a failover quick, unless the URL sets others. A host that has lost its power or its network
// says nothing at all, so only a limit ends the wait for it.
const (
	connectTimeout = 3 * time.Second  // for each host of the URL
	keepAlive      = 10 * time.Second // a connection without traffic is probed after this time
	keepAliveEvery = 5 * time.Second  // and then again
	keepAliveCount = 2                // probes without an answer, after which the connection is closed
	tcpUserTimeout = 10 * time.Second // sent data that is not acknowledged for so long closes the connection
	pingTimeout    = 3 * time.Second  // for a pooled connection to show that it works
	pingIdle       = time.Second      // a pooled connection that was idle for longer is pinged before use
)

// ParseURL reads a database URL, with our defaults for what it leaves open. Every connection to the database uses it. It
// returns Invalid for a URL that cannot be read.
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
		cc.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite // a standby is of no use here
	}
	return pc, nil
}

// given reports whether the URL or the environment sets a parameter.
func given(url, parameter string) bool {
	return strings.Contains(url, parameter) ||
		os.Getenv("PG"+strings.ToUpper(strings.ReplaceAll(parameter, "_", ""))) != ""
}

// newDialer makes a dialer with libpq's parameters for TCP, which pgx does not know: it would send them to the server as
// settings. They are taken out of c. Unix sockets have no such options.
func newDialer(c *pgx.ConnConfig) (*net.Dialer, error) {
	options := map[string]int{
		"keepalives": 1, "keepalives_idle": seconds(keepAlive), "keepalives_interval": seconds(keepAliveEvery),
		"keepalives_count": keepAliveCount,
		"tcp_user_timeout": int(tcpUserTimeout.Milliseconds()),
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

// DropFrozen has the pool ping idle connections before use, within a limit, and drop all of them when one does not answer in
// time: a host that has stopped answers on none, and waiting for each in turn would take longer than a request may.
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
		return true // the connection is closed by now, so the pool's own ping fails at once and drops it
	}
}
