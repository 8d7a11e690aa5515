package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/embedded"
)

// fillWorkers is the number of concurrent reports. It is large, so that each transaction stores
// many.
const fillWorkers = 256

// filling describes a database to fill and its reports.
type filling struct {
	databaseURL string
	dataDir     string // its private PostgreSQL is filled if databaseURL is empty
	volume      crashtest.Volume
}

// run stores the volume in the database, like reports that machines post. It returns when
// everything is counted.
func (f filling) run(ctx context.Context, errOut, out io.Writer) (err error) {
	url := f.databaseURL
	if url == "" {
		server, startErr := embedded.Start(ctx, embedded.Config{DataDir: f.dataDir})
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
		url = server.URL()
	}
	if err := db.Migrate(ctx, url, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	store, err := db.Open(ctx, db.Config{URL: url, MaxConns: 8})
	if err != nil {
		return err
	}
	defer store.Close()
	began := time.Now()
	if err := f.post(ctx, store, errOut); err != nil {
		return err
	}
	if err := store.WaitCounted(ctx); err != nil {
		return err
	}
	reports := f.volume.Reports - f.volume.From
	took := time.Since(began)
	_, err = fmt.Fprintf(out, "%d reports stored and counted in %s: %.0f/s\n", reports,
		took.Round(time.Second), float64(reports)/took.Seconds())
	return err
}

func (f filling) post(ctx context.Context, store *db.Store, errOut io.Writer) error {
	in := intake.New(intake.Config{MaxAgeDays: 366}, store)
	bar := progress(errOut, f.volume.Reports, "filling the database")
	_ = bar.Set(f.volume.From)
	reports := make(chan crash.Report, fillWorkers)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(reports)
		for r := range f.volume.All() {
			select {
			case reports <- r:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range fillWorkers {
		group.Go(func() error {
			for r := range reports {
				if err := accept(ctx, in, r); err != nil {
					return err
				}
				_ = bar.Add(1)
			}
			return nil
		})
	}
	err := group.Wait()
	_ = bar.Finish()
	return err
}

// accept stores a report. It retries while too many are in progress, as a machine would.
func accept(ctx context.Context, in *intake.Intake, r crash.Report) error {
	for {
		_, err := in.Accept(ctx, r)
		if e, ok := errors.AsType[*crash.Error](err); !ok || e.Code != "overload" {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
