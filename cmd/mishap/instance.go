package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/disk"
	"mishap/handlers"
	"mishap/handlers/ingest"
	"mishap/tracker"
)

// How long the parts of a good stop may take.
const (
	drainPatience   = 30 * time.Second // requests under way
	trackerPatience = 20 * time.Second // calls to the tracker under way; later they count as unknown and are settled by search
	jobsPatience    = 10 * time.Second
)

// instance is everything that runs in one process: the servers behind the listeners, and the work in the background.
type instance struct {
	config  Config
	doors   *doors
	store   *db.Store
	log     *slog.Logger
	metrics *prometheus.Registry
	disk    *disk.Watch
	now     func() time.Time

	web, ingest, ops       *http.Server // nil: not this kind of unit
	onWeb, onIngest, onOps *replaceable // what these servers serve
	listening              sync.Once
	serving                sync.WaitGroup // the servers that listen
	failed                 chan error     // of a server
	filer                  *tracker.Filer
	watcher                *tracker.Watcher
	archivist              *tracker.Archivist // nil: the archive is not read
	jobs                   *db.Jobs
	background             *background
}

// newUnit makes the servers behind the listeners, which answer that the unit is starting.
func newInstance(c Config, d *doors, log *slog.Logger) *instance {
	u := &instance{config: c, doors: d, log: log, metrics: newMetrics(), now: time.Now, failed: make(chan error, 3)}
	if d.web != nil {
		u.onWeb = newReplaceable(http.HandlerFunc(startingPages))
		u.web = webServer(u.onWeb, log)
	}
	if d.ingest != nil {
		u.onIngest = newReplaceable(http.HandlerFunc(startingIngest))
		u.ingest = ingest.NewServer(u.onIngest)
	}
	u.background = newBackground(log, u.metrics)
	u.onOps = newReplaceable(opsHandler(u.metrics, startingHealth))
	u.ops = opsServer(u.onOps, log)
	return u
}

// build makes the parts that this kind of unit needs, and has the servers serve them; the background does not run yet.
func (u *instance) build() error {
	if u.doors.web != nil {
		if err := u.buildWeb(); err != nil {
			return err
		}
	}
	if u.doors.ingest != nil {
		handler, err := ingest.New(ingest.Deps{
			Intake:         intake.New(u.config.intake(), u.store),
			Store:          u.store,
			DataDir:        u.config.DataDir,
			MaxBytes:       int64(u.config.IngestMaxBytes),
			MaxCoresBytes:  int64(u.config.CoresTotalMaxBytes),
			Disk:           u.disk,
			RatePerSystem:  u.config.IngestRatePerSystem,
			RatePerAddress: u.config.IngestRatePerAddress,
			TrustedProxies: u.config.trustedProxies(),
			Log:            u.log,
			Now:            u.now,
			Registerer:     u.metrics,
		})
		if err != nil {
			return err
		}
		u.onIngest.replace(handler)
	}
	if err := u.metrics.Register(u.disk); err != nil {
		return fmt.Errorf("register metrics of disks: %w", err)
	}
	u.onOps.replace(opsHandler(u.metrics, u.health))
	return nil
}

// health checks what must work for this instance to do its job.
func (u *instance) health(ctx context.Context) []crash.HealthCheck {
	return append(u.store.Health(ctx), u.disk.Health()...)
}

func (u *instance) buildWeb() error {
	settings := u.config.tracker(u.log, u.metrics)
	credentials := tracker.NewCredentials(settings, u.store)
	client := tracker.NewClient(settings, credentials)
	u.filer = tracker.NewFiler(settings, u.store, client)
	u.watcher = tracker.NewWatcher(settings, u.store, client, tracker.WatchOptions{Silent: !u.config.AllowBugFiling})
	if u.config.ReadArchive {
		u.archivist = tracker.NewArchivist(settings, u.store, client, tracker.ArchiveOptions{})
	}
	jobs, err := db.NewJobs(u.store, db.JobsConfig{Log: u.log, File: u.filer.Work, Tasks: u.background.jobs(u.sharedTasks())})
	if err != nil {
		return fmt.Errorf("job queue: %w", err)
	}
	u.jobs = jobs
	releases, err := knownReleases(ubuntuReleases, debianReleases)
	if err != nil {
		u.log.Warn("release data of this machine ignored; that of this program is used", "error", err)
	}
	server, err := handlers.New(handlers.Deps{
		Releases:    releases,
		Store:       u.store,
		Accounts:    db.NewAccounts(u.store),
		Filer:       u.filer,
		Tracker:     client,
		Credentials: credentials,
		Config: handlers.Config{
			BaseURL:               u.config.BaseURL,
			IngestURL:             u.ingestURL(),
			AllowBugFiling:        u.config.AllowBugFiling,
			TrustedProxies:        u.config.trustedProxies(),
			SourceLinks:           linkTemplates(u.config.SourceLinks),
			VersionLinks:          linkTemplates(u.config.VersionLinks),
			CoresDir:              filepath.Join(u.config.DataDir, "cores"),
			Version:               version,
			APIRatePerAddress:     u.config.APIRatePerAddress,
			APIRatePerToken:       u.config.APIRatePerToken,
			TrackerName:           u.config.trackerName(),
			ConfigFile:            u.config.file,
			TokensFromEnvironment: u.config.fromEnvironment("tracker_oauth_token"),
		},
		Log:        u.log,
		Now:        u.now,
		Registerer: u.metrics,
		Health:     u.health,
		WriteTokens: func(_ context.Context, token crash.AccessToken) error {
			return writeTokens(u.config.file, crash.Secret(token.Token), token.Secret)
		},
	})
	if err != nil {
		return err
	}
	u.onWeb.replace(server.Handler())
	return nil
}

// linkTemplates reads what the configuration was checked for.
func linkTemplates(text string) crash.LinkTemplates {
	links, _ := crash.ParseLinkTemplates(text)
	return links
}

// ingestURL is where machines post reports, as pages tell it: the door of this process, or the configured one of another.
func (u *instance) ingestURL() string {
	if u.doors.ingest != nil {
		return httpAddress(u.doors.ingest.Addr().String())
	}
	return httpAddress(u.config.IngestListen)
}

// run serves until ctx ends or a server fails, then stops everything in good order: first the doors, then what is under
// way behind them.
func (u *instance) run(ctx context.Context) error {
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	if u.web != nil {
		if err := u.jobs.Start(background); err != nil {
			return fmt.Errorf("job queue: %w", err)
		}
		u.background.loops.Go(func() { u.loadProblems(background) })
	}
	u.background.start(background, u.ownTasks())
	u.listen()
	var err error
	select {
	case <-ctx.Done():
	case err = <-u.failed:
	}
	u.log.InfoContext(ctx, "stopping: finishing what was accepted; another signal stops at once")
	u.drain(background)
	stopBackground()
	u.background.wait()
	u.stopServers()
	u.log.InfoContext(ctx, "stopped")
	return err
}

// listen has the servers take connections, once.
func (u *instance) listen() {
	u.listening.Do(func() {
		u.each(func(s *http.Server, l net.Listener) {
			u.serving.Go(func() {
				if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
					u.failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
				}
			})
		})
	})
}

// stopServers ends the servers at once, if they run, and waits for their end. It may be called more than once.
func (u *instance) stopServers() {
	u.each(func(s *http.Server, _ net.Listener) { _ = s.Close() }) // what a listener says at its end is of no interest
	u.serving.Wait()
}

// loadProblems fills the cache of lists, so that the first visitor need not wait for it.
func (u *instance) loadProblems(ctx context.Context) {
	began := time.Now()
	b, err := u.store.Board(ctx)
	if err != nil {
		u.log.WarnContext(ctx, "the problems could not be loaded; the first list will try again", "error", err)
		return
	}
	u.log.InfoContext(ctx, "problems are loaded", "problems", b.Len(), "seconds", time.Since(began).Seconds())
}

// each calls do for every server of this unit.
func (u *instance) each(do func(*http.Server, net.Listener)) {
	if u.web != nil {
		do(u.web, u.doors.web)
	}
	if u.ingest != nil {
		do(u.ingest, u.doors.ingest)
	}
	do(u.ops, u.doors.ops)
}

// drain closes the doors, lets requests finish, then calls to the tracker, then jobs; each for its time.
func (u *instance) drain(ctx context.Context) {
	var drained sync.WaitGroup
	u.each(func(s *http.Server, l net.Listener) {
		if s == u.ops {
			return // metrics stay readable until the end
		}
		drained.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, drainPatience)
			defer cancel()
			if err := s.Shutdown(ctx); err != nil {
				u.log.WarnContext(ctx, "requests were cut off", "address", l.Addr().String(), "error", err)
				_ = s.Close()
			}
		})
	})
	drained.Wait()
	if u.filer == nil {
		return
	}
	ctx1, cancel := context.WithTimeout(ctx, trackerPatience)
	defer cancel()
	u.filer.Close(ctx1)
	ctx2, cancel := context.WithTimeout(ctx, jobsPatience)
	defer cancel()
	if err := u.jobs.Stop(ctx2); err != nil {
		u.log.WarnContext(ctx, "jobs were cut off", "error", err)
	}
}
