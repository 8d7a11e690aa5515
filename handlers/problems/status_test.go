package problems_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/handlers/handlertest"
)

// TestStatusIsTheSameEverywhere makes problems with different statuses. It compares their status on
// pages, in lists, filters, searches, files and feeds.
func TestStatusIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	now := time.Now().UTC()
	process := 0
	seen := func(name, release, version string, days int) crash.Bucket {
		process++
		return site.Save(t, crashtest.Native(crashtest.Set("DuplicateSignature", name), crashtest.Process(process),
			crashtest.On(crash.Release(release)),
			crashtest.Version(version), crashtest.At(now.AddDate(0, 0, -days))))
	}
	bug := func(b crash.Bucket, number int64, status, fix, series string) {
		t.Helper()
		if _, err := site.Bugs.LinkBug(t.Context(), b.ID,
			crash.Bug{Number: number, URL: fmt.Sprint("https://tracker.example/", number), By: "ada"}); err != nil {
			t.Fatal(err)
		}
		reading := crash.BugReading{Number: number, Tasks: []crash.BugTask{{
			Target: "/ubuntu/+source/" + b.SourcePackage, Status: status, Complete: status != "New",
			Closed: now.AddDate(0, 0, -20),
		}}}
		if fix != "" {
			reading.Fixes = []crash.BugFix{{Package: b.SourcePackage, Version: fix, Series: series}}
		}
		if err := site.Bugs.SaveBugReading(t.Context(), reading, "", time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	seen("fixed in one release", "Debian sid", "1.9.4-1", 30)
	in := intake.New(intake.Config{MaxAgeDays: 366}, site.Store)
	for i := range 100 { // enough reports to tell
		for release, version := range map[crash.Release]string{"Debian sid": "1.9.4-2", "Ubuntu 24.04": "1.5-1"} {
			report := crashtest.Native(crashtest.Set("DuplicateSignature", "of a version in use for long"),
				crashtest.On(release), crashtest.Version(version), crashtest.At(now.AddDate(0, 0, -12)))
			if _, err := in.Accept(t.Context(), crash.Report{System: crash.SystemID(fmt.Sprint(release, i)),
				Fields: report.Fields()}); err != nil {
				t.Fatal(err)
			}
		}
	}
	seen("in the newest version of sid", "Debian sid", "1.9.4-2", 1)
	problems := map[string]struct {
		bucket crash.Bucket
		word   crash.StateWord
		text   string
		page   string // in short, as its page begins
	}{
		"fixed in one release": {seen("fixed in one release", "Ubuntu 24.04", "1.5.4-1", 1), crash.StateUnfiled,
			"Probably fixed in sid; still open in 24.04 (1 report this week).",
			"Probably fixed in sid; still open in 24.04"},
		"in the newest version of sid": {seen("in the newest version of sid", "Debian sid", "1.9.4-2", 2), crash.StateNew,
			"First seen in the past week. Open in sid (2 reports this week).", "new Open in sid"},
		"gone": {seen("gone", "Ubuntu 24.04", "1.2-1", 40), crash.StateGone, "Probably fixed in 24.04.",
			"gone Probably fixed in 24.04"},
		"disappeared": {seen("disappeared", "Ubuntu 24.04", "1.2-1", 40), crash.StateDisappeared, "The bug is open. " +
			"Probably fixed in 24.04.", "disappeared Probably fixed in 24.04"},
		"open": {seen("open", "Ubuntu 24.04", "1.2-1", 1), crash.StateOpen, "Open in 24.04 (1 report this week).",
			"Open in 24.04"},
		"fixed": {seen("fixed", "Ubuntu 24.04", "1.2-1", 40), crash.StateFixed, "Fixed in 24.04.",
			"Fixed in 24.04"},
		"regression": {seen("regression", "Ubuntu 24.04", "1.5-1", 1), crash.StateRegression, "Seen again after the fix in " +
			"24.04 (1 report this week).", "regression Seen again after the fix in 24.04"},
		"not in 24.04": {seen("not in 24.04", "Ubuntu 24.04", "1.4-1", 1), crash.StateOpen,
			"Fixed in 26.04; still open in 24.04 (1 report this week).", "open Fixed in 26.04; still open in 24.04"},
		"closed": {seen("closed", "Ubuntu 24.04", "1.4-1", 1), crash.StateClosed, "Closed as Won't Fix for 24.04 (1 report " +
			"this week).", "Closed as Won't Fix for 24.04"},
	}
	bug(problems["disappeared"].bucket, 1, "New", "", "")
	bug(problems["open"].bucket, 2, "New", "", "")
	bug(problems["fixed"].bucket, 3, "Fix Released", "1.3-1", "noble")
	bug(problems["regression"].bucket, 4, "Fix Released", "1.3-1", "noble")
	bug(problems["not in 24.04"].bucket, 5, "Fix Released", "2.0-1", "resolute")
	bug(problems["closed"].bucket, 6, "Won't Fix", "", "")

	visitor, triager := site.Visitor(t), site.As(t, crash.RoleTriager)
	body := visitor.Get("/problems.json?period=year").Want(http.StatusOK).Body
	feed := html.UnescapeString(visitor.Get("/problems.atom?period=year").Want(http.StatusOK).Body)
	table := visitor.Get("/problems.csv?period=year").Want(http.StatusOK).Body
	for name, p := range problems {
		for _, c := range []*handlertest.Client{visitor, triager} {
			c.Get(p.bucket.ID.Path()).Want(http.StatusOK).WantText(".status-text", p.page)
		}
		if !strings.Contains(feed, p.text) || !strings.Contains(table, ","+string(p.word)+","+quoted(p.text)+",") {
			t.Errorf("%s: the feed or the table does not say %s: %q", name, p.word, p.text)
		}
		if !strings.Contains(body, fmt.Sprintf(`"state":%q,"status":%q`, p.word, p.text)) {
			t.Errorf("%s: the JSON file does not say %s: %q", name, p.word, p.text)
		}
		for _, list := range []string{"/?period=year&state=" + string(p.word), "/search?q=state:" + string(p.word),
			"/search?q=is:" + string(p.word)} {
			rows := triager.Get(list).Want(http.StatusOK).HTML()
			cell := rows.Find("#bug-" + p.bucket.ID.String() + " .bug-now")
			if got := cell.AttrOr("data-status", "nothing"); got != string(p.word) {
				t.Errorf("%s: got status %[3]s in %[2]s, want %[4]s", name, list, got, p.word)
			}
			if list == "/search?q=is:unfiled" {
				continue // this search returns all problems without a bug
			}
			rows.Find(".bug-now").Each(func(_ int, s *goquery.Selection) {
				if got := s.AttrOr("data-status", ""); got != string(p.word) {
					t.Errorf("%s: got a problem with status %s", list, got)
				}
			})
		}
	}
	for _, path := range []string{"/package/" + problems["gone"].bucket.Package, "/release/Ubuntu%2024.04?", "/search?q=" +
		url.QueryEscape("package:"+problems["gone"].bucket.Package)} {
		a := triager.Get(path).Want(http.StatusOK)
		for name, p := range problems {
			cell := a.HTML().Find("#bug-" + p.bucket.ID.String() + "-row")
			if cell.Length() == 0 {
				continue // too old for the lists of a release
			}
			if got := cell.AttrOr("data-status", ""); got != string(p.word) {
				t.Errorf("%s: got status %[3]s on %[2]s, want %[4]s", name, path, got, p.word)
			}
			if wants := p.bucket.ID.String() == problems["gone"].bucket.ID.String(); wants &&
				cell.Find("button.create").Length() != 1 {
				t.Errorf("%s: got no Create button on %s", name, path)
			}
		}
	}
	machine := triager.Get("/user/machine-1").Want(http.StatusOK).HTML()
	for name, p := range problems {
		cells := machine.Find(`.bug-now[id^="bug-` + p.bucket.ID.String() + `"]`)
		if got := cells.AttrOr("data-status", "nothing"); got != string(p.word) {
			t.Errorf("%s: got status %s on the page of its machine, want %s", name, got, p.word)
		}
		if name == "fixed in one release" && (cells.Length() != 2 || cells.Find("button.create").Length() != 2) {
			t.Errorf("%s: got %d cells on the page of its machine, want one with a button for each report", name,
				cells.Length())
		}
	}
	site.As(t, crash.RoleViewer).Get("/user/machine-1").Want(http.StatusOK).WantNone("#create-bug, button.create")
	visitor.Get("/package/" + problems["gone"].bucket.Package).WantNone("#create-bug, button.create").WantNone(
		".review-link")
}

// quoted returns a text as CSV quotes it.
func quoted(s string) string {
	if strings.ContainsAny(s, `,"`) {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}
