package crash_test

import (
	"testing"
	"time"

	"mishap/crash"
)

// task returns a task of a bug. In these tests, "New" is the only incomplete status.
func task(target, status string) crash.BugTask {
	return crash.BugTask{Target: target, Status: status, Complete: status != "New"}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tasks []crash.BugTask
		want  bool
	}{
		"no tasks": {nil, false},
		"all": {[]crash.BugTask{task("/ubuntu/+source/a", "Invalid"),
			task("/ubuntu/noble/+source/a", "Fix Released")}, true},
		"one is open": {[]crash.BugTask{task("/ubuntu/+source/a", "New"),
			task("/ubuntu/noble/+source/a", "Fix Released")}, false},
		"upstream does not mind": {[]crash.BugTask{task("/a", "New"), task("/ubuntu/+source/a", "Fix Released")}, true},
		"upstream alone":         {[]crash.BugTask{task("/a", "New")}, false},
	} {
		if got := (crash.BugReading{Tasks: tt.tasks}).Closed(); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}

func TestUpdateRules(t *testing.T) {
	t.Parallel()
	rules := crash.UpdateRules{{Pattern: "linux-firmware", Quiet: true}, {Pattern: "linux*", Again: true},
		{Pattern: "*-dkms", Section: true}, {Pattern: crash.EveryPackage, QuietWeeks: 3}}
	for source, want := range map[string]string{
		"linux-firmware": "linux-firmware", "linux": "linux*", "linux-hwe-6.8": "linux*", "wifi-dkms": "*-dkms",
		"linux-dkms": "linux*", "gtk+3.0": "*", "": "*",
	} {
		if got := rules.For(source).Pattern; got != want {
			t.Errorf("%q: got the rule for %q, want that for %q", source, got, want)
		}
	}
	if got := (crash.UpdateRules{}).For("bash"); got.Again || got.Quiet || got.Section {
		t.Errorf("without rules: got %+v, want everything off", got)
	}
}

func TestSectionFactsWorth(t *testing.T) {
	t.Parallel()
	written := crash.SectionFacts{Reports: 100, Last: "2026-08-01", Shape: "a"}
	for name, c := range map[string]struct {
		now  crash.SectionFacts
		want bool
	}{
		"nothing":              {written, false},
		"a few more reports":   {crash.SectionFacts{Reports: 124, Last: "2026-08-07", Shape: "a"}, false},
		"a quarter more":       {crash.SectionFacts{Reports: 125, Last: "2026-08-01", Shape: "a"}, true},
		"a week later":         {crash.SectionFacts{Reports: 101, Last: "2026-08-08", Shape: "a"}, true},
		"a new version":        {crash.SectionFacts{Reports: 100, Last: "2026-08-01", Shape: "b"}, true},
		"some were taken away": {crash.SectionFacts{Reports: 99, Last: "2026-08-01", Shape: "a"}, true},
	} {
		if got := c.now.Worth(written); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

func TestLastSupported(t *testing.T) {
	t.Parallel()
	today := day("2026-11-22")
	q := crash.QuietBug{Last: map[crash.Release]time.Time{
		"Ubuntu 24.04": day("2026-05-01"), "Ubuntu 19.10": day("2026-11-20")}}
	if got := q.LastSupported(today); !got.Equal(day("2026-05-01")) {
		t.Errorf("got %s, want the last report of the supported release", got)
	}
	delete(q.Last, "Ubuntu 24.04")
	if got := q.LastSupported(today); !got.Equal(day("2026-11-20")) {
		t.Errorf("without supported releases: got %s, want the last report of any", got)
	}
}
