package bugs

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/db"
	"mishap/db/reader"
)

// sqlNamedBugs selects open bugs that were filed for a problem without function names, whose
// problem was then merged into one with names, and that mishap has not commented on because of
// that. The bug may belong to a bucket that a person had merged into the nameless one.
const sqlNamedBugs = `
	select ` + db.BucketColumns + `, q.number
	from (
			select distinct on (l.bug_number) l.bug_number as number, lb.head
			from bucket_bugs as l
				join buckets as lb on lb.id = l.bucket_id join buckets as h on h.id = lb.head
				join bug_states as st on st.number = l.bug_number
				left join decisions as m on m.bucket_id = lb.id and m.kind = 'merged' and m.undone_at is null
			where l.how = 'filed' and lb.provisional and not h.provisional
				and exists (
					select from decisions as d
					where d.bucket_id in (lb.id, m.other_id) and d.kind = 'merged' and d.cause = 'symbolised'
						and d.undone_at is null and d.at > l.at)
				and not exists (select from bug_comments as c where c.bug_number = l.bug_number and c.kind = 'names')
				and st.read is not null and not st.closed and not st.hidden and st.duplicate_of is null
			order by l.bug_number, lb.head
		) as q
		join buckets as b on b.id = q.head ` + db.BucketJoins + `
	order by q.number`

// NamedBugs returns the open bugs that mishap filed while their problem had no function names, that
// has them by now, and that mishap has not commented on because of that.
func (s *Store) NamedBugs(ctx context.Context) ([]crash.NamedBug, error) {
	ctx = reader.AsVisitor(ctx) // mishap writes nothing about embargoed problems to bugs
	rows, err := s.Pool.Query(ctx, sqlNamedBugs)
	if err != nil {
		return nil, fmt.Errorf("bugs that got names: %w", db.Classify(err))
	}
	bugs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (n crash.NamedBug, err error) {
		err = db.ScanBucketAnd(row, &n.Bucket, &n.Number)
		return n, err
	})
	if err != nil {
		return nil, fmt.Errorf("bugs that got names: %w", db.Classify(err))
	}
	return bugs, nil
}
