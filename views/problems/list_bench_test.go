package problems_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/stats"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
	"mishap/views/problems"
)

// frontPage returns the front page of a triager: fifty problems without a bug.
func frontPage() problems.ListPage {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	page := problems.ListPage{
		Shell: layout.Shell{Title: "Most common problems", User: crash.User{ID: 1, Name: "ada", Role: crash.RoleTriager},
			CSRFToken: strings.Repeat("t0kEn/", 14), Path: "/", FilingOn: true, Now: now},
		Choice: problems.ListChoice{Period: crash.PeriodWeek}, First: 1, Size: 50,
		Rates: problems.NewRateChart(nil, stats.Trend{}, nil, crash.BuiltInReleases(), now, now).Rates(),
	}
	var days []int64
	for i := range 28 {
		days = append(days, int64(i*7%11))
	}
	for i := range 50 {
		signature := fmt.Sprintf(
			"/usr/libexec/reefd-%d:11:reef_load_window_%d:reef_merge_item:reef_lookup_row:reef_draw_node:main", i, i)
		b := crash.Bucket{
			ID: crash.BucketIDOf(signature), Signature: signature, Rule: crash.RuleStacktrace, ProblemType: "Crash",
			Executable: fmt.Sprintf("/usr/libexec/reefd-%d", i), Package: fmt.Sprintf("reefd-%d", i), SourcePackage: "reef",
		}
		seen := crash.Occurrence{At: now.Add(-time.Duration(i) * time.Hour), Version: "1.5.4-1ubuntu0.3",
			Release: "Ubuntu 26.04"}
		page.Rows = append(page.Rows, problems.ListRow{
			Problem: &crash.Problem{Bucket: &b, Count: int64(100 - i)}, First: seen, Last: seen, Rank: i + 1,
			Bug: bugsview.BugPart{Bucket: b.ID, Signature: signature, State: bugsview.BugCreate, MayFile: true, Review: true,
				CSRFToken: page.Shell.CSRFToken},
			Spark: layout.NewSparkline(days, now),
		})
	}
	return page
}

// BenchmarkFrontPage renders the front page as a triager sees it. It reports the bytes of a page,
// plain and compressed, and the bytes of a row.
func BenchmarkFrontPage(b *testing.B) {
	page := frontPage()
	var out bytes.Buffer
	render := func(p problems.ListPage) int {
		out.Reset()
		checktest.NoError(b, problems.List(p).Render(b.Context(), &out))
		return out.Len()
	}
	one := page
	one.Rows = page.Rows[:1]
	short, whole := render(one), render(page)
	var compressed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&compressed, 3) // the level is valid
	_, _ = w.Write(out.Bytes())
	_ = w.Close()
	for b.Loop() {
		render(page)
	}
	b.ReportMetric(float64(whole), "B/page")
	b.ReportMetric(float64(compressed.Len()), "gzip-B/page")
	b.ReportMetric(float64(whole-short)/49, "B/row")
}
