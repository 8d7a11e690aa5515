package api_test

import (
	"fmt"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
	"mishap/handlers/handlertest"
)

// TestPackageArchitecture checks that pkg_arch selects the package's architecture, not the
// machine's (§2.6, §9.1).
func TestPackageArchitecture(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	n := 0
	save := func(days int, machine, of string) {
		n++
		report := crashtest.Native(crashtest.Set("Architecture", machine), crashtest.Set("PackageArchitecture", of))
		if of == "" {
			delete(report, "PackageArchitecture")
		}
		h.save(n, now.AddDate(0, 0, -days), report)
	}
	for _, days := range []int{0, 500} {
		for reports, of := range map[int][2]string{1: {"amd64", "amd64"}, 2: {"amd64", "i386"}, 3: {"amd64", "all"},
			5: {"arm64", "all"}, 7: {"amd64", "unknown"}, 9: {"amd64", ""}} {
			for range reports {
				save(days, of[0], of[1])
			}
		}
	}
	c := h.Visitor(t)
	// The second period is older than the days in memory.
	for _, period := range []string{"period=day", "from=20250103&to=20250103"} {
		for arch, want := range map[string]float64{"": 27, "amd64": 4, "i386": 2, "arm64": 5, "all": 0, "unknown": 0,
			"AMD64": 0, "riscv64": 0} {
			got := 0.0
			for _, o := range get(t, c, "most-common-problems/?"+period+"&pkg_arch="+arch).Objects {
				got += o["count"].(float64) //nolint:forcetypeassert // a panic fails the test
			}
			checktest.Equal(t, fmt.Sprintf("%s, pkg_arch=%s: reports", period, arch), got, want)
		}
	}
	page := c.Get("/?period=day&pkg_arch=i386", handlertest.Header{Name: "Accept", Value: "application/json"})
	var file struct {
		Objects []struct{ Count int }
	}
	page.JSON(&file)
	if len(file.Objects) != 1 || file.Objects[0].Count != 2 {
		t.Errorf("the front page's list: got %+v, want 2 reports", file.Objects)
	}
	if got := get(t, c, "most-common-problems/?period=day&q=arch:amd64").Objects; len(got) != 1 ||
		fmt.Sprint(got[0]["count"]) != "22" {
		t.Errorf("arch: of searches: got %v, want the 22 reports of amd64 machines", got)
	}
	if got := get(t, c, "retracers-results/?limit=1").Objects[0]["value"]; fmt.Sprint(
		got) != "map[Ubuntu 24.04:map[failed:0 success:27] Ubuntu 24.04:amd64:map[failed:0 success:22] Ubuntu "+
		"24.04:arm64:map[failed:0 success:5]]" {
		t.Errorf("retracers-results: got %v, want the machines' architectures", got)
	}
	checktest.Equal(t, "check of all counts: differences", differences(t, h), 0)
}

func differences(t *testing.T, h *fixture) int64 {
	t.Helper()
	result := dbtest.Must(upkeep.Check(t.Context(), h.Store, crash.CheckScope{Most: 5}, func() {}))(t)
	return result.Found
}
