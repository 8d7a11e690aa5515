package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/stats"
)

// fixSituation is a problem of noble with a bug that says that 1.4-2 fixes it, and the reports of its package.
type fixSituation struct {
	with, of  int64 // from 1.4-1: reports of the problem, and of the package
	seen      int64 // from 1.4-2: of the problem
	after     int64 // from 1.4-2: of the package
	recent    int64 // of after, in the past 14 days
	days      int   // since the first report from 1.4-2
	machines  int64 // that have reported the problem; 0: as many as reports
	manual    bool  // a person says so instead of the tracker
	before    int64 // of seen: when the person marked it
	elsewhere bool  // the problem was also seen in jammy
}

func (s fixSituation) watch() []stats.FixWatch {
	b, manual, seen, known := s.facts()
	return stats.WatchFixes(b, manual, seen, known, judgedAt)
}

// status returns the status of the problem in noble.
func (s fixSituation) status() crash.ReleaseStatus {
	b, _, _, _ := s.facts()
	i := slices.IndexFunc(b.Status.Releases, func(r crash.ReleaseStatus) bool { return r.Release == noble })
	return b.Status.Releases[i]
}

func (s fixSituation) facts() (b crash.Bucket, manual crash.ManualStatus, seen []crash.VersionSeen,
	known stats.VersionsByRelease) {
	seen = []crash.VersionSeen{{Release: noble, Version: "1.4-1", Reports: s.with, First: daysAgo(100), Last: daysAgo(3)}}
	if s.with == 0 {
		seen = nil
	}
	if s.seen > 0 {
		seen = append(seen, crash.VersionSeen{Release: noble, Version: "1.4-2", Reports: s.seen, First: daysAgo(2),
			Last: daysAgo(1)})
	}
	if s.elsewhere {
		seen = append(seen, crash.VersionSeen{Release: jammy, Version: "1.2-1", Reports: 5, Last: daysAgo(3)})
	}
	inUse := []stats.VersionKnown{{Release: noble, Version: "1.4-1", Arrived: daysAgo(100), Since: daysAgo(100),
		Reports: s.of}}
	if s.after > 0 {
		inUse = append(inUse, stats.VersionKnown{Release: noble, Version: "1.4-2", Arrived: daysAgo(s.days),
			Since: daysAgo(s.days), Reports: s.after, Recent: s.recent})
	}
	b = crash.Bucket{Package: "tidewatch", SourcePackage: "tidewatch", Reports: s.with + s.seen,
		Systems: s.machines, FirstSeen: daysAgo(100), LastSeen: daysAgo(1)}
	if b.Systems == 0 {
		b.Systems = b.Reports
	}
	if s.manual {
		mark := crash.Mark{ID: 1, Kind: crash.MarkFixed, At: daysAgo(s.days), Fixes: []crash.FixedIn{{Version: "1.4-2"}},
			Before: map[crash.Release]map[string]int64{noble: {"1.4-2": s.before}}}
		manual = stats.JudgeManual([]crash.Mark{mark}, seen, judgedAt)
	} else {
		b.Bug = crash.Bug{Number: 3, State: crash.BugState{BugReading: crash.BugReading{
			Tasks: []crash.BugTask{task(nobleTask, "Fix Released"), task(jammyTask, "New")},
			Fixes: []crash.BugFix{fixIn("1.4-2", "noble")}}, Read: judgedAt}}
	}
	known = stats.ByRelease(inUse)
	b.Status = stats.Judge(b, seen, known, judgedAt)
	return b, manual, seen, known
}

// noneByHand returns the probability that none of m reports is of a problem that k of n others are, by
// multiplication.
func noneByHand(k, n, m int) float64 {
	p := 1.
	for i := range k {
		p *= float64(n-i) / float64(n+m-i)
	}
	return p
}

// TestWatchFixes checks the verdicts and their numbers against hand counts.
func TestWatchFixes(t *testing.T) {
	t.Parallel()
	// 30 of 120 reports were of the problem: 30 per 90 others, of which half as many would be 15 of 105.
	needed := 0
	for noneByHand(15, 105, needed) > .05 {
		needed++
	}
	checktest.Equal(t, "needed by hand", needed, 22)
	enough := 0
	for noneByHand(30, 120, enough) > .05 {
		enough++
	}
	checktest.Equal(t, "evidence by hand", enough, 12)
	for name, c := range map[string]struct {
		fixSituation
		verdict  stats.FixVerdict
		expected string
		lacking  int64
		judged   time.Time
		text     string
	}{
		"no report yet": {
			fixSituation{with: 30, of: 120}, stats.FixUnused, "0 (0–0)", 0, time.Time{},
			"No report of tidewatch 1.4-2 or later has come from 24.04 yet.",
		},
		"too early": {
			fixSituation{with: 30, of: 120, after: 6, recent: 6, days: 20},
			stats.FixEarly, "2.0 (1.3–3.1)", 16, daysAgo(-38),
			"Too early to judge 1.4-2 in 24.04: 0 machines with it sent 6 reports of tidewatch; 2.0 " +
				"(1.3–3.1) reports of this problem were to be expected without a fix. 16 more reports of " +
				"the package without this problem would tell: on 28 December 2026 at the present pace.",
		},
		"too slow": {
			fixSituation{with: 30, of: 120, after: 6, recent: 1, days: 20},
			stats.FixEarly, "2.0 (1.3–3.1)", 16, time.Time{},
			"Too early to judge 1.4-2 in 24.04: 0 machines with it sent 6 reports of tidewatch; 2.0 " +
				"(1.3–3.1) reports of this problem were to be expected without a fix. 16 more reports of " +
				"the package without this problem would tell, which at the present pace takes more than " +
				"90 days.",
		},
		"stopped": {
			fixSituation{with: 30, of: 120, after: 6, days: 20}, stats.FixEarly, "2.0 (1.3–3.1)", 16, time.Time{},
			"Too early to judge 1.4-2 in 24.04: 0 machines with it sent 6 reports of tidewatch; 2.0 " +
				"(1.3–3.1) reports of this problem were to be expected without a fix. 16 more reports of " +
				"the package without this problem would tell; none came in the past 14 days.",
		},
		"a week is missing": {
			fixSituation{with: 30, of: 120, after: 40, recent: 40, days: 5},
			stats.FixEarly, "13 (8.5–20)", 0, daysAgo(-2),
			"Too early to judge 1.4-2 in 24.04: 0 machines with it sent 40 reports of tidewatch; 13 " +
				"(8.5–20) reports of this problem were to be expected without a fix. A week of use is " +
				"needed: on 22 November 2026 at the present pace.",
		},
		"evidence, but half as many would not show": {
			fixSituation{with: 30, of: 120, after: 12, recent: 12, days: 13},
			stats.FixRarer, "4.0 (2.6–6.1)", 10, daysAgo(-12),
			"Rarer with 1.4-2 in 24.04, and perhaps fixed: 0 machines with it sent 12 reports of " +
				"tidewatch. 4.0 (2.6–6.1) reports of this problem were to be expected without a fix, and " +
				"none came. 10 more reports of the package without this problem would tell: on 2 " +
				"December 2026 at the present pace.",
		},
		"fixed": {
			fixSituation{with: 30, of: 120, after: 40, recent: 9, days: 13},
			stats.FixWorks, "13 (8.5–20)", 0, time.Time{},
			"Fixed by 1.4-2 in 24.04: 0 machines with it sent 40 reports of tidewatch. 13 (8.5–20) " +
				"reports of this problem were to be expected without a fix, and none came. If it were " +
				"half as frequent, one would have come with a probability of 99%.",
		},
		"not fixed": {
			fixSituation{with: 30, of: 120, seen: 9, after: 40, days: 13},
			stats.FixFails, "10 (6.6–16)", 0, time.Time{},
			"Not fixed by 1.4-2 in 24.04: 9 reports since; 10 (6.6–16) reports of this problem were " +
				"to be expected without a fix.",
		},
		"not fixed, and nothing else reported": {
			fixSituation{with: 30, of: 120, seen: 9, after: 9, days: 13}, stats.FixFails, "unknown", 0, time.Time{},
			"Not fixed by 1.4-2 in 24.04: 9 reports since.",
		},
		"fewer": {
			fixSituation{with: 30, of: 120, seen: 3, after: 80, days: 13},
			stats.FixFewer, "26 (16–39)", 0, time.Time{},
			"Fewer, but not gone, with 1.4-2 in 24.04: 3 reports, where 26 (16–39) reports of this " +
				"problem were to be expected without a fix (0.12 times as many).",
		},
		"never before": {
			fixSituation{seen: 3, after: 80, days: 13}, stats.FixFails, "unknown", 0, time.Time{},
			"Not fixed by 1.4-2 in 24.04: 3 reports since.",
		},
		"no other problem": {
			fixSituation{with: 30, of: 30, after: 4, days: 13}, stats.FixWorks, "at least 31", 0, time.Time{},
			"Fixed by 1.4-2 in 24.04: 0 machines with it sent 4 reports of tidewatch. At least 31 " +
				"reports of this problem were to be expected without a fix, and none came. If it were " +
				"half as frequent, one would have come with a probability of 99%.",
		},
		"marked although seen": {
			fixSituation{with: 30, of: 120, seen: 3, before: 3, after: 20, days: 13, manual: true},
			stats.FixEarly, "5.7 (3.6–8.7)", 0, time.Time{},
			"Too early to judge 1.4-2 in 24.04: 0 machines with it sent 20 reports of tidewatch, 3 " +
				"of them of this problem, before it was marked as fixed.",
		},
		"marked, seen since": {
			fixSituation{with: 30, of: 120, seen: 4, before: 3, after: 20, days: 13, manual: true},
			stats.FixFails, "5.3 (3.4–8.1)", 0, time.Time{},
			"Not fixed by 1.4-2 in 24.04: 4 reports since; 5.3 (3.4–8.1) reports of this problem " +
				"were to be expected without a fix.",
		},
	} {
		all := c.watch()
		if len(all) != 1 {
			t.Errorf("%s: got %d fixes, want 1", name, len(all))
			continue
		}
		w := all[0]
		checktest.Equal(t, name+": verdict", w.Verdict, c.verdict)
		checktest.Equal(t, name+": expected", w.ExpectedText(), c.expected)
		checktest.Equal(t, name+": lacking", w.Lacking, c.lacking)
		checktest.Equal(t, name+": judged", w.Judged, c.judged)
		checktest.Equal(t, name+": text", w.Text(), c.text)
	}
}

// TestWatchFixesAgreesWithStatus checks that a fix is never called rarer or fixed without the evidence by which the
// status of the problem says that newer versions are free of it, and never otherwise than not fixed or fewer while the
// status says that it is seen again.
func TestWatchFixesAgreesWithStatus(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(42, 1))
	verdicts := map[stats.FixVerdict]int{}
	for range 3000 {
		s := fixSituation{with: r.Int64N(60), days: r.IntN(30), after: r.Int64N(80), manual: r.IntN(2) == 0,
			elsewhere: r.IntN(2) == 0}
		s.of = s.with + r.Int64N(200)
		if s.after > 0 && r.IntN(3) == 0 {
			s.seen = r.Int64N(s.after)
		}
		s.machines = max((s.with+s.seen)/(1+r.Int64N(3)), 1)
		for _, w := range s.watch() {
			if w.Release != noble {
				continue
			}
			verdicts[w.Verdict]++
			again := s.seen > 0
			status := s.status()
			switch w.Verdict {
			case stats.FixWorks, stats.FixRarer:
				if again || !status.NewerFree() {
					t.Errorf("%+v: got %s, want none: the status says %+v", s, w.Verdict, status)
				}
			case stats.FixEarly, stats.FixUnused:
				if again {
					t.Errorf("%+v: got %s of a problem that was seen again", s, w.Verdict)
				}
			case stats.FixFewer, stats.FixFails:
				if !again {
					t.Errorf("%+v: got %s of a problem that was not seen again", s, w.Verdict)
				}
			}
			if w.Seen == 0 && w.Before > 0 && len(w.Versions) > 0 && s.days >= 7 && status.NewerFree() &&
				w.Verdict != stats.FixWorks && w.Verdict != stats.FixRarer {
				t.Errorf("%+v: got %s, want the evidence of the status", s, w.Verdict)
			}
		}
	}
	for _, v := range stats.FixVerdicts {
		if verdicts[v] == 0 {
			t.Errorf("no situation had the verdict %s", v)
		}
	}
}

// fixFleet simulates the reports of a package, day by day, while machines install an update that says that it fixes a
// problem.
type fixFleet struct {
	rand    *rand.Rand
	effect  float64 // the rate of the problem with the update, as a share of that before
	problem float64 // reports of the problem per machine and day before
	others  float64
	repeat  float64 // probability of another report of the same machine on that day, again and again
}

// verdicts returns all verdicts of the first days days of the update.
func (f fixFleet) verdicts(days int) map[stats.FixVerdict]bool {
	const machines = 400
	var seen, all [2]int64 // from the old and the new version
	var hit [machines]bool
	var daily []int64
	count := func(mean float64) (n int64) { return int64(poisson(f.rand, mean)) }
	first := -1
	said := map[stats.FixVerdict]bool{}
	for day := -60; day < days; day++ {
		share := 0.
		if day >= 0 {
			share = 1 - math.Exp(-float64(day)/14) // a staged roll-out
		}
		var today int64
		for version, part := range []float64{1 - share, share} {
			rate := f.problem
			if version == 1 {
				rate *= f.effect
			}
			for range count(rate * machines * part) {
				n := int64(1)
				for f.rand.Float64() < f.repeat {
					n++
				}
				hit[f.rand.IntN(machines)] = true
				seen[version], all[version] = seen[version]+n, all[version]+n
			}
			n := count(f.others * machines * part)
			all[version] += n
			if version == 1 {
				today = n
			}
		}
		if day < 0 {
			continue
		}
		if first < 0 && all[1] > 0 {
			first = day
		}
		daily = append(daily, today)
		var recent, systems int64
		for _, n := range daily[max(len(daily)-stats.PaceDays, 0):] {
			recent += n
		}
		for _, was := range hit {
			if was {
				systems++
			}
		}
		s := fixSituation{with: seen[0], of: all[0], seen: seen[1], after: all[1], recent: recent, days: day - first,
			machines: systems}
		for _, w := range s.watch() {
			said[w.Verdict] = true
		}
	}
	return said
}

func poisson(r *rand.Rand, mean float64) (n int) {
	for p := r.Float64(); p > math.Exp(-mean); p *= r.Float64() {
		n++
	}
	return n
}

// TestWatchFixesOfFleets asks daily, for 60 days, about fixes that work, do nothing, and halve the problem. At most 5%
// of the fleets ever get a wrong verdict. docs/triage.md has the results of -runs 200.
func TestWatchFixesOfFleets(t *testing.T) {
	t.Parallel()
	runs := 10 * *runs
	for i, rates := range []fixFleet{
		{problem: .0005, others: .002}, {problem: .002, others: .002}, {problem: .002, others: .0002},
		{problem: .0005, others: .004, repeat: .5},
	} {
		for _, effect := range []float64{0, .5, 1} {
			wrong, said := 0, map[stats.FixVerdict]int{}
			for run := range runs {
				f := rates
				f.effect, f.rand = effect, rand.New(rand.NewPCG(uint64(run), uint64(i)+1))
				verdicts := f.verdicts(60)
				for v := range verdicts {
					said[v]++
				}
				lasting := verdicts[stats.FixWorks] || effect == 1 && verdicts[stats.FixRarer]
				if effect == 0 {
					lasting = verdicts[stats.FixFails]
				}
				if lasting || effect != .5 && verdicts[stats.FixFewer] {
					wrong++
				}
			}
			name := fmt.Sprintf("fleet %d, rate × %.1f", i, effect)
			t.Logf("%s: wrong %.1f%%; ever %s", name, 100*float64(wrong)/float64(runs), percentages(said, runs))
			// The simulation draws a sample: so many wrong verdicts would come by chance in less than 1% of them.
			if stats.BinomialTail(float64(wrong), float64(runs-wrong), .05) < .01 {
				t.Errorf("%s: got %d wrong verdicts of %d, want at most 5%%", name, wrong, runs)
			}
			right := map[float64]stats.FixVerdict{0: stats.FixRarer, .5: stats.FixFails, 1: stats.FixFails}[effect]
			if i != 2 && said[right] < runs*9/10 { // in fleet 2, hardly any report comes from an update that works
				t.Errorf("%s: got %s in %d of %d, want at least 90%%", name, right, said[right], runs)
			}
		}
	}
}

func percentages(said map[stats.FixVerdict]int, runs int) string {
	var parts []string
	for _, v := range stats.FixVerdicts {
		parts = append(parts, fmt.Sprintf("%s %.1f%%", v, 100*float64(said[v])/float64(runs)))
	}
	return strings.Join(parts, ", ")
}
