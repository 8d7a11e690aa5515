package crash_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/version"
)

func day(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestReleaseKeyOrder(t *testing.T) {
	t.Parallel()
	rising := []crash.Release{
		"", "Debian 9", "Debian 10", "Debian 13", "Debian sid", "Ubuntu 4.10", "Ubuntu 9.10", "Ubuntu 22.04", "Ubuntu 24.04",
		"Ubuntu 24.04.1", "Ubuntu 24.10", "Ubuntu 26.04 LTS", "Ubuntu 100.04", "Ubuntu Core 22", "Ubuntu Kylin 9.10",
		"Ubuntu Kylin 24.04", "Ubuntu RTM 14.09", "Ubuntuż",
	}
	for i := range rising[1:] {
		if a, b := rising[i].Key(), rising[i+1].Key(); a >= b {
			t.Errorf("Key(%q) = %q is not below Key(%q) = %q", rising[i], a, rising[i+1], b)
		}
	}
	if a, b := crash.Release("Ubuntu 24.04").Key(), crash.Release(" ubuntu  24.04 LTS").Key(); a != b {
		t.Errorf("got keys %q and %q, want one", a, b)
	}
	if n := len(crash.Release(strings.Repeat("9", 1<<20)).Key()); n > 100 {
		t.Errorf("key of a long name: got %d bytes, want a short key", n)
	}
}

func TestEndOfLife(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		release crash.Release
		day     string
		want    bool
	}{
		{"Ubuntu 24.04", "2029-05-31", false},
		{"Ubuntu 24.04", "2029-06-01", true},
		{"Ubuntu 24.04 LTS", "2029-06-01", true},
		{"Ubuntu 25.10", "2026-07-09", false},
		{"Ubuntu 25.10", "2026-07-10", true},
		{"Ubuntu 20.04", "2026-11-21", true},  // extended support does not count
		{"Ubuntu 10.04", "2014-01-01", false}, // the server edition is still supported
		{"Ubuntu 10.04", "2015-05-01", true},
		{"Ubuntu 12.04", "2026-11-21", true},
		{"Ubuntu RTM 14.09", "2026-11-21", true},
		{"Ubuntu 98.04", "2026-11-21", false},
		{"Ubuntu Kylin 12.04", "2026-11-21", false},
		{"Linux Mint 12", "2026-11-21", false},
		{"Debian 8", "2026-11-21", true},
		{"Debian 12", "2026-11-21", false}, // in free long-term support
		{"Debian GNU/Linux 12", "2028-07-01", true},
		{"Debian sid", "2026-11-21", false},
		{"Debian 14", "2026-11-21", false}, // no known end
		{"Fedora 40", "2025-05-13", false},
		{"Fedora 40", "2025-05-14", true},
		{"Fedora 43", "2027-11-21", false}, // no known end
		{"CentOS 7", "2026-11-21", true},
		{"CentOS Stream 9", "2026-11-21", false},
		{"openSUSE Tumbleweed", "2026-11-21", false},
		{"Arch", "2026-11-21", false},
		{"", "2026-11-21", false},
	} {
		if got := c.release.EndOfLifeOn(day(c.day).Add(23 * time.Hour)); got != c.want {
			t.Errorf("%q on %s: got %v, want %v", c.release, c.day, got, c.want)
		}
	}
}

func TestCodename(t *testing.T) {
	t.Parallel()
	for release, want := range map[crash.Release]string{
		"Ubuntu 24.04": "noble", "Ubuntu 24.04 LTS": "noble", "Ubuntu 26.04": "resolute", "Debian 13": "trixie",
		"Debian GNU/Linux 13": "trixie", "Debian sid": "sid", "Ubuntu 98.04": "", "Ubuntu": "", "": "",
		"Ubuntu 26.10": "stonking", "Ubuntu 27.04": "tenacious",
	} {
		checktest.Equal(t, fmt.Sprintf("Codename of %q", release), release.Codename(), want)
	}
}

func TestSupportedReleases(t *testing.T) {
	t.Parallel()
	got := crash.BuiltInReleases().Supported(day("2026-11-21"))
	want := []crash.Release{"CentOS Stream 9", "CentOS Stream 10", "Debian 12", "Debian 13", "Fedora 43",
		"openSUSE Leap 16.0", "Ubuntu 22.04", "Ubuntu 24.04", "Ubuntu 26.04", "Ubuntu 26.10"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

const (
	releaseHeader = "version,codename,series,created,release,eol,eol-server\n"
	trixieLine    = "13,Trixie,trixie,2023-06-10,2025-08-09,2028-08-09\n"
)

// badReleaseData maps faults to files with that fault.
var badReleaseData = map[string]string{
	"empty": "", "no such columns": "a,b,c\n1,2,3\n", "bad day": releaseHeader + "30.04,Z,z,2029-10-01,2030-04-01,soon\n",
	"bad csv":            releaseHeader + "\"",
	"markup for a name":  releaseHeader + "30.04,Z,<b>,2029-10-01,2030-04-01,2031-01-01\n",
	"text for a version": releaseHeader + "thirty,Z,z,2029-10-01,2030-04-01,2031-01-01\n",
	"too many lines":     releaseHeader + strings.Repeat("30.04,Z,z,2029-10-01,2030-04-01,2031-01-01\n", 1000),
	"binary":             "\x7fELF\x00\x01", "endless": strings.Repeat("x", 2<<20),
}

func TestReadReleases(t *testing.T) {
	t.Parallel()
	table, err := crash.ReadReleases(strings.NewReader(releaseHeader+
		"30.04 LTS,Zesty,zz,2029-10-01,2030-04-01,2035-05-31\n"), strings.NewReader(releaseHeader+trixieLine))
	checktest.NoError(t, err)
	checktest.Equal(t, "codename", table.Codename("Ubuntu 30.04"), "zz")
	for name, ubuntu := range badReleaseData {
		if _, err := crash.ReadReleases(strings.NewReader(ubuntu), strings.NewReader(releaseHeader+trixieLine)); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}

// TestReleaseDataOfMachine checks that newer files are used, that older ones are not, and that
// invalid ones change nothing.
func TestReleaseDataOfMachine(t *testing.T) {
	t.Parallel()
	built := crash.BuiltInReleases()
	newer, err := built.With("Ubuntu", strings.NewReader(releaseHeader+
		"26.04 LTS,Resolute,resolute,2025-10-09,2026-04-23,2040-01-01\n30.04 "+
		"LTS,Zesty,zz,2029-10-01,2030-04-01,2035-05-31\n"))
	checktest.NoError(t, err)
	for release, want := range map[crash.Release]string{"Ubuntu 30.04": "zz", "Ubuntu 24.04": "noble",
		"Debian 13": "trixie"} {
		checktest.Equal(t, fmt.Sprintf("newer file: codename of %s", release), newer.Codename(release), want)
	}
	if _, end := newer.Life("Ubuntu 26.04"); !end.Equal(day("2040-01-01")) {
		t.Errorf("newer file: Ubuntu 26.04 ends on %s, want the day of the file", end)
	}
	if _, end := built.Life("Ubuntu 26.04"); !end.Equal(day("2031-05-29")) {
		t.Errorf("the built-in table changed: Ubuntu 26.04 ends on %s", end)
	}
	older, err := built.With("Ubuntu", strings.NewReader(releaseHeader+
		"24.04 LTS,Noble,noble,2023-10-12,2024-04-25,2025-01-01\n"))
	if err != nil || older != built {
		t.Errorf("older file: got another table (error %v), want that of this program", err)
	}
	if same, err := built.With("Debian", strings.NewReader(releaseHeader+trixieLine)); err != nil || same != built {
		t.Errorf("Debian's older file: got another table (error %v)", err)
	}
	for name, data := range badReleaseData {
		if got, err := built.With("Ubuntu", strings.NewReader(data)); err == nil || got != built {
			t.Errorf("%s: got error %v and another table: %v", name, err, got != built)
		}
	}
}

// TestExtend adds the releases of an administrator's file.
func TestExtend(t *testing.T) {
	t.Parallel()
	built := crash.BuiltInReleases()
	const header = "distribution,version,codename,released,eol\n"
	table, err := built.Extend(strings.NewReader("# ours\n" + header + "Fedora,43,,,2026-12-09\n" +
		"Ubuntu,24.04,,,2036-05-31\nPlum OS, 7.1,quetsche,2025-01-01,2026-01-01\n\"Plum, the OS\",\n"))
	if err == nil || !strings.Contains(err.Error(), "line 6") {
		t.Errorf("a row with too few columns: got %v, %v, want an error that names line 6", table, err)
	}
	table, err = built.Extend(strings.NewReader("# ours\n" + header + "Fedora,43,,,2026-12-09\n" +
		"Ubuntu,24.04,,,2036-05-31\nPlum OS, 7.1,quetsche,2025-01-01,2026-01-01\nRoll,,,,2026-01-01\n"))
	checktest.NoError(t, err)
	for release, want := range map[crash.Release]bool{"Fedora 43": true, "Fedora 42": true, "Ubuntu 24.04": false,
		"Ubuntu 20.04": true, "Plum OS 7.1": true, "Plum OS 7": false, "Roll": true, "Roll 1": false} {
		checktest.Equal(t, fmt.Sprintf("%s has ended", release), table.EndOfLife(release, day("2031-01-01")), want)
	}
	checktest.Equal(t, "codename", table.Codename("Ubuntu 24.04"), "noble")
	checktest.Equal(t, "new codename", table.Codename("Plum OS 7.1"), "quetsche")
	checktest.Equal(t, "kind", table.Kind("Plum OS 7.1"), crash.OfficialRelease)
	if built.EndOfLife("Fedora 43", day("2031-01-01")) {
		t.Error("the built-in table changed")
	}
	for data, want := range map[string]string{
		"":                                  "the first line does not name",
		"version,distribution\n":            "the first line does not name",
		"distribution,version,end\n":        `line 1: "end" is not a column`,
		"distribution,version,eol,eol\n":    `line 1: "eol" is not a column`,
		header + "Fedora 43,,,,\n":          `line 2: "Fedora 43" is not the name`,
		header + ",43,,,\n":                 `line 2: "" is not the name`,
		header + "<b>,43,,,\n":              `line 2: "<b>" is not the name`,
		header + "Fedora,4 3,,,\n":          `line 2: "4 3" is not a version`,
		header + "Fedora,43,A b,,\n":        `line 2: "A b" is not a codename`,
		header + "Fedora,43,,soon,\n":       `line 2: released: "soon" is not a day`,
		header + "#\nFedora,43,,,31.1.26\n": `line 3: eol: "31.1.26" is not a day`,
		header + "Fedora,43,,,2001-01-01\n": "line 2: Fedora 43 ends on 2001-01-01, before its release on 2025-10-28",
		header + "A,1,,,\nA,1,,,\n":         "line 3: A 1 is there twice",
		header + "A,1,,\"\n":                "line 2",
	} {
		got, err := built.Extend(strings.NewReader(data))
		if err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", data, err, want)
		}
	}
}

func TestReleasedBetween(t *testing.T) {
	t.Parallel()
	table := crash.BuiltInReleases()
	var got []string
	for _, r := range table.ReleasedBetween(day("2024-04-25").Add(20*time.Hour), day("2025-08-09").Add(time.Hour)) {
		got = append(got, string(r.Release)+" "+r.Day.Format(time.DateOnly))
	}
	want := []string{"Ubuntu 24.04 2024-04-25", "Ubuntu 24.10 2024-10-10", "Ubuntu 25.04 2025-04-17",
		"Debian 13 2025-08-09", "Fedora 41 2024-10-29", "Fedora 42 2025-04-15", "CentOS Stream 10 2024-12-12",
		"openSUSE Leap 15.6 2024-06-12"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if none := table.ReleasedBetween(day("2024-05-01"), day("2024-05-02")); len(none) != 0 {
		t.Errorf("got %v, want none", none)
	}
}

func TestReleaseKind(t *testing.T) {
	t.Parallel()
	table := crash.BuiltInReleases()
	for kind, names := range map[crash.ReleaseKind][]crash.Release{
		crash.OfficialRelease: {"", "Ubuntu 24.04", "Ubuntu 24.04 LTS", "Ubuntu 27.04", "Debian 13", "Debian GNU/Linux 13",
			"Debian sid", "Ubuntu RTM 14.09"},
		crash.DerivativeRelease: {"Ubuntu Kylin 24.04", "Ubuntu Core 24", "Linux Mint 22.1", "Linuxmint 22",
			"elementary OS 8", "Pop!_OS 24.04", "Kali 2026.3", "Debian testing", "LMDE 6", "RHEL 10.1", "Arch",
			"openSUSE Tumbleweed", "openSUSE Leap 98.0", "CentOS Stream 98", "EndeavourOS", "SteamOS 3.7"},
		crash.UnknownRelease: {
			"Ubuntu 98.04", "Ubuntu 24.04x", "Fedora Linux 42", "Arch Linux rolling",
			"RHEL 10.1 beta", "Linux Mint 22.1.1", "Linux Mint 22 <b>", "Linux Mint 12345",
			"xLinux Mint 22",
			"Debian GNU/Linux 13\n", "ubuntu 24.04", "Ubuntu", "other releases",
		},
	} {
		for _, r := range names {
			checktest.Equal(t, fmt.Sprintf("%q: kind", r), table.Kind(r), kind)
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

func TestOccurredAt(t *testing.T) {
	t.Parallel()
	for date, want := range map[string]string{
		"Mon May  5 14:46:10 2025":     "2025-05-05T14:46:10Z",
		"Mon May 05 14:46:10 2025":     "2025-05-05T14:46:10Z",
		"Mon May 5 14:46:10 2025":      "2025-05-05T14:46:10Z",
		" Sun Nov 16  23:59:59 2025\n": "2025-11-16T23:59:59Z",
		"Tue Feb 29 00:00:00 2028":     "2028-02-29T00:00:00Z",
		"Mon Feb 29 00:00:00 2027":     "", // no such day
		"lun. mai  5 14:46:10 2025":    "",
		"2025-05-05 14:46:10":          "",
		"":                             "",
		strings.Repeat(" ", 1<<20) + "Mon May  5 14:46:10 2025": "",
	} {
		got, ok := crash.OccurredAt(date)
		if ok != (want != "") || ok && got.Format(time.RFC3339) != want {
			t.Errorf("OccurredAt(%.40q): got %v, %v, want %q", date, got, ok, want)
		}
	}
}

func TestCountingDay(t *testing.T) {
	t.Parallel()
	arrived := time.Date(2026, 11, 21, 0, 30, 0, 0, time.FixedZone("east", 3600)) // still the 20th in UTC
	for name, c := range map[string]struct {
		occurred time.Time
		want     string
	}{
		"not known":       {time.Time{}, "2026-11-20"},
		"that day":        {day("2026-11-20").Add(24*time.Hour - 1), "2026-11-20"},
		"the day before":  {day("2026-11-19"), "2026-11-19"},
		"tomorrow":        {day("2026-11-21").Add(24*time.Hour - 1), "2026-11-21"},
		"after tomorrow":  {day("2026-11-22"), "2026-11-20"},
		"just old enough": {day("2025-11-19"), "2025-11-19"},
		"too old":         {day("2025-11-18").Add(24*time.Hour - 1), "2026-11-20"},
		"far ahead":       {day("9999-01-01"), "2026-11-20"},
	} {
		if got := crash.CountingDay(c.occurred, arrived, 366); !got.Equal(day(c.want)) {
			t.Errorf("%s: got %v, want %s", name, got, c.want)
		}
	}
}

func TestElapsed(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 5, 18, 0, 0, 0, 0, time.UTC)
	for now, want := range map[time.Time]float64{
		day: 0, day.Add(6 * time.Hour): .25, day.Add(18*time.Hour + 59*time.Second): .75, day.AddDate(0, 0, 1): 1,
		day.AddDate(0, 0, 9): 1,
		day.Add(-time.Hour):  0,
	} {
		checktest.Equal(t, now, crash.Elapsed(day, now), want)
	}
}

// TestOperatingSystems checks the names of releases, whoever reports them, and the order of their versions.
func TestOperatingSystems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		os    crash.OS
		want  crash.Release
		order version.Order
		in    string // distribution
	}{
		{crash.OS{}, "", version.Dpkg, ""},
		{crash.OS{ID: "ubuntu", Name: "Ubuntu", Version: "26.04", Codename: "resolute"}, "Ubuntu 26.04", version.Dpkg,
			"ubuntu"},
		{crash.OS{ID: "debian", Name: "Debian GNU/Linux", Version: "13", Codename: "trixie"}, "Debian 13",
			version.Dpkg, "debian"},
		{crash.OS{ID: "debian", Name: "Debian GNU/Linux", Codename: "forky"}, "Debian 14", version.Dpkg, "debian"},
		{crash.OS{ID: "debian", Name: "Debian GNU/Linux", Codename: "plum"}, "Debian plum", version.Dpkg, "debian"},
		{crash.OS{ID: "linuxmint", Name: "Linux Mint", Version: "22.1"}, "Linux Mint 22.1", version.Dpkg, "linux mint"},
		{crash.OS{ID: "kali", Name: "Kali GNU/Linux", Version: "2026.3"}, "Kali 2026.3", version.Dpkg, "kali"},
		{crash.OS{ID: "fedora", Name: "Fedora Linux", Version: "43"}, "Fedora 43", version.RPM, "fedora"},
		{crash.OS{ID: "Fedora", Version: "43"}, "Fedora 43", version.RPM, "fedora"},
		{crash.OS{ID: "fedora", Version: "rawhide"}, "Fedora rawhide", version.RPM, "fedora"},
		{crash.OS{ID: "rhel", Name: "Red Hat Enterprise Linux", Version: "10.1"}, "RHEL 10.1", version.RPM, "rhel"},
		{crash.OS{ID: "centos", Name: "CentOS Stream", Version: "10"}, "CentOS Stream 10", version.RPM,
			"centos stream"},
		{crash.OS{ID: "centos", Version: "9"}, "CentOS Stream 9", version.RPM, "centos stream"},
		{crash.OS{ID: "centos", Name: "CentOS Stream", Version: "8"}, "CentOS Stream 8", version.RPM, "centos stream"},
		{crash.OS{ID: "centos", Name: "CentOS Linux", Version: "7"}, "CentOS 7", version.RPM, "centos"},
		{crash.OS{ID: "rocky", Name: "Rocky Linux", Version: "10.0"}, "Rocky Linux 10.0", version.RPM, "rocky linux"},
		{crash.OS{ID: "ol", Name: "Oracle Linux Server", Version: "9.5"}, "Oracle Linux 9.5", version.RPM,
			"oracle linux"},
		{crash.OS{ID: "sles", Name: "SLES", Version: "16.0"}, "SLES 16.0", version.RPM, "sles"},
		{crash.OS{ID: "opensuse-leap", Name: "openSUSE Leap", Version: "16.0"}, "openSUSE Leap 16.0", version.RPM,
			"opensuse leap"},
		{crash.OS{ID: "opensuse-tumbleweed", Name: "openSUSE Tumbleweed", Version: "20261129"}, "openSUSE Tumbleweed",
			version.RPM, "opensuse"},
		{crash.OS{ID: "opensuse", Version: "13.2"}, "openSUSE 13.2", version.RPM, "opensuse"},
		{crash.OS{ID: "arch", Name: "Arch Linux", Build: "rolling"}, "Arch", version.Pacman, "arch"},
		{crash.OS{ID: "endeavouros", Name: "EndeavourOS", Build: "2026.09.22"}, "EndeavourOS", version.Pacman,
			"endeavouros"},
		{crash.OS{ID: "steamos", Name: "SteamOS", Version: "3.7"}, "SteamOS 3.7", version.Pacman, "steamos"},
		{crash.OS{ID: "plumos", Name: "Plum OS", Build: "rolling"}, "Plum OS rolling", version.Dpkg, "plum os"},
		{crash.OS{Name: "Arch Linux"}, "Arch", version.Pacman, "arch"},
		{crash.OS{ID: "centos linux", Name: "CentOS Linux", Version: "7"}, "CentOS 7", version.RPM, "centos"},
		{crash.OS{ID: "éos", Version: "1"}, "Éos 1", version.Dpkg, "éos"},
		{crash.OS{Name: strings.Repeat("x", 1000), Version: "1"}, crash.Release(strings.Repeat("x", 100)), version.Dpkg,
			strings.Repeat("x", 100)},
	} {
		r := c.os.Release()
		checktest.Equal(t, fmt.Sprintf("release of %+v", c.os), r, c.want)
		checktest.Equal(t, fmt.Sprintf("%q: order", r), r.VersionOrder(), c.order)
		checktest.Equal(t, fmt.Sprintf("%q: distribution", r), r.Distribution(), c.in)
	}
	for _, r := range []crash.Release{"Fedora Linux 42", "Red Hat Enterprise Linux 9.4", "SUSE Linux Enterprise 15"} {
		checktest.Equal(t, fmt.Sprintf("%q: order", r), r.VersionOrder(), version.RPM)
	}
	for _, r := range []crash.Release{"", "Fedorax 1", "xFedora 1", "fedora 1", "Plum 2"} {
		checktest.Equal(t, fmt.Sprintf("%q: order", r), r.VersionOrder(), version.Dpkg)
	}
	for pair, want := range map[[2]crash.Release]bool{
		{"Arch", "Arch"}: true, {"Arch", "Manjaro"}: false, {"Arch", ""}: false, {"Fedora 42", "Fedora rawhide"}: true,
		{"Debian 13", "Debian sid"}: true, {"Ubuntu 24.04", "Kubuntu 24.04"}: false, {"RHEL 9.4", "RHEL 10.1"}: true,
		{"openSUSE Leap 16.0", "openSUSE Tumbleweed"}: false, {"CentOS 8", "CentOS Stream 8"}: false,
	} {
		checktest.Equal(t, fmt.Sprintf("%q: same distribution", pair), pair[0].SameDistribution(pair[1]), want)
	}
}
