package gallery

import (
	"mishap/crash"
	"mishap/crash/stats"
	adminview "mishap/views/admin"
	problemsview "mishap/views/problems"
)

// symbols returns the page about symbols, with everything that can be missing and every state.
func symbols() adminview.SymbolsPage {
	searched := []crash.SymbolAttempt{{Source: "added files", Outcome: "missing"},
		{Source: "https://symbols.example.org", Outcome: "missing", Detail: "HTTP 404"}}
	page := adminview.SymbolsPage{
		Shell: shell("Symbols", admin), MissingSize: 25, MissingTotal: 40, MissingJobs: 10_000, MissingCapped: true,
		QueueSize: 20, QueueMore: true,
		Workers: []crash.SymbolWorker{{Architectures: []string{"amd64", "i386"}, Seen: now},
			{Problem: "gdb is not installed.", Seen: now}},
		Missing: []crash.MissingSymbol{
			{Kind: crash.MissingDebugFile, Path: "/usr/lib/x86_64-linux-gnu/libtide.so.1", Package: "libtide1",
				Version: "1:2.0-1ubuntu1", Architecture: "amd64", BuildID: "9a3f6c1b2d4e5f60718293a4b5c6d7e8f9012345",
				Release: releases[1], Reports: 41_300, Problems: 72, Searched: searched},
			{Kind: crash.MissingProgram, Path: "/opt/reef/bin/reefd", Architecture: "amd64",
				BuildID: "1111111111111111111111111111111111111111", Reports: 900, Problems: 2, Searched: searched},
			{Kind: crash.MissingBuild, Path: "/usr/lib/libsand.so.3", Package: "libsand3", Version: "3.1-2",
				Architecture: "arm64", Reports: 12, Problems: 1},
			{Kind: crash.MissingBuild, Path: "/usr/lib/libdune.so.3", Architecture: "arm64", Reports: 1, Problems: 1},
		},
		Totals: crash.SymbolTotals{States: map[crash.SymbolState]int64{crash.SymbolsQueued: 12, crash.SymbolsWaiting: 900},
			Oldest: now.AddDate(0, 0, -1)},
	}
	for i, state := range []crash.SymbolState{crash.SymbolsRunning, crash.SymbolsQueued, crash.SymbolsWaiting,
		crash.SymbolsPartial, crash.SymbolsFailed, crash.SymbolsExpired, crash.SymbolsDone} {
		b := bucket(i)
		page.Queue = append(page.Queue, crash.SymbolQueueRow{Report: crash.NewOopsID(now), Problem: b.ID, Title: b.Title,
			State: state, Architecture: "amd64", Reports: b.Reports, Core: i%2 == 0, Created: now, Started: now, Ended: now,
			PressedBy: "ada", Reason: "Files with function names are missing: /usr/lib/x86_64-linux-gnu/libtide.so.1."})
	}
	return page
}

// nameless returns the page of a native crash without function names that waits for symbols. If
// wanted is true, a person has asked for a core.
func nameless(wanted bool) problemsview.ProblemPage {
	page := problem(admin)
	page.Bucket.Provisional, page.Bucket.Rule = true, crash.RuleAddress
	lost := &crash.SymbolSearch{Searched: []crash.SymbolAttempt{{Source: "added files", Outcome: "missing"},
		{Source: "https://symbols.example.org", Outcome: "missing", Detail: "HTTP 404"}}}
	known := crash.ProblemSymbols{Missing: []string{"/usr/lib/libtide.so.1"}, Job: crash.SymbolJob{
		Report: crash.NewOopsID(now), State: crash.SymbolsPartial, NotBefore: now.AddDate(0, 0, 1),
		Reason: "Files with function names are missing: /usr/lib/libtide.so.1.", Modules: []crash.SymbolModule{
			{Path: "/usr/lib/libtide.so.1", BuildID: "9a3f6c1b2d4e5f60718293a4b5c6d7e8f9012345", Frames: 2, Executable: lost},
			{Path: "/usr/bin/tidewatch"}}}}
	page.Symbols = &problemsview.SymbolsView{Job: known.Job, MayPress: true, CSRFToken: "token",
		Core: &problemsview.CoreView{Path: problemsview.CorePath(page.Bucket.ID), MayAsk: true}}
	if wanted {
		page.Symbols.Core.Wanted = crash.WantedCore{Person: "grace", Asked: now}
		page.Symbols.Core.WhyNot = "No instance can symbolise core dumps of riscv64, so machines are not asked for any."
	}
	page.Status.Admin = true
	page.Status.Advice = stats.Advise(stats.AdviceFacts{Bucket: page.Bucket, Symbols: known})
	return page
}
