package stats_test

import (
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/stats"
)

func TestAdvise(t *testing.T) {
	t.Parallel()
	plain := crash.Bucket{Reports: 12, Systems: 6, Rule: crash.RuleStacktrace}
	with := func(change func(*crash.Bucket)) crash.Bucket {
		b := plain
		change(&b)
		return b
	}
	judged := func(seen []crash.VersionSeen, inUse []stats.VersionKnown) crash.Bucket {
		b := plain
		b.Status = stats.Judge(b, seen, stats.ByRelease(inUse), judgedAt)
		return b
	}
	tests := map[string]struct {
		facts stats.AdviceFacts
		want  stats.AdviceKind
		says  string
	}{
		"ready": {stats.AdviceFacts{Bucket: judged(seenIn(noble, "1.4", 0, 3), nil), Named: true},
			stats.AdviceReady, "Yes: 6 machines, and no similar bug is known."},
		"ready, nothing known of versions": {stats.AdviceFacts{Bucket: plain, Named: true}, stats.AdviceReady, "Yes: "},
		"a bug": {
			stats.AdviceFacts{Bucket: with(func(b *crash.Bucket) { b.Bug.Number, b.Provisional = 7, true }), Named: true},
			stats.AdviceExists, "No: bug 7 exists."},
		"no names": {stats.AdviceFacts{Bucket: plain}, stats.AdviceNotSymbolised, "Not yet: without function names"},
		"provisional": {stats.AdviceFacts{Bucket: with(func(b *crash.Bucket) { b.Provisional = true }), Named: true,
			Similar: crash.Bug{Number: 9}},
			stats.AdviceNotSymbolised, "Not yet: without function names"},
		"some names": {stats.AdviceFacts{Bucket: with(func(b *crash.Bucket) {
			b.Rule, b.ProblemType = crash.RuleStackPartial, "Crash"
		}), Named: true, Symbols: crash.ProblemSymbols{Job: crash.SymbolJob{State: crash.SymbolsPartial}}},
			stats.AdviceNotSymbolised, "Perhaps not: some functions have no names"},
		"a partial job of a problem with names": {stats.AdviceFacts{Bucket: plain, Named: true,
			Symbols: crash.ProblemSymbols{Job: crash.SymbolJob{State: crash.SymbolsPartial}}}, stats.AdviceReady, "Yes: "},
		"many missing": {stats.AdviceFacts{Bucket: plain, Symbols: crash.ProblemSymbols{
			Job: crash.SymbolJob{State: crash.SymbolsWaiting}, Missing: []string{"/bin/a", "/lib/b.so", "/lib/c.so"}}},
			stats.AdviceNotSymbolised, "Wait for names: symbols of a, b.so and others are missing."},
		"asked, with an unknown build": {stats.AdviceFacts{Bucket: plain, Symbols: crash.ProblemSymbols{
			Job: crash.SymbolJob{State: crash.SymbolsAsked}, Missing: []string{"/usr/bin/tide"}}},
			stats.AdviceNotSymbolised, "asked for its core dump, and symbols of tide are missing."},
		"asked": {stats.AdviceFacts{Bucket: plain, Symbols: crash.ProblemSymbols{
			Job: crash.SymbolJob{State: crash.SymbolsAsked}}}, stats.AdviceNotSymbolised,
			"Wait for names: a machine was asked for its core dump."},
		"a bug of a problem like it": {stats.AdviceFacts{Bucket: plain, Named: true, Similar: crash.Bug{Number: 9}},
			stats.AdviceExists, "bug 9"},
		"old versions in its " +
			"only release": {stats.AdviceFacts{Bucket: judged(append(seenIn(noble, "1.4", 1, 3), seenIn(noble, "1.3", 9, 0)...),
			used(noble, "1.10", 9)), Named: true}, stats.AdviceOldVersions, "Probably not: only old versions are affected. In " +
			"24.04 it was seen up to 1.4, and 1.10 is in use without it."},
		"old versions in " +
			"both releases": {stats.AdviceFacts{Bucket: judged(append(seenIn(noble, "1.4", 1, 3), seenIn(jammy, "1.2", 1, 3)...),
			append(used(noble, "1.5", 9), used(jammy, "1.2.1", 9)...)), Named: true}, stats.AdviceOldVersions,
			"likewise in 22.04"},
		"probably fixed": {stats.AdviceFacts{Bucket: judged(seenIn(noble, "1.4", 30, 0), used(noble, "1.10", 20)),
			Named: true},
			stats.AdviceOldVersions, "Probably not: it is probably fixed. In 24.04"},
		"old in one release, newest " +
			"in another": {stats.AdviceFacts{Bucket: judged(append(seenIn(noble, "1.4", 1, 3), seenIn(jammy, "1.2", 1, 3)...),
			append(used(noble, "1.4", 9), used(jammy, "1.3", 9)...)), Named: true}, stats.AdviceReady, "Yes: "},
		"a newer version in another release": {stats.AdviceFacts{Bucket: judged(seenIn(noble, "1.5.4", 0, 11),
			used(sid, "1.9.4-2", 20)), Named: true},
			stats.AdviceReady, "Yes: "},
		"a beta is older": {stats.AdviceFacts{Bucket: judged(seenIn(noble, "2.0~beta1", 1, 3), used(noble, "2.0", 9)),
			Named: true},
			stats.AdviceOldVersions, "2.0~beta1"},
		"versions that cannot be compared": {stats.AdviceFacts{Bucket: judged(seenIn(noble, "not a version", 1, 3),
			used(noble, "2.0", 9)), Named: true},
			stats.AdviceReady, "Yes: "},
		"one machine": {stats.AdviceFacts{Bucket: with(func(b *crash.Bucket) { b.Systems = 1 }), Named: true},
			stats.AdviceOneMachine, "12 times"},
		"one report": {stats.AdviceFacts{Bucket: with(func(b *crash.Bucket) { b.Systems, b.Reports = 1, 1 }), Named: true},
			stats.AdviceOneMachine, "only one machine has reported it. The"},
		"machines without names": {
			stats.AdviceFacts{Bucket: with(func(b *crash.Bucket) { b.Systems = 0 }), Named: true},
			stats.AdviceReady, "Yes: no similar bug is known."},
		"test machines": {stats.AdviceFacts{Bucket: with(func(b *crash.Bucket) { b.Systems, b.Reports = 0, 0 }), Named: true},
			stats.AdviceTests, "test machines"},
	}
	for name, tt := range tests {
		got := stats.Advise(tt.facts)
		if got.Kind != tt.want || !strings.Contains(got.Text, tt.says) {
			t.Errorf("%s: got %s: %q, want %s: %q", name, got.Kind, got.Text, tt.want, tt.says)
		}
	}
}

func TestInformative(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		report crashtest.Report
		want   bool
	}{
		"native": {crashtest.Native(), true}, "python": {crashtest.Python(), true}, "assertion": {crashtest.Assertion(),
			true},
		"package": {crashtest.Package(), true}, "kernel": {crashtest.Oops(), true}, "no names": {crashtest.Unsymbolised(),
			false},
	} {
		checktest.Equal(t, name, grouping.Informative(tt.report.Fields()), tt.want)
	}
}

func TestSuspectedCorruption(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		report crashtest.Report
		want   string // part of the result; empty: no suspicion
	}{
		{"an ordinary crash", crashtest.Native(), ""},
		{"an exception", crashtest.Python(), ""},
		{"an assertion of the program", crashtest.Assertion(), ""},
		{"double free", crashtest.Native(crashtest.Set("AssertionMessage", "free(): double free detected in tcache 2")),
			"double free"},
		{"heap", crashtest.Native(crashtest.Set("AssertionMessage", "malloc(): corrupted top size")), "corrupted top size"},
		{"stack", crashtest.Native(crashtest.Set("AssertionMessage", "*** stack smashing detected ***: terminated")),
			"stack smashing"},
		{"stack, by its function", crashtest.Native(crashtest.Without("Stacktrace"),
			crashtest.Set("StacktraceTop", "__stack_chk_fail () at x.c:1\nmain () at y.c:2")), "stack was overrun"},
		{"writes NULL", crashtest.Native(crashtest.Set("SegvReason", "writing NULL VMA")), ""},
		{"reads elsewhere", crashtest.Native(crashtest.Set("SegvReason", "reading unknown VMA")), ""},
		{"writes elsewhere", crashtest.Native(crashtest.Set("SegvReason", "writing unknown VMA")), "wrote to memory"},
		{"runs elsewhere", crashtest.Native(crashtest.Set("SegvReason", "executing writable VMA [heap]")), "ran on"},
	}
	for _, tt := range tests {
		got := grouping.SuspectedCorruption(tt.report.Fields())
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
