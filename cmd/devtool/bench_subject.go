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
	"strings"
	"time"

	"mishap/db/dbtest"
	"mishap/db/embedded"
)

// subject is a server under measurement, which runs in its own process.
type subject struct {
	*visitor

	name            string
	ingest          string      // address of its listener for reports
	signedIn, token http.Header // of requests from a person's browser and from an API client
	processes       dbtest.Processes
	stops           []func() error
}

// startSubject starts a program with a practice tracker and a signed-in account. It uses a
// database, else the private PostgreSQL of a data_dir, else a new one. limits says whether the usual
// limits per address apply to visitors.
func startSubject(
	ctx context.Context, name, program, dataDir, database string, limits bool,
) (_ *subject, err error) {
	s := &subject{name: name}
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
	if err := os.Chmod(folder, 0o755); err != nil { // the database's user needs access to subfolders
		return nil, err
	}
	if database == "" {
		server, err := embedded.Start(ctx, embedded.Config{DataDir: cmp.Or(dataDir, folder),
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		s.stops = append(s.stops, func() error { return server.Stop(context.WithoutCancel(ctx)) })
		database = server.URL()
	}
	practice, err := startPractice(ctx, "127.0.0.1:0", "")
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() error { practice.close(); return nil })
	var listen, ops string
	for _, a := range []*string{&listen, &s.ingest, &ops} {
		if *a, err = dbtest.FreeAddress(); err != nil {
			return nil, err
		}
	}
	s.visitor = newVisitor("http://" + listen)
	d := demo{folder: folder, program: program, environ: append(os.Environ(),
		"MISHAP_DATABASE_URL="+database, "MISHAP_LISTEN="+listen, "MISHAP_BASE_URL="+s.url,
		"MISHAP_INGEST_LISTEN="+s.ingest, "MISHAP_OPS_LISTEN="+ops, "MISHAP_INGEST_RATE_PER_SYSTEM=0",
		"MISHAP_API_RATE_PER_TOKEN=0", "MISHAP_READ_ARCHIVE=false")}
	if !limits {
		d.environ = append(d.environ, "MISHAP_API_RATE_PER_ADDRESS=0", "MISHAP_EXPORT_RATE_PER_ADDRESS=0")
	}
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
	if s.processes, err = dbtest.FindProcesses(ctx, server.command.Process.Pid, database); err != nil {
		return nil, err
	}
	if err := d.account(ctx, environ); err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() error { // its tokens, too: an account may have only 50
		_, err := d.command(context.WithoutCancel(ctx), environ, "", "user", "remove", demoAccount)
		return err
	})
	token, err := d.command(ctx, environ, "", "token", "create", demoAccount, "--name", "bench")
	if err != nil {
		return nil, fmt.Errorf("create a token: %s", token)
	}
	s.token = http.Header{"Authorization": {"Bearer " + token}}
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

// stop stops everything in reverse order. It ignores errors, since the measurement is done.
func (s *subject) stop() {
	for i := len(s.stops) - 1; i >= 0; i-- {
		_ = s.stops[i]()
	}
}

// measure adds one round of traffic to a result. The processor time includes later background work
// of the server.
func (s *subject) measure(ctx context.Context, r *result, t traffic) error {
	before, began := s.processes.Used(), time.Now()
	m, err := t.send(ctx)
	if err != nil {
		return err
	}
	r.seconds += time.Since(began).Seconds()
	after := s.settle(ctx)
	r.requests, r.bytes, r.memory = r.requests+float64(m.Requests), m.BytesIn.Mean, max(r.memory, after.Memory)
	r.server, r.postgres = r.server+after.Server-before.Server, r.postgres+after.PostgreSQL-before.PostgreSQL
	r.p50, r.p99 = append(r.p50, ms(m.Latencies.P50)), append(r.p99, ms(m.Latencies.P99))
	return nil
}

// settle waits until the server and PostgreSQL have been nearly idle for half a second, at most
// five seconds. It sends no requests to the server, so it works with any version.
func (s *subject) settle(ctx context.Context) dbtest.Used {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	now := s.processes.Used()
	for range 10 {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		before := now
		now = s.processes.Used()
		if ctx.Err() != nil || now.Server+now.PostgreSQL-before.Server-before.PostgreSQL <= 0.02 {
			break
		}
	}
	return now
}
