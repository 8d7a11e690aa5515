package layout_test

import (
	"slices"
	"testing"
	"time"

	"mishap/crash"
	"mishap/views/layout"
)

// TestReleaseClass checks the classes of releases that charts show together. All releases that are
// supported on one day have different ones.
func TestReleaseClass(t *testing.T) {
	t.Parallel()
	for release, want := range map[crash.Release]string{
		"Ubuntu 24.04": "release-0", "Ubuntu 24.04 LTS": "release-0", "Ubuntu 26.04": "release-1",
		"Ubuntu 22.04": "release-3", "Ubuntu 24.10": "release-4", "Ubuntu 25.04": "release-5", "Ubuntu 25.10": "release-6",
		"Ubuntu 26.10": "release-4", "Debian 12": "release-7", "Debian GNU/Linux 13": "release-8", "Debian sid": "release-10",
		"": "release-14", crash.OtherReleases: "release-14",
	} {
		if got := layout.ReleaseClass(release); got != want {
			t.Errorf("%q: got %s, want %s", release, got, want)
		}
	}
	derivatives := []string{"release-11", "release-12", "release-13"}
	for _, release := range []crash.Release{"Linux Mint 22", "Debian testing 3", "Ubuntu Kylin 24.04", "Ubuntu next", "x",
		"Ubuntu 24.07", "Ubuntu -2.04"} {
		if got := layout.ReleaseClass(release); !slices.Contains(derivatives, got) {
			t.Errorf("%q: got %s, want one of %v", release, got, derivatives)
		}
	}
	for day := time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2031; day = day.AddDate(0, 1, 0) {
		by := map[string]crash.Release{}
		for _, release := range crash.BuiltInReleases().Supported(day) {
			class := layout.ReleaseClass(release)
			if other := by[class]; other != "" {
				t.Errorf("%s: %s and %s share %s", day.Format(time.DateOnly), other, release, class)
			}
			by[class] = release
		}
	}
}
