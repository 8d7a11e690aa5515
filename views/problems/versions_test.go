package problems_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/stats"
	"mishap/views/problems"
)

func TestVersionTable(t *testing.T) {
	t.Parallel()
	table := problems.NewVersionTable([]crash.VersionCount{
		{Version: "2.0-1", Release: "Ubuntu 24.04", Reports: 1200},
		{Version: "2.0-1", Release: "Ubuntu 9.10", Reports: 3},
		{Version: "1.0-1", Release: "", Reports: 40},
		{Version: "", Release: "Ubuntu 24.04", Reports: 7},
	})
	doc := parse(t, render(t, problems.VersionsPart(table)))
	want := []string{
		"Version Ubuntu Others All",
		"24.04 9.10 unknown release",
		"2.0-1 1,200 3 · 1,203",
		"unknown 7 · · 7",
		"1.0-1 · · 40 40",
		"all versions 1,207 3 40 1,250",
	}
	checktest.Diff(t, "rows", rows(doc, "tr"), want)
	for class, want := range map[string]string{"[data-heat='4']": "1,200", "[data-heat='1']": "3740"} {
		checktest.Equal(t, fmt.Sprintf("cells of %s", class), doc.Find(class).Text(), want)
	}
}

// TestVersionTableMarks checks that versions are compared only within one release.
func TestVersionTableMarks(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	seen := []crash.VersionCount{
		{Version: "1.9-2", Release: "Debian sid", Reports: 9}, {Version: "1.9-1", Release: "Debian sid", Reports: 9},
		{Version: "1.5-4", Release: "Ubuntu 24.04", Reports: 11}, {Version: "1.5-3", Release: "Ubuntu 24.04", Reports: 2},
	}
	inUse := []stats.VersionKnown{{Release: "Debian sid", Version: "1.9-3", Arrived: now, Since: now.AddDate(0, 0, -20),
		Reports: 100}}
	status := stats.Judge(crash.Bucket{Reports: 31}, []crash.VersionSeen{
		{Release: "Debian sid", Version: "1.9-2", Reports: 18, Last: now.AddDate(0, 0, -30)},
		{Release: "Ubuntu 24.04", Version: "1.5-4", Reports: 13, Week: 11, Last: now},
	}, stats.ByRelease(inUse), now)
	facts := problems.VersionFacts{Story: stats.NewVersionStory(seen, inUse), Known: inUse, Status: status, Now: now}
	doc := parse(t, render(t, problems.VersionsPart(facts.Table())))
	want := []string{
		"Version Ubuntu Debian All", "24.04 sid",
		"1.5-4 highest 11 · 11", "1.5-3 first 2 · 2",
		"1.9-3 probable fix · 0 0", "1.9-2 last · 9 9", "1.9-1 first · 9 9", "all versions 13 18 31",
	}
	checktest.Diff(t, "rows", rows(doc, "tr"), want)
}

// TestVersionTableFolds checks which versions a long table shows: the newest of each release with
// reports, and fixes.
func TestVersionTableFolds(t *testing.T) {
	t.Parallel()
	var seen []crash.VersionCount
	for i := range 20 {
		seen = append(seen, crash.VersionCount{Version: fmt.Sprintf("2.%d-1", 30-i), Release: "Ubuntu 26.04", Reports: 2})
	}
	seen = append(seen, crash.VersionCount{Version: "1.9-1", Release: "Ubuntu 24.04"}, // in use there
		crash.VersionCount{Version: "1.8-1", Release: "Debian 13", Reports: 1},
		crash.VersionCount{Version: "1.5-1", Release: "Ubuntu 24.04", Reports: 5},
		crash.VersionCount{Version: "1.4-1", Release: "Ubuntu 26.04", Reports: 1},
		crash.VersionCount{Version: "1.4-1", Release: "Ubuntu 24.04", Reports: 1})
	table := problems.NewVersionTable(seen)
	doc := parse(t, render(t, problems.VersionsPart(table)))
	shown := rows(doc, "tbody tr")
	if len(shown) != 15 || shown[0] != "2.30-1 highest 2 · · 2" || shown[12] != "2.18-1 2 · · 2" ||
		shown[13] != "1.5-1 highest · 5 · 5" || shown[14] != "1.8-1 · · 1 1" {
		t.Errorf("got %d rows, want the newest 13 of 26.04, one of 24.04 and one of Debian 13:\n%s", len(shown),
			strings.Join(shown, "\n"))
	}
	checktest.Equal(t, "value", doc.Find(".paging").Text(), "Show 8 older versions and 1 version without reports")
	// Narrow screens show the release with the most reports first.
	for selector, want := range map[string]string{
		"[data-order='0']": "26.04", "[data-order='1']": "24.04", "[data-order='2']": "13",
	} {
		checktest.Equal(t, selector, doc.Find("thead "+selector).Text(), want)
	}
	table.Whole = true
	doc = parse(t, render(t, problems.VersionsPart(table)))
	if got := rows(doc, "tbody tr"); len(got) != 24 || got[20] != "1.4-1 first in 26.04 and 24.04 1 1 · 2" {
		t.Errorf("got %d rows, want 24, among them one with marks of two releases:\n%s", len(got), strings.Join(got, "\n"))
	}
}

func TestVersionTableOfOneVersion(t *testing.T) {
	t.Parallel()
	doc := parse(t,
		render(t,
			problems.VersionsPart(problems.NewVersionTable([]crash.VersionCount{{Version: "1", Release: "Ubuntu 24.04",
				Reports: 1}}))))
	checktest.Diff(t, "rows without marks and without a sum", rows(doc, "tr"), []string{"Version 24.04 All", "1 1 1"})
}

// now is the time at which tests render.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	checktest.NoError(t, c.Render(t.Context(), &b))
	return b.String()
}

// parse parses the HTML of a component.
func parse(t *testing.T, text string) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(text))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return doc
}

// rows returns the texts of the matching elements, with single spaces between cells.
func rows(doc *goquery.Document, selector string) []string {
	return doc.Find(selector).Map(func(_ int, s *goquery.Selection) string {
		cells := s.Find("th, td").Map(func(_ int, c *goquery.Selection) string {
			return strings.Join(strings.Fields(c.Text()),
				" ")
		})
		return strings.Join(cells, " ")
	})
}
