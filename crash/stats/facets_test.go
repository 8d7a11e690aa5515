package stats_test

import (
	"fmt"
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
