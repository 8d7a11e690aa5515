package db_test

import (
	"io/fs"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/db/dbtest"
	"mishap/db/problems"
	"mishap/migrations"
)

// TestFillReportsBeforeFixes upgrades a database with a decision that does not know the reports before it.
// It checks that only reports of days after the decision count as seen again.
func TestFillReportsBeforeFixes(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	decided := today.AddDate(0, 0, -3)
	report := func(signature, version string, day time.Time, machines ...string) (bucket crash.BucketID) {
		t.Helper()
		for _, machine := range machines {
			rec := record(t, day, signature+machine, crash.Fields{"DuplicateSignature": signature,
				"Package": "harbor " + version})
			save(t, s, rec)
			bucket = crash.BucketIDOf(rec.Grouping.Signature)
		}
		dbtest.Counted(t, s)
		return bucket
	}
	again := report("again", "2.0-1", decided.Add(-time.Hour), "a", "b", "c")
	report("again", "1.0-1", decided, "d")
	never := report("never", "2.0-1", decided, "a", "b")
	later := report("later", "1.0-1", decided, "a")
	for _, bucket := range []crash.BucketID{again, never, later} {
		if _, err := problems.New(s).Set(t.Context(), crash.Mark{Bucket: bucket, Kind: crash.MarkFixed, Person: "ada",
			Fixes: []crash.FixedIn{{Version: "2.0-1"}}, Confirmed: true}); err != nil {
			t.Fatal(err)
		}
	}
	report("again", "2.0-1", decided.AddDate(0, 0, 1), "e")
	report("again", "2.0-2", decided.AddDate(0, 0, 2), "f", "g")
	report("later", "2.0-1", decided.AddDate(0, 0, 1), "h", "i")
	dbtest.Exec(t, url, `update marks set seen = '{}', at = $1`, decided) // as before migration 049
	migration, err := fs.ReadFile(migrations.Files, "053_reports_before_fixes.sql")
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Exec(t, url, string(migration))

	got := map[string]crash.ManualFix{}
	for name, id := range map[string]crash.BucketID{"again": again, "never": never, "later": later} {
		m, _, err := s.Triage(t.Context(), id)
		if err != nil || len(m.Fixes) != 1 {
			t.Fatalf("%s: got %+v, %v", name, m, err)
		}
		m.Fixes[0].By, m.Fixes[0].Last, m.Fixes[0].FixedIn = crash.Mark{}, time.Time{}, crash.FixedIn{}
		got[name] = m.Fixes[0]
	}
	const release = "Ubuntu 24.04"
	if diff := gocmp.Diff(map[string]crash.ManualFix{
		"again": {Again: 3, AgainIn: release, AgainAt: "2.0-2"},
		"never": {},
		"later": {Again: 2, AgainIn: release, AgainAt: "2.0-1"},
	}, got); diff != "" {
		t.Errorf("seen again (-want +got):\n%s", diff)
	}
}
