package debuginfo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
)

func TestInstalledOf(t *testing.T) {
	t.Parallel()
	got := InstalledOf(crash.Fields{"Package": "tidewatch 1:1.0-2 [origin: unknown]",
		"Dependencies": "libc6 2.36-9\nlibtide1 1.0 [modified: usr/lib/libtide.so.1]\nbroken\nnone (not installed)\n"})
	if diff := cmp.Diff(Installed{"tidewatch": "1:1.0-2", "libc6": "2.36-9"}, got); diff != "" {
		t.Error(diff)
	}
	if got := InstalledOf(crash.Fields{"Package": "tidewatch 1.0 [modified: usr/bin/tidewatch]"}); len(got) > 0 {
		t.Errorf("got %v of a modified package", got)
	}
}

// Only what is certain is learned from a core.
func TestOfCore(t *testing.T) {
	t.Parallel()
	report := crash.Fields{"ExecutablePath": "/usr/bin/tidewatch", "Package": "tidewatch 1.0", "Architecture": "amd64",
		"Dependencies": "libc6 2.36-9\nzlib1g 1:1.2.13-1\nlibtide1 1.0\nlibreef1 2.0\nlibreef-extra 2.0\n"}
	loaded := []Loaded{
		{Path: "/usr/bin/tidewatch", Build: "aa01"},
		{Path: "/lib/x86_64-linux-gnu/libc.so.6", Build: "aa02", Archive: "libc6_2.36-9_amd64.deb"},
		{Path: "/usr/lib/libz.so.1.2.13", Build: "aa03", Archive: "zlib1g_1.2.13-1_amd64.deb"}, // without the epoch
		{Path: "/usr/lib/libold.so.1", Build: "aa04", Archive: "libc6_2.35-1_amd64.deb"},       // another version
		{Path: "/usr/lib/libtide.so.1", Build: "aa05"},                                         // known owner
		{Path: "/usr/lib/libreef.so.1", Build: "aa06"},                                         // two owners
		{Path: "/opt/other/lib.so", Build: "aa07"},
		{Path: "/usr/lib/libtide.so.2", Build: "aa08", Deleted: true},
		{Path: "/usr/lib/libtide.so.3"},
	}
	owners := map[string][]string{"/usr/lib/libtide.so.1": {"libtide1", "libtide0"},
		"/usr/lib/libreef.so.1": {"libreef1", "libreef-extra"}, "/usr/lib/libtide.so.2": {"libtide1"}}
	want := []Fact{
		{"/usr/bin/tidewatch", "tidewatch", "1.0", "amd64", "aa01"},
		{"/usr/lib/x86_64-linux-gnu/libc.so.6", "libc6", "2.36-9", "amd64", "aa02"},
		{"/usr/lib/libz.so.1.2.13", "zlib1g", "1:1.2.13-1", "amd64", "aa03"},
		{"/usr/lib/libtide.so.1", "libtide1", "1.0", "amd64", "aa05"},
	}
	if diff := cmp.Diff(want, BuildsOfCore(report, loaded, owners)); diff != "" {
		t.Error(diff)
	}
	// The program of a script is not in the package of the script.
	report["InterpreterPath"] = "/usr/bin/python3.11"
	if got := BuildsOfCore(report, loaded[:1], nil); len(got) > 0 {
		t.Errorf("got %v of a script", got)
	}
	delete(report, "InterpreterPath")
	report["Package"] = "tidewatch 1.0 [modified: usr/bin/tidewatch]"
	if got := BuildsOfCore(report, loaded[:1], nil); len(got) > 0 {
		t.Errorf("got %v of a modified package", got)
	}
}
