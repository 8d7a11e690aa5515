package db_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/grouping"
	"mishap/crash/index"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/problems"
	"mishap/db/upkeep"
)

var midnight = today.Truncate(24 * time.Hour)

// fill stores reports of three problems: "alpha" in three versions on two releases, "beta" and
// "gamma" less often.
func fill(t *testing.T, s *db.Store) map[string]crash.BucketID {
	t.Helper()
	ids := map[string]crash.BucketID{}
	for i, r := range []struct {
		signature, pkg, source, release string
		daysAgo                         int
	}{
		{"alpha", "harbor 1.0-1", "harbor", "Ubuntu 24.04", 0},
		{"alpha", "harbor 1.0-1", "harbor", "Ubuntu 24.04", 0},
		{"alpha", "harbor 1.0-1", "harbor", "Ubuntu 26.04", 0},
		{"alpha", "harbor 1.0~rc1-1", "harbor", "Ubuntu 24.04", 6},
		{"alpha", "harbor 1.10-1", "harbor", "Ubuntu 24.04", 40},
		{"beta", "libtide1 2.0-1", "tidewatch", "Ubuntu 24.04", 0},
		{"beta", "libtide1 2.0-1", "tidewatch", "Ubuntu 9.10 derivative", 29},
		{"gamma", "tidewatch 2.0-1", "tidewatch", "Ubuntu 26.04", 0},
	} {
		rec := record(t, today.Add(time.Duration(i)*time.Second), fmt.Sprint("machine", i%4), crash.Fields{
			"DuplicateSignature": r.signature, "Package": r.pkg, "SourcePackage": r.source, "DistroRelease": r.release,
			"Date": today.AddDate(0, 0, -r.daysAgo).Add(time.Duration(i) * time.Second).Format(time.ANSIC),
		})
		save(t, s, rec)
		ids[r.signature] = crash.BucketIDOf(r.signature)
	}
	return ids
}

func TestProblems(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	ids := fill(t, s)
	tied := []string{"beta", "gamma"}
	slices.SortFunc(tied, func(a, b string) int { return strings.Compare(ids[a].String(), ids[b].String()) })
	tie := tied[0] + " 1, " + tied[1] + " 1"
	for _, c := range []struct {
		name    string
		days    int
		release crash.Release
		pkg     string
		want    string
		reports int64
	}{
		{"today", 1, "", "", "alpha 3, " + tie, 5},
		{"a week", 7, "", "", "alpha 4, " + tie, 6},
		{"a month", 30, "", "", "alpha 4, beta 2, gamma 1", 7},
		{"a year", 365, "", "", "alpha 5, beta 2, gamma 1", 8},
		{"one release", 365, "Ubuntu 24.04", "", "alpha 4, beta 1", 5},
		{"a release that nobody has", 365, "Debian 13", "", "", 0},
		{"a source package", 365, "", "tidewatch", "beta 2, gamma 1", 3},
		{"a binary package", 365, "", "libtide1", "beta 2", 2},
		{"a package and a release", 7, "Ubuntu 26.04", "harbor", "alpha 1", 1},
		{"a package that nobody has", 365, "", "x", "", 0},
	} {
		filter := index.Filter{
			Since: index.DayOf(midnight.AddDate(0, 0, 1-c.days)), Until: index.DayOf(midnight), Release: c.release,
			Package: c.pkg,
		}
		if got, totals := list(t, s, filter); got != c.want || totals.Reports != c.reports ||
			totals.Problems != int64(problemsIn(c.want)) {
			t.Errorf("%s: got %s, totals %+v; want %s, %d reports", c.name, got, totals, c.want, c.reports)
		}
	}
}

func problemsIn(list string) int {
	if list == "" {
		return 0
	}
	return strings.Count(list, ",") + 1
}

func list(t *testing.T, s *db.Store, filter index.Filter) (text string, totals index.Totals) {
	t.Helper()
	dbtest.Counted(t, s)
	b := dbtest.Must(s.Index(t.Context()))(t)
	problems, totals := b.All(filter, nil)
	for i, p := range problems {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %d", p.Signature, p.Count)
	}
	return text, totals
}

func TestBucket(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	id := fill(t, s)["alpha"]
	want := crash.Bucket{
		ID: id, Signature: "alpha", Members: 1, Rule: crash.RuleDuplicateSignature, ProblemType: "Crash",
		Title: "harbor-sync crashed with ValueError in main(): no", Executable: "/usr/bin/harbor-sync",
		Package: "harbor", SourcePackage: "harbor", Reports: 5, Systems: 4,
		FirstSeen: today.AddDate(0, 0, -40).Add(4 * time.Second), LastSeen: today.Add(2 * time.Second),
		FirstSeenVersion: "1.10-1", FirstSeenRelease: "Ubuntu 24.04", LastSeenVersion: "1.0-1",
		LastSeenRelease: "Ubuntu 26.04",
		LowestVersion:   "1.0~rc1-1", HighestVersion: "1.10-1",
		HighestVersionRelease: "Ubuntu 24.04",
		LowestRelease:         "Ubuntu 24.04", HighestRelease: "Ubuntu 26.04",
	}
	got := dbtest.Must(s.Bucket(t.Context(), id))(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bucket (-want +got):\n%s", diff)
	}
	if _, err := s.Bucket(t.Context(), crash.BucketIDOf("unknown")); !errors.Is(err, crash.NotFound) {
		t.Errorf("unknown bucket: got %v, want not found", err)
	}

	at := today.UTC()
	conn := dbtest.Connect(t, url)
	for _, sql := range []string{
		`insert into bugs (number, title, url) values (7, 'old', 'u/7'), (8, 'filed', 'u/8'), (9, 'new', 'u/9')`,
		`insert into bucket_bugs select id, n, how, 'ada', '2026-11-21 12:00Z'::timestamptz + n * interval '1 minute'
			from buckets, (values (7, 'linked'), (9, 'linked')) as b (n, how) where signature = 'alpha'`,
	} {
		dbtest.Must(conn.Exec(t.Context(), sql))(t)
	}
	got, err := s.Bucket(t.Context(), id)
	if wantBug := (crash.Bug{Number: 9, Title: "new", URL: "u/9", How: crash.Linked, By: "ada",
		At: at.Add(9 * time.Minute)}); err != nil || cmp.Diff(wantBug, got.Bug,
		cmpopts.IgnoreFields(crash.Bug{}, "State", "Place")) != "" {
		t.Errorf("two linked bugs: got %+v, %v; want the last one, %+v", got.Bug, err, wantBug)
	}
	dbtest.Must(conn.Exec(t.Context(), `insert into bucket_bugs values ($1, 8, 'filed', 'bob', '2026-11-20')`,
		id[:]))(t)
	for _, closed := range []struct{ close, shown int64 }{{0, 9}, {9, 7}, {7, 8}, {8, 9}} {
		if _, err := conn.Exec(t.Context(),
			`insert into bug_states (number, closed, read, next_read) values ($1, true, now(), now())`,
			closed.close); closed.close != 0 && err != nil {
			t.Fatal(err)
		}
		if got, err = s.Bucket(t.Context(), id); err != nil || got.Bug.Number != closed.shown {
			t.Errorf("after closing %d: got %+v, %v; want %d: an open bug before a closed one, then the one linked last",
				closed.close, got.Bug, err, closed.shown)
		}
	}
	if list, _ := list(t, s, index.Filter{Since: index.DayOf(midnight), Until: index.DayOf(midnight)}); strings.Count(list,
		"alpha") != 1 || problemsIn(list) != 3 {
		t.Errorf("three bugs: got list %s, want one row of alpha among three", list)
	}
}

// TestBucketDescription checks that a bucket is described by its newest counted report, not by test
// machines or empty values.
func TestBucketDescription(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	n := 0
	send := func(system, pkg, source string) {
		t.Helper()
		n++
		save(t, s, record(t, today.Add(time.Duration(n)*time.Second), system, crash.Fields{
			"DuplicateSignature": "alpha", "Package": pkg, "SourcePackage": source, "ProcStatus": fmt.Sprint(n),
		}))
	}
	want := func(pkg, source string) {
		t.Helper()
		b, err := s.Bucket(t.Context(), crash.BucketIDOf("alpha"))
		if err != nil || b.Package != pkg || b.SourcePackage != source {
			t.Errorf("after report %d: got %q of %q, %v; want %q of %q", n, b.Package, b.SourcePackage, err, pkg, source)
		}
	}
	send("deadbeef1", "probe", "probes")
	want("probe", "probes")
	send("machine", "one", "ones")
	want("one", "ones")
	send("deadbeef1", "probe", "probes")
	want("one", "ones")
	send("machine", "two", "")
	want("two", "ones")
}

func TestBucketVersionsAndDays(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	id := fill(t, s)["alpha"]
	save(t, s, record(t, today, "m", crash.Fields{"DuplicateSignature": "alpha", "Package": "harbor not:a_version"}))
	versions := dbtest.Must(s.BucketVersions(t.Context(), id))(t)
	wantVersions := []crash.VersionCount{
		{Version: "1.10-1", Release: "Ubuntu 24.04", Reports: 1},
		{Version: "1.0-1", Release: "Ubuntu 24.04", Reports: 2},
		{Version: "1.0-1", Release: "Ubuntu 26.04", Reports: 1},
		{Version: "1.0~rc1-1", Release: "Ubuntu 24.04", Reports: 1},
		{Version: "not:a_version", Release: "Ubuntu 24.04", Reports: 1},
	}
	if diff := cmp.Diff(wantVersions, versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	days := dbtest.Must(s.BucketDays(t.Context(), id, midnight.AddDate(0, 0, -6), midnight))(t)
	wantDays := []crash.DayCount{
		{Day: midnight.AddDate(0, 0, -6), Release: "Ubuntu 24.04", Reports: 1},
		{Day: midnight, Release: "Ubuntu 24.04", Reports: 3},
		{Day: midnight, Release: "Ubuntu 26.04", Reports: 1},
	}
	if diff := cmp.Diff(wantDays, days); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	list, err := problems.New(s).Releases(t.Context(), crash.BuiltInReleases())
	releases := list.Ascending()
	if want := []crash.Release{"Ubuntu 24.04", "Ubuntu 26.04", "Ubuntu 9.10 derivative"}; err != nil ||
		!slices.Equal(releases, want) {
		t.Errorf("got releases %v, %v; want %v, known ones first", releases, err, want)
	}
	for release, want := range map[crash.Release]bool{"Ubuntu 24.04": true, "Ubuntu 9.10 derivative": true,
		"Ubuntu 9.10": false} {
		if has, err := problems.New(s).HasRelease(t.Context(), release); err != nil || has != want {
			t.Errorf("has %s: got %v, %v; want %v", release, has, err, want)
		}
	}
}

// TestReportLists walks through the reports of a bucket and of a machine, across the end of a
// month.
func TestReportLists(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	var all []crash.OopsID // oldest first
	for i := range 25 {
		rec := record(t, today.AddDate(0, 0, 2*i), "machine", crash.Fields{"ProcStatus": fmt.Sprint(i)})
		all = append(all, save(t, s, rec))
	}
	save(t, s, record(t, today, "other machine", crash.Fields{"DuplicateSignature": "another"}))
	rec := record(t, today, "machine", nil)
	bucket := crash.BucketIDOf(rec.Grouping.Signature)
	newest := slices.Clone(all)
	slices.Reverse(newest)
	for name, read := range map[string]func(crash.OopsID) ([]crash.ReportRow, error){
		"bucket": func(after crash.OopsID) ([]crash.ReportRow, error) {
			return problems.New(s).BucketReports(t.Context(), bucket, after, 10)
		},
		"machine": func(after crash.OopsID) ([]crash.ReportRow, error) {
			return problems.New(s).SystemReports(t.Context(), "machine", after, 10)
		},
	} {
		var got []crash.OopsID
		for after := (crash.OopsID{}); ; after = got[len(got)-1] {
			rows := dbtest.Must(read(after))(t)
			for _, r := range rows {
				got = append(got, r.ID)
			}
			if len(rows) < 10 {
				break
			}
		}
		if !slices.Equal(got, newest) {
			t.Errorf("%s: got %v, want %v", name, got, newest)
		}
	}
	for i, id := range all {
		newer, older, err := problems.New(s).ReportNeighbours(t.Context(), bucket, index.Filter{}, id)
		var wantNewer, wantOlder crash.OopsID
		if i+1 < len(all) {
			wantNewer = all[i+1]
		}
		if i > 0 {
			wantOlder = all[i-1]
		}
		if err != nil || newer != wantNewer || older != wantOlder {
			t.Errorf("neighbours of report %d: got %v %v %v, want %v %v", i, newer, older, err, wantNewer, wantOlder)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	rec := record(t, today, "machine", crash.Fields{"Odd": "<&>\u2028\t\"\\ ż", "Tags": "noble package-from-proposed"})
	id := save(t, s, rec)
	got := dbtest.Must(s.Report(t.Context(), id))(t)
	bucket := crash.BucketIDOf(rec.Grouping.Signature)
	want := crash.StoredReport{Fields: rec.Fields, ReportRow: crash.ReportRow{
		ID: id, Summary: rec.Summary, System: "machine", Occurred: rec.Occurred, Bucket: &bucket,
	}, Rule: rec.Grouping.Rule, Rules: grouping.RulesVersion}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if _, err := s.Report(t.Context(), crash.NewOopsID(today)); !errors.Is(err, crash.NotFound) {
		t.Errorf("unknown report: got %v, want not found", err)
	}
	if system, err := s.ReportSystem(t.Context(), id); err != nil || system != "machine" {
		t.Errorf("got machine %q, %v", system, err)
	}
	if _, err := s.ReportSystem(t.Context(), crash.NewOopsID(today)); !errors.Is(err, crash.NotFound) {
		t.Errorf("machine of an unknown report: got %v, want not found", err)
	}
	none := record(t, today, "", crash.Fields{"Traceback": "", "Date": "", "ExecutablePath": "/usr/libexec/cc1plus"})
	if got, err := s.Report(t.Context(), save(t, s, none)); err != nil || got.Bucket != nil || got.Unbucketed == "" ||
		!got.Occurred.IsZero() {
		t.Errorf("got %+v, %v; want a report in no bucket, with the reason, of no known time", got.ReportRow, err)
	}
}

func TestRepresentativeReport(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	bare := crash.Fields{"DuplicateSignature": "alpha", "Traceback": ""}
	whole := crash.Fields{"DuplicateSignature": "alpha"}
	bucket := crash.BucketIDOf("alpha")
	if _, err := s.RepresentativeReport(t.Context(), bucket); !errors.Is(err, crash.NotFound) {
		t.Errorf("no reports: got %v, want not found", err)
	}
	wantReport := func(what string, want crash.OopsID) {
		t.Helper()
		if got, err := s.RepresentativeReport(t.Context(), bucket); err != nil || got.ID != want || len(got.Fields) == 0 {
			t.Errorf("%s: got %v, %v; want %v", what, got.ID, err, want)
		}
	}
	wantReport("one without a traceback", save(t, s, record(t, today, "a", bare)))
	save(t, s, record(t, today.Add(time.Second), "a", whole))
	second := save(t, s, record(t, today.Add(2*time.Second), "a", whole))
	save(t, s, record(t, today.Add(3*time.Second), "a", bare))
	wantReport("the newest with one", second)

	// A stack with names for all functions is better than others, of which there are many before and after.
	at := today.Add(3 * time.Second)
	stack := func(signature, deepest string) crash.OopsID {
		t.Helper()
		at = at.Add(time.Second)
		return save(t, s, record(t, at, "a", crash.Fields{"DuplicateSignature": signature,
			"Stacktrace": "#0  0x0000000000001000 in parse ()\n" +
				"#1  0x0000000000002000 in load ()\n#2  0x0000000000003000 in " + deepest + " ()\n"}))
	}
	for range 25 {
		stack("alpha", "??")
	}
	full := stack("alpha", "main")
	var worse crash.OopsID
	for range 25 {
		worse = stack("alpha", "??")
	}
	wantReport("the one with all names", full)

	// So is one of a merged bucket.
	other := stack("beta", "main")
	merge(t, s, crash.BucketIDOf("beta"), bucket)
	wantReport("the newer one of the merged bucket", other)

	// Names that mishap finds later count.
	checktest.NoError(t, db.NewDecisions(s).NameReport(t.Context(), worse, crash.Fields{"Stacktrace": ""}, false, kept))
	wantReport("still the one of the merged bucket", other)
	at = at.Add(time.Second)
	named := stack("alpha", "??")
	checktest.NoError(t, db.NewDecisions(s).NameReport(t.Context(), named, crash.Fields{
		"Stacktrace": "#0  0x1000 in parse ()\n" +
			"#1  0x2000 in main ()\n"}, false, kept))
	wantReport("the one that was symbolised", named)
}

func kept(context.Context, pgx.Tx, bool, string) error { return nil }

// TestDecideQuality checks that reports of earlier versions get the same quality as new ones.
func TestDecideQuality(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := mixture(t, url, 300)
	qualities := func() map[string]string {
		return dbtest.Lines(t, url, "select id::text, coalesce(quality::text, 'undecided') from reports")
	}
	want := qualities()
	conn := dbtest.Connect(t, url)
	for _, sql := range []string{"update reports set quality = null",
		"update reports set body = '' where id = (select min(id::text)::uuid from reports)"} {
		dbtest.Must(conn.Exec(t.Context(), sql))(t)
	}
	checktest.NoError(t, s.DecideQuality(t.Context()))
	want[slices.Min(slices.Collect(maps.Keys(want)))] = "0" // the damaged one
	if diff := cmp.Diff(want, qualities()); diff != "" {
		t.Errorf("quality (-stored +decided):\n%s", diff)
	}
}

// TestReadsDatabaseUnavailable checks that each read returns Unavailable if the database is
// unavailable.
func TestReadsDatabaseUnavailable(t *testing.T) {
	t.Parallel()
	s := dbtest.Broken(t)
	ctx, bucket, id := t.Context(), crash.BucketIDOf("x"), crash.NewOopsID(today)
	for name, read := range map[string]func() error{
		"Index":                func() error { _, err := s.Index(ctx); return err },
		"IndexWithStates":      func() error { _, err := s.IndexWithStates(ctx); return err },
		"Bucket":               func() error { _, err := s.Bucket(ctx, bucket); return err },
		"BucketVersions":       func() error { _, err := s.BucketVersions(ctx, bucket); return err },
		"BucketDays":           func() error { _, err := s.BucketDays(ctx, bucket, today, today); return err },
		"BucketReports":        func() error { _, err := problems.New(s).BucketReports(ctx, bucket, id, 1); return err },
		"SystemReports":        func() error { _, err := problems.New(s).SystemReports(ctx, "x", id, 1); return err },
		"RepresentativeReport": func() error { _, err := s.RepresentativeReport(ctx, bucket); return err },
		"Report":               func() error { _, err := s.Report(ctx, id); return err },
		"ReportSystem":         func() error { _, err := s.ReportSystem(ctx, id); return err },
		"ReportNeighbours": func() error {
			_, _, err := problems.New(s).ReportNeighbours(ctx, bucket, index.Filter{}, id)
			return err
		},
		"HasRelease": func() error { _, err := problems.New(s).HasRelease(ctx, "x"); return err },
		"Releases":   func() error { _, err := problems.New(s).Releases(ctx, crash.BuiltInReleases()); return err },
	} {
		if err := read(); !errors.Is(err, crash.Unavailable) {
			t.Errorf("%s: got %v, want unavailable", name, err)
		}
	}
}

// TestUnsupportedFilters checks that queries accept exactly the filters that they support.
func TestUnsupportedFilters(t *testing.T) {
	t.Parallel()
	s := dbtest.New(t)
	ctx, day := t.Context(), index.DayOf(time.Date(2025, 5, 1, 0, 0, 0, 0, time.UTC))
	reports := func(f index.Filter) error {
		_, _, err := problems.New(s).BucketReportsLike(ctx, crash.BucketID{}, f, crash.OopsID{}, 10)
		return err
	}
	problems := func(f index.Filter) error {
		_, err := problems.New(s).CommonProblems(ctx, f, true, true, 10)
		return err
	}
	for _, c := range []struct {
		list    func(index.Filter) error
		filter  index.Filter
		refused bool
	}{
		{reports, index.Filter{Since: day, Until: day, Release: "Ubuntu 24.04", Version: "1", Architecture: "amd64",
			Complete: true}, false},
		{reports, index.Filter{Package: "reef"}, true},
		{reports, index.Filter{New: true}, true},
		{problems, index.Filter{Since: day, Until: day, Package: "reef", Version: "1", New: true,
			PackageArchitecture: "amd64"}, false},
		{problems, index.Filter{Since: day, Until: day, ByPackages: true, Packages: "reef tide"}, false},
		{problems, index.Filter{Since: day, Until: day, ByPackages: true, Packages: "reef tide", Package: "reef"}, true},
		{problems, index.Filter{Since: day, Until: day, New: true}, true},
		{problems, index.Filter{Since: day, Until: day, State: "none"}, true},
	} {
		if err := c.list(c.filter); (err != nil) != c.refused {
			t.Errorf("%+v: got the error %v, want it refused: %t", c.filter, err, c.refused)
		}
	}
}

// TestDistinctMachines checks that a machine that sent reports from several releases counts once on each
// day, in any selection of releases and of their days.
func TestDistinctMachines(t *testing.T) {
	t.Parallel()
	s := dbtest.Open(t, dbtest.URL(t))
	const jammy, noble, resolute = "Ubuntu 22.04", "Ubuntu 24.04", "Ubuntu 26.04"
	day := func(n int) time.Time { return crash.Midnight(today).AddDate(0, 0, n-9) }
	for i, r := range []struct {
		machine, release string
		day              int
	}{
		{"one", jammy, 2}, {"one", noble, 5}, {"one", resolute, 7}, {"two", noble, 3}, {"three", jammy, 6},
	} {
		save(t, s, record(t, day(r.day).Add(time.Hour), r.machine, crash.Fields{"DistroRelease": r.release,
			"ProcStatus": fmt.Sprint("Pid:\t", i)}))
	}
	since, until := day(1), day(8)
	all := problems.Days{Since: since, Until: until}
	for name, test := range map[string]struct {
		releases map[crash.Release]problems.Days
		want     []int64
	}{
		"all":  {map[crash.Release]problems.Days{jammy: all, noble: all, resolute: all}, []int64{0, 1, 2, 2, 2, 3, 3, 3}},
		"two":  {map[crash.Release]problems.Days{noble: all, resolute: all}, []int64{0, 0, 1, 1, 2, 2, 2, 2}},
		"one":  {map[crash.Release]problems.Days{jammy: all}, []int64{0, 1, 1, 1, 1, 2, 2, 2}},
		"none": {nil, make([]int64, 8)},
		"a part": {map[crash.Release]problems.Days{
			jammy: {Since: day(-9), Until: day(4)}, noble: {Since: day(5), Until: day(99)}},
			[]int64{0, 1, 1, 1, 2, 2, 2, 2}},
	} {
		got := dbtest.Must(problems.New(s).DistinctMachines(t.Context(), test.releases, since, until))(t)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestCachedCounts checks that an instance returns correct counts as soon as another one has
// counted more reports.
func TestCachedCounts(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s, other := dbtest.Open(t, url), dbtest.Open(t, url)
	count := func(s *db.Store, f problems.RateFilter) (reports, machines int64) {
		t.Helper()
		rates := dbtest.Must(problems.New(s).Rates(t.Context(), f))(t)
		for _, r := range rates {
			reports, machines = reports+r.Reports, max(machines, r.Machines)
		}
		return reports, machines
	}
	for i := 1; i <= 3; i++ {
		release := crash.Release("Ubuntu 24.04")
		if i == 3 {
			release = "Ubuntu 26.04"
		}
		crashed(t, s, i, "aa", "parse:load", crash.Fields{"DistroRelease": string(release)})
		for _, unit := range []*db.Store{s, other, s} {
			day := today.Add(time.Duration(i) * time.Hour) // on the same UTC day, so the arguments are equal
			if reports, machines := count(unit, problems.RateFilter{Since: day, Until: day}); reports != int64(i) ||
				machines != int64(min(i, 2)) {
				t.Errorf("round %d: got %d reports of %d machines, want %d of %d", i, reports, machines, i, min(i, 2))
			}
			if reports, _ := count(unit, problems.RateFilter{Since: day, Until: day, Release: "Ubuntu 26.04"}); reports != int64(
				max(0, i-2)) {
				t.Errorf("round %d: got %d reports of one release, want %d", i, reports, max(0, i-2))
			}
			if reports,
				_ := count(unit, problems.RateFilter{Since: day.AddDate(0, 0, -9), Until: day.AddDate(0, 0, -2)}); reports != 0 {
				t.Errorf("round %d: got %d reports of days before, want none", i, reports)
			}
			releases, err := problems.New(unit).Releases(t.Context(), crash.BuiltInReleases())
			if want, got := 1+i/3, len(releases.Ascending()); err != nil || got != want {
				t.Errorf("round %d: got %d releases, %v; want %d", i, got, err, want)
			}
		}
	}
}

// TestFirstSeenOfOneMoment counts reports of the same second in both orders, in two instances. The
// lowest version is the first one and the highest is the last one; versions that dpkg rejects come
// before both.
func TestFirstSeenOfOneMoment(t *testing.T) {
	t.Parallel()
	at := today.AddDate(0, 0, -3)
	for name, order := range map[string][]string{"up": {"1.9-1", "1.10-1"}, "down": {"1.10-1", "1.9-1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t)
			instances := [...]*db.Store{dbtest.Open(t, url), dbtest.Open(t, url)}
			var rec crash.Record
			for i, version := range order {
				rec = record(t, at, fmt.Sprint("machine", i), crash.Fields{"Package": "harbor " + version})
				store(t, instances[i], rec)
				checktest.NoError(t, instances[i].WaitCounted(t.Context()))
			}
			b := bucketOf(t, instances[0], rec)
			if b.FirstSeenVersion != "1.9-1" || b.LastSeenVersion != "1.10-1" || !b.FirstSeen.Equal(at.Truncate(time.Second)) ||
				!b.LastSeen.Equal(b.FirstSeen) {
				t.Errorf("got %+v – %+v, want 1.9-1 – 1.10-1", b.First(), b.Last())
			}
			checkCounts(t, url)
		})
	}
}

// TestFirstSeenOfOddDates checks that a report with an implausible date counts on its arrival, and
// that reports of test machines have no effect.
func TestFirstSeenOfOddDates(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	save(t, s, record(t, today.AddDate(0, 0, -2), "machine", crash.Fields{"Package": "harbor 1.4-1"}))
	odd := record(t, today, "machine", crash.Fields{"Package": "harbor 1.2-1", "Date": time.Date(1999, 1, 1, 0, 0, 0, 0,
		time.UTC).Format(time.ANSIC)})
	save(t, s, odd)
	save(t, s, record(t, today.AddDate(0, 0, -9), "deadbeef", crash.Fields{"Package": "harbor 9.9-1"}))
	b := bucketOf(t, s, odd)
	if b.FirstSeenVersion != "1.4-1" || b.LastSeenVersion != "1.2-1" || b.LastSeen.Before(today.AddDate(0, 0, -1)) ||
		b.Reports != 2 {
		t.Errorf("got %d reports, %+v – %+v; want 2, first in 1.4-1 and last, on arrival, in 1.2-1", b.Reports, b.First(),
			b.Last())
	}
	checkCounts(t, url)
}

// versionReads counts the statements that read the versions in use of all packages.
type versionReads struct{ n atomic.Int32 }

func (r *versionReads) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, "from package_versions order by") {
		r.n.Add(1)
	}
	return ctx
}

func (*versionReads) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestVersionsInUse counts reports and erases some. It checks that concurrent callers get the versions in
// use after each step, and that they are read only if they have changed, and only by one of the callers.
func TestVersionsInUse(t *testing.T) {
	t.Parallel()
	reads := &versionReads{}
	s := dbtest.Must(db.Open(t.Context(), db.Config{URL: dbtest.URL(t), Log: dbtest.Log(t), Statements: reads}))(t)
	t.Cleanup(s.Close)
	now := time.Now()
	add := func(machine string, at time.Time, version string) {
		t.Helper()
		save(t, s, record(t, at, machine, crash.Fields{"Package": "harbor " + version}))
	}
	want := func(step string, wantReads int32, versions ...string) {
		t.Helper()
		before := reads.n.Load()
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				known, err := s.VersionsInUse(t.Context(), "harbor")
				var got []string
				for _, k := range known {
					got = append(got, k.Version)
				}
				if err != nil || strings.Join(got, " ") != strings.Join(versions, " ") {
					t.Errorf("%s: got %q, %v, want %q", step, got, err, versions)
				}
			})
		}
		callers.Wait()
		if n := reads.n.Load() - before; n != wantReads {
			t.Errorf("%s: read %d times, want %d", step, n, wantReads)
		}
	}
	add("one", now.AddDate(0, 0, -2), "1.0-1")
	want("first use", 1, "1.0-1")
	add("two", now.AddDate(0, 0, -1), "1.0-1")
	want("a known version", 0, "1.0-1")
	add("two", now, "1.1-1")
	want("a new version", 1, "1.0-1", "1.1-1")
	add("three", now.AddDate(0, 0, -5), "1.1-1")
	want("an older report", 1, "1.0-1", "1.1-1")
	e := dbtest.Must(upkeep.NewErasing(s).Request(t.Context(), crash.NewSystemID("one"), false, "ada"))(t)
	if erased, _, err := db.NewDecisions(s).EraseReports(t.Context(), e, 10); err != nil || erased != 1 {
		t.Fatalf("erased %d reports, %v, want 1", erased, err)
	}
	want("erased", 1, "1.0-1", "1.1-1")
	if known, err := s.VersionsInUse(t.Context(), "harbor"); err != nil || len(known) == 0 ||
		known[0].Since.Before(now.AddDate(0, 0, -2)) {
		t.Errorf("erased: got %+v, %v, want that 1.0-1 is in use for a day less", known, err)
	}
}

// TestNewBucketsOfMerged checks that a machine counts once if it reported several merged buckets,
// or from several releases. It also checks this after reports have moved.
func TestNewBucketsOfMerged(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	const pkg = "harbor"
	ids := map[string]crash.BucketID{}
	report := func(signature, release, version string, machine int) {
		t.Helper()
		rec := record(t, today, fmt.Sprint("machine ", machine), crash.Fields{
			"DuplicateSignature": signature, "Package": pkg + " " + version, "SourcePackage": pkg, "DistroRelease": release,
			"ProcStatus": fmt.Sprint(signature, release, version, machine),
		})
		save(t, s, rec)
		ids[signature] = crash.BucketIDOf(rec.Grouping.Signature)
	}
	for _, machine := range []int{1, 2} {
		report("one", "Ubuntu 24.04", "2-1", machine)
		report("one", "Ubuntu 26.04", "2-1", machine)
		report("one", "Ubuntu 26.04", "2-2", machine)
		report("two", "Ubuntu 24.04", "2-1", machine+1)
	}
	report("old", "Debian 13", "2-1", 1)
	report("old", "Debian 13", "1-1", 9)
	list := func(previous, newer string, few int) map[string][2]int64 {
		t.Helper()
		found, err := problems.New(s).NewBuckets(t.Context(), pkg, previous, newer, few)
		if err != nil {
			t.Fatalf("new buckets: %v", err)
		}
		got := map[string][2]int64{}
		for _, b := range found {
			got[b.Signature] = [2]int64{b.Reports, b.Systems}
		}
		return got
	}
	expect := func(when string, got, want map[string][2]int64) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	expect("apart", list("1-1", "2-1", 1), map[string][2]int64{"one": {4, 2}, "two": {2, 2}})
	expect("on more than two", list("1-1", "2-1", 2), map[string][2]int64{})
	expect("against itself", list("2-1", "2-1", 0), map[string][2]int64{})
	checkCounts(t, url)

	merge(t, s, ids["one"], ids["two"])
	expect("merged", list("1-1", "2-1", 2), map[string][2]int64{"one": {6, 3}})
	merge(t, s, ids["one"], ids["old"])
	expect("merged with an old one", list("1-1", "2-1", 0), map[string][2]int64{})
	undo(t, s, decisions(t, s, ids["one"])[0])
	expect("undone", list("1-1", "2-1", 2), map[string][2]int64{"one": {6, 3}})

	// When the reports of one release have moved away, no machine of the rest has changed its release.
	split(t, s, ids["one"], crash.Condition{Terms: []crash.Term{{Field: crash.TermRelease, Value: "Ubuntu 26.04"}}})
	expect("split", list("1-1", "2-1", 2), map[string][2]int64{"one": {4, 3}})
	checkCounts(t, url)
}
