package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/index"
)

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
