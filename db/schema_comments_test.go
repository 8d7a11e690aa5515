package db_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"mishap/db/dbtest"
)

// sqlWithoutComment selects tables, types and columns of ours that have no comment. It omits
// partitions, the version table of tern and the tables of the job queue.
const sqlWithoutComment = `
	select t.relname || coalesce('.' || a.attname, '')
	from pg_class as t
		left join lateral (
			select null::name as attname, 0 as attnum
			union all
			select attname, attnum from pg_attribute where attrelid = t.oid and attnum > 0 and not attisdropped
		) as a on true
	where t.relnamespace = 'public'::regnamespace and t.relkind in ('r', 'p', 'c') and not t.relispartition
		and t.relname <> 'schema_version' and t.relname not like 'river\_%'
		and coalesce(case
			when a.attnum = 0 and t.relkind = 'c' then obj_description(t.reltype, 'pg_type')
			when a.attnum = 0 then obj_description(t.oid, 'pg_class')
			else col_description(t.oid, a.attnum) end, '') = ''
	order by t.relname, a.attnum`

// TestSchemaComments checks that all tables, types and columns have a comment. A migration that
// adds one must also add its comment.
func TestSchemaComments(t *testing.T) {
	t.Parallel()
	rows, err := connect(t, dbtest.URL(t)).Query(t.Context(), sqlWithoutComment)
	if err != nil {
		t.Fatal(err)
	}
	bare, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range bare {
		t.Errorf("%s has no comment: add one in the migration", name)
	}
}
