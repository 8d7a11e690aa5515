package problems_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/views/problems"
	"mishap/views/viewstest"
)

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
		viewstest.Render(t,
			problems.System(problems.SystemPage{System: "m", Story: &story, Reports: problems.ReportList{ID: "reports",
				Now: now}})))
	got := collapse(doc.Find(".lanes tbody tr").First().Text())
	if doc.Find(".lanes tbody tr").Length() != 2 {
		t.Errorf("got %d packages, want 2", doc.Find(".lanes tbody tr").Length())
	}
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
