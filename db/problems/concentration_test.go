package problems_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/crash/stats"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/problems"
)

// factColumns are the columns of the table facts in which a generated fleet is written down.
var factColumns = map[stats.FacetField]string{
	stats.FacetRelease: "release", stats.FacetVersion: "version", stats.FacetGraphics: "driver",
	stats.FacetOrigin: "origin", stats.FacetThirdParty: "library", stats.FacetModel: "model",
	stats.FacetLocale: "locale", stats.FacetKernel: "kernel",
}

// concentratedFleet stores reports of a fleet, and writes the facts into a table of their own. The problem is
// concentrated on the driver nvidia-550 and on one release.
func concentratedFleet(t *testing.T, url string, s *db.Store) crash.BucketID {
	t.Helper()
	dbtest.Exec(t, url, `create table facts (system text, problem integer, release text, version text, driver text,
		origin text, library text, model text, locale text, kernel text)`)
	in := intake.New(intake.Config{MaxAgeDays: 366}, s)
	r := rand.New(rand.NewPCG(1, 2))
	var id crash.BucketID
	for machine := range 170 {
		system := fmt.Sprint("machine ", machine)
		release, version := crash.Release("Ubuntu 24.04"), "1.4.2-1"
		if machine%3 == 0 {
			release, version = "Ubuntu 22.04", "1.2.0-1"
		}
		driver := []string{"nvidia-550", "", ""}[r.IntN(3)]
		problem := 1 + machine%10
		switch { // the problem, on 30 machines
		case machine < 26:
			problem, driver, release, version = 0, "nvidia-550", "Ubuntu 24.04", "1.4.2-1"
		case machine < 30:
			problem, driver = 0, ""
		}
		origin, library := "", ""
		if machine%10 == 4 {
			origin, library = "LP-PPA-tide", "libtide1"
		}
		model, locale := fmt.Sprint("Marlin ", r.IntN(6)), []string{"de_DE.UTF-8", "en_GB.UTF-8"}[r.IntN(2)]
		kernel := map[crash.Release]string{"Ubuntu 22.04": "5.15.0-122-generic", "Ubuntu 24.04": "6.8.0-85-generic"}[release]
		if machine == 169 {
			system = "deadbeef" + system // a test machine
		}
		for pid := range 1 + machine%3 { // some crash often
			problems := []int{problem}
			if machine < 5 || machine >= 160 {
				problems = append(problems, 10) // machines with two problems
			}
			for _, problem := range problems {
				o := []crashtest.Option{crashtest.On(release), crashtest.Version(version), crashtest.Process(1000*pid + machine),
					crashtest.Set("DuplicateSignature", fmt.Sprint("problem ", problem)), crashtest.Set("MachineType", model),
					crashtest.Set("ProcEnviron", "LANG="+locale), crashtest.Set("Dependencies", "libc6 2.39 "+string(release[7:]))}
				if origin != "" {
					o = append(o, crashtest.Set("Dependencies", "libc6 2.39\n"+library+" 1.2-1 [origin: "+origin+"]"))
				}
				if driver != "" {
					o = append(o, crashtest.Set("NonfreeKernelModules", "nvidia_drm nvidia"),
						crashtest.Set(".proc.driver.nvidia.version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.120"))
				}
				receipt, err := in.Accept(t.Context(), crash.Report{System: crash.SystemID(system),
					Fields: crashtest.Native(o...).Fields()})
				checktest.NoError(t, err)
				dbtest.Exec(t, url, "insert into facts values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", system, problem,
					string(release), version, driver, origin, library, model, locale, kernel)
				if problem == 0 {
					report, err := s.Report(t.Context(), receipt.ID)
					checktest.NoError(t, err)
					id = *report.Bucket
				}
			}
		}
	}
	// Another package, with the same driver.
	_, err := in.Accept(t.Context(), crash.Report{System: "other", Fields: crashtest.Python(
		crashtest.Set("NonfreeKernelModules", "nvidia")).Fields()})
	checktest.NoError(t, err)
	dbtest.Counted(t, s)
	return id
}

// TestConcentrations checks each sentence about a generated fleet against SQL.
func TestConcentrations(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	s := problems.New(dbtest.Open(t, url))
	id := concentratedFleet(t, url, s.Store)
	b := dbtest.Must(s.Bucket(t.Context(), id))(t)
	c := dbtest.Must(s.Concentrations(t.Context(), b, problems.ConcentrationScope{}))(t)
	count := func(sql string, args ...any) (n int) {
		t.Helper()
		checktest.NoError(t, s.Pool.QueryRow(t.Context(), "select count(distinct system) from facts where "+sql,
			args...).Scan(&n))
		return n
	}
	const here = "system in (select system from facts where problem = 0)"
	const there = "system not in (select system from facts where problem = 0) and not starts_with(system, 'deadbeef')"
	checktest.Equal(t, "machines here", c.Here, count(here))
	checktest.Equal(t, "machines elsewhere", c.There, count(there))
	var fields []stats.FacetField
	for _, f := range c.Found {
		fields = append(fields, f.Field)
		column, releases := factColumns[f.Field], " and release in (select release from facts where problem = 0)"
		if f.Field == stats.FacetRelease {
			releases = ""
		}
		for name, n := range map[string][2]int{
			"here": {f.Here, count(here+" and "+column+" = $1", f.Value)}, "of": {f.HereOf, count(here)},
			"elsewhere":    {f.There, count(there+releases+" and "+column+" = $1", f.Value)},
			"of elsewhere": {f.ThereOf, count(there + releases)},
		} {
			checktest.Equal(t, f.Sentence()+": "+name, n[0], n[1])
		}
	}
	checktest.Diff(t, "fields", fields, []stats.FacetField{stats.FacetRelease, stats.FacetGraphics})
	checktest.Equal(t, "reports without a machine", c.Unknown, 0)
	checktest.Equal(t, "basis", c.Basis(b.SourcePackage),
		"30 machines with this problem and 139 with 10 other problems of tidewatch")

	only := dbtest.Must(s.Concentrations(t.Context(), b, problems.ConcentrationScope{Release: "Ubuntu 24.04",
		Version: "1.4.2-1"}))(t)
	checktest.Equal(t, "of one version", only.Here, count(here+" and release = 'Ubuntu 24.04'"))
	checktest.Equal(t, "others of one version", only.There, count(there+" and release = 'Ubuntu 24.04'"))
	if len(only.Found) != 1 || only.Found[0].Field != stats.FacetGraphics {
		t.Errorf("of one version: got %+v, want the driver", only.Found)
	}
	later := dbtest.Must(s.Concentrations(t.Context(), b, problems.ConcentrationScope{Since: s.Now().Add(time.Hour)}))(t)
	checktest.Equal(t, "of reports to come", later.TooFew, true)
}
