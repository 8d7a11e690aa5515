package stats_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/stats"
)

func TestFacetValueIn(t *testing.T) {
	t.Parallel()
	summary := crash.Summary{Release: noble, Version: "1.4-1", Architecture: "amd64"}
	fields := crash.Fields{
		"Uname": "Linux 6.8.0-85-generic x86_64", "CurrentDesktop": "ubuntu:GNOME",
		"ProcEnviron":        "PATH=(custom)\nLANG=de_DE.UTF-8\nXDG_SESSION_TYPE=wayland",
		"ProcCpuinfoMinimal": "processor\t: 3\nmodel name\t: Reef Core 7\nflags\t: a b",
		"Dependencies":       "libc6 2.39-0ubuntu8\nlibc6-dev 9\nlibtide1 1.2-1 [origin: unknown]",
		"Long":               fmt.Sprintf("%0200d", 7), "Lines": " a\n  b ",
	}
	for field, want := range map[stats.FacetField]string{
		stats.FacetRelease: "Ubuntu 24.04", stats.FacetVersion: "1.4-1", stats.FacetArchitecture: "amd64",
		stats.FacetKernel: "6.8.0-85-generic", stats.FacetDesktop: "ubuntu:GNOME", stats.FacetSession: "wayland",
		stats.FacetLocale: "de_DE.UTF-8", stats.FacetCPU: "Reef Core 7", stats.PackageFacet("libc6"): "2.39-0ubuntu8",
		stats.PackageFacet("libtide1"): "1.2-1", stats.PackageFacet("none"): "", "Lines": "a b", "NoSuchField": "",
		"Long": fmt.Sprintf("%0149d…", 0),
	} {
		if got := field.ValueIn(summary, fields); got != want {
			t.Errorf("%s: got %q, want %q", field, got, want)
		}
	}
	for _, field := range stats.FacetFields {
		if field == stats.FacetRelease || field == stats.FacetVersion || field == stats.FacetArchitecture {
			continue
		}
		if got := field.ValueIn(summary, nil); got != "" {
			t.Errorf("%s of a report without fields: got %q, want none", field, got)
		}
	}
}

func TestNewFacet(t *testing.T) {
	t.Parallel()
	got := stats.NewFacet("kernel", []string{"b", "a", "b", "", "c"}, []string{"b", "x", "a", "x"})
	want := stats.Facet{Field: "kernel", Here: 5, There: 4, OthersThere: 2, Values: []stats.FacetValue{
		{Value: "b", Here: 2, There: 1}, {Value: "", Here: 1}, {Value: "a", Here: 1, There: 1}, {Value: "c", Here: 1},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facet (-want +got):\n%s", diff)
	}
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("%02d", i))
	}
	got = stats.NewFacet("kernel", append(many, "19"), many[:15])
	if len(got.Values) != 12 || got.Values[0] != (stats.FacetValue{Value: "19", Here: 2}) || got.Others != 8 ||
		got.OthersHere != 8 || got.OthersThere != 4 {
		t.Errorf("of 20 values: got %+v", got)
	}
}

func TestTraits(t *testing.T) {
	t.Parallel()
	got := stats.Traits(crash.Fields{
		"Uname": "Linux 6.8.0-41-generic x86_64", "CurrentDesktop": " KDE ",
		"ProcEnviron":  "LANG=C\nXDG_SESSION_TYPE=wayland",
		"Dependencies": "libc6 2.39-0ubuntu8\nlibtide1 1.2-1 [origin: unknown]\nbroken\n",
	})
	want := []stats.Trait{
		{Kind: "Kernel", Value: "6.8.0-41-generic"}, {Kind: "Desktop", Value: "KDE"}, {Kind: "Session", Value: "wayland"},
		{Kind: "Package", Value: "libc6 2.39-0ubuntu8"}, {Kind: "Package", Value: "libtide1 1.2-1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := stats.Traits(crash.Fields{"Dependencies": strings.Repeat("a 1\n", 100000)}); len(got) != 2000 {
		t.Errorf("many traits: got %d, want 2000", len(got))
	}
}

func TestStandsOut(t *testing.T) {
	t.Parallel()
	common, odd, rare := stats.Trait{Kind: "Package", Value: "libc6 1"},
		stats.Trait{Kind: "Package", Value: "libtide1 1.2-1"}, stats.Trait{Kind: "Kernel", Value: "6.8"}
	some := func(n int, traits ...stats.Trait) (reports [][]stats.Trait) {
		for range n {
			reports = append(reports, traits)
		}
		return reports
	}
	here := join(some(19, common, odd, odd), some(1, common, rare))
	there := join(some(18, common), some(2, common, odd))
	want := []stats.StandOut{{Trait: odd, Here: 19, There: 2}}
	if diff := cmp.Diff(want, stats.StandsOut(here, there)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// 5 of 8 against 3 of 15: chance has 6 %.
	few, others := join(some(5, common, odd), some(3, common)), join(some(3, common, odd), some(12, common))
	if got := stats.StandsOut(few, others); got != nil {
		t.Errorf("5 of 8 against 3 of 15: got %v, want nil", got)
	}
	// 7 of 8 against 4 of 15: chance has less than 1 %, but not if twenty traits are compared.
	few, others = join(some(7, common, odd), some(1, common)), join(some(4, common, odd), some(11, common))
	if got := stats.StandsOut(few, others); len(got) != 1 {
		t.Errorf("7 of 8 against 4 of 15: got %v, want it to stand out", got)
	}
	for i := range 20 {
		more := stats.Trait{Kind: "Package", Value: fmt.Sprint("p ", i)}
		for _, at := range []*[]stats.Trait{&few[0], &few[1], &few[2], &others[0], &others[1], &others[2], &others[3]} {
			*at = append(slices.Clone(*at), more)
		}
	}
	if got := stats.StandsOut(few, others); got != nil {
		t.Errorf("7 of 8 against 4 of 15, one of 21 traits: got %v, want nil", got)
	}
	if !stats.TooFewToCompare(2, 4) || stats.TooFewToCompare(3, 4) || stats.TooFewToCompare(1, 19) {
		t.Error("too few: got others than 2 and 4")
	}
	if got := stats.StandsOut(some(2, odd), some(4)); got != nil {
		t.Errorf("too few reports: got %v, want nil", got)
	}
}
