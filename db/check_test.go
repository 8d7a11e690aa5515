package db_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
)

func checkStore(t *testing.T, s *db.Store, scope crash.CheckScope) crash.CheckResult {
	t.Helper()
	steps := 0
	result, err := upkeep.Check(t.Context(), s, scope, func() { steps++ })
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	if steps != upkeep.CheckSteps {
		t.Errorf("got %d steps, want the %d that were announced", steps, upkeep.CheckSteps)
	}
	return result
}

// mixture stores reports with few distinct values and counts them.
func mixture(t *testing.T, url string, reports int) *db.Store {
	t.Helper()
	s := dbtest.Open(t, url)
	r := rand.New(rand.NewPCG(1, 2))
	var wg sync.WaitGroup
	for i := range reports {
		rec := anyRecord(t, r, i)
		wg.Go(func() {
			if _, _, err := s.SaveReport(t.Context(), rec); err != nil {
				t.Errorf("save report: %v", err)
			}
		})
	}
	wg.Wait()
	dbtest.Counted(t, s)
	return s
}

// TestCheckSeesDamage changes each count by one. It checks that a complete check, and one of a
// sample that happens to include everything, report this.
func TestCheckSeesDamage(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{
		"update buckets set reports = reports + 1 where id = (select id from buckets where reports > 1 order by id limit 1)",
		"update buckets set systems = systems - 1 where id = (select id from buckets where systems > 0 order by id limit 1)",
		"update bucket_releases set last_seen.seen = (last_seen).seen + interval '1 day' where ctid = (select ctid from " +
			"bucket_releases limit 1)",
		"update bucket_releases set first_seen.version = 'other' where ctid = (select ctid from bucket_releases limit 1)",
		"update bucket_releases set first_seen.version_key = '\\x00' where ctid = (select ctid from bucket_releases limit 1)",
		"update bucket_releases set lowest_version = null where ctid = (select ctid from bucket_releases where " +
			"lowest_version is not null limit 1)",
		"update bucket_releases set highest_version.version = '0~' where ctid = (select ctid from bucket_releases where " +
			"highest_version is not null limit 1)",
		"delete from bucket_releases where ctid = (select ctid from bucket_releases limit 1)",
		"update buckets set last_version = null where id = (select id from buckets where last_version is not null order by " +
			"id limit 1)",
		"update buckets set first_release = null where id = (select id from buckets where first_release is not null order " +
			"by id limit 1)",
		"update buckets set head = '\\x00' where id = (select id from buckets order by id limit 1)",
		"delete from bucket_versions where ctid = (select ctid from bucket_versions limit 1)",
		"update bucket_versions set systems = systems + 1 where ctid = (select ctid from bucket_versions limit 1)",
		"update bucket_versions set version_key = '\\x00' where ctid = (select ctid from bucket_versions limit 1)",
		"delete from bucket_systems where ctid = (select ctid from bucket_systems limit 1)",
		"update bucket_systems set reports = reports + 1 where ctid = (select ctid from bucket_systems limit 1)",
		"update bucket_travellers set extra = extra + 1 where ctid = (select ctid from bucket_travellers limit 1)",
		"update bucket_days set reports = reports - 1 where ctid = (select ctid from bucket_days limit 1)",
		"update bucket_days set proposed = proposed + 1 where ctid = (select ctid from bucket_days limit 1)",
		"update report_days set reports = reports + 1 where ctid = (select ctid from report_days limit 1)",
		"delete from release_days where ctid = (select ctid from release_days limit 1)",
		"update release_active set change = change + 1 where ctid = (select ctid from release_active limit 1)",
		"delete from reports where ctid = (select ctid from reports where counted and bucket_id is not null limit 1)",
	} {
		t.Run(damage, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t)
			s := mixture(t, url, 60)
			if got := checkStore(t, s, crash.CheckScope{Most: 5}); got.Found != 0 || got.Reports < 30 || got.Buckets == 0 ||
				got.Counts < 100 {
				t.Fatalf("got %+v, want most of 60 reports, many counts and no difference", got)
			}
			if tag, err := dbtest.Connect(t, url).Exec(t.Context(), damage); err != nil || tag.RowsAffected() != 1 {
				t.Fatalf("got %v, %v; want one row", tag, err)
			}
			for _, scope := range []crash.CheckScope{{Most: 5}, {Buckets: 1 << 20, Seed: 7, Most: 5}} {
				if got := checkStore(t, s, scope); got.Found == 0 || len(got.Differences) == 0 {
					t.Errorf("check %+v: got no difference", scope)
				}
			}
		})
	}
}
