package triage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/db"
)

const (
	// sqlMutes looks up the problem of each standing mute by index, which the limit ensures; a join
	// would read all problems.
	sqlMutes = `
		select ` + db.TriageColumns + `, t.seen, h.head,
			(select max(changed) from buckets where head = h.head) as changed
		from triage as t join lateral (select head from buckets where id = t.bucket_id limit 1) as h on true
		where t.kind = 'muted' and t.undone_at is null and t.ended_at is null order by t.id`
	// sqlReportsSince stops as soon as there are enough reports.
	sqlReportsSince = `
		select count(*) from (
			select from reports where bucket_id in ` + db.Members + ` and received > @since and counted limit @limit
		) as found`
	// sqlMachinesSince looks only at the newest reports, so that a machine that crashes in a loop does
	// not make it slow.
	sqlMachinesSince = `
		select count(distinct system_key) from (
			select system_key from reports where bucket_id in ` + db.Members + ` and received > @since and counted
			order by received desc limit 50000
		) as newest`
	sqlEnd = `
		update triage set ended_at = @at, ended_why = @why where id = @id and undone_at is null and ended_at is null`
)

// standingMute is a mute that may have to end.
type standingMute struct {
	crash.Triage
	known   map[crash.Release]string // highest version in each release when it was muted
	head    crash.BucketID           // the problem that it belongs to now
	changed int64                    // round in which the counts of the problem changed last
}

// EndMutes ends the mutes whose condition is met. Each ends once, even if several instances call
// EndMutes at the same time. It compares only mutes whose problem has changed since the previous
// call, besides those that wait for a day or a regression.
func (s *Store) EndMutes(ctx context.Context) error {
	mutes, err := s.standingMutes(ctx)
	if err != nil {
		return err
	}
	var failed error
	stand := map[int64]bool{}
	for _, m := range mutes {
		stand[m.ID] = true
		why, err := s.met(ctx, m)
		if err == nil && why != "" {
			err = s.end(ctx, m, why)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("mute of %s: %w", m.head, db.Classify(err)))
			continue
		}
		s.mu.Lock()
		s.checked[m.ID] = m.changed
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.checked, func(id int64, _ int64) bool { return !stand[id] })
	return failed
}

func (s *Store) standingMutes(ctx context.Context) ([]standingMute, error) {
	rows, err := s.Pool.Query(ctx, sqlMutes)
	if err != nil {
		return nil, fmt.Errorf("standing mutes: %w", db.Classify(err))
	}
	mutes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m standingMute, err error) {
		err = row.Scan(append(db.TriageTargets(&m.Triage), &m.known, db.ScanTo(m.head[:]), &m.changed)...)
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("standing mutes: %w", db.Classify(err))
	}
	return mutes, nil
}

// met returns the sentence that says which condition of a mute is met, or "".
func (s *Store) met(ctx context.Context, m standingMute) (string, error) {
	u := m.Until
	if !u.Date.IsZero() && !s.Now().Before(u.Date) {
		return u.ReachedDate(), nil
	}
	if u.Regression {
		if why, err := s.regression(ctx, m.head); err != nil || why != "" {
			return why, err
		}
	}
	s.mu.Lock()
	round, known := s.checked[m.ID]
	s.mu.Unlock()
	if known && round == m.changed {
		return "", nil
	}
	args := pgx.NamedArgs{"bucket": m.head[:], "since": m.At, "limit": u.Reports}
	if within := s.Now().Add(-time.Duration(u.Days) * 24 * time.Hour); u.Days > 0 && within.After(m.At) {
		args["since"] = within
	}
	if u.Reports > 0 {
		var n int64
		if err := s.Pool.QueryRow(ctx, sqlReportsSince, args).Scan(&n); err != nil {
			return "", err
		}
		if n >= u.Reports {
			return u.ReachedReports(), nil
		}
	}
	if u.Machines > 0 {
		var n int64
		if err := s.Pool.QueryRow(ctx, sqlMachinesSince, args).Scan(&n); err != nil {
			return "", err
		}
		if n >= u.Machines {
			return u.ReachedMachines(), nil
		}
	}
	if u.Version == "" && !u.Newer {
		return "", nil
	}
	var seen []crash.FixedIn
	err := s.InTx(ctx, func(tx pgx.Tx) (err error) {
		seen, err = s.versions(ctx, tx, m.head)
		return err
	})
	slices.SortFunc(seen, func(a, b crash.FixedIn) int { return b.Release.Compare(a.Release) })
	return stats.Met(u, seen, m.known), err
}

// regression returns a sentence if a problem is a regression, or is seen in a version that was
// marked as fixed. Else it returns "".
func (s *Store) regression(ctx context.Context, bucket crash.BucketID) (string, error) {
	b, err := s.IndexWithStates(ctx)
	if err != nil {
		return "", err
	}
	p, ok := b.Problem(bucket)
	if !ok {
		return "", nil
	}
	if p.State == crash.StateRegression {
		release, version, _ := s.StatusOf(p).Regressed()
		return crash.Regressed(release, version), nil
	}
	for _, f := range db.ManualOf(b, p, index.DayOf(s.Now())).Fixes {
		if f.Again > 0 {
			return crash.Regressed(f.AgainIn, f.AgainAt), nil
		}
	}
	return "", nil
}

// end ends a mute, unless it was undone or ended meanwhile.
func (s *Store) end(ctx context.Context, m standingMute, why string) error {
	return s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"id": m.ID, "at": s.Now(), "why": why}
		done, err := tx.Exec(ctx, sqlEnd, args)
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		return s.Audit(ctx, tx, db.AuditEvent{
			Action: "problem.return", Subject: m.head.String(), Before: map[string]any{"muted": true},
			After: map[string]any{"muted": false}, Detail: map[string]any{"entry": m.ID, "why": why},
		})
	})
}
