// Package triage stores the manual status of problems: muted, won't fix, fixed in a version. It
// ends mutes whose condition is met.
package triage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/dpkg"
	"mishap/crash/stats"
	"mishap/db"
)

// Store stores the manual status of problems. It is safe for concurrent use.
type Store struct {
	*db.Store

	mu      sync.Mutex
	checked map[int64]int64 // round of the counts with which a standing mute was checked last, by id
}

// New returns a Store for the problems in s.
func New(s *db.Store) *Store { return &Store{Store: s, checked: map[int64]int64{}} }

const (
	// sqlLockProblem makes decisions about one problem wait for each other.
	sqlLockProblem = `
		select id from buckets where id = (select head from buckets where id = @bucket) for no key update`
	sqlStanding = `
		select ` + db.TriageColumns + ` from triage as t
		where t.bucket_id in ` + db.Members + ` and t.undone_at is null and t.ended_at is null order by t.id`
	sqlVersions = `
		select distinct release, version from bucket_versions where bucket_id in ` + db.Members + ` and reports > 0`
	sqlReports = `
		select release, version, sum(reports)::bigint from bucket_versions
		where bucket_id in ` + db.Members + ` and reports > 0 group by 1, 2`
	sqlReplaceMutes = `
		update triage set ended_at = @at where id = any(@replaced)`
	sqlInsert = `
		insert into triage (bucket_id, kind, until, fixes, seen, person, reason, at)
		values (@bucket, @kind, @until, @fixes, @seen, @person, @reason, @at) returning id`
	sqlReplacedBy = `update triage set replaced_by = @id where id = any(@replaced)`
)

// Set stores a decision about a problem, in a transaction of its own; see [Store.SetIn]. It also
// returns Invalid if a mute would end at once, because the problem is a regression already.
func (s *Store) Set(ctx context.Context, t crash.Triage) (crash.Triage, error) {
	if t.Kind == crash.TriageMuted && t.Until.Regression {
		if why, err := s.regression(ctx, t.Bucket); err != nil {
			return t, err
		} else if why != "" {
			return t, crash.Errorf(crash.Invalid, "regression_already",
				"The problem would return at once, because %s Choose another condition.", why)
		}
	}
	err := s.InTx(ctx, func(tx pgx.Tx) (err error) {
		t, err = s.SetIn(ctx, tx, t)
		return err
	})
	return t, err
}

// SetIn stores a decision about a problem: that of any bucket merged into it. It returns the stored
// entry. It stores nothing, and returns the standing entry, if that says the same. A fix replaces
// earlier ones for the same releases.
//
// SetIn returns NotFound for an unknown bucket, Invalid for an impossible condition, and Conflict
// if the problem is muted with other conditions, unless t.Replaces is that mute, or if it was seen in a
// version with the fix, unless t.Confirmed is set. It returns these before it changes anything, so that
// the caller may continue its transaction.
func (s *Store) SetIn(ctx context.Context, tx pgx.Tx, t crash.Triage) (crash.Triage, error) {
	t.At = s.Now()
	t.Reason, _ = crash.CleanLine(t.Reason, crash.MaxReason+1) // Check refuses what is too long
	if err := t.Check(t.At); err != nil {
		return t, err
	}
	err := tx.QueryRow(ctx, sqlLockProblem, pgx.NamedArgs{"bucket": t.Bucket[:]}).Scan(db.ScanTo(t.Bucket[:]))
	if errors.Is(err, pgx.ErrNoRows) {
		return t, crash.ErrUnknownBucket
	}
	if err != nil {
		return t, fmt.Errorf("manual status of %s: %w", t.Bucket, err)
	}
	standing, err := s.standing(ctx, tx, t.Bucket)
	if err != nil {
		return t, err
	}
	standing = slices.DeleteFunc(standing, func(old crash.Triage) bool { return old.Kind != t.Kind })
	if len(standing) == 0 {
		return s.insert(ctx, tx, t, nil)
	}
	last := standing[len(standing)-1] // the page shows this one; new grouping rules may leave several mutes
	if same(last, t, standing) {
		return last, nil
	}
	var replaced []int64
	if t.Kind == crash.TriageMuted {
		if last.ID != t.Replaces {
			return t, crash.Errorf(crash.Conflict, "muted_already", "The problem is muted already: %s. "+
				"Look at that first; then replace it or leave it.", last.Text(true))
		}
		for _, old := range standing {
			replaced = append(replaced, old.ID)
		}
	}
	return s.insert(ctx, tx, t, replaced)
}

// same reports whether a standing entry says the same as a new one.
func same(old, t crash.Triage, standing []crash.Triage) bool {
	switch t.Kind {
	case crash.TriageMuted:
		return old.Until.Equal(t.Until)
	case crash.TriageFixed:
		now := crash.StandingFixes(standing)
		return !slices.ContainsFunc(t.Fixes, func(f crash.FixedIn) bool {
			return !slices.ContainsFunc(now, func(known crash.ManualFix) bool { return known.FixedIn == f })
		})
	case crash.TriageWontFix:
	}
	return true
}

func (s *Store) standing(ctx context.Context, tx pgx.Tx, bucket crash.BucketID) ([]crash.Triage, error) {
	rows, err := tx.Query(ctx, sqlStanding, pgx.NamedArgs{"bucket": bucket[:]})
	if err != nil {
		return nil, fmt.Errorf("manual status of %s: %w", bucket, err)
	}
	standing, err := pgx.CollectRows(rows, db.ScanTriage)
	if err != nil {
		return nil, fmt.Errorf("manual status of %s: %w", bucket, err)
	}
	return standing, nil
}

func (s *Store) insert(ctx context.Context, tx pgx.Tx, t crash.Triage, replaced []int64) (crash.Triage, error) {
	args := pgx.NamedArgs{"bucket": t.Bucket[:], "kind": t.Kind, "person": t.Person, "reason": t.Reason, "at": t.At,
		"until": nil, "fixes": nil, "seen": map[crash.Release]string{}, "replaced": replaced}
	after := map[string]any{"kind": t.Kind}
	switch t.Kind {
	case crash.TriageMuted:
		seen, err := s.versions(ctx, tx, t.Bucket)
		if err != nil {
			return t, err
		}
		u := t.Until
		u.Newer = false
		if why := stats.Met(u, seen, nil); why != "" {
			return t, crash.Errorf(crash.Invalid, "version_already",
				"The problem would return at once, because %s Choose a later version.", why)
		}
		args["until"], args["seen"], after["until"] = t.Until, highest(seen), t.Until
		if len(replaced) > 0 {
			if _, err := tx.Exec(ctx, sqlReplaceMutes, args); err != nil {
				return t, fmt.Errorf("replace the mute of %s: %w", t.Bucket, err)
			}
		}
	case crash.TriageFixed:
		var err error
		if t.Before, err = s.reports(ctx, tx, t.Bucket, t.Fixes); err != nil {
			return t, err
		}
		if len(t.Before) > 0 && !t.Confirmed {
			return t, crash.Errorf(crash.Conflict, ErrSeen, "%s. If the fix is in a later version, name that one; else "+
				"confirm this one.", seenAlready(t.Before))
		}
		args["fixes"], args["seen"], after["fixes"] = t.Fixes, t.Before, t.Fixes
	case crash.TriageWontFix:
	}
	if err := tx.QueryRow(ctx, sqlInsert, args).Scan(&t.ID); err != nil {
		return t, fmt.Errorf("manual status of %s: %w", t.Bucket, err)
	}
	if len(replaced) > 0 {
		args["id"] = t.ID
		if _, err := tx.Exec(ctx, sqlReplacedBy, args); err != nil {
			return t, fmt.Errorf("replace the mute of %s: %w", t.Bucket, err)
		}
	}
	return t, s.Audit(ctx, tx, db.AuditEvent{
		Person: t.Person, Action: "problem.triage", Subject: t.Bucket.String(), After: after,
		Detail: map[string]any{"entry": t.ID, "replaces": replaced, "reason": t.Reason},
	})
}

// versions returns the releases and versions in which a problem was seen.
func (s *Store) versions(ctx context.Context, tx pgx.Tx, bucket crash.BucketID) ([]crash.FixedIn, error) {
	rows, err := tx.Query(ctx, sqlVersions, pgx.NamedArgs{"bucket": bucket[:]})
	if err != nil {
		return nil, fmt.Errorf("versions of %s: %w", bucket, err)
	}
	seen, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crash.FixedIn])
	if err != nil {
		return nil, fmt.Errorf("versions of %s: %w", bucket, err)
	}
	return seen, nil
}

// ErrSeen is the code of the error for a fix in a version in which the problem has been seen.
const ErrSeen = "seen_already"

// seenAlready says how often a problem has been seen in versions with the fix: "The problem has been seen already in
// 1.4-2 (Ubuntu 24.04): 9 reports".
func seenAlready(before map[crash.Release]map[string]int64) string {
	var parts []string
	for _, release := range slices.SortedFunc(maps.Keys(before), func(a, b crash.Release) int { return b.Compare(a) }) {
		for _, version := range slices.SortedFunc(maps.Keys(before[release]), dpkg.Compare) {
			n := before[release][version]
			parts = append(parts, crash.FixedIn{Release: release, Version: version}.String()+": "+
				crash.Counted(n, "report", "reports"))
		}
	}
	if most := 5; len(parts) > most {
		parts = append(parts[:most], "…")
	}
	return "The problem has been seen already in " + strings.Join(parts, ", ")
}

// ReportsIn returns the number of reports of a problem from versions with one of the fixes.
func (s *Store) ReportsIn(ctx context.Context, bucket crash.BucketID, fixes []crash.FixedIn) (n int64, err error) {
	err = s.InTx(ctx, func(tx pgx.Tx) error {
		before, err := s.reports(ctx, tx, bucket, fixes)
		for _, versions := range before {
			for _, some := range versions {
				n += some
			}
		}
		return err
	})
	return n, err
}

// reports returns the number of reports from each version with one of the fixes.
func (s *Store) reports(ctx context.Context, tx pgx.Tx, bucket crash.BucketID, fixes []crash.FixedIn) (
	before map[crash.Release]map[string]int64, err error,
) {
	rows, err := tx.Query(ctx, sqlReports, pgx.NamedArgs{"bucket": bucket[:]})
	if err != nil {
		return nil, fmt.Errorf("versions of %s: %w", bucket, err)
	}
	before = map[crash.Release]map[string]int64{}
	var in crash.FixedIn
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&in.Release, &in.Version, &n}, func() error {
		if slices.ContainsFunc(fixes, func(f crash.FixedIn) bool { return f.Has(in.Release, in.Version) }) {
			if before[in.Release] == nil {
				before[in.Release] = map[string]int64{}
			}
			before[in.Release][in.Version] = n
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("versions of %s: %w", bucket, err)
	}
	return before, nil
}

// highest returns the highest version in each release.
func highest(seen []crash.FixedIn) map[crash.Release]string {
	top := map[crash.Release]string{}
	for _, o := range seen {
		if old, ok := top[o.Release]; !ok || dpkg.Order(o.Version, old) > 0 {
			top[o.Release] = o.Version
		}
	}
	return top
}

const (
	sqlEntry = `select ` + db.TriageColumns + ` from triage as t where t.id = @id`
	sqlUndo  = `update triage set undone_by = @person, undone_at = @at where id = @id and undone_at is null`
	// sqlRestore lets a mute stand again that this one has replaced.
	sqlRestore = `
		update triage set ended_at = null, replaced_by = null
		where replaced_by = @id and undone_at is null and ended_why = ''
			and not exists (select from triage where id = @id and merged_by is not null)`
)

var (
	errUnknown = crash.Errorf(crash.NotFound, "unknown_triage_entry", "There is no such entry in the history.")
	errUndone  = crash.Errorf(crash.Conflict, "undone_already", "This has already been undone.")
)

const sqlBucketOf = `select bucket_id from triage where id = @id`

// BucketOf returns the bucket of an entry. It returns NotFound if there is no such entry.
func (s *Store) BucketOf(ctx context.Context, id int64) (bucket crash.BucketID, err error) {
	err = s.Pool.QueryRow(ctx, sqlBucketOf, pgx.NamedArgs{"id": id}).Scan(db.ScanTo(bucket[:]))
	if errors.Is(err, pgx.ErrNoRows) {
		return bucket, errUnknown
	}
	if err != nil {
		return bucket, fmt.Errorf("problem of a triage entry: %w", db.Classify(err))
	}
	return bucket, nil
}

// Undo makes an entry of a problem's manual status not stand any more, whoever made it. A mute that
// it has replaced stands again. Undo returns NotFound if there is no such entry, and Conflict if it
// was undone already.
func (s *Store) Undo(ctx context.Context, id int64, person string) (crash.Triage, error) {
	var t crash.Triage
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"id": id, "person": person, "at": s.Now()}
		rows, err := tx.Query(ctx, sqlEntry, args)
		if err != nil {
			return err
		}
		t, err = pgx.CollectExactlyOneRow(rows, db.ScanTriage)
		if errors.Is(err, pgx.ErrNoRows) {
			return errUnknown
		}
		if err != nil {
			return err
		}
		args["bucket"] = t.Bucket[:]
		var head crash.BucketID
		if err := tx.QueryRow(ctx, sqlLockProblem, args).Scan(db.ScanTo(head[:])); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, sqlUndo, args)
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return errUndone
		}
		if _, err := tx.Exec(ctx, sqlRestore, args); err != nil {
			return err
		}
		t.UndoneBy, t.UndoneAt = person, s.Now()
		return s.Audit(ctx, tx, db.AuditEvent{
			Person: person, Action: "problem.untriage", Subject: t.Bucket.String(),
			Before: map[string]any{"kind": t.Kind}, Detail: map[string]any{"entry": id},
		})
	})
	if err != nil {
		return t, fmt.Errorf("undo entry %d of a manual status: %w", id, err)
	}
	return t, nil
}
