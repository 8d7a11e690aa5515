package grouping_test

import (
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

func TestLinkTemplates(t *testing.T) {
	t.Parallel()
	links, err := grouping.ParseLinkTemplates(grouping.DefaultSourceLinks +
		" Ubuntu 24.04 https://x.example/{codename}/{source}/{file}?v={version}&l={line}")
	if err != nil {
		t.Fatal(err)
	}
	place := grouping.SourcePlace{Package: "g++-4", Version: "1:2.0~rc1-1", File: "src/a b#.c", Line: 7}
	for release, want := range map[crash.Release]string{
		"Debian 13":        "https://sources.debian.org/src/g++-4/1:2.0~rc1-1/src/a%20b%23.c#L7",
		"Ubuntu 22.04":     "https://git.launchpad.net/ubuntu/+source/g++-4/tree/src/a%20b%23.c?h=applied/1%252.0_rc1-1#n7",
		"Ubuntu 24.04":     "https://x.example/noble/g++-4/src/a%20b%23.c?v=1:2.0~rc1-1&l=7",
		"Ubuntu 24.04 LTS": "https://x.example/noble/g++-4/src/a%20b%23.c?v=1:2.0~rc1-1&l=7",
		"Ubuntu 24.041":    "https://git.launchpad.net/ubuntu/+source/g++-4/tree/src/a%20b%23.c?h=applied/1%252.0_rc1-1#n7",
		"Ubuntish 1":       "", "": "",
	} {
		if got := links.Source(release, place); got != want {
			t.Errorf("%s: got %q, want %q", release, got, want)
		}
	}
	if got := links.Source("Debian 13", grouping.SourcePlace{Package: "x", Version: "1"}); got != "" {
		t.Errorf("without a file: got %q, want none", got)
	}
	if none, err := grouping.ParseLinkTemplates(" "); err != nil || none.Version("Debian 13", "x", "1") != "" {
		t.Errorf("no templates: got %v, %v", none, err)
	}
	for _, bad := range []string{"https://x.example/{file}", "Debian", "Debian https://x.example/{path}",
		"Debian https:///{file}", "Debian https://x.example/ Ubuntu"} {
		if _, err := grouping.ParseLinkTemplates(bad); crash.KindOf(err) != crash.Invalid {
			t.Errorf("%q: got %v, want an error", bad, err)
		}
	}
}

func TestPlaceOf(t *testing.T) {
	t.Parallel()
	of := grouping.SourcePlace{Package: "tidewatch", Version: "1.4.9-2"}
	for _, c := range []struct{ file, module, function, want string }{
		{"../src/parse.c", "", "tide", "tidewatch 1.4.9-2 src/parse.c"},
		{"./obj-x86_64-linux-gnu/../src/parse.c", "", "tide", "tidewatch 1.4.9-2 src/parse.c"},
		{"obj-x86_64-linux-gnu/src/made.c", "/usr/bin/tidewatch", "tide", "tidewatch 1.4.9-2 src/made.c"},
		{"/usr/src/tidewatch-1.4.9-2/src/parse.c", "", "tide", "tidewatch 1.4.9-2 src/parse.c"},
		{"/usr/src/glibc-2.39-0ubuntu8/nptl/x.c", "", "__pthread_kill", "glibc 2.39-0ubuntu8 nptl/x.c"},
		{"/usr/src/x11-1%3a2.0-1/src/x.c", "", "x", "x11 1:2.0-1 src/x.c"},
		{"/build/tidewatch-Ab3dE9/tidewatch-1.4.9/src/parse.c", "", "tide", "tidewatch 1.4.9-2 src/parse.c"},
		{"../src/parse.c", "/usr/lib/tidewatch/libx.so", "tide", "tidewatch 1.4.9-2 src/parse.c"},
		{"../src/parse.c", "/usr/lib/libtidewatch.so.1", "tide", "tidewatch 1.4.9-2 src/parse.c"},
		{"../src/g.c", "/usr/lib/libglib-2.0.so.0", "g_free", ""},
		{"../sysdeps/nptl/libc_start_call_main.h", "", "__libc_start_call_main", ""},
		{"/home/ines/x.c", "", "tide", ""}, {"<built-in>", "", "x", ""}, {"", "", "x", ""}, {"../..", "", "x", ""},
	} {
		got := grouping.PlaceOf(grouping.Frame{File: c.file, Module: c.module, Function: c.function, Line: 3}, of,
			"/usr/bin/tidewatch")
		if text := strings.TrimSpace(got.Package + " " + got.Version + " " + got.File); got.File == "" && c.want != "" ||
			got.File != "" && text != c.want {
			t.Errorf("%s of %s: got %q, want %q", c.file, c.module, text, c.want)
		}
	}
}

func TestWithModules(t *testing.T) {
	t.Parallel()
	f := crashtest.Native().Fields()
	frames := grouping.WithModules(grouping.Frames(f), f["ProcMaps"])
	if len(frames) == 0 || frames[0].Module != "/usr/bin/tidewatch" {
		t.Errorf("got %+v, want the program as module of the first frame", frames)
	}
	for _, maps := range []string{"", "nonsense", "Error: x"} {
		if got := grouping.WithModules(grouping.Frames(f), maps); got[0].Module != "" {
			t.Errorf("map %q: got module %q, want none", maps, got[0].Module)
		}
	}
}
