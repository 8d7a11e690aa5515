package stats_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/stats"
	"mishap/crash/version"
)

const (
	jammy    = crash.Release("Ubuntu 22.04")
	noble    = crash.Release("Ubuntu 24.04")
	questing = crash.Release("Ubuntu 25.10") // its support ended in July 2026
	resolute = crash.Release("Ubuntu 26.04")
	trixie   = crash.Release("Debian 13")
	sid      = crash.Release("Debian sid")
	mint     = crash.Release("Linux Mint 22")
	kylin    = crash.Release("Ubuntu Kylin 24.04")
)

var (
	judgedAt = time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	closing  = time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC) // when the tasks of these tests were closed
)

func daysAgo(n int) time.Time { return judgedAt.Truncate(24*time.Hour).AddDate(0, 0, -n) }

// seenIn returns an occurrence whose newest report is some days old, with some reports in the past
// week.
func seenIn(release crash.Release, version string, days int, inWeek int64) []crash.VersionSeen {
	return []crash.VersionSeen{{Release: release, Version: version, Reports: inWeek + 20, Week: inWeek,
		First: daysAgo(200), Last: daysAgo(days)}}
}

// used returns a version that has been in use for some days, with many reports.
func used(release crash.Release, version string, days int) []stats.VersionKnown {
	return []stats.VersionKnown{{Release: release, Version: version, Arrived: daysAgo(days), Since: daysAgo(days),
		Reports: 1000}}
}

const (
	mainTask  = "/ubuntu/+source/tidewatch"
	jammyTask = "/ubuntu/jammy/+source/tidewatch"
	nobleTask = "/ubuntu/noble/+source/tidewatch"
	upstream  = "/tidewatch"
	otherTask = "/ubuntu/+source/libtide"
)

func task(target, status string) crash.BugTask {
	t := crash.BugTask{Target: target, Status: status}
	switch status {
	case "Fix Released", "Invalid", "Won't Fix", "Opinion", "Expired", crash.PlainlyClosed, "Does Not Exist":
		t.Complete, t.Closed = true, closing
	}
	return t
}

func bugWith(tasks ...crash.BugTask) *crash.BugReading { return &crash.BugReading{Tasks: tasks} }

// fixedBy returns a bug that is closed with a fix, in the whole package.
func fixedBy(fixes ...crash.BugFix) *crash.BugReading {
	return &crash.BugReading{Tasks: []crash.BugTask{task(mainTask, "Fix Released")}, Fixes: fixes}
}

func fixIn(version, series string) crash.BugFix {
	return crash.BugFix{Package: "tidewatch", Version: version, Series: series}
}

// situation is a problem with everything that Judge takes into account.
type situation struct {
	bug    *crash.BugReading // nil: none
	master *crash.BugReading
	unread bool
	seen   []crash.VersionSeen
	inUse  []stats.VersionKnown
	change func(*crash.Bucket)
}

func (s situation) bucket() crash.Bucket {
	b := crash.Bucket{SourcePackage: "tidewatch", Package: "tidewatch", Systems: 4, FirstSeen: daysAgo(200)}
	for _, o := range s.seen {
		b.Reports += o.Reports
		if o.Last.After(b.LastSeen) {
			b.LastSeen = o.Last
		}
	}
	read := judgedAt.Add(-time.Hour)
	if s.bug != nil {
		b.Bug = crash.Bug{Number: 3, State: crash.BugState{BugReading: *s.bug, Read: read}}
	}
	if s.unread {
		b.Bug.State.Read = time.Time{}
	}
	if s.master != nil {
		b.Bug.State.DuplicateOf = 7
		b.Bug.Master = &crash.BugState{BugReading: *s.master, Read: read}
	}
	if s.change != nil {
		s.change(&b)
	}
	b.Status = stats.Judge(b, s.seen, stats.ByRelease(s.inUse), judgedAt)
	return b
}

func join[T any](lists ...[]T) []T { return slices.Concat(lists...) }

var situations = map[string]struct {
	situation
	want crash.StateWord
	text string // the complete text
}{
	// Without a bug.
	"new to us": {situation{seen: seenIn(noble, "1.4", 0, 5), change: func(b *crash.Bucket) { b.FirstSeen = daysAgo(6) }},
		crash.StateNew,
		"First seen in the past week. Open in 24.04 (5 reports this week)."},
	"a week old": {situation{seen: seenIn(noble, "1.4", 0, 5), change: func(b *crash.Bucket) { b.FirstSeen = daysAgo(7) }},
		crash.StateUnfiled,
		"Open in 24.04 (5 reports this week)."},
	"seen in the newest version": {situation{seen: seenIn(noble, "1.4", 0, 1), inUse: used(noble, "1.4", 90)},
		crash.StateUnfiled,
		"Open in 24.04 (1 report this week)."},
	"a higher version in Debian says nothing of Ubuntu": {situation{seen: seenIn(noble, "1.5.4", 0, 11),
		inUse: used(sid, "1.9.4-2", 90)},
		crash.StateUnfiled, "Open in 24.04 (11 reports this week)."},
	"gone from Debian, seen in Ubuntu": {situation{seen: join(seenIn(noble, "1.5.4", 0, 11),
		seenIn(sid, "1.9.4-1", 13, 0)), inUse: used(sid, "1.9.4-2", 12)},
		crash.StateUnfiled, "Probably fixed in sid; still open in 24.04 (11 reports this week)."},
	"gone": {situation{seen: seenIn(noble, "1.4", 30, 0), inUse: used(noble, "1.5", 20)}, crash.StateGone,
		"Probably fixed in 24.04."},
	"seen yesterday in an old version": {situation{seen: seenIn(noble, "1.4", 1, 2), inUse: used(noble, "1.5", 20)},
		crash.StateUnfiled,
		"Open in 24.04 (2 reports this week)."},
	"not seen for a week, the newer version came yesterday": {situation{seen: seenIn(noble, "1.4", 7, 0),
		inUse: used(noble, "1.5", 1)}, crash.StateUnfiled,
		"Open in 24.04 (no report this week)."},
	"not seen for a month, the newer version came six days ago": {situation{seen: seenIn(noble, "1.4", 30, 0),
		inUse: used(noble, "1.5", 6)}, crash.StateUnfiled,
		"Open in 24.04 (no report this week)."},
	"not seen for a week, nor since the newer version came a week ago": {situation{seen: seenIn(noble, "1.4", 7, 0),
		inUse: used(noble, "1.5", 7)}, crash.StateGone,
		"Probably fixed in 24.04."},
	"open, not seen for a month, the newer version came yesterday": {situation{bug: bugWith(task(mainTask, "Triaged")),
		seen: seenIn(noble, "1.9", 30, 0), inUse: used(noble, "1.10", 1)}, crash.StateOpen,
		"Open in 24.04 (no report this week)."},
	"not seen for six days": {situation{seen: seenIn(noble, "1.4", 6, 1), inUse: used(noble, "1.5", 5)},
		crash.StateUnfiled,
		"Open in 24.04 (1 report this week)."},
	"a tilde is before": {situation{seen: seenIn(noble, "1.4", 30, 0), inUse: used(noble, "1.4~rc1", 20)},
		crash.StateUnfiled,
		"Open in 24.04 (no report this week)."},
	"gone from one of two": {situation{seen: join(seenIn(noble, "1.4", 30, 0), seenIn(jammy, "1.2", 30, 0)),
		inUse: used(noble, "1.5", 20)},
		crash.StateUnfiled, "Probably fixed in 24.04; still open in 22.04 (no report this week)."},
	"no version at all": {situation{seen: seenIn(noble, "", 0, 4), inUse: used(noble, "1.5", 20)}, crash.StateUnfiled,
		"Open in 24.04 (4 reports this week)."},
	"a version that cannot be ordered, since " +
		"the newer one": {situation{seen: join(seenIn(noble, "1.4", 30, 0), seenIn(noble, "not a version", 10, 0)),
		inUse: used(noble, "1.5", 20)},
		crash.StateUnfiled, "Open in 24.04 (no report this week)."},
	"no release": {situation{seen: seenIn("", "1.4", 30, 0), inUse: used("", "1.5", 20)}, crash.StateUnfiled,
		"Open in an unknown release (no report this week)."},
	"a release at the end of its life " +
		"does not count": {situation{seen: join(seenIn(noble, "1.4", 30, 0), seenIn(questing, "1.6", 150, 0)),
		inUse: used(noble, "1.5", 20)},
		crash.StateGone, "Probably fixed in 24.04."},
	"only a release at the end of its life": {situation{seen: seenIn(questing, "1.6", 150, 0)}, crash.StateUnfiled,
		"Open in 25.10 (no report this week)."},
	"only test machines": {situation{}, crash.StateTests, "Only test machines have reported it."},
	"not symbolised": {situation{seen: seenIn(noble, "1.4", 0, 2), change: func(b *crash.Bucket) { b.Provisional = true }},
		crash.StateNameless,
		"Function names are missing. Once they are known, the reports move to the problem with these names. Open in " +
			"24.04 (2 reports this week)."},
	"not seen for years": {situation{change: func(b *crash.Bucket) { b.Reports, b.LastSeen = 9, daysAgo(500) }},
		crash.StateGone, "Not seen for more than a year."},
	"many releases": {situation{seen: join(seenIn(noble, "1", 0, 1), seenIn(jammy, "1", 0, 1), seenIn(resolute, "1", 0, 1),
		seenIn(trixie, "1", 0, 1), seenIn(mint, "1", 0, 1))},
		crash.StateUnfiled, "Open in 26.04 (1 report this week), 24.04 (1 report this week), 22.04 (1 report this week) " +
			"and 2 other releases (2 reports this week)."},

	// The tracker gives little information.
	"never read": {situation{bug: bugWith(), unread: true, seen: seenIn(noble, "1.0", 0, 1)}, crash.StateUnknown,
		"The bug has not been read from the tracker yet. Open in 24.04 (1 report this week)."},
	"hidden": {situation{bug: &crash.BugReading{Hidden: true}, seen: seenIn(noble, "1.2", 0, 1)}, crash.StatePrivate,
		"The bug cannot be read: it is private or deleted. Open in 24.04 (1 report this week)."},
	"private though we may read it": {situation{bug: &crash.BugReading{Private: true, Tasks: fixedBy().Tasks},
		seen: seenIn(noble, "1.2", 0, 1)}, crash.StatePrivate,
		"The bug is private. Open in 24.04 (1 report this week)."},
	"no tasks": {situation{bug: bugWith(), seen: seenIn(noble, "1.2", 0, 1)}, crash.StateOpen, "Open in 24.04 (1 report " +
		"this week)."},

	// The bug is open.
	"open": {situation{bug: bugWith(task(mainTask, "New")), seen: seenIn(noble, "1.1", 0, 3),
		inUse: used(noble, "1.1", 90)}, crash.StateOpen,
		"Open in 24.04 (3 reports this week)."},
	"open, gone": {situation{bug: bugWith(task(mainTask, "Triaged")), seen: seenIn(noble, "1.9", 30, 0),
		inUse: used(noble, "1.10", 20)}, crash.StateDisappeared,
		"The bug is open. Probably fixed in 24.04."},
	"open, old version in use, seen yesterday": {situation{bug: bugWith(task(mainTask, "Triaged")),
		seen: seenIn(noble, "1.9", 1, 2), inUse: used(noble, "1.10", 20)}, crash.StateOpen,
		"Open in 24.04 (2 reports this week)."},
	"committed, and seen " +
		"in proposed": {situation{bug: &crash.BugReading{Tasks: []crash.BugTask{task(mainTask, "Fix Committed")},
		Fixes: []crash.BugFix{fixIn("1.3", "noble")}},
		seen: seenIn(noble, "1.3", 0, 3), inUse: used(noble, "1.3", 3)}, crash.StateOpen, "Open in 24.04 (3 reports " +
		"this week)."},
	"open, a status nobody knows": {situation{bug: bugWith(task(mainTask, "Frozen")), seen: seenIn(noble, "1.1", 0, 3)},
		crash.StateOpen, "Open in 24.04 (3 reports this week)."},
	"open, not seen for years": {situation{bug: bugWith(task(mainTask, "New")), change: func(b *crash.Bucket) {
		b.Reports,
			b.LastSeen = 9, daysAgo(500)
	}}, crash.StateDisappeared,
		"The bug is open; not seen for more than a year."},
	"open, test machines": {situation{bug: bugWith(task(mainTask, "New"))}, crash.StateOpen, "The bug is open; it has " +
		"no counted reports."},

	// The bug is closed with a fix in a known version.
	"before the fix": {situation{bug: fixedBy(fixIn("1.3-1", "")), seen: seenIn(noble, "1.2-9", 0, 3)},
		crash.StateFixed, "Fixed in 24.04 (3 reports this week from older versions)."},
	"in the fix": {situation{bug: fixedBy(fixIn("1.3-1", "")), seen: seenIn(noble, "1.3-1", 0, 3)},
		crash.StateRegression, "Seen again after the fix in 24.04 (3 reports this week)."},
	"after the fix": {situation{bug: fixedBy(fixIn("1.3-1", "")),
		seen: seenIn(noble, "1.10-1", 90, 0)}, crash.StateRegression, "Seen again after the fix in 24.04 (no report " +
		"this week)."},
	"an epoch wins": {situation{bug: fixedBy(fixIn("1:0.1", "")), seen: seenIn(noble, "9.0", 0, 3)},
		crash.StateFixed, "Fixed in 24.04 (3 reports this week from older versions)."},
	"fixed twice, the later one counts": {situation{bug: fixedBy(fixIn("1.3", ""), fixIn("1.5", "")),
		seen: seenIn(noble, "1.4", 0, 3)}, crash.StateFixed, "Fixed in 24.04 (3 reports this week from older versions)."},
	"fixed in this series": {situation{bug: fixedBy(fixIn("2.0", "resolute"), fixIn("1.3~24.04", "noble")),
		seen: seenIn(noble, "1.2", 0, 3)}, crash.StateFixed, "Fixed in 24.04 (3 reports this week from older versions) " +
		"and 26.04."},
	"seen again in this series": {situation{bug: fixedBy(fixIn("2.0", "resolute"), fixIn("1.3~24.04", "noble")),
		seen: seenIn(noble, "1.3", 0, 3)}, crash.StateRegression, "Seen again after the fix in 24.04 (3 reports this " +
		"week); fixed in 26.04."},
	"fixed only in a later series": {situation{bug: fixedBy(fixIn("2.0", "resolute")),
		seen: join(seenIn(noble, "1.3", 0, 11), seenIn(resolute, "1.9", 20, 0))},
		crash.StateOpen, "Fixed in 26.04; still open in 24.04 (11 reports this week)."},
	"fixed only in a later series, where it was never seen": {situation{bug: fixedBy(fixIn("2.0", "resolute")),
		seen: seenIn(noble, "1.3", 0, 11)},
		crash.StateOpen, "Fixed in 26.04; still open in 24.04 (11 reports this week)."},
	"fixed in a later series, gone from the rest": {situation{bug: fixedBy(fixIn("2.0", "resolute")),
		seen: seenIn(noble, "1.3", 20, 0), inUse: used(noble, "1.4", 15)},
		crash.StateFixed, "The bug is closed with a fix. Fixed in 26.04; probably fixed in 24.04."},
	"fixed in an earlier series": {situation{bug: fixedBy(fixIn("1.3", "noble")), seen: seenIn(resolute, "1.2", 0, 2)},
		crash.StateFixed, "Fixed in 26.04 (2 reports this week from older versions) and 24.04."},
	"fixed in an earlier series, seen later": {situation{bug: fixedBy(fixIn("1.3", "noble")),
		seen: seenIn(resolute, "1.4", 0, 2)}, crash.StateRegression,
		"Seen again after the fix in 26.04 (2 reports this week); fixed in 24.04."},
	"fixed in Ubuntu, seen in Debian": {situation{bug: fixedBy(fixIn("1.3", "noble")),
		seen: join(seenIn(noble, "1.2", 9, 0), seenIn(trixie, "1.2-4", 0, 11))},
		crash.StateOpen, "Fixed in 24.04; still open in Debian 13 (11 reports this week)."},
	"a higher version in Debian is no regression": {situation{bug: fixedBy(fixIn("1.3", "noble")),
		seen: seenIn(sid, "1.9-1", 0, 11)},
		crash.StateOpen, "Fixed in 24.04; still open in sid (11 reports this week)."},
	"a derivative has its own versions": {situation{bug: fixedBy(fixIn("1.3", "noble")),
		seen: join(seenIn(noble, "1.2", 9, 0), seenIn(mint, "1.3", 0, 4), seenIn(kylin, "1.3", 0, 2))},
		crash.StateOpen, "Fixed in 24.04; still open in Ubuntu Kylin 24.04 (2 reports this week) and Linux Mint 22 (4 " +
			"reports this week)."},
	"a fix from Debian, in the newest release": {situation{bug: fixedBy(fixIn("2.0-1", "unstable")),
		seen: join(seenIn(resolute, "1.9", 9, 0), seenIn(noble, "1.2", 0, 3))},
		crash.StateOpen, "Fixed in 26.04; still open in 24.04 (3 reports this week)."},
	"a fix from Debian that has arrived in an old release": {situation{bug: fixedBy(fixIn("2.0-1", "unstable")),
		seen: join(seenIn(resolute, "1.9", 9, 0), seenIn(noble, "1.2", 9, 0)), inUse: used(noble, "2.0-1", 6)},
		crash.StateFixed, "Fixed in 26.04 and 24.04."},
	"fix of another package": {situation{bug: fixedBy(crash.BugFix{Package: "libtide", Version: "0.1"}),
		seen: seenIn(noble, "1.4", 0, 2), inUse: used(noble, "1.4", 20)},
		crash.StateFixed, "Fixed in 24.04 (2 reports this week from older versions)."},
	"reports without a version since the fix": {situation{bug: fixedBy(fixIn("1.3", "noble")),
		seen: join(seenIn(noble, "1.2", 20, 0), seenIn(noble, "", 0, 4))},
		crash.StateOpen, "Open in 24.04 (4 reports this week)."},
	"reports without a version before the fix": {situation{bug: fixedBy(fixIn("1.3", "noble")),
		seen: join(seenIn(noble, "1.2", 20, 0), seenIn(noble, "", 20, 0))},
		crash.StateFixed, "Fixed in 24.04."},

	// The bug is closed with a fix in an unknown version.
	"known at the closing": {situation{bug: fixedBy(), seen: seenIn(noble, "1.1", 0, 3),
		inUse: join(used(noble, "1.1", 20), used(noble, "1.0", 90))}, crash.StateFixed, "Fixed in 24.04 (3 reports this " +
		"week from older versions)."},
	"arrived after the closing": {situation{bug: fixedBy(), seen: seenIn(noble, "1.2", 0, 3),
		inUse: join(used(noble, "1.2", 5), used(noble, "1.1", 20))}, crash.StateRegression, "Seen again after the fix in " +
		"24.04 (3 reports this week)."},
	"crashed before the closing, arrived after it": {situation{bug: fixedBy(), seen: seenIn(noble, "1.2", 12, 0),
		inUse: join(used(noble, "1.2", 5), used(noble, "1.1", 20))}, crash.StateFixed, "Fixed in 24.04."},
	"an old version comes late": {situation{bug: fixedBy(), seen: seenIn(noble, "1.0", 0, 3),
		inUse: join(used(noble, "1.0", 5), used(noble, "1.1", 20))}, crash.StateFixed,
		"Fixed in 24.04 (3 reports this week from older versions)."},
	"nothing known at the closing, seen since": {situation{bug: fixedBy(), seen: seenIn(noble, "1.2", 0, 3),
		inUse: used(noble, "1.2", 5)}, crash.StateOpen, "Open in 24.04 (3 reports this week)."},
	"nothing known at the closing, not seen since": {situation{bug: fixedBy(), seen: seenIn(noble, "1.2", 20, 0),
		inUse: used(noble, "1.2", 5)}, crash.StateFixed, "Fixed in 24.04."},
	"fixed, not seen for years": {situation{bug: fixedBy(), change: func(b *crash.Bucket) {
		b.Reports,
			b.LastSeen = 9, daysAgo(500)
	}}, crash.StateFixed, "The bug is closed with a fix; not seen for more than a year."},
	"fixed in the newest release, unknown in an older one": {situation{bug: fixedBy(),
		seen: join(seenIn(resolute, "2.0", 20, 0), seenIn(noble, "1.2", 0, 3)), inUse: join(used(resolute, "2.0", 90),
			used(noble, "1.2", 90))},
		crash.StateOpen, "Fixed in 26.04; still open in 24.04 (3 reports this week)."},
	"upstream alone counts everywhere": {situation{bug: bugWith(task(upstream, "Fix Released")),
		seen: join(seenIn(noble, "1.2", 20, 0), seenIn(sid, "1.9", 20, 0)), inUse: join(used(noble, "1.2", 90),
			used(sid, "1.9", 90))},
		crash.StateFixed, "Fixed in 24.04 and sid."},

	// Tasks for series and for other targets.
	"upstream does not count": {situation{bug: bugWith(task(mainTask, "New"), task(upstream, "Fix Released")),
		seen: seenIn(noble, "1.2", 0, 3)}, crash.StateOpen, "Open in 24.04 (3 reports this week)."},
	"another package does not count": {situation{bug: bugWith(task(otherTask, "Fix Released"), task(mainTask, "New")),
		seen: seenIn(noble, "1.2", 0, 3)}, crash.StateOpen, "Open in 24.04 (3 reports this week)."},
	"only another package": {situation{bug: bugWith(task(otherTask, "New"), task(upstream, "Fix Released")),
		seen: seenIn(noble, "1.2", 0, 3)}, crash.StateOpen, "Open in 24.04 (3 reports this week)."},
	"released with a version " +
		"per series": {situation{bug: &crash.BugReading{Tasks: []crash.BugTask{task(mainTask, "Fix Released"),
		task(nobleTask, "Fix Released"), task(jammyTask, "New")},
		Fixes: []crash.BugFix{fixIn("2.0", "resolute"), fixIn("1.3", "noble")}}, seen: join(seenIn(resolute, "1.9", 9, 0),
		seenIn(noble, "1.2", 9, 0), seenIn(jammy, "1.1", 0, 6))},
		crash.StateOpen, "Fixed in 26.04 and 24.04; still open in 22.04 (6 reports this week)."},
	"fixed, but not in this series": {situation{bug: bugWith(task(mainTask, "Fix Released"), task(nobleTask, "New")),
		seen: seenIn(noble, "1.2", 0, 3)}, crash.StateOpen, "Open in 24.04 (3 reports this week)."},
	"fixed in this series only": {situation{bug: &crash.BugReading{Tasks: []crash.BugTask{task(mainTask, "New"),
		task(nobleTask, "Fix Released")}, Fixes: []crash.BugFix{fixIn("1.3", "noble")}},
		seen: join(seenIn(noble, "1.2", 9, 0), seenIn(resolute, "1.9", 0, 3))}, crash.StateOpen, "Fixed in 24.04; still " +
		"open in 26.04 (3 reports this week)."},
	"won't fix": {situation{bug: bugWith(task(mainTask, "Won't Fix")), seen: seenIn(noble, "1.2", 0, 3),
		inUse: used(noble, "1.2", 90)}, crash.StateClosed, "Closed as Won't Fix for 24.04 (3 reports this week)."},
	"closed by a tracker that does not say why": {situation{bug: bugWith(task(upstream, crash.PlainlyClosed)),
		seen: seenIn(noble, "1.2", 0, 3), inUse: used(noble, "1.2", 90)}, crash.StateClosed,
		"Closed (the tracker does not say whether it was fixed) for 24.04 (3 reports this week)."},
	"won't fix in one release": {situation{bug: &crash.BugReading{Tasks: []crash.BugTask{task(mainTask, "Fix Released"),
		task(jammyTask, "Won't Fix")}, Fixes: []crash.BugFix{fixIn("2.0", "resolute")}},
		seen: join(seenIn(resolute, "1.9", 9, 0), seenIn(jammy, "1.2", 0, 3))}, crash.StateClosed, "Fixed in 26.04; closed " +
		"as Won't Fix for 22.04 (3 reports this week)."},
	"won't fix in one release, " +
		"quiet there": {situation{bug: &crash.BugReading{Tasks: []crash.BugTask{task(mainTask, "Fix Released"),
		task(jammyTask, "Won't Fix")}, Fixes: []crash.BugFix{fixIn("2.0", "resolute")}},
		seen: join(seenIn(resolute, "1.9", 9, 0), seenIn(jammy, "1.2", 30, 0))}, crash.StateFixed, "Fixed in 26.04; closed " +
		"as Won't Fix for 22.04 (no report this week)."},

	// Duplicates.
	"a duplicate of a fixed one": {situation{bug: bugWith(task(mainTask, "New")), master: fixedBy(fixIn("1.3", "noble")),
		seen: seenIn(noble, "1.1", 0, 3)}, crash.StateFixed, "Fixed in 24.04 (3 reports this week from older versions)."},
	"a duplicate of one we may not read": {situation{bug: fixedBy(), master: &crash.BugReading{Hidden: true},
		seen: seenIn(noble, "1.1", 0, 3)}, crash.StatePrivate,
		"The bug cannot be read: it is private or deleted. Open in 24.04 (3 reports this week)."},
	"a private duplicate of a fixed one": {situation{bug: &crash.BugReading{Private: true}, master: fixedBy(),
		seen: seenIn(noble, "1.1", 0, 3)}, crash.StatePrivate,
		"The bug is private. Open in 24.04 (3 reports this week)."},
	"regression in one release, fixed " +
		"in another": {situation{bug: fixedBy(fixIn("2.0", "resolute"), fixIn("1.3", "noble")),
		seen: join(seenIn(resolute, "1.9", 9, 0), seenIn(noble, "1.4", 0, 2))},
		crash.StateRegression, "Seen again after the fix in 24.04 (2 reports this week); fixed in 26.04."},
}

// TestTooFewReports checks what mishap says of newer versions with few reports, and that the number of
// missing reports is true: with one less it is no evidence yet.
func TestTooFewReports(t *testing.T) {
	t.Parallel()
	of := func(reports, of, newer int64, machines int64, more ...crash.VersionSeen) crash.Bucket {
		s := situation{seen: join(seenIn(noble, "1.4", 30, 0), more), inUse: join(used(noble, "1.2", 300),
			used(noble, "1.4", 90), used(noble, "1.5", 20)), change: func(b *crash.Bucket) { b.Systems = machines }}
		s.seen[0].Reports, s.inUse[1].Reports, s.inUse[2].Reports = reports, of, newer
		return s.bucket()
	}
	for name, v := range map[string]struct {
		reports, of, newer, machines, lacking int64
		more                                  []crash.VersionSeen
	}{
		"3 of 36, and none of 12":             {3, 36, 12, 3, 48, nil},
		"one newer report":                    {3, 36, 1, 3, 59, nil},
		"each of many, and none of 1":         {40, 40, 1, 40, 0, nil},
		"the same from one machine":           {40, 40, 1, 1, 759, nil},
		"two machines":                        {40, 40, 1, 2, 99, nil},
		"one of one":                          {1, 1, 3, 1, 16, nil},
		"enough":                              {3, 36, 61, 3, 0, nil},
		"enough, but another release counts":  {3, 36, 61, 3, 24, seenIn(jammy, "1.2", 0, 3)},
		"more reports than the versions have": {40, 0, 1, 40, 0, nil},
	} {
		b := of(v.reports, v.of, v.newer, v.machines, v.more...)
		if v.more != nil {
			b = of(v.reports, v.of, v.newer, b.Reports, v.more...)
		}
		r := b.Status.Releases[0]
		want := crash.StateGone
		if v.lacking > 0 {
			want = crash.StateOpen
		}
		if r.Lacking != v.lacking || r.NewerCount != v.newer || r.Word != want {
			t.Errorf("%s: got %s, %d more than %d needed, want %s and %d", name, r.Word, r.Lacking, r.NewerCount, want,
				v.lacking)
		}
		if v.lacking == 0 {
			continue
		}
		if now := of(v.reports, v.of, v.newer+v.lacking, b.Systems,
			v.more...).Status.Releases[0]; now.Word != crash.StateGone {
			t.Errorf("%s: with %d more: got %s, want gone", name, v.lacking, now.Word)
		}
		if now := of(v.reports, v.of, v.newer+v.lacking-1, b.Systems,
			v.more...).Status.Releases[0]; now.Word != crash.StateOpen {
			t.Errorf("%s: with %d more: got %s, want open", name, v.lacking-1, now.Word)
		}
	}
	b := of(3, 36, 12, 3)
	const says = "Open in 24.04 (no report this week). Too few reports to tell whether 1.5 of 24.04 has it " +
		"(0 of 12; 48 more would tell)."
	checktest.Equal(t, "status", b.Status.Text(), says)
	checktest.Equal(t, "verdict", b.Status.Releases[0].Verdict(),
		"seen up to 1.4; too few reports of 1.5 to tell (0 of 12; 48 more would tell)")
	if advice := stats.Advise(stats.AdviceFacts{Bucket: b, Named: true}); advice.Kind != stats.AdviceReady {
		t.Errorf("got the advice %q, want none against a bug", advice.Text)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, tt := range situations {
		got := tt.bucket().Status
		if got.Word != tt.want || got.Text() != tt.text {
			t.Errorf("%s: got %s: %q\nwant %s: %q", name, got.Word, got.Text(), tt.want, tt.text)
		}
		for _, r := range got.Releases {
			if text := r.Text(); text == "" || strings.Contains(text, "  ") || strings.HasSuffix(text, ".") {
				t.Errorf("%s: %s: got %q, want a text that can follow the name of a release", name, r.Release, text)
			}
		}
		if got.Word == crash.StatePrivate && got.Tracker != "" {
			t.Errorf("%s: private: got the tracker's status %q, want none", name, got.Tracker)
		}
	}
}

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
		checktest.Equal(t, name+": reports since", m.Fixes[0].Again, c.again)
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
		checktest.Equal(t, c.name, stats.JudgeManual(c.all, nil, now).Returned != nil, c.returned)
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
		checktest.Equal(t, c.name, stats.Met(c.until, c.seen, known), c.want)
	}
}

var someReleases = []crash.Release{jammy, noble, questing, resolute, trixie, sid, mint, kylin, ""}

// someSituation returns a random problem: the versions in which it was seen, the versions in use,
// and the bug.
func someSituation(r *rand.Rand) situation {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	version := func() string {
		if r.IntN(12) == 0 {
			return one("", "not a version")
		}
		return fmt.Sprintf("%d.%d-%d", 1+r.IntN(2), r.IntN(3), 1+r.IntN(2))
	}
	s := situation{}
	for _, release := range someReleases {
		if r.IntN(3) > 0 {
			continue
		}
		for range 1 + r.IntN(3) {
			days := []int{0, 1, 6, 7, 9, 12, 40, 300}[r.IntN(8)]
			week := int64(0)
			if days < 7 {
				week = 1 + r.Int64N(20)
			}
			s.seen = append(s.seen, seenIn(release, version(), days, week)...)
		}
	}
	for _, release := range someReleases {
		for range r.IntN(4) {
			s.inUse = append(s.inUse, used(release, version(), []int{0, 2, 3, 9, 11, 90}[r.IntN(6)])...)
			s.inUse[len(s.inUse)-1].Reports = []int64{0, 1, 12, 1000}[r.IntN(4)]
		}
	}
	s.change = func(b *crash.Bucket) {
		b.Provisional = r.IntN(10) == 0
		b.FirstSeen = daysAgo(r.IntN(30))
	}
	if r.IntN(3) == 0 {
		return s
	}
	s.bug = someBug(r, one, version)
	s.unread = r.IntN(20) == 0
	if r.IntN(8) == 0 {
		s.master = someBug(r, one, version)
	}
	return s
}

func someBug(r *rand.Rand, one func(...string) string, version func() string) *crash.BugReading {
	bug := &crash.BugReading{Private: r.IntN(15) == 0, Hidden: r.IntN(15) == 0}
	for _, target := range []string{mainTask, jammyTask, nobleTask, upstream, otherTask, "/debian/+source/tidewatch"} {
		if r.IntN(2) == 0 {
			bug.Tasks = append(bug.Tasks, task(target, one("New", "Triaged", "Fix Committed", "Fix Released", "Fix Released",
				"Won't Fix", "Invalid")))
		}
	}
	for range r.IntN(3) {
		bug.Fixes = append(bug.Fixes, fixIn(version(), one("", "jammy", "noble", "resolute", "unstable")))
	}
	return bug
}

// contradictions returns what of a status contradicts itself or the situation.
func contradictions(b crash.Bucket, s situation) (found []string) {
	st := b.Status
	wrong := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	var week int64
	words := map[crash.StateWord]bool{}
	for _, r := range st.Counting() {
		week += r.Week
		words[r.Word] = true
	}
	switch st.Word {
	case crash.StateFixed:
		if words[crash.StateOpen] || words[crash.StateRegression] {
			wrong("fixed, with releases that are not")
		}
	case crash.StateGone, crash.StateDisappeared:
		if week > 0 || words[crash.StateOpen] || words[crash.StateRegression] {
			wrong("%s, with %d reports this week", st.Word, week)
		}
	case crash.StateOpen, crash.StateUnfiled:
		if len(words) > 0 && !words[crash.StateOpen] {
			wrong("%s, with no open release", st.Word)
		}
	default: // says nothing of releases
	}
	if _, version, ok := st.Regressed(); ok != (st.Word == crash.StateRegression) || ok && version == "" {
		wrong("whether it is a regression: %v, in version %q", ok, version)
	}
	if (b.Bug.Number == 0) == slices.Contains([]crash.StateWord{crash.StateOpen, crash.StateFixed, crash.StateClosed,
		crash.StateRegression, crash.StateDisappeared, crash.StatePrivate, crash.StateUnknown}, st.Word) {
		wrong("the word %q with the bug %d", st.Word, b.Bug.Number)
	}
	for _, r := range st.Releases {
		found = append(found, ofRelease(r, s)...)
	}
	for _, text := range []string{st.Text(), st.Headline() + ". " + st.Detail()} {
		if text == "" || strings.HasPrefix(text, ". ") || strings.Contains(text, "..") || strings.Contains(text, "  ") {
			wrong("the text %q", text)
		}
	}
	if b.Bug.Number != 0 || b.Provisional || b.Reports == 0 {
		return found
	}
	advice := stats.Advise(stats.AdviceFacts{Bucket: b, Named: true})
	if gone := st.Word == crash.StateGone; gone && advice.Kind != stats.AdviceOldVersions ||
		gone != strings.Contains(advice.Text, "probably fixed") {
		wrong("%s, with the advice %q", st.Word, advice.Text)
	}
	return found
}

// ofRelease returns what of the status of one release contradicts the situation.
func ofRelease(r crash.ReleaseStatus, s situation) (found []string) {
	wrong := func(format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: ", r.Release)+fmt.Sprintf(format, args...))
	}
	for _, o := range s.seen {
		if o.Release != r.Release || !version.Dpkg.Valid(o.Version) || r.Release == "" {
			continue
		}
		if r.Fix != "" && r.Word == crash.StateFixed && version.Dpkg.Compare(o.Version, r.Fix) >= 0 {
			wrong("fixed in %s, seen in %s", r.Fix, o.Version)
		}
		if r.Newer != "" && version.Dpkg.Compare(o.Version, r.Newer) >= 0 {
			wrong("%s is in use without it, seen in %s", r.Newer, o.Version)
		}
		if o.Week > 0 && r.Word == crash.StateGone {
			wrong("gone, seen this week")
		}
	}
	if r.Word == crash.StateGone && !r.NewerFree() {
		wrong("gone, with too few reports")
	}
	return found
}

// TestStatementsAgree checks that the status of random problems does not contradict itself or what was seen.
func TestStatementsAgree(t *testing.T) {
	t.Parallel()
	for seed := range uint64(checktest.Rounds(800, 4_000)) {
		r := rand.New(rand.NewPCG(seed, 13))
		s := someSituation(r)
		b := s.bucket()
		if found := contradictions(b, s); len(found) > 0 {
			t.Fatalf("seed %d: %s: %q contradicts itself:\n%s\nseen %+v\nin use %+v\nbug %+v", seed, b.Status.Word,
				b.Status.Text(),
				strings.Join(found, "\n"), s.seen, s.inUse, s.bug)
		}
		shuffled := s
		shuffled.change = func(again *crash.Bucket) { again.Provisional, again.FirstSeen = b.Provisional, b.FirstSeen }
		shuffled.seen, shuffled.inUse = slices.Clone(s.seen), slices.Clone(s.inUse)
		r.Shuffle(len(shuffled.seen), func(i, j int) {
			shuffled.seen[i], shuffled.seen[j] = shuffled.seen[j],
				shuffled.seen[i]
		})
		r.Shuffle(len(shuffled.inUse), func(i, j int) {
			shuffled.inUse[i], shuffled.inUse[j] = shuffled.inUse[j],
				shuffled.inUse[i]
		})
		if diff := cmp.Diff(b.Status, shuffled.bucket().Status); diff != "" {
			t.Fatalf("seed %d: with the input in another order (-want +got):\n%s", seed, diff)
		}
		checkOtherDistributions(t, r, s, b)
	}
}

// checkOtherDistributions checks that versions in use in one distribution do not affect the status
// in another.
func checkOtherDistributions(t *testing.T, r *rand.Rand, s situation, b crash.Bucket) {
	t.Helper()
	release := someReleases[r.IntN(len(someReleases)-1)]
	more := s
	more.change = func(again *crash.Bucket) { again.Provisional, again.FirstSeen = b.Provisional, b.FirstSeen }
	more.inUse = join(s.inUse, used(release, "99:9-9", 90))
	got := more.bucket().Status
	for _, of := range b.Status.Releases {
		if of.Release.Distribution() == release.Distribution() {
			continue
		}
		at := slices.IndexFunc(got.Releases, func(r crash.ReleaseStatus) bool { return r.Release == of.Release })
		if at < 0 || got.Releases[at] != of {
			t.Fatalf("a version in use in %s changes the status of %s: got %+v, want %+v", release, of.Release, got.Releases,
				of)
		}
	}
}

func TestReleaseNames(t *testing.T) {
	t.Parallel()
	for release, want := range map[crash.Release][2]string{
		"Ubuntu 24.04": {"ubuntu", "24.04"}, "Ubuntu 24.04 LTS": {"ubuntu", "24.04 LTS"},
		"Ubuntu Kylin 24.04":     {"ubuntu kylin", "Ubuntu Kylin 24.04"},
		"Ubuntu 9.10 derivative": {"ubuntu derivative", "Ubuntu 9.10 derivative"}, "Debian 13": {"debian", "Debian 13"},
		"Debian sid":          {"debian", "sid"},
		"Debian GNU/Linux 13": {"debian", "Debian GNU/Linux 13"}, "Linux Mint 22": {"linux mint", "Linux Mint 22"},
		"": {"", "an unknown release"}, "Arch": {"arch", "Arch"},
	} {
		checktest.Equal(t, release, [2]string{release.Distribution(), release.Short()}, want)
	}
	if got := crash.BuiltInReleases().Named("ubuntu", "noble"); got != noble {
		t.Errorf("noble: got %q", got)
	}
	if got := crash.BuiltInReleases().Named("debian", "unstable"); got != sid {
		t.Errorf("unstable: got %q", got)
	}
	checktest.Equal(t, "sid of Ubuntu", crash.BuiltInReleases().Named("ubuntu", "sid"), "")
}
