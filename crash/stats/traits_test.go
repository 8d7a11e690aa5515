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
