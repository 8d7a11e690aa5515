package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/procfs"

	"mishap/db/embedded"
)

// subject is a server under measurement, a process of its own.
type subject struct {
	*visitor

	name, database     string
	ingest             string      // where it takes reports
	signedIn, token    http.Header // of requests from a person's browser and from an API client
	server, postmaster int         // processes
	stops              []func() error
}

// startSubject starts a program, connected to a practice tracker, with an account that has signed in. It runs on a database,
// or else on the private PostgreSQL of a data_dir, or else on a new one.
func startSubject(ctx context.Context, name, program, dataDir, database string) (_ *subject, err error) {
	s := &subject{name: name, database: database}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	folder, err := os.MkdirTemp("", "mishap-bench-")
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() error { return os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil { // the database's user passes through
		return nil, err
	}
	if database == "" {
		server, err := embedded.Start(ctx, embedded.Config{DataDir: cmp.Or(dataDir, folder), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		s.stops = append(s.stops, func() error { return server.Stop(context.WithoutCancel(ctx)) })
		s.database = server.URL()
	}
	practice, err := startPractice(ctx, "127.0.0.1:0", "")
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() error { practice.close(); return nil })
	var listen, ops string
	for _, a := range []*string{&listen, &s.ingest, &ops} {
		if *a, err = freeAddress(ctx); err != nil {
			return nil, err
		}
	}
	s.visitor = newVisitor("http://" + listen)
	d := demo{folder: folder, program: program, environ: append(os.Environ(),
		"MISHAP_DATABASE_URL="+s.database, "MISHAP_LISTEN="+listen, "MISHAP_BASE_URL="+s.url,
		"MISHAP_INGEST_LISTEN="+s.ingest, "MISHAP_OPS_LISTEN="+ops, "MISHAP_INGEST_RATE_PER_SYSTEM=0",
		"MISHAP_API_RATE_PER_ADDRESS=0", "MISHAP_API_RATE_PER_TOKEN=0", "MISHAP_READ_ARCHIVE=false")}
	if err := errors.Join(d.remember(), d.configure(practice, practice.Token(consumerKey))); err != nil {
		return nil, err
	}
	environ := d.childEnvironment(practice)
	server, err := d.start(ctx, environ)
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, server.stop)
	if _, err := server.awaitReady(ctx); err != nil {
		return nil, err
	}
	if err := s.findProcesses(ctx, server.command.Process.Pid); err != nil {
		return nil, err
	}
	if err := d.account(ctx, environ); err != nil {
		return nil, err
	}
	create := exec.CommandContext(ctx, program, "token", "create", demoAccount, "--name", "bench", "--config", d.configFile())
	create.Env = environ
	token, err := create.Output()
	if err != nil {
		return nil, fmt.Errorf("create a token: %w", err)
	}
	s.token = http.Header{"Authorization": {"Bearer " + strings.TrimSpace(string(token))}}
	if err := s.signIn(ctx, d.memory.Password); err != nil {
		return nil, err
	}
	var cookies []string
	for _, c := range s.client.Jar.Cookies(&url.URL{Scheme: "http", Host: listen, Path: "/"}) {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	s.signedIn = http.Header{"Cookie": {strings.Join(cookies, "; ")}}
	return s, nil
}

// stop stops everything, what was started last first. Whatever fails then was measured already.
func (s *subject) stop() {
	for i := len(s.stops) - 1; i >= 0; i-- {
		_ = s.stops[i]()
	}
}

// findProcesses notes which processes are measured: the server and all of its PostgreSQL.
func (s *subject) findProcesses(ctx context.Context, server int) error {
	conn, err := pgx.Connect(ctx, s.database)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing depends on it
	backend, err := procfs.NewProc(int(conn.PgConn().PID()))
	if err != nil {
		return fmt.Errorf("PostgreSQL does not run on this machine: %w", err)
	}
	stat, err := backend.Stat()
	s.server, s.postmaster = server, stat.PPID
	return err
}

// use is what the processes have used so far.
type use struct{ server, postgres, memory float64 } // seconds, and MB that the server holds

func (s *subject) use() (u use) {
	const ticksPerSecond = 100 // USER_HZ, the same on every Linux
	processes, _ := procfs.AllProcs()
	for _, p := range processes {
		stat, err := p.Stat()
		if err != nil { // it has just ended: its time is in its parent's
			continue
		}
		seconds := (float64(stat.UTime) + float64(stat.STime) + float64(stat.CUTime) + float64(stat.CSTime)) / ticksPerSecond
		switch {
		case stat.PID == s.server:
			u.server, u.memory = seconds, float64(stat.ResidentMemory())/1e6
		case stat.PID == s.postmaster, stat.PPID == s.postmaster:
			u.postgres += seconds
		}
	}
	return u
}

// measure adds one round of traffic to a result. Its processor time includes what the server does afterwards.
func (s *subject) measure(ctx context.Context, r *result, t traffic) error {
	before, began := s.use(), time.Now()
	m, err := t.send(ctx)
	if err != nil {
		return err
	}
	r.seconds += time.Since(began).Seconds()
	s.settle(ctx)
	after := s.use()
	r.requests, r.bytes, r.memory = r.requests+float64(m.Requests), m.BytesIn.Mean, max(r.memory, after.memory)
	r.server, r.postgres = r.server+after.server-before.server, r.postgres+after.postgres-before.postgres
	r.p50, r.p99 = append(r.p50, ms(m.Latencies.P50)), append(r.p99, ms(m.Latencies.P99))
	return nil
}

// settle waits until the server and PostgreSQL have been nearly idle for half a second, at most five seconds. It asks
// nothing of the server, so that it works with any version.
func (s *subject) settle(ctx context.Context) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	before := s.use()
	for range 10 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := s.use()
		if now.server+now.postgres-before.server-before.postgres <= 0.02 {
			return
		}
		before = now
	}
}
