package stats_test

import (
	"fmt"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/stats"
)

func TestJudgeManualFixes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	seen := []crash.VersionSeen{
		{Release: noble, Version: "1.4-1", Reports: 40, Last: at},
		{Release: noble, Version: "1.4-2", Reports: 2, Last: at.AddDate(0, 0, -3)},
		{Release: noble, Version: "1.4-3", Reports: 10, Last: at.AddDate(0, 0, -1)},
		{Release: noble, Version: "not a version", Reports: 99, Last: at},
		{Release: resolute, Version: "2.0-1", Reports: 5, Last: at},
		{Release: resolute, Version: "2.1-1", Reports: 0, Last: at},
	}
	for _, c := range []struct {
		name    string
		fix     crash.FixedIn
		again   int64
		in      crash.Release
		version string
	}{
		{"not seen since", crash.FixedIn{Release: noble, Version: "1.4-4"}, 0, "", ""},
		{"seen in that version and a later one", crash.FixedIn{Release: noble, Version: "1.4-2"}, 12, noble, "1.4-3"},
		{"other releases do not count", crash.FixedIn{Release: resolute, Version: "2.0-2"}, 0, "", ""},
		{"every release", crash.FixedIn{Version: "1.4-3"}, 15, resolute, "2.0-1"},
		{"every release, later", crash.FixedIn{Version: "3"}, 0, "", ""},
	} {
		entries := []crash.Mark{{Kind: crash.MarkFixed, Fixes: []crash.FixedIn{c.fix}}}
		m := stats.JudgeManual(entries, seen, at)
		if len(m.Fixes) != 1 {
			t.Fatalf("%s: got %d fixes", c.name, len(m.Fixes))
		}
		if f := m.Fixes[0]; f.Again != c.again || f.AgainIn != c.in || f.AgainAt != c.version ||
			m.SeenAgain() != (c.again > 0) {
			t.Errorf("%s: got %d in %s %s, want %d in %s %s", c.name, f.Again, f.AgainIn, f.AgainAt, c.again, c.in, c.version)
		}
	}
}

// TestSeenBefore checks that reports from before a decision do not count.
func TestSeenBefore(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)
	today, yesterday := crash.Midnight(at), crash.Midnight(at).AddDate(0, 0, -1)
	before := map[crash.Release]map[string]int64{noble: {"1.4-2": 9}}
	for name, c := range map[string]struct {
		seen  crash.VersionSeen
		again int64
	}{
		"all before":                 {crash.VersionSeen{Release: noble, Version: "1.4-2", Reports: 9, Last: today}, 0},
		"three since":                {crash.VersionSeen{Release: noble, Version: "1.4-2", Reports: 12, Last: today}, 3},
		"fewer, after retention":     {crash.VersionSeen{Release: noble, Version: "1.4-2", Reports: 4, Last: today}, 0},
		"a later version":            {crash.VersionSeen{Release: noble, Version: "1.4-3", Reports: 2, Last: today}, 2},
		"another release":            {crash.VersionSeen{Release: resolute, Version: "1.4-2", Reports: 2, Last: today}, 2},
		"old reports, merged since":  {crash.VersionSeen{Release: resolute, Version: "2", Reports: 5, Last: yesterday}, 0},
		"a version without the fix":  {crash.VersionSeen{Release: noble, Version: "1.4-1", Reports: 5, Last: today}, 0},
		"a version unknown to dpkg":  {crash.VersionSeen{Release: noble, Version: "no version", Reports: 5, Last: today}, 0},
		"sent late, in that version": {crash.VersionSeen{Release: noble, Version: "1.4-2", Reports: 10, Last: yesterday}, 1},
	} {
		entries := []crash.Mark{{Kind: crash.MarkFixed, At: at, Fixes: []crash.FixedIn{{Version: "1.4-2"}},
			Before: before}}
		m := stats.JudgeManual(entries, []crash.VersionSeen{c.seen}, at)
		if got := m.Fixes[0].Again; got != c.again {
			t.Errorf("%s: got %d reports since, want %d", name, got, c.again)
		}
	}
}

func TestJudgeManualReturned(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return now.AddDate(0, 0, -n) }
	ended := crash.Mark{ID: 1, Kind: crash.MarkMuted, At: day(9), EndedAt: day(2), EndedWhy: "it regressed."}
	old := ended
	old.At, old.EndedAt = day(90), day(40)
	replaced := ended
	replaced.EndedWhy = ""
	for _, c := range []struct {
		name     string
		all      []crash.Mark
		returned bool
	}{
		{"just ended", []crash.Mark{ended}, true},
		{"ended long ago", []crash.Mark{old}, false},
		{"replaced", []crash.Mark{replaced}, false},
		{"decided since", []crash.Mark{ended, {ID: 2, Kind: crash.MarkWontFix, At: day(1)}}, false},
		{"muted again", []crash.Mark{ended, {ID: 2, Kind: crash.MarkMuted, At: day(1)}}, false},
		{"decided before", []crash.Mark{{Kind: crash.MarkWontFix, At: day(20)}, ended}, true},
	} {
		if got := stats.JudgeManual(c.all, nil, now).Returned != nil; got != c.returned {
			t.Errorf("%s: got %v, want %v", c.name, got, c.returned)
		}
	}
}

// fixes returns versions from pairs of release and version.
func fixes(pairs ...any) []crash.FixedIn {
	var out []crash.FixedIn
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, crash.FixedIn{Release: crash.Release(fmt.Sprint(pairs[i])), Version: fmt.Sprint(pairs[i+1])})
	}
	return out
}

func TestMet(t *testing.T) {
	t.Parallel()
	known := map[crash.Release]string{noble: "1.4-2", resolute: "2.0-1"}
	for _, c := range []struct {
		name  string
		until crash.MuteUntil
		seen  []crash.FixedIn
		want  string
	}{
		{"lower", crash.MuteUntil{Version: "1.4-3"}, fixes(noble, "1.4-2"), ""},
		{"equal", crash.MuteUntil{Version: "1.4-3"}, fixes(noble, "1.4-3"), "it was seen in 1.4-3 (Ubuntu 24.04)."},
		{"by dpkg's order", crash.MuteUntil{Version: "1.9"}, fixes(noble, "1.10~rc1"),
			"it was seen in 1.10~rc1 (Ubuntu 24.04)."},
		{"tilde", crash.MuteUntil{Version: "1.10"}, fixes(noble, "1.10~rc1"), ""},
		{"another release", crash.MuteUntil{Version: "1.4-3", Release: noble}, fixes(resolute, "2.0-1"), ""},
		{"newer", crash.MuteUntil{Newer: true}, fixes(noble, "1.4-2", resolute, "2.0-2"),
			"it was seen in 2.0-2 (Ubuntu 26.04)."},
		{"not newer", crash.MuteUntil{Newer: true}, fixes(noble, "1.4-2", resolute, "1.9"), ""},
		{"new release", crash.MuteUntil{Newer: true}, fixes("Ubuntu 26.10", "1.0"),
			"it was seen in 1.0 (Ubuntu 26.10)."},
		{"no version", crash.MuteUntil{Newer: true}, fixes(noble, "unknown"), ""},
		{"neither", crash.MuteUntil{Reports: 1}, fixes(noble, "9"), ""},
	} {
		if got := stats.Met(c.until, c.seen, known); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
