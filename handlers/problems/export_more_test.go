package problems_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/handlers/handlertest"
)

// exported is one list: the address of its page and of its files.
type exported struct {
	page, file, query string
	admin             bool
}

// TestEveryList requests every list in every format, and again when nothing has changed.
func TestEveryList(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	filed := handlertest.FileBug(t, site, 1)
	for i := range 4 { // long enough to be compressed
		site.Save(t, crashtest.Native(crashtest.At(time.Now().Add(-time.Hour)), crashtest.Process(700+i),
			crashtest.Set("DuplicateSignature", fmt.Sprintf("of the list %d", i))))
	}
	b := site.Save(t, crashtest.Native(crashtest.At(time.Now().Add(-time.Hour))))
	bug := fmt.Sprintf("/bug/%d", filed.Bug.Number)
	viewer, admin := site.As(t, crash.RoleViewer), site.As(t, crash.RoleAdmin)
	for _, list := range []exported{
		{page: "/", file: "/problems"}, {page: "/?period=week&type=Crash", file: "/problems",
			query: "?period=week&type=Crash"},
		{page: "/search?q=tidewatch", file: "/search", query: "?q=tidewatch"},
		{page: "/package/tidewatch", file: "/package/tidewatch"},
		{page: "/release/" + url.PathEscape("Ubuntu 24.04"), file: "/release/" + url.PathEscape("Ubuntu 24.04")},
		{page: bug, file: bug}, {page: b.ID.Path(), file: b.ID.Path()}, {file: b.ID.Path() + "/versions"},
		{page: "/user/machine-1", file: "/user/machine-1"},
		{page: handlertest.FilingsPath, file: handlertest.FilingsPath, admin: true},
		{page: handlertest.FilingsPath + "?state=filed", file: handlertest.FilingsPath,
			query: "?state=filed", admin: true},
	} {
		c := viewer
		if list.admin {
			c = admin
		}
		for format, media := range map[string]string{"csv": "text/csv", "json": "application/json",
			"atom": "application/atom+xml"} {
			path := list.file + "." + format + list.query
			a := c.Get(path).Want(http.StatusOK)
			if got := a.Header.Get("Content-Type"); !strings.HasPrefix(got, media) || len(a.Body) < 80 {
				t.Errorf("%s: got %s and %q", path, got, a.Body)
			}
			tag, changed := a.Header.Get("ETag"), a.Header.Get("Last-Modified")
			for _, h := range []handlertest.Header{{Name: "If-None-Match", Value: tag},
				{Name: "If-Modified-Since", Value: changed}} {
				if again := c.Get(path, h).Want(http.StatusNotModified); again.Body != "" || again.Header.Get("ETag") != tag {
					t.Errorf("%s with %s: got %q and %s", path, h.Name, again.Body, again.Header.Get("ETag"))
				}
			}
			checkHead(t, c, path, a)
			checkCompressed(t, c, path, a.Body)
			if list.page != "" {
				byAccept := c.Get(list.page, handlertest.Header{Name: "Accept", Value: media}).Want(http.StatusOK)
				if got := byAccept.Header.Get("Content-Type"); !strings.HasPrefix(got, media) ||
					withoutSelf(byAccept.Body) != withoutSelf(a.Body) || !strings.Contains(strings.Join(byAccept.Header.Values("Vary"),
					","), "Accept") {
					t.Errorf("%s with Accept %s: got %s, Vary %v, same length %v",
						list.page, media, got, byAccept.Header.Values("Vary"), len(byAccept.Body) == len(a.Body))
				}
			}
		}
		if list.page == "" || list.page == bug { // redirects to the only problem
			continue
		}
		page := c.Get(list.page).Want(http.StatusOK)
		if !strings.Contains(strings.Join(page.Header.Values("Vary"), ","), "Accept") {
			t.Errorf("%s: got Vary %v, want Accept in it", list.page, page.Header.Values("Vary"))
		}
		if page.HTML().Find("link[rel=alternate][type='application/atom+xml']").Length() != 1 {
			t.Errorf("%s has no link to its feed", list.page)
		}
	}
}

// withoutSelf removes the feed's own address from a feed.
func withoutSelf(feed string) string { return selfLink.ReplaceAllString(feed, "") }

var selfLink = regexp.MustCompile(`<link rel="self"[^>]*>`)

// checkHead sends a HEAD request and compares the headers with those of the whole answer.
func checkHead(t *testing.T, c *handlertest.Client, path string, whole *handlertest.Answer) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, c.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := c.Do(r).Want(http.StatusOK)
	for _, name := range []string{"ETag", "Last-Modified", "Content-Type"} {
		if a.Header.Get(name) != whole.Header.Get(name) {
			t.Errorf("HEAD %s: got %s %q, want %q", path, name, a.Header.Get(name), whole.Header.Get(name))
		}
	}
	if a.Body != "" {
		t.Errorf("HEAD %s: got a body", path)
	}
}

// checkCompressed requests the same file with gzip and compares the content.
func checkCompressed(t *testing.T, c *handlertest.Client, path, want string) {
	t.Helper()
	a := c.Get(path, handlertest.Header{Name: "Accept-Encoding", Value: "gzip"}).Want(http.StatusOK)
	if a.Header.Get("Content-Encoding") != "gzip" {
		if len(want) > 1024 {
			t.Errorf("%s: got %d bytes uncompressed, want gzip", path, len(want))
		}
		return
	}
	z, err := gzip.NewReader(strings.NewReader(a.Body))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if got, err := io.ReadAll(z); err != nil || string(got) != want {
		t.Errorf("%s compressed: got %d bytes and %v, want the same %d", path, len(got), err, len(want))
	}
}

func TestExportVersions(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	day := time.Now().UTC().AddDate(0, 0, -2)
	var b crash.Bucket
	for i := range 3 {
		b = site.Save(t, crashtest.Native(crashtest.At(day), crashtest.Version("1.4.9-1"), crashtest.Process(10+i)))
	}
	site.Save(t, crashtest.Native(crashtest.At(day.AddDate(0, 0, 1)), crashtest.Version("1.4.10-1"),
		crashtest.On("Ubuntu 26.04")))
	rows := handlertest.CSVOf(t, site.Visitor(t).Get(b.ID.Path()+"/versions.csv").Want(http.StatusOK))
	if len(rows) != 2 || rows[0]["version"] != "1.4.10-1" || rows[0]["release"] != "Ubuntu 26.04" ||
		rows[1]["reports"] != "3" || rows[1]["machines"] != "1" ||
		rows[1]["first_day"] != day.Format(time.DateOnly) || rows[1]["last_day"] != rows[1]["first_day"] {
		t.Errorf("got %v", rows)
	}
	for path, status := range map[string]int{
		b.ID.Path() + "/versions.pdf": 404, "/problem/" + strings.Repeat("0", 40) + "/versions.csv": 404,
		"/problem/x/versions.csv": 404,
	} {
		site.Visitor(t).Get(path, handlertest.Header{Name: "Accept", Value: "*/*"}).Want(status)
	}
}

// TestExportByToken checks that scripts can read files with an API token of the right scope. Pages
// accept no tokens.
func TestExportByToken(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	person := site.As(t, crash.RoleTriager)
	read, file := handlertest.MakeToken(t, person, "read"), handlertest.MakeToken(t, person, "file")
	c := site.Visitor(t)
	auth := func(token string) handlertest.Header {
		return handlertest.Header{Name: "Authorization", Value: "Bearer " + token}
	}
	accept := handlertest.Header{Name: "Accept", Value: "*/*"}
	for _, path := range []string{b.ID.Path() + ".csv", b.ID.Path() + ".atom"} {
		c.Get(path, accept).Want(http.StatusUnauthorized)
		c.Get(path, accept, auth(read)).Want(http.StatusOK)
		c.Get(path, accept, auth(file)).Want(http.StatusForbidden)
		c.Get(path, accept, auth("mishap_wrong")).Want(http.StatusUnauthorized)
		person.Get(path, accept, auth("mishap_wrong")).Want(http.StatusUnauthorized)
	}
	csv := c.Get(b.ID.Path()+".csv", accept, auth(read))
	if got := csv.Header.Get("Cache-Control"); !strings.Contains(got, "private") {
		t.Errorf("got Cache-Control %q, want private", got)
	}
	c.Get(b.ID.Path(), handlertest.Header{Name: "Accept", Value: "application/json"}, auth(read)).Want(http.StatusOK)
	c.Get("/user/machine-1", auth(read)).Want(http.StatusSeeOther) // a page
	c.Get(handlertest.FilingsPath+".csv", accept, auth(read)).Want(http.StatusForbidden)
	c.Get("/user/machine-1.csv").Want(http.StatusSeeOther) // a browser is sent to the sign-in page
}
