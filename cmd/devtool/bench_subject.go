package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"mishap/crash/crashtest"
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

// start starts the server with the given name. It has a practice tracker and a signed-in account. "new" and
// "against" have a new database with few reports, posted like machines do, which works with any version.
// "alone" is the same server as the one that runs.
func (b *bench) start(ctx context.Context, name string, running []*subject) (_ *subject, err error) {
	s := &subject{name: name}
	if name == "alone" {
		*s = *running[0]
		s.name, s.stops = name, nil
		return s, nil
	}
	program, dataDir, database := b.program, b.dataDir, b.database
	if name == "against" {
		program = b.against
	}
	fresh := name == "new" || name == "against"
	if fresh {
		dataDir, database = "", ""
	}
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
	if b.name != "strangers" || !b.limits {
		d.environ = append(d.environ, "MISHAP_API_RATE_PER_ADDRESS=0", "MISHAP_EXPORT_RATE_PER_ADDRESS=0")
	}
	if err := d.remember(); err != nil {
		return nil, err
	}
	server, _, err := d.serve(ctx, practice, practice.Token(consumerKey))
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, server.stop)
	if s.processes, err = dbtest.FindProcesses(ctx, server.command.Process.Pid, database); err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() error { // its tokens, too: an account may have only 50
		_, err := d.command(context.WithoutCancel(ctx), "", "user", "remove", demoAccount)
		return err
	})
	token, err := d.command(ctx, "", "token", "create", demoAccount, "--name", "bench")
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
	if fresh {
		volume := crashtest.Volume{Reports: b.reports, Padding: 1000, Now: time.Now()}
		bar := progress(b.err, b.reports, "posting reports to "+program)
		err = postReports(ctx, "http://"+s.ingest, volume.All(), func() { _ = bar.Add(1) })
		_ = bar.Finish() // only affects the display
	}
	return s, err
}

// stop stops everything in reverse order. It ignores errors, since the measurement is done.
func (s *subject) stop() {
	for i := len(s.stops) - 1; i >= 0; i-- {
		_ = s.stops[i]()
	}
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
