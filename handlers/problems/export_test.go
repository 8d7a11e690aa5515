package problems_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

type jsonTable struct {
	Title   string           `json:"title"`
	URL     string           `json:"url"`
	Objects []map[string]any `json:"objects"`
}

// formula contains an address that is not redacted.
const formula = "=HYPERLINK(\"http://launchpad.net\")\r\n,\"x\" <b> &"

func TestExportProblems(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Now: func() time.Time { return handlertest.Today }})
	now := crashtest.At(handlertest.Today.Add(-time.Hour))
	b := site.Save(t, crashtest.Native(now))
	evil := site.Save(t, crashtest.Native(now, crashtest.Set("DuplicateSignature", formula), crashtest.Process(9)))
	site.Save(t, crashtest.Native(now, crashtest.Process(10)))
	c := site.Visitor(t)

	a := c.Get("/problems.csv?period=day").Want(http.StatusOK)
	rows := handlertest.CSVOf(t, a)
	if len(rows) != 2 || rows[0]["count"] != "2" || rows[0]["signature"] != b.Signature || rows[0]["url"] != site.URL+
		b.ID.Path() || rows[0]["bug"] != "" {
		t.Errorf("got %v", rows)
	}
	// Go's CSV reader turns CR LF into LF.
	if got := rows[1]["signature"]; got != "'"+strings.ReplaceAll(formula, "\r\n", "\n") {
		t.Errorf("formula: got %q", got)
	}
	if strings.Contains(strings.ReplaceAll(a.Body, "\r\n", ""), "\n") {
		t.Error("got a line that ends in LF alone, want CR LF")
	}
	if got := a.Header.Get("Content-Disposition"); got != `attachment; filename="problems.csv"` {
		t.Errorf("got %s", got)
	}

	var got jsonTable
	c.Get("/problems.json?period=day").Want(http.StatusOK).JSON(&got)
	if len(got.Objects) != 2 || got.Objects[1]["signature"] != evil.Signature || got.Objects[0]["count"] != 2. ||
		got.Title != "Most common problems" {
		t.Errorf("got %+v", got)
	}
	c.Get("/?period=day", handlertest.Header{Name: "Accept", Value: "application/json"}).Want(http.StatusOK).JSON(&got)
	handlertest.CSVOf(t, c.Get("/?period=day", handlertest.Header{Name: "Accept", Value: "text/csv"}).Want(http.StatusOK))

	f := handlertest.FeedOf(t, c.Get("/problems.atom").Want(http.StatusOK))
	if len(f.Entries) != 2 || f.Entries[0].ID != site.URL+b.ID.Path() || f.Entries[0].Summary == "" {
		t.Errorf("got %+v", f)
	}
	if len(f.Links) != 2 || f.Links[0].Rel != "self" || f.Links[0].Href != site.URL+"/problems.atom" ||
		f.Links[1].Href != f.ID {
		t.Errorf("links: got %+v, want the feed's own address and the page's", f.Links)
	}
	if _, err := time.Parse(time.RFC3339, f.Updated); err != nil {
		t.Error(err)
	}
	handlertest.FeedOf(t, c.Get("/", handlertest.Header{Name: "Accept", Value: "application/atom+xml, */*;q=0.1"}).
		Want(http.StatusOK))

	for path, status := range map[string]int{"/problems.xlsx": 404, "/problems.csv?release=Plan+9": 400,
		"/problems.json?period=century": 400} {
		c.Get(path).Want(status)
	}
	page := c.Get("/?period=day").Want(http.StatusOK)
	for _, format := range []string{"atom", "csv", "json"} {
		if page.HTML().Find(fmt.Sprintf("link[rel=alternate][href='/problems.%s?period=day']", format)).Length() != 1 ||
			page.HTML().Find(fmt.Sprintf("main a[href='/problems.%s?period=day']", format)).Length() != 1 {
			t.Errorf("the page has no link to its .%s file", format)
		}
	}
}

func TestExportConditional(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	now := crashtest.At(time.Now().Add(-time.Hour))
	site.Save(t, crashtest.Native(now))
	c := site.Visitor(t)
	for i, path := range []string{"/problems.csv", "/problems.json", "/problems.atom"} {
		a := c.Get(path).Want(http.StatusOK)
		tag, since := a.Header.Get("ETag"), a.Header.Get("Last-Modified")
		if got := c.Get(path, handlertest.Header{Name: "If-None-Match", Value: tag}).Want(
			http.StatusNotModified); got.Body != "" {
			t.Errorf("%s: got a body with status 304", path)
		}
		c.Get(path, handlertest.Header{Name: "If-Modified-Since", Value: since}).Want(http.StatusNotModified)
		c.Get(path, handlertest.Header{Name: "If-None-Match", Value: `"x"`}, handlertest.Header{Name: "If-Modified-Since",
			Value: since}).Want(http.StatusOK)
		c.Get(path+"?period=day", handlertest.Header{Name: "If-None-Match", Value: tag}).Want(http.StatusOK)
		site.Save(t, crashtest.Native(now, crashtest.Process(500+i)))
		b := c.Get(path, handlertest.Header{Name: "If-None-Match", Value: tag}).Want(http.StatusOK)
		c.Get(path, handlertest.Header{Name: "If-Modified-Since", Value: since}).Want(http.StatusOK)
		if b.Header.Get("ETag") == tag || b.Header.Get("Last-Modified") == since {
			t.Errorf("%s: got the same %s, %s after a new report", path, tag, since)
		}
	}
}

func TestExportReports(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	var b crash.Bucket
	for i := range 3 {
		b = site.Save(t, crashtest.Native(crashtest.Process(100+i)))
	}
	visitor, viewer := site.Visitor(t), site.As(t, crash.RoleViewer)
	for _, path := range []string{b.ID.Path(), "/user/machine-1"} {
		visitor.Get(path + ".json").Want(http.StatusUnauthorized)
		rows := handlertest.CSVOf(t, viewer.Get(path+".csv").Want(http.StatusOK))
		if len(rows) != 3 || rows[0]["problem"] != site.URL+b.ID.Path() || rows[0]["machine"] != "machine-1" ||
			rows[0]["package"] != "tidewatch" {
			t.Errorf("%s: got %v", path, rows)
		}
		var got jsonTable
		viewer.Get(path + ".json").Want(http.StatusOK).JSON(&got)
		if len(got.Objects) != 3 {
			t.Errorf("%s: got %v", path, got)
		}
		if f := handlertest.FeedOf(t, viewer.Get(path+".atom").Want(http.StatusOK)); len(f.Entries) != 3 ||
			!strings.HasPrefix(f.Entries[0].ID, site.URL+"/oops/") {
			t.Errorf("%s: got %+v", path, f)
		}
		handlertest.CSVOf(t, viewer.Get(path, handlertest.Header{Name: "Accept", Value: "text/csv"}).Want(http.StatusOK))
		visitor.Get(path, handlertest.Header{Name: "Accept", Value: "application/json"}).Want(http.StatusUnauthorized)
		viewer.Get(path).Want(http.StatusOK).WantText("main .exports", "CSV")
	}
	if !json.Valid([]byte(viewer.Get("/user/nobody.json").Want(http.StatusOK).Body)) {
		t.Error("the file of an empty list is not JSON")
	}
	viewer.Get("/problem/" + strings.Repeat("0", 40) + ".csv").Want(http.StatusNotFound)
	viewer.Get(b.ID.Path() + ".pdf").Want(http.StatusNotFound)
}
