package problems_test

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/crash/stats"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/doors"
	"mishap/db/problems"
	"mishap/db/upkeep"
)

const noble = crash.Release("Ubuntu 24.04")

// hourlyFleet is a database with two reports of each hour of the last seven weeks, from four machines, and 30 of one
// hour: 14:00 to 15:00 of the day before yesterday, of a problem of their own. The version is 1.4-3 since six days ago.
type hourlyFleet struct {
	*problems.Store
	url        string
	now, spike time.Time
	special    crash.BucketID // the problem of the 30
	update     time.Time      // day of version 1.4-3
}

func newHourlyFleet(t *testing.T) hourlyFleet {
	t.Helper()
	now := crash.Midnight(time.Now()).Add(18*time.Hour + 30*time.Minute)
	f := hourlyFleet{url: dbtest.URL(t), now: now, spike: crash.Midnight(now).AddDate(0, 0, -2).Add(14 * time.Hour),
		update: crash.Midnight(now).AddDate(0, 0, -6)}
	store := dbtest.OpenConfig(t, db.Config{URL: f.url, Now: func() time.Time { return now }})
	f.Store = problems.New(store)
	records := map[string]crash.Record{}
	for _, name := range []string{"usual 1.4-2", "usual 1.4-3", "special 1.4-3"} {
		problem, version, _ := strings.Cut(name, " ")
		rec, err := intake.New(intake.Config{MaxAgeDays: 366}, nil).Examine(crash.Report{ID: crash.NewOopsID(now),
			System: "machine", Fields: crashtest.Native(crashtest.On(noble), crashtest.Version(version), crashtest.At(now),
				crashtest.Set("DuplicateSignature", problem)).Fields()})
		checktest.NoError(t, err)
		records[name] = rec
	}
	f.special = crash.BucketIDOf(records["special 1.4-3"].Grouping.Signature)
	var saving sync.WaitGroup
	limit := make(chan struct{}, 64)
	save := func(name string, at time.Time, machine int) {
		rec := records[name]
		rec.ID = crash.NewOopsID(at.Add(20 * time.Minute)) // sent later
		rec.System, rec.DuplicateKey = crash.NewSystemID(fmt.Sprint("machine ", machine)), crash.ReportKey{}
		rec.Occurred, rec.Day = at, crash.Midnight(at)
		limit <- struct{}{}
		saving.Go(func() {
			defer func() { <-limit }()
			if _, _, err := store.SaveReport(t.Context(), rec); err != nil {
				t.Error(err)
			}
		})
	}
	for at := crash.Midnight(now).AddDate(0, 0, -48); at.Before(now.Truncate(time.Hour)); at = at.Add(time.Hour) {
		name := "usual 1.4-2"
		if !at.Before(f.update) {
			name = "usual 1.4-3"
		}
		for i := range 2 {
			save(name, at.Add(time.Duration(15+45*i/2)*time.Minute), (at.Hour()+i)%4)
		}
	}
	for i := range 30 {
		save("special 1.4-3", f.spike.Add(time.Duration(i)*time.Minute), 100+i)
	}
	saving.Wait()
	dbtest.Counted(t, store)
	return f
}

// sqlHours counts reports by hour in plain SQL.
const sqlHours = `
	select to_char(case when (occurred at time zone 'UTC')::date = day then occurred else received end at time zone 'UTC',
		'YYYY-MM-DD HH24'), count(*)::text from reports where counted and release = 'Ubuntu 24.04' and `

func (f hourlyFleet) compare(t *testing.T, what string, h stats.Health, numbers []int64, where string) {
	t.Helper()
	want := dbtest.Lines(t, f.url, sqlHours+where+fmt.Sprintf(" and day between '%s' and '%s' group by 1",
		h.Since.Format(time.DateOnly), h.Until.Format(time.DateOnly)))
	got := map[string]string{}
	for i, n := range numbers {
		if n > 0 {
			got[h.Since.Add(time.Duration(i)*time.Hour).Format("2006-01-02 15")] = fmt.Sprint(n)
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-SQL +got):\n%s", what, diff)
	}
	if len(want) < 100 {
		t.Errorf("%s: only %d hours were compared", what, len(want))
	}
}

// TestHealth compares the hours of a release and of an update with plain SQL, and finds the spike. Somebody who must
// not see its problem sees neither.
func TestHealth(t *testing.T) {
	t.Parallel()
	f := newHourlyFleet(t)
	read := func(pkg, version string, first time.Time) stats.Health {
		t.Helper()
		return dbtest.Must(f.Health(t.Context(), crash.Releases(), noble, pkg, version, first, f.now))(t)
	}
	release := read("", "", time.Time{})
	reports, _ := release.Shown()
	f.compare(t, "hours of the release", release, reports, "true")
	update := read("tidewatch", "1.4-3", f.update)
	reports, own := update.Shown()
	f.compare(t, "hours of all versions", update, reports, "package = 'tidewatch'")
	f.compare(t, "hours of the update", update, own, "version = '1.4-3'")
	if !update.First || !update.Since.Equal(f.update) || !update.Until.Equal(crash.Midnight(f.now)) || release.First {
		t.Errorf("got %v from %v to %v, want the first days of the update, from %v", update.First, update.Since,
			update.Until, f.update)
	}
	days := dbtest.Lines(t, f.url, `select day::text, sum(reports)::text from release_days group by day`)
	for day := release.Since; !day.After(release.Until); day = day.AddDate(0, 0, 1) {
		if got, want := fmt.Sprint(release.Hours.Of(day)), days[day.Format(time.DateOnly)]; got != want {
			t.Errorf("%s: the hours add up to %s, the day has %s", day.Format(time.DateOnly), got, want)
		}
	}
	for name, h := range map[string]stats.Health{"release": release, "update": update} {
		s := h.Spikes
		if len(s.Found) != 1 || !s.Found[0].Hour.Equal(f.spike) || s.Judged != s.Hours {
			t.Fatalf("%s: got %+v, want one spike at %v", name, s, f.spike)
		}
		checktest.Equal(t, name+": reports", s.Found[0].Reports, 32)
		checktest.Equal(t, name+": earlier hours", fmt.Sprint(s.Found[0].Before), "[2 2 2 2]")
	}
	person := dbtest.Must(f.Set(t.Context(), crash.Mark{Kind: crash.MarkEmbargo, Bucket: f.special, Person: "anna"}))(t)
	visitor := db.AsVisitor(t.Context())
	for _, pkg := range []string{"", "tidewatch"} {
		hidden := dbtest.Must(f.Health(visitor, crash.Releases(), noble, pkg, "1.4-3", f.update, f.now))(t)
		numbers, own := hidden.Shown()
		public := fmt.Sprintf("bucket_id <> '\\x%x'", f.special[:])
		f.compare(t, "hours without the embargoed problem", hidden, numbers, public)
		if pkg != "" {
			f.compare(t, "hours of the version without it", hidden, own, public+" and version = '1.4-3'")
		}
		if len(hidden.Spikes.Found) > 0 || hidden.Spikes.Judged == 0 {
			t.Errorf("got %+v, want no spike for a visitor", hidden.Spikes)
		}
	}
	if seen := read("", "", time.Time{}); len(seen.Spikes.Found) != 1 || person.ID == 0 {
		t.Errorf("got %+v, want the spike for mishap itself", seen.Spikes)
	}
	// After a month was dropped, what hides embargoed reports is incomplete, so earlier hours are unknown to visitors.
	dbtest.Exec(t, f.url, `insert into dropped_months (month, reports, dropped) values ($1, 1, now())`,
		crash.Midnight(f.now).AddDate(0, -1, 0))
	dropped := dbtest.Must(f.Health(visitor, crash.Releases(), noble, "", "", time.Time{}, f.now))(t)
	if want := crash.Midnight(f.now).AddDate(0, 0, 1); !dropped.Known.Equal(want) || dropped.Unknown() == "" {
		t.Errorf("after a month was dropped: got %v, want that hours are known from %v", dropped.Known, want)
	}
}

// TestHoursAreRepaired loses and invents counts by hour, and erases a machine.
func TestHoursAreRepaired(t *testing.T) {
	t.Parallel()
	f := newHourlyFleet(t)
	check := func(want int64) {
		t.Helper()
		got := dbtest.Must(upkeep.Check(t.Context(), f.Store.Store, crash.CheckScope{Most: 5}, func() {}))(t)
		if got.Found != want {
			t.Errorf("got %+v, want %d differences", got, want)
		}
	}
	check(0)
	dbtest.Exec(t, f.url, `delete from report_hours where hour = $1`, f.spike)
	dbtest.Exec(t, f.url, `update report_hours set reports = reports + 1 where hour = $1`, f.spike.AddDate(0, 0, -7))
	dbtest.Exec(t, f.url, `update release_hours set reports = 1 where hour = $1`, f.spike.AddDate(0, 0, -14))
	check(4)
	checktest.Equal(t, "days with a wrong count", dbtest.Must(f.RepairHours(t.Context()))(t), 2)
	check(0)
	checktest.Equal(t, "again", dbtest.Must(f.RepairHours(t.Context()))(t), 0)
	old := crash.Midnight(f.now).AddDate(0, 0, -75)
	dbtest.Exec(t, f.url, `insert into release_hours values ('Ubuntu 24.04', $1, 5)`, old)
	checktest.NoError(t, f.DropOldHours(t.Context()))
	left := dbtest.Lines(t, f.url, `select min(hour)::date::text, '' from release_hours`)
	if _, ok := left[old.Format(time.DateOnly)]; ok || len(left) != 1 {
		t.Errorf("got %v, want that old hours are gone", left)
	}
}

// TestMachines compares the machines that sent reports with plain SQL.
func TestMachines(t *testing.T) {
	t.Parallel()
	f := newHourlyFleet(t)
	read := func(pkg, version string) []stats.CrashFree {
		t.Helper()
		return dbtest.Must(f.MachineNumbers(t.Context(), []crash.Release{noble}, pkg, f.now))(t).CrashFree(noble, version)
	}
	if got := read("", ""); len(got) > 0 {
		t.Errorf("got %+v without a number of machines, want none", got)
	}
	yesterday := crash.Midnight(f.now).AddDate(0, 0, -1)
	dbtest.Exec(t, f.url, `insert into ping_days select day::date, 'Ubuntu 24.04', a, 200 from
		generate_series($1::date, $1::date + 6, '1 day') as day, unnest(array['amd64', 'arm64']) as a`,
		yesterday.AddDate(0, 0, -6))
	d := doors.New(f.Store.Store)
	all := []stats.Install{
		{Day: yesterday.AddDate(0, 0, -9), Release: noble, Architecture: "amd64", Machines: 900},
		{Day: yesterday.AddDate(0, 0, -9), Release: noble, Architecture: "arm64", Machines: 100},
		{Day: yesterday.AddDate(0, 0, -9), Release: noble, Package: "tidewatch", Version: "1.4-3", Machines: 500},
	}
	wrong := []stats.Install{{Day: all[0].Day, Release: noble, Machines: 7}}
	dbtest.Must(d.ImportInstalls(t.Context(), wrong, "replaced below"))(t)
	dbtest.Must(d.ImportInstalls(t.Context(), all, "a test"))(t)
	for _, test := range []struct {
		pkg, version, where string
		bases               []stats.CrashFreeBasis
		machines            []int64
	}{
		{"", "", "true", []stats.CrashFreeBasis{stats.BasisPings, stats.BasisInstalls}, []int64{400, 1000}},
		{"tidewatch", "1.4-3", "version = '1.4-3'", []stats.CrashFreeBasis{stats.BasisPings, stats.BasisVersion},
			[]int64{400, 500}},
		{"tidewatch", "1.4-2", "version = '1.4-2'", []stats.CrashFreeBasis{stats.BasisPings, stats.BasisInstalls},
			[]int64{400, 1000}},
		{"tidewatch", "9", "version = '9'", []stats.CrashFreeBasis{stats.BasisPings, stats.BasisInstalls},
			[]int64{400, 1000}},
	} {
		want := dbtest.Lines(t, f.url, `select day::text, count(distinct system)::text from reports
			where counted and `+test.where+` group by day`)
		got := read(test.pkg, test.version)
		if len(got) != 2 {
			t.Fatalf("%+v: got %+v, want two", test, got)
		}
		for i, c := range got {
			checktest.Equal(t, "basis", c.Basis, test.bases[i])
			checktest.Equal(t, "days", len(c.Days), stats.CrashFreeDays)
			for _, day := range c.Days {
				text := day.Day.Format(time.DateOnly)
				crashed, machines := cmp.Or(want[text], "0"), test.machines[i]
				if fmt.Sprint(day.Crashed) != crashed || day.Machines != machines {
					t.Errorf("%s %s: got %+v, want %q of %d", test.version, text, day, want[text], test.machines[i])
				}
			}
		}
	}
}
