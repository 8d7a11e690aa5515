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
	"mishap/handlers"
	"mishap/handlers/ingest"
	"mishap/tracker"
)

// How long the parts of a good stop may take.
const (
	drainPatience   = 30 * time.Second // requests under way
	trackerPatience = 20 * time.Second // calls to the tracker under way; later they count as unknown and are settled by search
	jobsPatience    = 10 * time.Second
	tidyEvery       = 10 * time.Minute
)

// unit is everything that runs in one process: the servers behind the doors, and what works in the background.
type unit struct {
	config  Config
	doors   *doors
	store   *db.Store
	log     *slog.Logger
	metrics *prometheus.Registry
	now     func() time.Time

	web, ingest, ops *http.Server // nil: not this kind of unit
	filer            *tracker.Filer
	watcher          *tracker.Watcher
	archivist        *tracker.Archivist // nil: the archive is not read
	jobs             *db.Jobs
}

// build makes the parts that this kind of unit needs; nothing runs yet.
func (u *unit) build() error {
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
			RatePerSystem:  u.config.IngestRatePerSystem,
			RatePerAddress: u.config.IngestRatePerAddress,
			Log:            u.log,
			Now:            u.now,
			Registerer:     u.metrics,
		})
		if err != nil {
			return err
		}
		u.ingest = ingest.NewServer(handler)
	}
	u.ops = opsServer(opsHandler(u.metrics, u.store), u.log)
	return nil
}

func (u *unit) buildWeb() error {
	settings := u.config.tracker(u.log, u.metrics)
	credentials := tracker.NewCredentials(settings, u.store)
	client := tracker.NewClient(settings, credentials)
	u.filer = tracker.NewFiler(settings, u.store, client)
	u.watcher = tracker.NewWatcher(settings, u.store, client, tracker.WatchOptions{Silent: !u.config.AllowBugFiling})
	if u.config.ReadArchive {
		u.archivist = tracker.NewArchivist(settings, u.store, client, tracker.ArchiveOptions{})
	}
	jobs, err := db.NewJobs(u.store, db.JobsConfig{Log: u.log, KeepReportsDays: u.config.ReportsKeepDays, File: u.filer.Work})
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
		WriteTokens: func(_ context.Context, token crash.AccessToken) error {
			return writeTokens(u.config.file, crash.Secret(token.Token), token.Secret)
		},
	})
	if err != nil {
		return err
	}
	u.web = webServer(server.Handler(), u.log)
	return nil
}

// linkTemplates reads what the configuration was checked for.
func linkTemplates(text string) crash.LinkTemplates {
	links, _ := crash.ParseLinkTemplates(text)
	return links
}

// ingestURL is where machines post reports, as pages tell it: the door of this process, or the configured one of another.
func (u *unit) ingestURL() string {
	if u.doors.ingest != nil {
		return httpAddress(u.doors.ingest.Addr().String())
	}
	return httpAddress(u.config.IngestListen)
}

// run serves until ctx ends or a server fails, then stops everything in good order: first the doors, then what is under
// way behind them.
func (u *unit) run(ctx context.Context) error {
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	var work sync.WaitGroup
	if u.web != nil {
		if err := u.jobs.Start(background); err != nil {
			return fmt.Errorf("job queue: %w", err)
		}
		work.Go(func() { u.filer.Run(background) })
		work.Go(func() { u.watcher.Run(background) })
		if u.archivist != nil {
			work.Go(func() { u.archivist.Run(background) })
		}
		work.Go(func() { u.tidy(background) })
		work.Go(func() { u.warmUp(background) })
	}
	if u.ingest != nil && u.config.CoresKeepDays > 0 {
		work.Go(func() { u.tidyCores(background) })
	}
	failed := make(chan error, 3)
	var serving sync.WaitGroup
	u.each(func(s *http.Server, l net.Listener) {
		serving.Go(func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
			}
		})
	})
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	u.log.InfoContext(ctx, "stopping: finishing what was accepted; another signal stops at once")
	u.drain(background)
	stopBackground()
	work.Wait()
	err = errors.Join(err, u.ops.Close())
	serving.Wait()
	u.log.InfoContext(ctx, "stopped")
	return err
}

// warmUp loads what lists are made from, so that the first visitor need not wait for it.
func (u *unit) warmUp(ctx context.Context) {
	began := time.Now()
	b, err := u.store.Board(ctx)
	if err != nil {
		u.log.WarnContext(ctx, "the problems could not be loaded; the first list will try again", "error", err)
		return
	}
	u.log.InfoContext(ctx, "problems are loaded", "problems", b.Len(), "seconds", time.Since(began).Seconds())
}

// each calls do for every server of this unit.
func (u *unit) each(do func(*http.Server, net.Listener)) {
	if u.web != nil {
		do(u.web, u.doors.web)
	}
	if u.ingest != nil {
		do(u.ingest, u.doors.ingest)
	}
	do(u.ops, u.doors.ops)
}

// drain closes the doors, lets requests finish, then calls to the tracker, then jobs; each for its time.
func (u *unit) drain(ctx context.Context) {
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

// tidy removes what has expired from the database, now and then, until ctx ends.
func (u *unit) tidyCores(ctx context.Context) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		n, err := ingest.RemoveCores(u.config.DataDir, u.now().AddDate(0, 0, -u.config.CoresKeepDays))
		if err != nil {
			u.log.WarnContext(ctx, "cannot remove old core dumps", "error", err)
		}
		if n > 0 {
			u.log.InfoContext(ctx, "removed old core dumps", "cores", n, "cores_keep_days", u.config.CoresKeepDays)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (u *unit) tidy(ctx context.Context) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		if err := u.store.DeleteExpired(ctx); err != nil && ctx.Err() == nil {
			u.log.WarnContext(ctx, "cannot remove expired sessions", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
