package crash_test

import (
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	check := func(r crash.Route) string {
		if r.Tracker == "gone" {
			return "there is no such tracker."
		}
		return ""
	}
	text := "\ufeffpackage, type,release,tracker,target\r\n# the kernel\r\nlinux*,KernelOops,,kernel,linux\r\n\r\n" +
		"mutter,,Fedora *,gnome,GNOME/{source}\r\nmutter,,,fedora,\r\n\"*\",,,debian,\"a, b\"\r\n"
	routes, err := crash.ReadRoutes(text, check)
	checktest.NoError(t, err)
	checktest.Diff(t, "routes", routes, crash.Routes{
		{"linux*", "KernelOops", "", "kernel", "linux"}, {"mutter", "", "Fedora *", "gnome", "GNOME/{source}"},
		{"mutter", "", "", "fedora", ""}, {"*", "", "", "debian", "a, b"},
	})
	again, err := crash.ReadRoutes(routes.Text(), check)
	checktest.NoError(t, err)
	checktest.Diff(t, "routes read again", again, routes)
	for _, tt := range []struct {
		source, problemType string
		release             crash.Release
		others              []string
		want                string
	}{
		{"linux-azure", "KernelOops", "Ubuntu 24.04", nil, "linux*, KernelOops → kernel"},
		{"linux-azure", "Crash", "Ubuntu 24.04", nil, "* → debian"},
		{"mutter", "Crash", "Fedora 42", nil, "mutter, Fedora * → gnome"},
		{"mutter", "Crash", "Fedora 42", []string{"gnome"}, "mutter → fedora"},
		{"", "Crash", "Fedora 42", []string{"debian"}, ""},
	} {
		got, found := routes.First(tt.source, tt.problemType, tt.release, tt.others)
		if found != (tt.want != "") || found && got.String() != tt.want {
			t.Errorf("%s, %s, %s without %v: got %v, %v, want %q", tt.source, tt.problemType, tt.release, tt.others, got,
				found, tt.want)
		}
	}
}

func TestReadRoutesMistakes(t *testing.T) {
	t.Parallel()
	check := func(r crash.Route) string { return map[string]string{"gone": "there is no such tracker."}[r.Tracker] }
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{" \n", ""},
		{"package,tracker\n", ""},
		{"source,tracker\nmutter,gnome\n", `Line 1: there is no column "source"`},
		{"# comment\npackage;tracker\nmutter;gnome\n", `Line 2: there is no column "package;tracker"`},
		{"package,tracker\nmutter,gnome\nmutter,gone\n", "Line 3: there is no such tracker."},
		{"package,tracker\n,gnome\n", "Line 2: the source package is missing."},
		{"package,tracker\n[a,gnome\n", "Line 2: the pattern has an unfinished bracket."},
		{"package,tracker\nmutter\n", "Line 2: wrong number of fields."},
		{"package,tracker\nmutter,\"gnome\n", "Line 2: extraneous or missing"},
		{"package,tracker\nmut\x00ter,gnome\n", "Line 2: a value has"},
		{"package,tracker\nmut\xffter,gnome\n", "Line 2: a value has"},
		{"package,tracker\n\"mut\nter\",gnome\n", "Line 2: a value has"},
		{"package,tracker\n" + strings.Repeat("a", 201) + ",gnome\n", "Line 2: a value has"},
	} {
		_, err := crash.ReadRoutes(tt.text, check)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%q: got %v, want no mistake", tt.text, err)
		case tt.want != "" && (crash.KindOf(err) != crash.Unprocessable || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%q: got %v, want %q", tt.text, err, tt.want)
		}
	}
}
