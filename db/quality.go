package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/grouping"
)

const (
	qualityBatch = 250 // reports in one step of DecideQuality

	// sqlUndecided skips reports that another transaction is changing; a later step or run finds them.
	sqlUndecided = `
		select id, complete, body from reports where quality is null order by received desc, id desc limit @limit
		for update skip locked`
	sqlSaveQuality = `
		update reports as r set quality = m.quality
		from unnest(@ids::uuid[], @received::timestamptz[], @quality::smallint[]) as m (id, received, quality)
		where r.received = m.received and r.id = m.id`
)

// DecideQuality decides the quality of reports that versions before 0.2.0 have stored, the newest first. It
// pauses after each step for as long as the step took, so that storing reports has priority. It may be
// interrupted at any time.
func (s *Store) DecideQuality(ctx context.Context) error {
	for {
		began := time.Now()
		n, err := s.decideQuality(ctx)
		if err != nil {
			return fmt.Errorf("quality of reports: %w", err)
		}
		if n < qualityBatch {
			return nil
		}
		if err := crash.Sleep(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

func (s *Store) decideQuality(ctx context.Context) (n int, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sqlUndecided, pgx.NamedArgs{"limit": qualityBatch})
		if err != nil {
			return err
		}
		var ids [][16]byte
		var received []time.Time
		var quality []int16
		var id crash.OopsID
		var complete bool
		var body []byte
		if _, err := pgx.ForEachRow(rows, []any{(*[16]byte)(&id), &complete, &body}, func() error {
			fields, err := Decompress(body)
			if err != nil { // nobody can read a damaged report
				fields, complete = nil, false
			}
			ids, received = append(ids, id), append(received, id.Received())
			quality = append(quality, int16(grouping.Quality(fields, complete))) //nolint:gosec // at most 100
			return nil
		}); err != nil || len(ids) == 0 {
			return err
		}
		n = len(ids)
		_, err = tx.Exec(ctx, sqlSaveQuality, pgx.NamedArgs{"ids": ids, "received": received, "quality": quality})
		return err
	})
	return n, err
}
