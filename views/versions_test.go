package views_test

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"mishap/crash"
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
		"2.0-1 newest · 3 1,200 1,203",
		"1.0-1 first 40 · · 40",
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

func TestVersionTableOfOneVersion(t *testing.T) {
	t.Parallel()
	doc := parse(t, render(t, views.VersionsPart(views.NewVersionTable([]crash.VersionCount{{Version: "1", Release: "Ubuntu 24.04", Reports: 1}}))))
	if diff := cmp.Diff([]string{"Version 24.04 All", "1 1 1"}, rows(doc, "tr")); diff != "" {
		t.Errorf("rows: no marks and no sum needed (-want +got):\n%s", diff)
	}
}

// parse reads what a component drew.
func parse(t *testing.T, text string) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(text))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	return doc
}

// rows are the texts of the elements that match, cells apart by one blank.
func rows(doc *goquery.Document, selector string) []string {
	return doc.Find(selector).Map(func(_ int, s *goquery.Selection) string {
		cells := s.Find("th, td").Map(func(_ int, c *goquery.Selection) string { return strings.Join(strings.Fields(c.Text()), " ") })
		return strings.Join(cells, " ")
	})
}
