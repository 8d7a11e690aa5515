package crash_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
)

func TestReleaseKind(t *testing.T) {
	t.Parallel()
	table := crash.BuiltInReleases()
	for kind, names := range map[crash.ReleaseKind][]crash.Release{
		crash.OfficialRelease: {"", "Ubuntu 24.04", "Ubuntu 24.04 LTS", "Ubuntu 27.04", "Debian 13", "Debian GNU/Linux 13",
			"Debian sid", "Ubuntu RTM 14.09"},
		crash.DerivativeRelease: {"Ubuntu Kylin 24.04", "Ubuntu Core 24", "Linux Mint 22.1", "Linuxmint 22",
			"elementary OS 8", "Pop!_OS 24.04", "Kali 2026.3", "Debian testing", "LMDE 6"},
		crash.UnknownRelease: {
			"Ubuntu 98.04", "Ubuntu 24.04x", "Fedora Linux 42", "Linux Mint 22.1.1", "Linux Mint 22 <b>", "Linux Mint 12345",
			"xLinux Mint 22",
			"Debian GNU/Linux 13\n", "ubuntu 24.04", "Ubuntu", "other releases",
		},
	} {
		for _, r := range names {
			if got := table.Kind(r); got != kind {
				t.Errorf("%q: got kind %d, want %d", r, got, kind)
			}
		}
	}
}

// TestReleaseListIsBounded checks that invented names never displace known ones, however many
// reports they have.
func TestReleaseListIsBounded(t *testing.T) {
	t.Parallel()
	known := map[crash.Release]int64{"Ubuntu 22.04": 1, "Ubuntu 24.04": 1, "Debian 13": 1, "": 1, "Linux Mint 22": 1}
	reports := map[crash.Release]int64{}
	for r, n := range known {
		reports[r] = n
	}
	for i := range 300 {
		reports[crash.Release(fmt.Sprintf("Plum %d", i))] = int64(1000 + i)
		reports[crash.Release(fmt.Sprintf("Devuan %d", i))] = 1
	}
	reports["Linux Mint 22"] = 9
	list := crash.BuiltInReleases().List(reports)
	got := list.Descending()
	if want := []crash.Release{"Ubuntu 24.04", "Ubuntu 22.04", "Debian 13", ""}; !slices.Equal(got[:4], want) {
		t.Errorf("got %q first, want the official releases, newest first: %q", got[:4], want)
	}
	if want := []crash.Release{"", "Debian 13", "Ubuntu 22.04", "Ubuntu 24.04"}; !slices.Equal(list.Ascending()[:4],
		want) {
		t.Errorf("got %q first in ascending order, want %q", list.Ascending()[:4], want)
	}
	for r := range known {
		if !slices.Contains(got, r) || list.Of(r) != r {
			t.Errorf("got a list without %q", r)
		}
	}
	if len(got) > 20+1 || got[len(got)-1] != crash.OtherReleases {
		t.Errorf("got %d names, the last %q, want at most 21 with the other releases at the end", len(got), got[len(got)-1])
	}
	if !list.Names("Plum 299") || list.Names("Plum 1") || list.Of("Plum 1") != crash.OtherReleases {
		t.Error("got other unknown releases, want those with the most reports")
	}
	for _, r := range crash.BuiltInReleases().List(known).Ascending() {
		if strings.Contains(string(r), "other") {
			t.Errorf("got %q in a complete list", r)
		}
	}
}
