package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"mishap/crash"
	"mishap/migrations"

	"github.com/jackc/pgx/v5/pgconn"
)

// failure holds the last error of an operation and the start of the failures, until the operation
// succeeds.
type failure struct {
	mu    sync.Mutex
	since time.Time // zero while the operation succeeds
	err   error
}

func (f *failure) result(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	switch {
	case err == nil:
		f.since = time.Time{}
	case f.since.IsZero():
		f.since = time.Now()
	}
}

// get returns the last error and the start of the failures. The error is nil if the last result was
// a success.
func (f *failure) get() (since time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.since, f.err
}

// Health reports whether the database answers, has disk space, and keeps up with counting.
func (s *Store) Health(ctx context.Context) []crash.HealthCheck {
	database, storing := crash.HealthCheck{Name: "Database"}, crash.HealthCheck{Name: "Storing"}
	if err := s.Ping(ctx); err != nil {
		database.Problem, database.Detail = "The database cannot be reached.", err.Error()
	}
	if s.saver.noSpace.Load() {
		storing.Problem = "There is no space left on the disk of the database: reports cannot be stored."
	}
	return []crash.HealthCheck{database, storing, s.counter.health()}
}

// health reports whether stored reports can be counted.
func (c *counter) health() crash.HealthCheck {
	h := crash.HealthCheck{Name: "Counting"}
	c.mu.Lock()
	reports, limit := c.reports, c.limit
	c.mu.Unlock()
	if reports > 0 {
		h.Detail = fmt.Sprintf("%d stored reports of this instance are not counted yet.", reports)
	}
	for _, f := range []*failure{&c.failing, &c.orphansFailing} {
		if since, err := f.get(); err != nil {
			h.Problem = "Reports are stored, but they cannot be counted at the moment: lists and charts are behind."
			h.Detail = fmt.Sprintf("Counting has failed since %s, with up to %d reports at a time. %s The last error: %v",
				since.UTC().Format("2006-01-02 15:04:05 UTC"), limit, h.Detail, err)
			break
		}
	}
	return h
}

const undefinedTable = "42P01"

var builtInMigrations = sync.OnceValues(func() ([]appliedMigration, error) { return ownMigrations(migrations.Files) })

// checkSchema returns Unavailable if this program cannot work with the schema. This happens if the
// database was replaced while the program ran, for example by a backup. checkSchema accepts a
// schema with later migrations, so that instances can be upgraded one after another.
func (s *Store) checkSchema(ctx context.Context) error {
	own, err := builtInMigrations()
	if err != nil {
		return err
	}
	applied, err := readHistory(ctx, s.Pool)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == undefinedTable {
		err = nil // an empty database, or one older than 0.1.0
	}
	if err != nil {
		return Classify(err)
	}
	if err := compareHistory(applied, own); err != nil {
		return errReplaced.Because(err)
	}
	if len(applied) < len(own) {
		return errReplaced
	}
	return nil
}

var errReplaced = crash.Errorf(crash.Unavailable, "database_replaced",
	"The database was replaced by one with another schema while mishap was running; restart mishap, which upgrades it or "+
		"says why it cannot.")
