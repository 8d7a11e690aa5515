package stats_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/stats"
)

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
	report := func(traits ...stats.Trait) []stats.Trait { return traits }
	here := [][]stats.Trait{report(common, odd), report(common, odd, odd), report(common, odd), report(common, odd),
		report(common, rare)}
	there := [][]stats.Trait{report(common), report(common), report(common), report(common), report(common, odd)}
	got := stats.StandsOut(here, there)
	if diff := cmp.Diff([]stats.StandOut{{Trait: odd, Here: 4, There: 1}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := stats.StandsOut(here[:4], there); got != nil {
		t.Errorf("too few reports: got %v, want nil", got)
	}
}
