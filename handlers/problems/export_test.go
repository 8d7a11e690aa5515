package problems_test

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/apport"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/symbols/cores"
	"mishap/db/dbtest"
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
	r := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodHead, c.URL+path, nil))(t)
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

// sqlCopyReports copies a problem's report, one per millisecond, and marks all copies as counted.
const sqlCopyReports = `
	insert into reports
	select (lpad(to_hex((extract(epoch from r.received) * 1000)::bigint - n), 12, '0') ||
			substr(replace(r.id::text, '-', ''), 13))::uuid,
		r.received - n * interval '1 ms', r.occurred, r.day, r.counted, r.system,
			r.system_key, r.bucket_id, r.unbucketed, r.rule, r.rules,
		r.problem_type, repeat('title ', 40), r.executable, r.package, r.version, r.source_package,
			r.release, r.architecture, r.package_architecture,
		r.address_signature, r.proposed, r.complete, r.body
	from reports as r, generate_series(1, $1) as n`

// TestMoreExportStreams exports 40,000 reports (20 MB) of a problem. Neither the server nor its
// database connection may hold them all in memory.
func TestMoreExportStreams(t *testing.T) { // not parallel: it measures the memory of the whole process
	const copies, mostMore = 40_000, 12 << 20
	url := dbtest.URL(t)
	store := dbtest.Open(t, url)
	site := handlertest.New(t, handlertest.Options{Store: store})
	b := site.Save(t, crashtest.Native(crashtest.At(time.Now().Add(-time.Hour))))
	dbtest.Exec(t, url, sqlCopyReports, copies)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	token := handlertest.MakeToken(t, site.As(t, crash.RoleViewer), "read", "read-private")
	for _, path := range []string{b.ID.Path() + ".csv", "/user/machine-1.csv"} {
		r := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL+path, nil))(t)
		r.Header.Set("Authorization", "Bearer "+token)
		before := heap()
		answer, err := http.DefaultClient.Do(r)
		checktest.NoError(t, err)
		counted := &counter{from: answer.Body}
		lines, rows, peak := csv.NewReader(counted), 0, uint64(0)
		lines.ReuseRecord = true
		for {
			if _, err := lines.Read(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s, line %d: %v", path, rows, err)
			}
			if rows++; rows%5000 == 0 {
				peak = max(peak, heap())
			}
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK || rows != copies+2 {
			t.Errorf("%s: got status %d and %d lines, want one for each of %d reports", path, answer.StatusCode, rows, copies+1)
		}
		if counted.bytes < mostMore*3/2 {
			t.Errorf("%s: got %d bytes, too few for a measurement", path, counted.bytes)
		}
		if peak > before+mostMore {
			t.Errorf("%s: the heap grew from %d to %d bytes while %d were sent, want growth of at most %d", path, before, peak,
				counted.bytes, mostMore)
		}
	}
}

// counter counts the bytes that are read.
type counter struct {
	from  io.Reader
	bytes int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.bytes += n
	return n, err
}

func TestDownloadReport(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	c := p.As(t, crash.RoleViewer)
	for name, report := range map[string]crashtest.Report{
		"native": crashtest.Native(), "newlines": crashtest.Package(), "Unicode": crashtest.Unicode(),
		"long": crashtest.Long(),
		"odd": crashtest.Native(crashtest.Process(7), crashtest.Set("Odd", "\n\n base64\n\t x \r\n"),
			crashtest.Set("B", "base64"), crashtest.Set("Empty", ""),
			crashtest.Set("../x y", "lost"), crashtest.Set("\n: z", "lost")),
	} {
		id := p.Accept("m", report)
		stored := dbtest.Must(p.Store.Report(t.Context(), id))(t)
		a := c.Get("/oops/" + id.String() + ".crash").Want(http.StatusOK)
		checktest.Equal(t, name, a.Header.Get("Content-Disposition"), `attachment; filename="`+id.String()+`.crash"`)
		got, binary, err := apport.Read(strings.NewReader(a.Body), apport.Limits{})
		if err != nil || binary != nil {
			t.Fatalf("%s: parse: %v, binary %v", name, err, binary)
		}
		want := stored.Fields
		if name == "odd" {
			delete(want, "../x y")
			delete(want, "\n: z")
			want["MishapLeftOut"] = "\n: z\n../x y"
		}
		checktest.Diff(t, name+": fields", got, want)
		var raw struct {
			ID, URL, Machine, Problem, Rule string
			Arrived, Occurred               string
			Fields                          crash.Fields
		}
		c.Get("/oops/" + id.String() + ".json").Want(http.StatusOK).JSON(&raw)
		stored = dbtest.Must(p.Store.Report(t.Context(), id))(t)
		if diff := cmp.Diff(stored.Fields, raw.Fields); diff != "" || raw.ID != id.String() || raw.Machine != "m" ||
			!strings.HasSuffix(raw.Problem, stored.Bucket.Path()) {
			t.Errorf("%s: JSON: got %s %s %s, fields (-want +got):\n%s", name, raw.ID, raw.Machine, raw.Problem, diff)
		}
		page := c.Get("/oops/" + id.String()).Want(http.StatusOK)
		for i, ending := range []string{".json", ".crash"} {
			checktest.Equal(t, name+": link", page.HTML().Find(".downloads a").Eq(i).AttrOr("href", ""),
				"/oops/"+id.String()+ending)
		}
		c.Get("/oops/" + id.String() + ".xml").Want(http.StatusNotFound)
		p.Visitor(t).Get("/oops/"+id.String()+".crash").WantRedirect(http.StatusSeeOther, "/login?next=%2Foops%2F"+
			id.String()+".crash")
	}
}

// TestDownloadCore checks that people who may file bugs get the core dump exactly as its machine
// sent it.
func TestDownloadCore(t *testing.T) {
	t.Parallel()
	store := dbtest.Must(cores.OpenFolder(t.Context(), t.TempDir(), "the key of this test"))(t)
	p := handlertest.NewPagesIn(t, handlertest.Options{Store: dbtest.New(t), Cores: store})
	id := p.Accept("m", crashtest.Native())
	path := "/oops/" + id.String()
	triager := p.As(t, crash.RoleTriager)
	triager.Get(path).Want(http.StatusOK).WantNone(".downloads a:nth-child(3)")
	triager.Get(path + ".crash?core=yes").Want(http.StatusNotFound)
	// "core dump\n" compressed by gzip. Each line is padded separately, as apport does.
	const sent = "H4sICAAAAAAC/0NvcmVEdW1wAA==\nS84vSlVIKc0t4AIAUSBh1QoAAAA="
	if _, _, err := store.Put(t.Context(), id, strings.NewReader(sent)); err != nil {
		t.Fatal(err)
	}
	checktest.Equal(t, "link", triager.Get(path).Attr(".downloads a:nth-child(3)", "href"), path+".crash?core=yes")
	a := triager.Get(path + ".crash?core=yes").Want(http.StatusOK)
	if _, binary, err := apport.Read(strings.NewReader(a.Body), apport.Limits{}); err != nil || len(binary) != 1 ||
		binary[0] != (apport.Binary{Name: "CoreDump", Size: 10}) {
		t.Errorf("parse: got %v, %v; want a core dump of 10 bytes", binary, err)
	}
	if want := "CoreDump: base64\n H4sICAAAAAAC/0NvcmVEdW1wAA==\n S84vSlVIKc0t4AIAUSBh1QoAAAA=\n"; !strings.HasSuffix(
		a.Body, want) {
		t.Errorf("end of the file: got %q, want %q", a.Body[max(len(a.Body)-120, 0):], want)
	}
	viewer := p.As(t, crash.RoleViewer)
	viewer.Get(path).Want(http.StatusOK).WantNone(".downloads a:nth-child(3)")
	viewer.Get(path + ".crash?core=yes").Want(http.StatusForbidden)
	var logged int
	row := p.Store.Pool.QueryRow(t.Context(), "select count(*) from audit_events where action = 'read.core' and "+
		"person = 'ada-triager' and subject = $1", id.String())
	if err := row.Scan(&logged); err != nil || logged != 1 {
		t.Errorf("audit log: got %d downloads, %v; want the one of the triager", logged, err)
	}
	if strings.Contains(viewer.Get(path+".crash").Want(http.StatusOK).Body, "CoreDump") {
		t.Errorf("got the core dump in a download without cores")
	}
}
