package db_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/migrations"
)

// TestPackageArchitectureMigration undoes the migration that added the architecture of packages to
// daily counts, while some reports are uncounted. It checks that migrating again gives the same
// counts as counting from the start.
func TestPackageArchitectureMigration(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := mixture(t, url, 400)
	want := storedCounts(t, url)
	foreign := 0
	for key := range want.Days {
		if strings.HasSuffix(key, "|i386") || strings.HasSuffix(key, "|") {
			foreign++
		}
	}
	if foreign < 20 {
		t.Fatalf("got %d days of foreign packages and of none, want more to look at", foreign)
	}
	for _, sql := range []string{
		`create table days_before as select bucket_id, day, release, version, architecture, sum(reports)::bigint as reports,
			sum(proposed)::bigint as proposed, max(changed) as changed from bucket_days group by 1, 2, 3, 4, 5`,
		`drop schema visible cascade`, // of a later migration
		`truncate bucket_days`,
		`alter table bucket_days drop constraint bucket_days_pkey, drop column package_architecture`,
		`alter table bucket_days
			add constraint bucket_days_pkey primary key (bucket_id, day, release, version, architecture)`,
		`insert into bucket_days select * from days_before`,
		`drop table days_before`,
		// An uncounted report is not part of the counts, before or after.
		`with waiting as (
			insert into reports
			select gen_random_uuid(), r.received, r.occurred, r.day, r.counted, r.system, r.system_key, r.bucket_id,
				r.unbucketed, r.rule, r.rules, r.problem_type, r.title, r.executable, r.package, r.version,
				r.source_package, r.release, r.architecture, 'i386',
				r.address_signature, r.proposed, r.complete, r.body
			from reports as r where r.bucket_id is not null and r.counted limit 1 returning id
		) insert into uncounted (id, reports) select gen_random_uuid(), array_agg(id) from waiting`,
	} {
		dbtest.Exec(t, url, sql)
	}
	files, err := fs.Glob(migrations.Files, "*_package_architecture.sql")
	if err != nil || len(files) != 1 {
		t.Fatalf("got migrations %v, %v; want one", files, err)
	}
	sql, err := fs.ReadFile(migrations.Files, files[0])
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, url, "begin; "+string(sql)+"; commit")
	if diff := cmp.Diff(want.Days, storedCounts(t, url).Days); diff != "" {
		t.Errorf("days of problems (-want +got):\n%s", diff)
	}
	if got := checkStore(t, s, crash.CheckScope{Most: 5}); got.Found != 0 {
		t.Errorf("check of everything: got %d differences: %v", got.Found, got.Differences)
	}
}
