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
	// MarkColumns are the columns of marks, called t, that ScanMark reads.
	MarkColumns = `
		t.id, t.bucket_id, t.kind, coalesce(t.until, '{}'), coalesce(t.fixes, '[]'), t.person, t.reason, t.at,
		t.undone_by, t.undone_at, t.ended_at, t.ended_why, t.merged_by is not null,
		case t.kind when 'fixed' then t.seen else '{}' end, coalesce(t.rule_id, 0)`
	// sqlStandingTriage looks up each problem by index, which the limit ensures.
	sqlStandingTriage = `
		select h.head, ` + MarkColumns + `
		from marks as t join lateral (select head from buckets where id = t.bucket_id limit 1) as h on true
		where t.undone_at is null and t.ended_at is null order by t.id`
	sqlMarksOf = `select ` + MarkColumns + ` from marks as t where t.bucket_id in ` + Members + ` order by t.id`
)

// MarkTargets returns the scan targets for MarkColumns.
func MarkTargets(t *crash.Mark) []any {
	return []any{&t.ID, ScanTo(t.Bucket[:]), &t.Kind, &t.Until, &t.Fixes, &t.Person, &t.Reason, &t.At, &t.UndoneBy,
		OrZero(&t.UndoneAt), OrZero(&t.EndedAt), &t.EndedWhy, &t.Merged, &t.Before, &t.Rule}
}

// ScanMark scans a row of MarkColumns.
func ScanMark(row pgx.CollectableRow) (t crash.Mark, err error) {
	err = row.Scan(MarkTargets(&t)...)
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
	entries := map[crash.BucketID][]crash.Mark{}
	for rows.Next() {
		var head crash.BucketID
		var t crash.Mark
		if err := rows.Scan(append([]any{ScanTo(head[:])}, MarkTargets(&t)...)...); err != nil {
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
		t := &index.Triage{Muted: m.Muted != nil, WontFix: m.WontFix != nil, Embargoed: m.Embargo != nil, Held: m.Hold != nil}
		if m.Muted != nil {
			t.Until = m.Muted.Until
		}
		for _, one := range some {
			if one.Kind == crash.MarkFixed {
				t.Fixes = append(t.Fixes, crash.Mark{ID: one.ID, Kind: one.Kind, At: one.At,
					Fixes: one.Fixes, Before: one.Before})
			}
		}
		all[id] = t
	}
	b.SetTriage(all)
	k.triaged.Store(&next)
	return nil
}

// Triage returns the manual status of a bucket's problem, and its history: all decisions, oldest first,
// without embargoes and holds. It includes those of buckets that were merged into it.
func (s *Store) Triage(ctx context.Context, bucket crash.BucketID) (crash.ManualStatus, []crash.Mark, error) {
	rows, err := s.Pool.Query(ctx, sqlMarksOf, pgx.NamedArgs{"bucket": bucket[:]})
	if err != nil {
		return crash.ManualStatus{}, nil, fmt.Errorf("manual status of %s: %w", bucket, Classify(err))
	}
	all, err := pgx.CollectRows(rows, ScanMark)
	if err != nil || len(all) == 0 {
		return crash.ManualStatus{}, nil, Classify(err)
	}
	var history []crash.Mark
	for _, m := range all {
		if !m.Kind.Restricts() {
			history = append(history, m)
		}
	}
	if len(history) == 0 {
		return stats.JudgeManual(all, nil, s.Now()), nil, nil
	}
	b, err := s.Index(ctx)
	if err != nil {
		return crash.ManualStatus{}, nil, err
	}
	var seen []crash.VersionSeen
	if p, ok := b.Problem(bucket); ok {
		seen = b.Occurrences(p, index.DayOf(s.Now()))
	}
	return stats.JudgeManual(all, seen, s.Now()), history, nil
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
		m.Muted = &crash.Mark{Kind: crash.MarkMuted, Until: p.Triage.Until}
	}
	if p.Triage.WontFix {
		m.WontFix = &crash.Mark{Kind: crash.MarkWontFix}
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
