package problems_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/privacy"
	"mishap/views/problems"
)

func TestFieldGroups(t *testing.T) {
	t.Parallel()
	groups := problems.FieldGroups(crash.Fields{
		"Zeta": "z", "Alpha": "", "_HooksRun": "no",
		"Package": "tidewatch 1.4", "ProblemType": "Crash", "ExecutablePath": "/usr/bin/tidewatch",
		"dmi.bios.version": "M14", "DistroRelease": "Ubuntu 24.04",
		"XorgLog": "a", "CurrentDmesg": "b", "ProcUnknown": "c", "FooStacktrace": "d",
		"Stacktrace": strings.Repeat("#0 x\n", 13), "ProcMaps": strings.Repeat("x", 801), "Disassembly": strings.Repeat("x\n",
			12),
	})
	var got []string
	folded := map[string]bool{}
	for _, g := range groups {
		var names []string
		for _, f := range g.Fields {
			names = append(names, f.Name)
			if f.Folded {
				folded[f.Name] = true
			}
		}
		got = append(got, g.Name+": "+strings.Join(names, " "))
	}
	want := []string{
		"What crashed: ProblemType ExecutablePath Package",
		"Where: DistroRelease dmi.bios.version",
		"Traces: Stacktrace Disassembly FooStacktrace",
		"System: ProcMaps _HooksRun ProcUnknown",
		"Logs: CurrentDmesg XorgLog",
		"Everything else: Alpha Zeta",
	}
	checktest.Diff(t, "groups", got, want)
	checktest.Diff(t, "folded", folded, map[string]bool{"Stacktrace": true, "ProcMaps": true, "Disassembly": true})
}

func TestNewStack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fields crash.Fields
		want   string // of the text
		frames int
	}{
		"native": {crash.Fields{"Stacktrace": "#0  0x55d0 in a () at x.c:1\n#1  0x55d1 in b () at x.c:2",
			"StacktraceTop": "a ()\nb ()"}, "#0  0x55d0", 2},
		"top only":   {crash.Fields{"StacktraceTop": "a ()\nb ()\nc ()"}, "a ()", 3},
		"oops":       {crash.Fields{"OopsText": "BUG: x"}, "BUG: x", 0},
		"Java":       {crash.Fields{"StackTrace": "java.lang.X"}, "java.lang.X", 0},
		"nothing":    {crash.Fields{"Package": "x 1"}, "", 0},
		"unreadable": {crash.Fields{"Stacktrace": "garbage"}, "garbage", 0},
	} {
		s := problems.NewStack(crash.StoredReport{Fields: test.fields})
		if !strings.HasPrefix(s.Text, test.want) || (s.Text == "") != (test.want == "") || len(s.Frames) != test.frames {
			t.Errorf("%s: got %d frames and text %q, want %d and %q", name, len(s.Frames), s.Text, test.frames, test.want)
		}
	}
}

// TestFieldsHaveClasses checks that every field with a meaning has a row in the table of classes.
func TestFieldsHaveClasses(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, row := range (*privacy.Table)(nil).Rows() {
		listed[row.Name] = true
	}
	for _, f := range problems.FieldMeanings {
		if !listed[f.Name] {
			t.Errorf("%s has no class", f.Name)
		}
	}
}

// TestMachineStory checks the history of a machine over a year.
func TestMachineStory(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)
	report := func(daysAgo int, pkg, version string, release crash.Release, problem string) crash.ReportRow {
		id := crash.BucketIDOf(problem)
		at := now.AddDate(0, 0, -daysAgo)
		return crash.ReportRow{ID: crash.NewOopsID(at), Occurred: at.Add(-time.Hour), Bucket: &id,
			Summary: crash.Summary{Package: pkg, Version: version, Release: release, Architecture: "amd64"}}
	}
	odd := report(2, "zsh", "5.9-4", "Ubuntu 24.04", "c")
	odd.Occurred = now.AddDate(-30, 0, 0) // its clock was wrong
	rows := []crash.ReportRow{
		report(1, "tidewatch", "1.10-1", "Ubuntu 24.04", "a"), odd, report(2, "tidewatch", "1.9-1", "Ubuntu 24.04", "b"),
		report(240, "tidewatch", "1.9-1", "Ubuntu 22.04", "a"), report(241, "tidewatch", "1.9-1", "Ubuntu 22.04", "a"),
	}
	story := problems.NewMachineStory(rows, false, now)
	doc := parse(t,
		render(t,
			problems.System(problems.SystemPage{System: "m", Story: &story, Reports: problems.ReportList{ID: "reports",
				Now: now}})))
	got := collapse(doc.Find(".lanes tbody tr").First().Text())
	checktest.Equal(t, "packages", doc.Find(".lanes tbody tr").Length(), 2)
	for _, want := range []string{"tidewatch", "4", "2", "21 Sep 2025", "1.10-1, 1.9-1"} {
		if !strings.Contains(got, want) {
			t.Errorf("tidewatch: got %q, want %q in it", got, want)
		}
	}
	if diff := cmp.Diff("reports5first report21 Sep 2025last report1 d ago",
		collapse(doc.Find(".machine .figures").Text())); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("Has run Ubuntu 24.04 amd64 · Ubuntu 22.04 amd64",
		collapse(doc.Find(".machine .figures + p").Text())); diff != "" {
		t.Errorf("releases (-want +got):\n%s", diff)
	}
	if marks := doc.Find(".lanes tbody tr:first-child rect").Length(); marks < 2 || marks > 4 {
		t.Errorf("got %d marks on the time line, want marks at two distant times", marks)
	}
}

// collapse returns text with single spaces between its words.
func collapse(text string) string { return strings.Join(strings.Fields(text), " ") }
