package db_test

import (
	"fmt"
	"slices"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/index"
	"mishap/crash/stats"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

// TestVersionOrders checks a problem of distributions whose package managers order the same versions
// differently: the counts, the versions in lists and searches, the marks of fixes, the status and the gate.
func TestVersionOrders(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := dbtest.Open(t, url)
	rising := map[crash.Release][]string{ // from the lowest to the highest
		"Ubuntu 24.04": {"1.0-1", "1.0rc1-1", "1.0.a-1"},
		"Fedora 43":    {"1.0~rc1-1.fc43", "1.0-1.fc43", "1.0^git1-1.fc43", "1.0rc1-1"},
		"Arch":         {"1.0rc1-1", "1.0-1", "1.0.a-1"},
	}
	at := today.AddDate(0, 0, -20)
	var rec crash.Record
	machine := 0
	report := func(daysAgo int, release crash.Release, text string) {
		machine++
		rec = record(t, today.AddDate(0, 0, -daysAgo), fmt.Sprint("machine ", machine),
			crash.Fields{"Package": "harbor " + text, "DistroRelease": string(release)})
		store(t, s, rec)
	}
	for release, versions := range rising {
		for _, text := range versions[1:] { // in the same second
			report(20, release, text)
		}
	}
	dbtest.Counted(t, s)
	for release, versions := range rising {
		report(20, release, versions[0]) // the same second again, after the others
	}
	checkCounts(t, url)

	b := bucketOf(t, s, rec)
	ix := dbtest.Must(s.Index(t.Context()))(t)
	p, _ := ix.Problem(b.ID)
	counts := dbtest.Must(s.BucketVersions(t.Context(), b.ID))(t)
	for release, versions := range rising {
		var got []string
		for _, c := range counts {
			if c.Release == release {
				got = append(got, c.Version)
			}
		}
		slices.Reverse(got)
		checktest.Equal(t, "versions of "+string(release), fmt.Sprint(got), fmt.Sprint(versions))
		f, highest := p.In(release), versions[len(versions)-1]
		if f.First().Version != versions[0] || f.Last().Version != highest || f.LowestVersion() != versions[0] ||
			f.HighestVersion() != highest || !f.First().At.Equal(at.UTC()) {
			t.Errorf("%s: got first %+v, last %+v, lowest %s, highest %s, want %v", release, f.First(), f.Last(),
				f.LowestVersion(), f.HighestVersion(), versions)
		}
		fix := crash.FixedIn{Release: release, Version: highest}
		if !fix.Has(release, highest) || fix.Has(release, versions[0]) {
			t.Errorf("%s: a fix in %s: got it in %s, or not in itself", release, highest, versions[0])
		}
		answer := dbtest.Must(problems.New(s).UpdateGate(t.Context(), crash.BuiltInReleases(),
			stats.GateQuestion{Package: "harbor", Version: highest, Against: versions[0], Release: release}, today))(t)
		if len(answer.Results) != 1 || answer.Results[0].Against != versions[0] {
			t.Errorf("%s: gate of %s against %s: got %+v", release, highest, versions[0], answer.Results)
		}
		wrong := stats.GateQuestion{Package: "harbor", Version: versions[0], Against: highest, Release: release}
		_, err := problems.New(s).UpdateGate(t.Context(), crash.BuiltInReleases(), wrong, today)
		if crash.KindOf(err) != crash.Invalid {
			t.Errorf("%s: gate of %s against the higher %s: got %v, want Invalid", release, versions[0], highest, err)
		}
	}
	days := index.Filter{Since: index.DayOf(at), Until: index.DayOf(today)}
	for text, want := range map[string]bool{
		"release:Arch highest:>=1.0.a-1": true, "release:Arch lowest:<1.0rc1-1": false, "release:Arch seen:1.0": true,
		"release:Arch highest:>1.0.a": false, `release:"Ubuntu 24.04" highest:1.0.a-1`: true,
		`release:"Ubuntu 24.04" lowest:<=1.0`: false, `release:"Fedora 43" lowest:<1.0`: true,
		`release:"Fedora 43" lowest:<1.0~rc1`: false, `release:"Fedora 43" highest:>1.0^git1`: true,
		"seen:>=1.0^git1": true, "seen:>2": false, "seen:<1.0~rc1": true, // of Arch
	} {
		q := dbtest.Must(index.ParseQuery(text))(t)
		rows, _ := ix.All(q.Narrow(days), q.Match)
		checktest.Equal(t, "found by "+text, len(rows) == 1, want)
	}

	dbtest.Counted(t, s)
	for release, versions := range rising { // the second one is in use without the problem
		rec := record(t, today.AddDate(0, 0, -10), "machine of "+string(release), crash.Fields{
			"Package": "harbor 2" + versions[1], "DistroRelease": string(release),
			"DuplicateSignature": "another problem"})
		store(t, s, rec)
	}
	dbtest.Counted(t, s)
	checktest.NoError(t, s.Judge(t.Context(), &b))
	for _, r := range b.Status.Releases {
		versions := rising[r.Release]
		if r.Highest != versions[len(versions)-1] || r.Newer != "2"+versions[1] {
			t.Errorf("%s: got highest %s, newer %s, want %s, 2%s", r.Release, r.Highest, r.Newer,
				versions[len(versions)-1], versions[1])
		}
	}
	checktest.Equal(t, "releases with a status", len(b.Status.Releases), len(rising))
}
