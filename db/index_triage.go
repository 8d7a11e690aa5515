package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
)

const (
	// TriageColumns are the columns of triage, called t, that ScanTriage reads.
	TriageColumns = `
		t.id, t.bucket_id, t.kind, coalesce(t.until, '{}'), coalesce(t.fixes, '[]'), t.person, t.reason, t.at,
		t.undone_by, t.undone_at, t.ended_at, t.ended_why, t.merged_by is not null,
		case t.kind when 'fixed' then t.seen else '{}' end`
	// sqlStandingTriage looks up each problem by index, which the limit ensures.
	sqlStandingTriage = `
		select h.head, ` + TriageColumns + `
		from triage as t join lateral (select head from buckets where id = t.bucket_id limit 1) as h on true
		where t.undone_at is null and t.ended_at is null order by t.id`
	sqlMarkedHeads = `
		select b.head, false from holds as h join buckets as b on b.id = h.bucket_id where h.lifted_at is null
		union
		select b.head, true from embargoes as e join buckets as b on b.id = e.bucket_id where e.lifted_at is null`
	sqlTriageOf = `select ` + TriageColumns + ` from triage as t where t.bucket_id in ` + Members + ` order by t.id`
)

// TriageTargets returns the scan targets for TriageColumns.
func TriageTargets(t *crash.Triage) []any {
	return []any{&t.ID, ScanTo(t.Bucket[:]), &t.Kind, &t.Until, &t.Fixes, &t.Person, &t.Reason, &t.At, &t.UndoneBy,
		OrZero(&t.UndoneAt), OrZero(&t.EndedAt), &t.EndedWhy, &t.Merged, &t.Before}
}

// ScanTriage scans a row of TriageColumns.
func ScanTriage(row pgx.CollectableRow) (t crash.Triage, err error) {
	err = row.Scan(TriageTargets(&t)...)
	return t, err
}

// triaged identifies the manual status that an index has. It is immutable.
type triaged struct {
	ix      *index.Index
	changes string
}

// setTriage sets the manual status of an index to a revision, unless it has that already. It changes
// only when a person or a rule decides something, or problems are merged or split.
func (s *Store) setTriage(ctx context.Context, b *index.Index, now revision) error {
	k, next := s.indexCache, triaged{b, now.changes}
	if old := k.triaged.Load(); old != nil && *old == next {
		return nil
	}
	if err := acquire(ctx, k.deciding); err != nil {
		return err
	}
	defer func() { <-k.deciding }()
	if old := k.triaged.Load(); old != nil && *old == next {
		return nil
	}
	rows, err := s.Pool.Query(ctx, sqlStandingTriage)
	if err != nil {
		return fmt.Errorf("manual status of problems: %w", Classify(err))
	}
	entries := map[crash.BucketID][]crash.Triage{}
	for rows.Next() {
		var head crash.BucketID
		var t crash.Triage
		if err := rows.Scan(append([]any{ScanTo(head[:])}, TriageTargets(&t)...)...); err != nil {
			rows.Close()
			return fmt.Errorf("manual status of problems: %w", err)
		}
		entries[head] = append(entries[head], t)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("manual status of problems: %w", Classify(err))
	}
	all := make(map[crash.BucketID]*index.Triage, len(entries))
	for id, some := range entries {
		m := stats.JudgeManual(some, nil, s.Now())
		t := &index.Triage{Muted: m.Muted != nil, WontFix: m.WontFix != nil}
		if m.Muted != nil {
			t.Until = m.Muted.Until
		}
		for _, one := range some {
			if one.Kind == crash.TriageFixed {
				t.Fixes = append(t.Fixes, crash.Triage{ID: one.ID, Kind: one.Kind, At: one.At,
					Fixes: one.Fixes, Before: one.Before})
			}
		}
		all[id] = t
	}
	marked, err := s.Pool.Query(ctx, sqlMarkedHeads)
	if err != nil {
		return fmt.Errorf("held and embargoed problems: %w", Classify(err))
	}
	var id crash.BucketID
	var embargoed bool
	if _, err := pgx.ForEachRow(marked, []any{ScanTo(id[:]), &embargoed}, func() error {
		if all[id] == nil {
			all[id] = &index.Triage{}
		}
		if embargoed {
			all[id].Embargoed = true
		} else {
			all[id].Held = true
		}
		return nil
	}); err != nil {
		return fmt.Errorf("held and embargoed problems: %w", Classify(err))
	}
	b.SetTriage(all)
	k.triaged.Store(&next)
	return nil
}

// Triage returns the manual status of a bucket's problem, and all its entries, oldest first. These
// include entries of buckets that were merged into it.
func (s *Store) Triage(ctx context.Context, bucket crash.BucketID) (crash.ManualStatus, []crash.Triage, error) {
	var marks crash.ManualStatus
	if err := marksOf(ctx, s, bucket, &marks); err != nil {
		return marks, nil, err
	}
	rows, err := s.Pool.Query(ctx, sqlTriageOf, pgx.NamedArgs{"bucket": bucket[:]})
	if err != nil {
		return crash.ManualStatus{}, nil, fmt.Errorf("manual status of %s: %w", bucket, Classify(err))
	}
	all, err := pgx.CollectRows(rows, ScanTriage)
	if err != nil || len(all) == 0 {
		return marks, nil, Classify(err)
	}
	b, err := s.Index(ctx)
	if err != nil {
		return crash.ManualStatus{}, nil, err
	}
	var seen []crash.VersionSeen
	if p, ok := b.Problem(bucket); ok {
		seen = b.Occurrences(p, index.DayOf(s.Now()))
	}
	m := stats.JudgeManual(all, seen, s.Now())
	m.Embargo, m.Hold = marks.Embargo, marks.Hold
	return m, all, nil
}

// sqlMarks returns the oldest standing embargo and the oldest standing hold of a problem.
const sqlMarks = `
	(select true, id, bucket_id, person, coalesce(rule_id, 0), reason, at from embargoes
		where bucket_id in ` + Members + ` and lifted_at is null order by id limit 1)
	union all
	(select false, id, bucket_id, person, 0, reason, at from holds
		where bucket_id in ` + Members + ` and lifted_at is null order by id limit 1)`

// marksOf sets the embargo and the hold of a bucket's problem.
func marksOf(ctx context.Context, s *Store, bucket crash.BucketID, m *crash.ManualStatus) error {
	rows, err := s.Pool.Query(ctx, sqlMarks, pgx.NamedArgs{"bucket": bucket[:]})
	if err != nil {
		return fmt.Errorf("embargo and hold of %s: %w", bucket, Classify(err))
	}
	var isEmbargo bool
	var e crash.Embargo
	_, err = pgx.ForEachRow(rows, []any{&isEmbargo, &e.ID, ScanTo(e.Bucket[:]), &e.Person, &e.Rule, &e.Reason, &e.At},
		func() error {
			if isEmbargo {
				embargo := e
				m.Embargo = &embargo
				return nil
			}
			m.Hold = &crash.Hold{ID: e.ID, Bucket: e.Bucket, Person: e.Person, Reason: e.Reason, At: e.At}
			return nil
		})
	if err != nil {
		return fmt.Errorf("embargo and hold of %s: %w", bucket, Classify(err))
	}
	return nil
}

// ManualOf returns the manual status of a problem with versions marked as fixed, for lists: without
// persons and reasons. p must come from b.
func ManualOf(b *index.Index, p *index.Problem, today index.Day) crash.ManualStatus {
	if p.Triage == nil || len(p.Triage.Fixes) == 0 {
		return crash.ManualStatus{}
	}
	return stats.JudgeManual(p.Triage.Fixes, b.Occurrences(p, today), today.Time())
}

// ListedManual returns the manual status of a problem as lists show it, without persons and
// reasons: as of the last call of [Store.Index] or [Store.IndexWithStates]. It reads no
// database.
func (s *Store) ListedManual(id crash.BucketID) (m crash.ManualStatus) {
	last := s.indexCache.triaged.Load()
	if last == nil {
		return m
	}
	p, ok := last.ix.Problem(id)
	if !ok || p.Triage == nil {
		return m
	}
	m = ManualOf(last.ix, p, index.DayOf(s.Now()))
	if p.Triage.Muted {
		m.Muted = &crash.Triage{Kind: crash.TriageMuted, Until: p.Triage.Until}
	}
	if p.Triage.WontFix {
		m.WontFix = &crash.Triage{Kind: crash.TriageWontFix}
	}
	return m
}

const (
	sqlIndexAssigned = `
		select distinct on (h.head) h.head, a.assignee
		from assignments as a join buckets as h on h.id = a.bucket_id
		where a.undone_at is null order by h.head, a.id desc`
	sqlIndexTags = `
		select h.head, string_agg(distinct t.tag, ' ' order by t.tag)
		from problem_tags as t join buckets as h on h.id = t.bucket_id
		where t.removed_at is null group by h.head`
)

// people returns, for each problem that is assigned in mishap or has tags, the assignee and the
// tags.
func (s *Store) people(ctx context.Context) (map[crash.BucketID]index.People, error) {
	all := map[crash.BucketID]index.People{}
	for _, read := range []struct {
		sql string
		set func(p *index.People, text string)
	}{
		{sqlIndexAssigned, func(p *index.People, text string) { p.Name = text }},
		{sqlIndexTags, func(p *index.People, text string) { p.TagList = text }},
	} {
		rows, err := s.Pool.Query(ctx, read.sql)
		if err != nil {
			return nil, fmt.Errorf("assignees of problems: %w", Classify(err))
		}
		var id crash.BucketID
		var text string
		if _, err := pgx.ForEachRow(rows, []any{ScanTo(id[:]), &text}, func() error {
			p := all[id]
			read.set(&p, text)
			all[id] = p
			return nil
		}); err != nil {
			return nil, fmt.Errorf("assignees of problems: %w", Classify(err))
		}
	}
	return all, nil
}

// peopleOf returns the assignee and the tags of a problem in the index, or nil if it has neither.
// The assignee of its bug counts more than that in mishap.
func (st *statuses) peopleOf(p *index.Problem) *index.People {
	who := st.people[p.ID]
	if bug := st.bugs[p.ID]; bug.Number != 0 {
		if name := bug.AssigneeOf(p.Source); name != "" {
			who.Name, who.Bug = name, bug.Counts()
		}
	}
	if who == (index.People{}) {
		return nil
	}
	return &who
}
