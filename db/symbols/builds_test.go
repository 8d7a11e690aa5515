package symbols_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/symbols/debuginfo"
	"mishap/db/dbtest"
	"mishap/db/symbols"
)

func buildsOf(t *testing.T, b *symbols.Builds, report crash.Fields, paths ...string) map[string]debuginfo.BuildID {
	t.Helper()
	got, err := b.BuildsOf(t.Context(), report, paths)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func learn(t *testing.T, b *symbols.Builds, facts ...debuginfo.Fact) {
	t.Helper()
	if err := b.Learn(t.Context(), facts); err != nil {
		t.Fatal(err)
	}
}

// A build is known only for the exact package, version and architecture, and if nothing contradicts.
func TestBuilds(t *testing.T) {
	t.Parallel()
	b := symbols.NewBuilds(dbtest.New(t))
	const library, program = "/lib/x86_64-linux-gnu/libtide.so.1", "/usr/bin/tidewatch"
	report := crash.Fields{"ExecutablePath": program, "Package": "tidewatch 1.0", "Architecture": "amd64",
		"Dependencies": "libtide1 2.0\nlibc6 2.36\n"}
	if got := buildsOf(t, b, report, library, program); len(got) > 0 {
		t.Errorf("got %v before anything was learned", got)
	}
	learn(t, b, debuginfo.Fact{Path: debuginfo.NormalPath(library), Package: "libtide1", Version: "2.0",
		Architecture: "amd64", Build: "aa01"},
		debuginfo.Fact{Path: program, Package: "tidewatch", Version: "1.0", Build: "aa02"}) // incomplete
	one := map[string]debuginfo.BuildID{library: "aa01"}
	if diff := cmp.Diff(one, buildsOf(t, b, report, library, program)); diff != "" {
		t.Error(diff)
	}
	for name, other := range map[string]crash.Fields{
		"version":      {"Package": "tidewatch 1.0", "Architecture": "amd64", "Dependencies": "libtide1 2.0-1\n"},
		"package":      {"Package": "tidewatch 1.0", "Architecture": "amd64", "Dependencies": "libtide2 2.0\n"},
		"architecture": {"Package": "tidewatch 1.0", "Architecture": "i386", "Dependencies": "libtide1 2.0\n"},
		"modified": {"Package": "tidewatch 1.0", "Architecture": "amd64",
			"Dependencies": "libtide1 2.0 [modified: lib/libtide.so.1]\n"},
	} {
		if got := buildsOf(t, b, other, library); len(got) > 0 {
			t.Errorf("another %s: got %v", name, got)
		}
	}

	// A core tells about the program, and about the library, whose package is known by now.
	newer := crash.Fields{"ExecutablePath": program, "Package": "tidewatch 1.1", "Architecture": "amd64",
		"Dependencies": "libtide1 2.1\nlibc6 2.36\n"}
	loaded := []debuginfo.Loaded{{Path: program, Build: "bb01"}, {Path: library, Build: "bb02"},
		{Path: "/usr/lib/libother.so", Build: "bb03"}}
	for range 2 {
		if err := b.LearnFromCore(t.Context(), newer, loaded); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]debuginfo.BuildID{program: "bb01", library: "bb02"}
	if diff := cmp.Diff(want, buildsOf(t, b, newer, library, program, "/usr/lib/libother.so")); diff != "" {
		t.Error(diff)
	}

	// Two builds of one version contradict each other.
	loaded[0].Build = "bb04"
	if err := b.LearnFromCore(t.Context(), newer, loaded); err != nil {
		t.Fatal(err)
	}
	delete(want, program)
	if diff := cmp.Diff(want, buildsOf(t, b, newer, library, program)); diff != "" {
		t.Error(diff)
	}
}

// TestLongBuilds learns facts with texts of every length that is stored, which do not compress. A core from
// outside may hold such texts.
func TestLongBuilds(t *testing.T) {
	t.Parallel()
	b := symbols.NewBuilds(dbtest.New(t))
	for n := 100; n <= 2000; n += 100 {
		var long strings.Builder
		for long.Len() < n {
			long.WriteString(rand.Text())
		}
		text := long.String()[:n]
		learn(t, b, debuginfo.Fact{Path: "/" + text[1:], Package: text, Version: text, Architecture: text,
			Build: debuginfo.BuildID(text)})
	}
}
