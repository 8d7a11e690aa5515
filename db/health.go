package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"mishap/crash"
	"mishap/db/connect"
	"mishap/db/schema"
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

// Health reports whether the database answers, has disk space, and keeps up with counting. Without an
// answer, nothing else is known.
func (s *Store) Health(ctx context.Context) []crash.HealthCheck {
	database := crash.HealthCheck{ID: "database", Name: "Database",
		Remedy: "start PostgreSQL, or correct database_url; the server's log says more"}
	storing := crash.HealthCheck{ID: "storing", Name: "Storing", Remedy: "make space on the disk of the database"}
	if err := s.Ping(ctx); err != nil {
		database.Problem, database.Detail = "The database cannot be reached.", err.Error()
		if e, ok := errors.AsType[*crash.Error](err); ok && e.Code == errReplaced.Code {
			database.Problem = e.Message
		}
		return []crash.HealthCheck{database}
	}
	if s.saver.noSpace.Load() {
		storing.Problem = "There is no space left on the disk of the database: reports cannot be stored."
	}
	return []crash.HealthCheck{database, storing, s.counter.health()}
}

// health reports whether stored reports can be counted.
func (c *counter) health() crash.HealthCheck {
	h := crash.HealthCheck{ID: "counting", Name: "Counting",
		Remedy: "correct what the last error says; counting then continues by itself"}
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

// checkSchema returns Unavailable if this program cannot work with the schema. This happens if the
// database was replaced while the program ran, for example by a backup.
func (s *Store) checkSchema(ctx context.Context) error {
	err := schema.Check(ctx, s.Pool)
	if crash.KindOf(err) == crash.Conflict {
		return errReplaced.Because(err)
	}
	return Classify(err)
}

var errReplaced = crash.Errorf(crash.Unavailable, "database_replaced",
	"The database was replaced by one with another schema while mishap was running; restart mishap, which upgrades it or "+
		"says why it cannot.")

// Inspect reads the version of the server and the state of the schema. It returns Unavailable if the
// database does not answer, Invalid if it refuses the credentials or is too old, and Conflict if the
// schema is not one of this program. Even with a Conflict, the Inspection is complete.
func (h *Handle) Inspect(ctx context.Context) (schema.Inspection, error) {
	conn, err := h.Pool.Acquire(ctx)
	if err != nil {
		if refused := connect.Refusal(err); refused != nil {
			return schema.Inspection{}, refused.Because(err)
		}
		return schema.Inspection{}, errUnavailable.Because(err)
	}
	conn.Release()
	i, err := schema.Inspect(ctx, h.Pool)
	return i, Classify(err)
}
