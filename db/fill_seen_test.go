package db_test

import (
	"fmt"
	"io/fs"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/db/dbtest"
	"mishap/migrations"
)

// beforeSeen restores the schema from before bucket_releases, with the columns of that time.
const beforeSeen = `
	alter table buckets add column first_seen timestamptz, add column last_seen timestamptz;
	update buckets as b set first_seen = s.first_seen, last_seen = s.last_seen from (
		select bucket_id, min((first_seen).seen) as first_seen, max((last_seen).seen) as last_seen
		from bucket_releases group by bucket_id
	) as s where s.bucket_id = b.id;
	drop table bucket_releases;
	drop type occurrence, package_version`

// TestFillFirstAndLastSeen upgrades a database full of reports, and checks that the migration
// computes the same values as counting. For reports that retention has dropped, it computes days
// and versions.
func TestFillFirstAndLastSeen(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := mixture(t, url, 400)
	counted := storedCounts(t, url).Seen
	if len(counted) < 10 {
		t.Fatalf("got %d rows, want more", len(counted))
	}
	refill(t, url)
	if diff := gocmp.Diff(counted, storedCounts(t, url).Seen); diff != "" {
		t.Errorf("first and last seen differ (-counted +filled):\n%s", diff)
	}
	checkCountsOf(t, url, s)

	conn := dbtest.Connect(t, url)
	for _, sql := range []string{
		"delete from reports where day < (select percentile_disc(0.5) within group (order by day) from reports)",
		"insert into dropped_months values ('2026-01-01', 1, now())",
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	days := func() map[string]string {
		return dbtest.Lines(t, url,
			`select concat_ws('|', encode(bucket_id, 'hex'), release),
				concat_ws('|', ((first_seen).seen at time zone 'UTC')::date, ((last_seen).seen at time zone 'UTC')::date,
					(lowest_version).version, (highest_version).version)
			from bucket_releases`)
	}
	before := days()
	refill(t, url)
	if diff := gocmp.Diff(before, days()); diff != "" {
		t.Errorf("days of first and last seen differ after reports were dropped (-counted +filled):\n%s", diff)
	}
	wrong := dbtest.Lines(t, url,
		`select concat_ws('|', encode(bucket_id, 'hex'), release), (first_seen).version from bucket_releases as r
		where not exists (
			select from bucket_days as d
			where d.bucket_id = r.bucket_id and d.release = r.release and d.version = (r.first_seen).version
				and d.day = ((r.first_seen).seen at time zone 'UTC')::date)`)
	if len(wrong) > 0 {
		t.Errorf("got versions that were not counted on the day of the oldest report: %v", wrong)
	}
}

// refill repeats the migration that creates bucket_releases.
func refill(t *testing.T, url string) {
	t.Helper()
	names, err := fs.Glob(migrations.Files, "*_first_and_last_seen.sql")
	if err != nil || len(names) != 1 {
		t.Fatalf("got %q, %v; want one migration", names, err)
	}
	migration, err := fs.ReadFile(migrations.Files, names[0])
	if err != nil {
		t.Fatal(err)
	}
	err = pgx.BeginFunc(t.Context(), dbtest.Connect(t, url), func(tx pgx.Tx) error {
		for _, sql := range []string{"drop schema if exists visible cascade", beforeSeen, string(migration)} {
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				return fmt.Errorf("%.60s: %w", sql, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
