package crash_test

import (
	"strings"
	"testing"
	"time"

	"mishap/crash"
)

const noble = crash.Release("Ubuntu 24.04")

var closing = time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)

func task(target, status string) crash.BugTask {
	t := crash.BugTask{Target: target, Status: status}
	switch status {
	case "Fix Released", "Invalid", "Won't Fix", "Opinion", "Expired", "Does Not Exist":
		t.Complete, t.Closed = true, closing
	}
	return t
}

// versions gives known versions, greatest first, of which the first n were not known before the closing.
func versions(later int, list ...string) []crash.KnownVersion {
	out := make([]crash.KnownVersion, len(list))
	for i, v := range list {
		arrived := closing.AddDate(0, 0, -3)
		if i < later {
			arrived = closing.Add(time.Minute)
		}
		out[i] = crash.KnownVersion{Version: v, Arrived: arrived}
	}
	return out
}

func TestStateOf(t *testing.T) {
	t.Parallel()
	const main, nobles, upstream, other = "/ubuntu/+source/tidewatch", "/ubuntu/noble/+source/tidewatch", "/tidewatch", "/ubuntu/+source/libtide"
	tasks := func(list ...crash.BugTask) crash.BugReading { return crash.BugReading{Tasks: list} }
	fixed := tasks(task(main, "Fix Released"))
	fixedIn := func(fixes ...crash.BugFix) crash.BugReading {
		return crash.BugReading{Tasks: fixed.Tasks, Fixes: fixes}
	}
	fix := func(version, series string) crash.BugFix {
		return crash.BugFix{Package: "tidewatch", Version: version, Series: series}
	}
	for name, tt := range map[string]struct {
		bug      crash.BugReading
		master   *crash.BugReading
		unread   bool
		seen     string
		versions []crash.KnownVersion
		want     crash.StateWord
		reason   string // part of it
	}{
		"never read":                         {unread: true, seen: "1.0", want: crash.StateUnread},
		"open, seen in the newest":           {bug: tasks(task(main, "New")), seen: "1.1", versions: versions(0, "1.1", "1.0"), want: crash.StateOpen, reason: "1.1"},
		"open, not seen in the newest":       {bug: tasks(task(main, "Triaged")), seen: "1.9", versions: versions(0, "1.10", "1.9"), want: crash.StateDisappeared, reason: "1.10"},
		"a tilde is before":                  {bug: tasks(task(main, "New")), seen: "1.1", versions: versions(0, "1.1", "1.1~rc1"), want: crash.StateOpen},
		"open, no version":                   {bug: tasks(task(main, "New")), versions: versions(0, "1.1"), want: crash.StateOpen},
		"committed is not released":          {bug: tasks(task(main, "Fix Committed")), seen: "1.1", want: crash.StateOpen},
		"a status nobody knows":              {bug: tasks(task(main, "Frozen")), seen: "1.1", want: crash.StateOpen},
		"no tasks":                           {seen: "1.1", want: crash.StateOpen},
		"named fix, before it":               {bug: fixedIn(fix("1.3-1", "")), seen: "1.2-9", want: crash.StateFixed, reason: "Fixed in 1.3-1"},
		"named fix, in it":                   {bug: fixedIn(fix("1.3-1", "")), seen: "1.3-1", want: crash.StateRegression, reason: "seen again in 1.3-1"},
		"named fix, after it":                {bug: fixedIn(fix("1.3-1", "")), seen: "1.10-1", want: crash.StateRegression},
		"an epoch wins":                      {bug: fixedIn(fix("1:0.1", "")), seen: "9.0", want: crash.StateFixed},
		"fix of this series":                 {bug: fixedIn(fix("2.0", "resolute"), fix("1.3~24.04", "noble")), seen: "1.3", want: crash.StateRegression, reason: "1.3~24.04"},
		"fix of another series":              {bug: fixedIn(fix("2.0", "resolute")), seen: "1.3", want: crash.StateFixed, reason: "Fixed in 2.0"},
		"fixed twice, the later one counts":  {bug: fixedIn(fix("1.3", ""), fix("1.5", "")), seen: "1.4", want: crash.StateFixed},
		"fix of another package":             {bug: fixedIn(crash.BugFix{Package: "libtide", Version: "0.1"}), seen: "1.4", versions: versions(0, "1.4"), want: crash.StateFixed, reason: "after 1.4"},
		"no named fix, known version":        {bug: fixed, seen: "1.1", versions: versions(0, "1.1", "1.0"), want: crash.StateFixed, reason: "Fixed after 1.1"},
		"no named fix, new version":          {bug: fixed, seen: "1.2", versions: versions(1, "1.2", "1.1"), want: crash.StateRegression, reason: "Fixed after 1.1"},
		"an old version comes late":          {bug: fixed, seen: "1.0", versions: versions(1, "1.2", "1.1", "1.0"), want: crash.StateFixed},
		"a date later, the version not":      {bug: fixed, seen: "1.1", versions: versions(0, "1.1"), want: crash.StateFixed},
		"nothing known at the closing":       {bug: fixed, seen: "1.2", versions: versions(1, "1.2"), want: crash.StateFixed, reason: "does not say"},
		"fixed, no version":                  {bug: fixed, want: crash.StateFixed},
		"closed without a fix":               {bug: tasks(task(main, "Won't Fix")), seen: "1.2", versions: versions(1, "1.2", "1.1"), want: crash.StateClosed, reason: "Won't Fix"},
		"upstream does not count":            {bug: tasks(task(main, "New"), task(upstream, "Fix Released")), seen: "1.2", want: crash.StateOpen},
		"upstream alone counts":              {bug: tasks(task(upstream, "Fix Released")), seen: "1.2", want: crash.StateFixed},
		"another package does not count":     {bug: tasks(task(other, "Fix Released"), task(main, "New")), seen: "1.2", want: crash.StateOpen},
		"only another package":               {bug: tasks(task(other, "New"), task(upstream, "Fix Released")), seen: "1.2", want: crash.StateOpen},
		"fixed, but not in this series":      {bug: tasks(task(main, "Fix Released"), task(nobles, "New")), seen: "1.2", want: crash.StateOpen},
		"fixed in this series":               {bug: tasks(task(main, "New"), task(nobles, "Fix Released")), seen: "1.2", want: crash.StateFixed},
		"another series does not count":      {bug: tasks(task(main, "New"), task("/ubuntu/jammy/+source/tidewatch", "Fix Released")), seen: "1.2", want: crash.StateOpen},
		"hidden":                             {bug: crash.BugReading{Hidden: true, Tasks: fixed.Tasks}, seen: "1.2", want: crash.StatePrivate, reason: "gone"},
		"private though we may read it":      {bug: crash.BugReading{Private: true, Tasks: fixed.Tasks}, seen: "1.2", want: crash.StatePrivate},
		"a duplicate of a fixed one":         {bug: crash.BugReading{DuplicateOf: 7, Tasks: tasks(task(main, "New")).Tasks}, master: &fixed, seen: "1.1", versions: versions(0, "1.1"), want: crash.StateFixed},
		"a duplicate of one we may not read": {bug: crash.BugReading{DuplicateOf: 7, Tasks: fixed.Tasks}, master: &crash.BugReading{Hidden: true}, want: crash.StatePrivate},
		"a private duplicate of a fixed one": {bug: crash.BugReading{DuplicateOf: 7, Private: true}, master: &fixed, want: crash.StatePrivate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := closing.AddDate(0, 0, 7)
			b := crash.Bucket{SourcePackage: "tidewatch", LastVersion: tt.seen, LastVerRel: noble, Known: tt.versions, Bug: crash.Bug{Number: 3}}
			b.Bug.State = crash.BugState{BugReading: tt.bug, Read: read}
			if tt.unread {
				b.Bug.State.Read = time.Time{}
			}
			if tt.master != nil {
				b.Bug.Master = &crash.BugState{BugReading: *tt.master, Read: read}
			}
			got := crash.StateOf(b)
			if got.Word != tt.want || !strings.Contains(got.Reason, tt.reason) {
				t.Errorf("got %s (%s), want %s (…%s…)", got.Word, got.Reason, tt.want, tt.reason)
			}
			if got.Reason == "" || !strings.HasSuffix(got.Reason, ".") {
				t.Errorf("got the reason %q, want a sentence", got.Reason)
			}
			if got.Word == crash.StatePrivate && got.Status != "" {
				t.Errorf("private: got the status %q, want none", got.Status)
			}
		})
	}
	if got := crash.StateOf(crash.Bucket{LastVersion: "1"}); got != (crash.ProblemState{}) {
		t.Errorf("without a bug: got %+v, want nothing", got)
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tasks []crash.BugTask
		want  bool
	}{
		"no tasks":               {nil, false},
		"all":                    {[]crash.BugTask{task("/ubuntu/+source/a", "Invalid"), task("/ubuntu/noble/+source/a", "Fix Released")}, true},
		"one is open":            {[]crash.BugTask{task("/ubuntu/+source/a", "New"), task("/ubuntu/noble/+source/a", "Fix Released")}, false},
		"upstream does not mind": {[]crash.BugTask{task("/a", "New"), task("/ubuntu/+source/a", "Fix Released")}, true},
		"upstream alone":         {[]crash.BugTask{task("/a", "New")}, false},
	} {
		if got := (crash.BugReading{Tasks: tt.tasks}).Closed(); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}
