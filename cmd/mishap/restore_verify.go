package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db"
	"mishap/db/backup"
	"mishap/db/embedded"
)

// verifyAll restores into a temporary folder and checks the result.
func (r *restore) verifyAll(ctx context.Context) (err error) {
	m := r.manifest
	r.program.printf("%s was taken %s, %s ago, by mishap %s with PostgreSQL %d and schema %d.",
		r.place, m.Taken.UTC().Format(time.DateTime+" UTC"), m.Age(time.Now()), m.Mishap, m.PostgreSQL, m.Schema)
	r.program.printf("It is %s: %s; secrets: %s, blobs: %s. All checksums are right.", describeMethod(m),
		describeTotals(m), yesNo(m.Secrets), yesNo(m.Blobs))
	dataDir, remove, err := temporaryDataDir("mishap-verify-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	var good bool
	stored, err := r.loadPrivate(ctx, embedded.Config{DataDir: dataDir, Throwaway: true, Log: r.log}, nil,
		func(url string) error {
			store, err := db.Open(ctx, db.Config{URL: url, Log: r.log})
			if err != nil {
				return err
			}
			defer store.Close()
			err = r.program.check(ctx, store, crash.CheckScope{Most: checkExamples})
			good = err == nil
			if errors.Is(err, errReported) {
				return nil
			}
			return err
		})
	if err != nil {
		return err
	}
	switch {
	case stored == m.Totals:
	case m.Before != nil && *m.Before != m.Totals: // the state is one between these
		r.program.printf("Restored are %s. Before the backup there were %s, and after it %s.", countsOf(stored),
			countsOf(*m.Before), countsOf(m.Totals))
	default:
		good = false
		r.program.printf("Restored are %s, but the manifest says %s.", countsOf(stored), countsOf(m.Totals))
	}
	if !good {
		r.program.printf("The backup is NOT good.")
		return errReported
	}
	r.program.printf("The backup is good.")
	return nil
}

// record records the result of a verification, an error or nil, in the database of the configuration if
// that knows the backup. It creates no database.
func (r *restore) record(ctx context.Context, c config.Config, result error) (err error) {
	problem := ""
	switch {
	case errors.Is(result, errReported):
		problem = "What was restored differs from the manifest, or recounting found differences."
	case result != nil:
		problem = result.Error()
		if e, ok := errors.AsType[*crash.Error](result); ok {
			problem = e.Message
		}
	}
	if c.DatabaseURL == "" {
		found, err := embedded.Find(ctx, c.DataDir)
		if err != nil {
			return fmt.Errorf("the result is not recorded, so pages do not show it: %w", err)
		}
		if !found.Created {
			r.program.printf("The result is not recorded, because %s has no database.", c.DataDir)
			return nil
		}
	}
	database, err := openDatabase(ctx, c, false, r.log)
	if err != nil {
		return fmt.Errorf("the result is not recorded, so pages do not show it: %w", err)
	}
	defer func() { err = errors.Join(err, database.close(ctx)) }()
	known, err := backup.RecordVerification(ctx, database.url, filepath.Base(r.dir), problem)
	if err != nil {
		return fmt.Errorf("the result is not recorded, so pages do not show it: %w", err)
	}
	if !known {
		r.program.printf("The result is not recorded, because the database of the configuration does not know this backup.")
	}
	return nil
}

func countsOf(t backup.Totals) string {
	return fmt.Sprintf("%d reports, %d problems and %d bugs", t.Reports, t.Problems, t.Bugs)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
