package views_test

import (
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/views"
)

func TestVersionTable(t *testing.T) {
	t.Parallel()
	table := views.NewVersionTable([]crash.VersionCount{
		{Version: "2.0-1", Release: "Ubuntu 24.04", Reports: 1200},
		{Version: "2.0-1", Release: "Ubuntu 9.10", Reports: 3},
		{Version: "1.0-1", Release: "", Reports: 40},
		{Version: "", Release: "Ubuntu 24.04", Reports: 7},
	})
	doc := parse(t, render(t, views.VersionsPart(table)))
	want := []string{
		"Version unknown release 9.10 24.04 All",
		"2.0-1 · 3 1,200 1,203",
		"1.0-1 40 · · 40",
		"unknown · · 7 7",
		"all versions 40 3 1,207 1,250",
	}
	if diff := cmp.Diff(want, rows(doc, "tr")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	for class, want := range map[string]string{".heat-4": "1,200", ".heat-1": "3407"} {
		if got := doc.Find(class).Text(); got != want {
			t.Errorf("cells of %s: got %q, want %q", class, got, want)
		}
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
	inUse := []stats.VersionKnown{{Release: "Debian sid", Version: "1.9-3", Arrived: now, Since: now.AddDate(0, 0, -20)}}
	status := stats.Judge(crash.Bucket{Reports: 31}, []crash.VersionSeen{
		{Release: "Debian sid", Version: "1.9-2", Reports: 18, Last: now.AddDate(0, 0, -30)},
		{Release: "Ubuntu 24.04", Version: "1.5-4", Reports: 13, Week: 11, Last: now},
	}, inUse, now)
	facts := views.VersionFacts{Story: stats.NewVersionStory(seen, inUse), Known: inUse, Status: status, Now: now}
	doc := parse(t, render(t, views.VersionsPart(facts.Table())))
	want := []string{
		"Version Debian sid 24.04 All", "1.9-3 probable fix 0 · 0", "1.9-2 last in Debian sid 9 · 9",
		"1.9-1 first in Debian sid 9 · 9",
		"1.5-4 newest in 24.04 · 11 11", "1.5-3 first in 24.04 · 2 2", "all versions 18 13 31",
	}
	if diff := cmp.Diff(want, rows(doc, "tr")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestVersionTableOfOneVersion(t *testing.T) {
	t.Parallel()
	doc := parse(t,
		render(t,
			views.VersionsPart(views.NewVersionTable([]crash.VersionCount{{Version: "1", Release: "Ubuntu 24.04",
				Reports: 1}}))))
	if diff := cmp.Diff([]string{"Version 24.04 All", "1 1 1"}, rows(doc, "tr")); diff != "" {
		t.Errorf("rows without marks and without a sum (-want +got):\n%s", diff)
	}
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
