package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

// TestUpdateGate checks the counts that the gate compares: with merged problems, other releases,
// packages and types of problems, and machines that report several times.
func TestUpdateGate(t *testing.T) {
	t.Parallel()
	s := dbtest.Open(t, dbtest.URL(t))
	reports := 0
	report := func(daysAgo, machine int, version, signature string, changes crash.Fields) crash.BucketID {
		t.Helper()
		reports++
		fields := crash.Fields{"Package": "harbor " + version, "DuplicateSignature": signature,
			"ProcStatus": fmt.Sprint("Pid:\t", reports)}
		for name, value := range changes {
			fields[name] = value
		}
		rec := record(t, today.AddDate(0, 0, -daysAgo), fmt.Sprint("machine ", machine), fields)
		store(t, s, rec)
		return crash.BucketIDOf(rec.Grouping.Signature)
	}
	elsewhere := crash.Fields{"DistroRelease": "Ubuntu 26.04"}
	old := report(20, 1, "1.0-1", "old", nil)
	report(15, 1, "1.0-1", "old", nil)
	report(15, 2, "1.0-1", "old", nil)
	report(12, 3, "0.9-1", "old", nil) // a machine with an even older version
	first, second := report(5, 1, "1.0-2", "one of two", nil), report(5, 1, "1.0-2", "two of two", nil)
	report(4, 2, "1.0-2", "two of two", nil)
	report(3, 4, "1.0-2", "one of two", nil)
	report(3, 4, "1.0-2", "old", nil)
	report(2, 5, "1.0-1", "old", nil)                                                   // a machine without the update
	report(2, 5, "1.0-2", "elsewhere", elsewhere)                                       // in another release
	report(9, 5, "1.0-1", "one of two", elsewhere)                                      // older there, but new here
	report(2, 5, "1.0-2", "of another package", crash.Fields{"Package": "other 1.0-2"}) //
	report(2, 5, "1.0-2", "failed to install", crash.Fields{"ProblemType": "Package"})
	dbtest.Counted(t, s)
	merge(t, s, first, second)
	answer := dbtest.Must(problems.New(s).UpdateGate(t.Context(), crash.BuiltInReleases(),
		stats.GateQuestion{Package: "harbor", Version: "1.0-2", Release: "Ubuntu 24.04"}, today))(t)
	if len(answer.Results) != 1 {
		t.Fatalf("got %d releases, want one", len(answer.Results))
	}
	r := answer.Results[0]
	day := func(ago int) time.Time { return crash.Midnight(today).AddDate(0, 0, -ago) }
	wantPlan := stats.GatePlan{Release: "Ubuntu 24.04", Version: "1.0-2", Against: "1.0-1", Choice: stats.ChoiceThin,
		Before: stats.Window{Since: day(20), Until: day(6)}, After: stats.Window{Since: day(5), Until: day(0)},
		History: stats.Window{Since: day(20), Until: day(6)}, BeforeIn: 21, AfterIn: 6}
	if r.GatePlan != wantPlan {
		t.Errorf("plan: got %+v, want %+v", r.GatePlan, wantPlan)
	}
	// One machine is active from the 20th day on, two from the 15th, three from the 12th, four from the
	// third, and five from the second.
	want := stats.Compared{Sample: stats.Sample{Reports: 4, MachineDays: 5 + 3*2 + 7*3}, Own: 3, Machines: 2}
	if diff := cmp.Diff(want, r.Before); diff != "" {
		t.Errorf("before (-want +got):\n%s", diff)
	}
	want = stats.Compared{Sample: stats.Sample{Reports: 6, MachineDays: 2*3 + 4 + 3*5}, Own: 5, Machines: 3}
	if diff := cmp.Diff(want, r.After); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
	if want := (stats.Clusters{Machines: 3, Reports: 5, Squares: 4 + 1 + 4}); r.New != want {
		t.Errorf("machines with the update: got %+v, want %+v", r.New, want)
	}
	if want := (stats.Clusters{Machines: 3, Reports: 4, Squares: 4 + 1 + 1}); r.Old != want {
		t.Errorf("machines before: got %+v, want %+v", r.Old, want)
	}
	if len(r.Appeared) != 1 || answer.Buckets[first].ID != first {
		t.Fatalf("got new problems %+v, want the merged one", r.Appeared)
	}
	wantNew := stats.GateProblem{ID: first, After: 4, Machines: 3,
		Clusters: stats.Clusters{Machines: 3, Reports: 4, Squares: 6}}
	if got := r.Appeared[0].GateProblem; got != wantNew {
		t.Errorf("got new problem %+v, want %+v, not %s", got, wantNew, old)
	}
}

// TestUpdateGateReleases checks which releases an answer covers.
func TestUpdateGateReleases(t *testing.T) {
	t.Parallel()
	s := dbtest.Open(t, dbtest.URL(t))
	for i, release := range []string{"Ubuntu 22.04", "Ubuntu 24.04", "Ubuntu 26.04"} {
		for j, version := range []string{"1.0-1", "1.0-2", "1.0-3"}[:i+1] {
			save(t, s, record(t, today.AddDate(0, 0, j-9), "machine", crash.Fields{"DistroRelease": release,
				"Package": "harbor " + version, "ProcStatus": "Pid:\t" + release}))
		}
	}
	for _, tt := range []struct {
		q    stats.GateQuestion
		want string
	}{
		{stats.GateQuestion{Package: "harbor", Version: "1.0-2"}, "[Ubuntu 26.04 Ubuntu 24.04] []"},
		{stats.GateQuestion{Package: "harbor", Version: "1.0-3", Against: "1.0-1"}, "[Ubuntu 26.04] []"},
		{stats.GateQuestion{Package: "harbor", Version: "1.0-2", Release: "Ubuntu 24.04"}, "[Ubuntu 24.04] []"},
		{stats.GateQuestion{Package: "harbor", Version: "1.0-2", Release: "Ubuntu 22.04"}, "[] [1.0-1]"},
		{stats.GateQuestion{Package: "harbor", Version: "2"}, "[] [1.0-3 1.0-2 1.0-1]"},
	} {
		answer := dbtest.Must(problems.New(s).UpdateGate(t.Context(), crash.BuiltInReleases(), tt.q, today))(t)
		var releases []crash.Release
		for _, r := range answer.Results {
			releases = append(releases, r.Release)
		}
		if got := fmt.Sprint(releases, " ", answer.Known); got != tt.want || answer.Verdict != stats.GateNotEnough {
			t.Errorf("%+v: got %s, %s, want %s", tt.q, got, answer.Verdict, tt.want)
		}
	}
	_, err := problems.New(s).UpdateGate(t.Context(), crash.BuiltInReleases(),
		stats.GateQuestion{Package: "x", Version: "1"}, today)
	if crash.KindOf(err) != crash.NotFound {
		t.Errorf("unknown package: got %v, want NotFound", err)
	}
}
