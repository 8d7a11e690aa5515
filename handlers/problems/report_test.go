package problems_test

import (
	"cmp"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	gocmp "github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db/dbtest"
	"mishap/db/symbols"
	"mishap/handlers/handlertest"
	view "mishap/views/problems"
)

func TestShowReport(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	id := p.Accept("machine/1 ?", crashtest.Native())
	a := p.As(t, crash.RoleViewer).Get("/oops/" + id.String()).Want(http.StatusOK)
	a.WantText("h1", "tidewatch crashed with SIGSEGV in tide_parse_row()").
		WantText(".stack tbody tr:nth-child(1)", "0 tide_parse_row tidewatch parse.c:88")
	if got := a.HTML().Find("#report-id").Text(); got != id.String() {
		t.Errorf("text that the button copies: got %q, want %q", got, id)
	}
	checktest.Equal(t, "link to the problem", a.Attr(".report-facts a[href^='/problem/']", "href"),
		handlertest.BucketOf(t, crashtest.Native()).Path())
	checktest.Equal(t, "link to the machine", a.Attr(".report-facts a[href^='/user/']", "href"),
		"/user/machine%2F1%20%3F")
	headings := a.HTML().Find(".field-group h2").Map(func(_ int, s *goquery.Selection) string { return s.Text() })
	if diff := gocmp.Diff([]string{"What crashed", "Where", "When", "Traces", "System"}, headings); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	shown := map[string]string{}
	a.HTML().Find(".fields dt").Each(func(_ int, s *goquery.Selection) {
		value := s.Next()
		if pre := value.Find("pre"); pre.Length() > 0 {
			value = pre
		}
		shown[s.Find(".field-name").Text()] = value.Text()
	})
	report := dbtest.Must(p.Store.Report(t.Context(), id))(t)
	for name, want := range report.Fields {
		if got := shown[name]; strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("field %s: got %q, want %q", name, got, want)
		}
	}
	a.WantText(".fields dt", "program that crashed").WantText(".fields summary", "lines")
	a.WantNone(".page-nav a")
}

func TestShowReportNeighbours(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	var ids []crash.OopsID
	for pid := range 3 {
		ids = append(ids, p.Accept("m", crashtest.Native(crashtest.Process(pid))))
	}
	c := p.As(t, crash.RoleViewer)
	first := c.Get("/oops/" + ids[0].String()).Want(http.StatusOK)
	seen := map[string]bool{}
	for a := first; ; {
		seen[a.Text(".report-facts code")] = true
		if a.HTML().Find(".page-nav a[rel=prev]").Length() == 0 {
			break
		}
		a = c.Get(a.Attr(".page-nav a[rel=prev]", "href")).Want(http.StatusOK)
	}
	for a := first; a.HTML().Find(".page-nav a[rel=next]").Length() > 0; {
		a = c.Get(a.Attr(".page-nav a[rel=next]", "href")).Want(http.StatusOK)
		seen[a.Text(".report-facts code")] = true
	}
	checktest.Equal(t, "reports reached through newer and older links", len(seen), 3)
}

// TestShowOddReports shows a report in no problem, hostile ones, and none.
func TestShowOddReports(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	c := p.As(t, crash.RoleViewer)
	path := "/oops/" + p.Accept("", crashtest.Ungroupable()).String()
	c.Get(path).Want(http.StatusOK).
		WantText(".report-facts", "not grouped "+grouping.SignatureOf(crashtest.Ungroupable().Fields()).Reason).
		WantText(".report-facts", "Machine no machine id").
		WantNone(".report-facts a[href^='/problem/'], .report-facts a[href^='/user/']")
	for _, report := range []crashtest.Report{
		crashtest.Markup(crashtest.Set(`<script>x</script>`, "<script>y</script>")), crashtest.Long(), crashtest.Unicode(),
		crashtest.Package(),
	} {
		handlertest.WantNoMarkup(t, c.Get("/oops/"+p.Accept(`<script>"'`, report).String()).Want(http.StatusOK))
	}
	for _, unknown := range []string{"/oops/" + crash.NewOopsID(handlertest.Today).String(), "/oops/x", "/oops/%00"} {
		c.Get(unknown).Want(http.StatusNotFound).WantText("[role=alert]", "There is no report with this id.")
	}
	p.Visitor(t).Get(path).WantRedirect(http.StatusSeeOther, "/login?next="+url.QueryEscape(path))
}

// TestPassages checks that the pages of problems and reports show the field that a rule read, with
// the used lines marked. Only people who may read reports see it.
func TestPassages(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	reader, visitor := p.As(t, crash.RoleViewer), p.Visitor(t)
	for name, tt := range map[string]struct {
		report crashtest.Report
		field  string
		used   []string
	}{
		"Go": {crashtest.GoPanic(), "StdErr", []string{"panic: runtime error: index out of range [5] with length 3",
			"main.load(", "main.run.func1(...)", "main.main()"}},
		"Rust": {crashtest.RustPanic(), "StdErr", []string{"panicked at src/index.rs:88:31:", "called `Option::unwrap()`",
			"rustle::index::load", "rustle::main"}},
		"Java": {crashtest.Java(), "StackTrace", []string{"java.lang.IllegalStateException",
			"at chartroom.Store.open(Store.java:88)", "Caused by: java.io.FileNotFoundException"}},
		"package": {crashtest.BarePackage(), "DpkgTerminalLog", []string{"Error! Bad return status",
			"dpkg: error processing package"}},
		"own word": {crashtest.Package(), "DpkgTerminalLog", []string{"Error! Bad return status"}},
		"compiler": {crashtest.CompilerError(), "PreprocessedSource", []string{"internal compiler error: in gimplify_expr",
			"gimplify_stmt"}},
		"kernel": {crashtest.ModernOops(), "OopsText", []string{"BUG: kernel NULL pointer dereference",
			"RIP: 0010:brig_tx_done", "handle_irq_event+"}},
		"old oops": {crashtest.Oops(), "OopsText", []string{"IP: [<ffffffffa04b1e22>] brig_tx_done"}},
		"suspend":  {crashtest.Suspend(), "Failure", []string{"suspend/resume"}},
		"hang":     {crashtest.ThreadHang(), "ThreadStacktrace", []string{"lumen_wait_reply"}},
		"snap":     {crashtest.Snap(), "ErrorMessage", []string{"cannot perform the following tasks", "Mount snap"}},
		"message":  {crashtest.BareRecoverable(), "DialogBody", []string{"was damaged"}},
	} {
		t.Run(name, func(t *testing.T) {
			id := p.Accept("m", tt.report)
			report := dbtest.Must(p.Store.Report(t.Context(), id))(t)
			if name != "suspend" && !report.Complete {
				t.Errorf("got an incomplete report, want a complete one")
			}
			for _, path := range []string{report.Bucket.Path(), "/oops/" + id.String()} {
				a := reader.Get(path).Want(http.StatusOK)
				a.WantText(".excerpt h3", tt.field)
				if marked := a.HTML().Find(".excerpt mark.used").Text(); !containsAll(marked, tt.used) {
					t.Errorf("%s: got the marked lines %q, want %q", path, marked, tt.used)
				}
				if strings.Contains(a.HTML().Find(".stack").Text(), "no stack and no traceback") {
					t.Errorf("%s: got a page that says there is no passage", path)
				}
			}
			visitor.Get(report.Bucket.Path()).Want(http.StatusOK).WantNone(".excerpt").WantNone("mark")
			if raw := reader.Get("/oops/" + id.String() + ".json").Want(http.StatusOK).Body; !strings.Contains(raw,
				`"evidence"`) || !strings.Contains(raw, `"`+tt.field+`"`) {
				t.Errorf("JSON of the report: got no evidence in %.300s", raw)
			}
			if name == "hang" {
				return // the answer contains the field itself
			}
			address := "/api/1.0/bucket/" + report.Bucket.String() + "/"
			if raw := reader.Get(address).Want(http.StatusOK).Body; !strings.Contains(raw, `"field": "`+tt.field+`"`) &&
				!strings.Contains(raw, `"field":"`+tt.field+`"`) {
				t.Errorf("JSON of the problem: got no evidence in %.600s", raw)
			}
			if raw := visitor.Get(address).Want(http.StatusOK).Body; strings.Contains(raw, tt.field) {
				t.Errorf("JSON of the problem for visitors: got evidence in %.600s", raw)
			}
		})
	}
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

func TestShowSystem(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	c := p.As(t, crash.RoleViewer)
	for _, name := range []crash.SystemID{
		"0123456789abcdef", "my machine", "a/b/../c?d#e%41", "żółw 😀", "<b>", crash.NewSystemID(strings.Repeat("x", 400)),
	} {
		p.Accept(name, crashtest.Native())
		p.Accept(name, crashtest.Ungroupable())
		a := c.Get(view.SystemPath(name)).Want(http.StatusOK)
		handlertest.WantNoMarkup(t, a)
		a.WantText(".system-name", string(name))
		checktest.Equal(t, fmt.Sprintf("machine %q: reports", name), a.HTML().Find("#reports tbody tr").Length(), 2)
		a.WantText("tbody", "tidewatch crashed with SIGSEGV in tide_parse_row()").WantText("tbody .state", "not grouped")
	}
	c.Get("/user/nobody").Want(http.StatusOK).WantNone("table").
		WantText("#reports", "No reports from this machine are stored.")
	c.Get("/user/").Want(http.StatusOK).WantText("h1", "Machines without an id").WantNone("table")
	c.Get("/user/nobody?after=x").Want(http.StatusBadRequest)
	p.Visitor(t).Get("/user/nobody").WantRedirect(http.StatusSeeOther, "/login?next=%2Fuser%2Fnobody")
	p.Accept("deadbeef-7", crashtest.Native())
	c.Get("/user/deadbeef-7").WantText("main", "test machine Its reports are stored but not counted.")
}

func TestShowSystemPages(t *testing.T) {
	t.Parallel()
	p := handlertest.NewPages(t)
	for pid := range 53 {
		p.Accept("m", crashtest.Native(crashtest.Process(pid)))
	}
	c := p.As(t, crash.RoleViewer)
	next := c.Get("/user/m").Want(http.StatusOK).Attr("#reports .paging a", "hx-get")
	for _, a := range []int{c.Get(next).HTML().Find("#reports tbody tr").Length(),
		c.Part(next).HTML().Find("tbody tr").Length()} {
		checktest.Equal(t, "second page: rows", a, 3)
	}
	c.Part(next).WantNone("h1, header")
	c.Get("/user/m").WantText(".machine .figures", "reports 53").WantText(".lanes tbody tr", "tidewatch 53 1")
}

// TestSymbolsOnPages checks that a problem and its report say how far they are symbolised, and that a
// triager can symbolise them again.
func TestSymbolsOnPages(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Store: dbtest.New(t)})
	store := symbols.New(site.Store)
	b := site.Save(t, crashtest.Native(crashtest.Set("StacktraceTop", "?? ()\n?? ()"),
		crashtest.Set("Stacktrace", "#0  0x1 in ?? ()"),
		crashtest.Set("StacktraceAddressSignature", "/usr/bin/tidewatch:11:/usr/bin/tidewatch+1139")))
	rows, err := site.Problems.BucketReports(t.Context(), b.ID, crash.OopsID{}, 1)
	if err != nil || len(rows) != 1 {
		t.Fatalf("reports: got %v, %v; want one", rows, err)
	}
	id := rows[0].ID
	viewer, triager := site.As(t, crash.RoleViewer), site.As(t, crash.RoleTriager)
	pages := []string{b.ID.Path(), "/oops/" + id.String()}
	both := func(c *handlertest.Client, check func(*handlertest.Answer)) {
		for _, path := range pages {
			check(c.Get(path).Want(http.StatusOK))
		}
	}
	both(viewer, func(a *handlertest.Answer) { a.WantNone("#symbols") })
	admin := site.As(t, crash.RoleAdmin)
	admin.Get("/admin").WantText("main", "No running instance symbolises core dumps")
	if err := store.WorkerSeen(t.Context(), crash.SymbolWorker{Store: "s", Problem: "gdb is not installed."}); err != nil {
		t.Fatal(err)
	}
	admin.Get("/admin").WantText("main", "No instance can symbolise core dumps").WantText("main", "gdb is not installed.")

	if err := store.WorkerSeen(t.Context(), crash.SymbolWorker{Store: "s", Architectures: []string{"amd64"}}); err != nil {
		t.Fatal(err)
	}
	admin.Get("/admin").WantText("main", "Core dumps of amd64 are symbolised.")
	request := crash.CoreRequest{Report: id, System: "machine-1", Problem: b.ID, Version: "1", Architecture: "amd64"}
	if wanted, err := store.RequestCore(t.Context(), request, "s"); !wanted || err != nil {
		t.Fatalf("ask for a core: got %v, %v", wanted, err)
	}
	both(viewer, func(a *handlertest.Answer) { a.WantText("#symbols .state", "waiting for a core") })
	core := crash.ReceivedCore{Report: id, Architecture: "amd64", Store: "s", Bytes: 1}
	if needed, err := store.CoreReceived(t.Context(), core); !needed || err != nil {
		t.Fatalf("core received: got %v, %v", needed, err)
	}
	both(viewer, func(a *handlertest.Answer) { a.WantText("#symbols .state", "queued") })
	claim, _, err := store.ClaimJob(t.Context(), "s", []string{"amd64"})
	checktest.NoError(t, err)
	both(viewer, func(a *handlertest.Answer) { a.WantText("#symbols .state", "running") })
	missing := &crash.SymbolSearch{Searched: []crash.SymbolAttempt{{Source: "added files", Outcome: "missing"}}}
	if err := store.FinishJob(t.Context(), claim, crash.SymbolOutcome{State: crash.SymbolsWaiting, Again: time.Hour,
		Reason: "Files with <function> names are missing.", Missing: []string{"ab12/executable"},
		Modules: []crash.SymbolModule{{Path: "/usr/bin/tidewatch", BuildID: "ab12", Frames: 1, Executable: missing}, {
			Path: "/usr/lib/late.so"}}}); err != nil {
		t.Fatal(err)
	}
	both(viewer, func(a *handlertest.Answer) {
		a.WantText("#symbols p", "waiting Files with <function> names are missing. The next try is ").
			WantText("#symbols tbody tr:nth-child(1)", "/usr/bin/tidewatch").
			WantText("#symbols tbody tr:nth-child(1)", "not found; added files: missing").
			WantText("#symbols tbody tr:nth-child(2)", "/usr/lib/late.so unknown").
			WantNone("#symbols button")
	})
	both(triager, func(a *handlertest.Answer) { a.WantText("#symbols form[action$=symbolise] button", "Symbolise again") })
	site.Visitor(t).Get(b.ID.Path()).WantNone("#symbols")
	again := pages[1] + "/symbolise"
	viewer.Post(again, url.Values{}).Want(http.StatusForbidden)
	triager.Post(again, url.Values{}).WantRedirect(http.StatusSeeOther, pages[1]+"#symbols")
	both(triager, func(a *handlertest.Answer) { a.WantText("#symbols .state", "queued") })
	checktest.NoError(t, store.CoresRemoved(t.Context(), []crash.OopsID{id}))
	triager.Post(again, url.Values{}).Want(http.StatusConflict)
	triager.Post("/oops/x/symbolise", url.Values{}).Want(http.StatusNotFound)
	both(triager, func(a *handlertest.Answer) {
		a.WantText("#symbols .state", "expired").
			WantNone("#symbols form[action$=symbolise]")
	})
}

// TestSymbolsFollowed checks that the page of a problem follows its job, and leads to the problem with
// names at the end.
func TestSymbolsFollowed(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{Store: dbtest.New(t)})
	store := symbols.New(site.Store)
	b := site.Save(t, crashtest.Native(crashtest.Set("StacktraceTop", "?? ()\n?? ()"),
		crashtest.Set("Stacktrace", "#0  0x1 in ?? ()"),
		crashtest.Set("StacktraceAddressSignature", "/usr/bin/tidewatch:11:/usr/bin/tidewatch+1139")))
	if _, _, err := store.QueueAddresses(t.Context(), crash.SymbolCursor{}); err != nil {
		t.Fatal(err)
	}
	viewer := site.As(t, crash.RoleViewer)
	follow := func() string {
		t.Helper()
		path, _ := viewer.Get(b.ID.Path()).Want(http.StatusOK).HTML().Find("#symbols").Attr("hx-get")
		return path
	}
	path := follow()
	if answer := viewer.Part(path).Want(http.StatusNoContent); answer.Body != "" {
		t.Errorf("nothing new: got %q, want no body", answer.Body)
	}
	claim, ok, err := store.ClaimAddresses(t.Context())
	if !ok || err != nil {
		t.Fatalf("claim: got %v, %v", ok, err)
	}
	viewer.Part(path).Want(http.StatusOK).WantText("#symbols .state", "running")
	checktest.NoError(t, store.FinishJob(t.Context(), claim, crash.SymbolOutcome{State: crash.SymbolsFailed,
		Reason: "No."}))
	viewer.Part(path).Want(http.StatusOK).WantText("#symbols .state", "failed")
	checktest.Equal(t, "after the end", follow(), "")
	named := site.Save(t, crashtest.Native(crashtest.Set("StacktraceAddressSignature",
		"/usr/bin/tidewatch:11:/usr/bin/tidewatch+1139"), crashtest.Process(2))) // with names
	dbtest.Counted(t, site.Store)
	want := named.ID.Path() + "?from=" + b.ID.String()
	checktest.Equal(t, "with names", viewer.Part(path).Want(http.StatusOK).Header.Get("HX-Redirect"), want)
	viewer.Get(path).WantRedirect(http.StatusSeeOther, want)
}

// seenReport is a report of one problem, with the time since its crash.
type seenReport struct {
	ago     time.Duration
	version string
	release crash.Release
}

const day = 24 * time.Hour

// seenReports are ordered by time of crash. The highest version is neither in the newest report nor
// from Ubuntu. Within Ubuntu 24.04, no order of versions matches the order of reports.
var seenReports = []seenReport{
	{30 * day, "0.9-1", "Kubuntu 24.04"}, // a derivative counts as another release
	{20 * day, "1.6-1", "Ubuntu 22.04"},
	{13 * day, "1.9.4-2", "Debian sid"},
	{9 * day, "1.4-1", "Ubuntu 24.04"},
	{3 * day, "1.7-1", "Ubuntu 24.04"},
	{2 * day, "1.2-1", "Ubuntu 24.04"},
	{2 * time.Hour, "1.5.4-1", "Ubuntu 26.04"},
	{time.Hour, "0.95-1", "Kubuntu 24.04"},
}

// seenWant is the expected result for a release (empty means all): the oldest and newest report, and the
// highest version.
type seenWant struct {
	release     crash.Release
	first, last seenReport
	highest     string
}

var seenWants = []seenWant{
	{"", seenReports[0], seenReports[7], "1.9.4-2"},
	{"Ubuntu 24.04", seenReports[3], seenReports[5], "1.7-1"},
	{"Kubuntu 24.04", seenReports[0], seenReports[7], "0.95-1"},
	{"Debian sid", seenReports[2], seenReports[2], "1.9.4-2"},
	{"Ubuntu 26.04", seenReports[6], seenReports[6], "1.5.4-1"},
}

// TestFirstAndLastSeen posts reports in several orders and checks the first and last occurrence on
// every page and in every file.
func TestFirstAndLastSeen(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]int{
		"as they happened":  {0, 1, 2, 3, 4, 5, 6, 7},
		"the newest first":  {7, 6, 5, 4, 3, 2, 1, 0},
		"the ends are late": {4, 2, 6, 5, 3, 1, 7, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now().Truncate(time.Second)
			site := handlertest.New(t, handlertest.Options{Now: func() time.Time { return now }})
			var bucket crash.Bucket
			for _, i := range order {
				bucket = postSeen(t, site, now, seenReports[i], i)
			}
			checktest.NoError(t, site.Store.WaitCounted(t.Context()))
			for _, want := range seenWants {
				s := seenQuery{t: t, site: site, bucket: bucket.ID, now: now, seenWant: want}
				s.pages()
				s.files()
			}
		})
	}
}

func postSeen(t *testing.T, site *handlertest.Site, now time.Time, r seenReport, process int,
	options ...crashtest.Option) crash.Bucket {
	t.Helper()
	return site.Save(t, crashtest.Native(append([]crashtest.Option{
		crashtest.On(r.release), crashtest.Version(r.version), crashtest.At(now.Add(-r.ago).UTC()),
		crashtest.Process(9000 + process),
	}, options...)...))
}

// seenQuery queries one release, or all.
type seenQuery struct {
	t      *testing.T
	site   *handlertest.Site
	bucket crash.BucketID
	now    time.Time
	seenWant
}

func (s seenQuery) query(more ...string) string {
	q := url.Values{}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	if s.release != "" {
		q.Set("release", string(s.release))
	}
	return q.Encode()
}

func (s seenQuery) text(r seenReport) string {
	return s.now.Add(-r.ago).UTC().Format(time.RFC3339) + " " + r.version + " " + string(r.release)
}

// shown returns an occurrence as pages format it.
func (s seenQuery) shown(cell *goquery.Selection) string {
	at, _ := cell.Find("time").Attr("datetime")
	release, _ := cell.Find(".release").Attr("title")
	release, _, _ = strings.Cut(release, " (") // the codename
	return at + " " + cell.Find(".version").Text() + " " + release
}

// titled returns an occurrence as the tooltip of a list describes it.
func titled(title string) string {
	parts := strings.SplitN(title, ", ", 3)
	at, err := time.Parse("2006-01-02 15:04:05 UTC", parts[0])
	if err != nil || len(parts) != 3 {
		return title
	}
	release, _, _ := strings.Cut(parts[1], " (") // the codename
	return at.Format(time.RFC3339) + " " + parts[2] + " " + release
}

// listed returns the oldest and the newest report of a row, from its cells or from a tooltip.
func listed(row *goquery.Selection) (first, last string) {
	last, first, _ = strings.Cut(row.Find("td.last").AttrOr("title", ""), "; first seen ")
	if first == "" {
		first = row.Find("td.first").AttrOr("title", "")
	}
	return titled(first), titled(last)
}

func (s seenQuery) same(where, first, last string) {
	s.t.Helper()
	if want := s.text(s.first); first != want {
		s.t.Errorf("%q, %s, first seen: got %q, want %q", s.release, where, first, want)
	}
	if want := s.text(s.last); last != want {
		s.t.Errorf("%q, %s, last seen: got %q, want %q", s.release, where, last, want)
	}
}

func (s seenQuery) pages() {
	c := s.site.Visitor(s.t)
	c.Get("/columns?column=first")
	lists := map[string]string{"front": "/?" + s.query("period", "year"), "sorted": "/?" + s.query("period", "year",
		"sort", "last")}
	if s.release == "" {
		lists["package"] = "/package/tidewatch"
		lists["search"] = "/search?period=year&q=tidewatch"
	} else {
		lists["search"] = "/search?" + url.Values{"period": {"year"},
			"q": {fmt.Sprintf("release:%q first:%s last:%s", s.release, s.first.version, s.last.version)}}.Encode()
		if s.last.ago < 28*day {
			lists["release"] = "/release/" + url.PathEscape(string(s.release))
		}
	}
	for name, path := range lists {
		page := c.Get(path).Want(http.StatusOK).HTML()
		row := page.Find("table.problems tbody tr").First()
		first, last := listed(row)
		s.same(name, first, last)
		if page.Find("th.machines, td.machines").Length() > 0 {
			s.t.Errorf("%s: got a column of machines in a list of a period, want none", name)
		}
	}
	page := c.Get(s.bucket.Path() + "?" + s.query()).Want(http.StatusOK).HTML()
	fact := func(name string) string {
		return s.shown(page.Find("dl.facts dt").FilterFunction(func(_ int,
			dt *goquery.Selection) bool {
			return dt.Text() == name
		}).Next())
	}
	s.same("problem", fact("First seen"), fact("Last seen"))
}

func (s seenQuery) files() {
	c := s.site.Visitor(s.t)
	query := "?" + s.query("period", "year")
	paths := []string{"/problems"}
	if s.release == "" {
		paths = append(paths, "/package/tidewatch")
	} else if s.last.ago < 28*day {
		paths = append(paths, "/release/"+url.PathEscape(string(s.release)))
	}
	for _, path := range paths {
		var list struct{ Objects []map[string]any }
		c.Get(path + ".json" + query).Want(http.StatusOK).JSON(&list)
		if len(list.Objects) != 1 {
			s.t.Fatalf("%s.json: got %d problems, want 1", path, len(list.Objects))
		}
		s.record(path+".json", func(name string) string { return fmt.Sprint(list.Objects[0][name]) })
		if _, ok := list.Objects[0]["machines"]; ok {
			s.t.Errorf("%s.json: got a number of machines in a list of a period, want none", path)
		}

		rows, err := csv.NewReader(strings.NewReader(c.Get(path + ".csv" + query).Want(http.StatusOK).Body)).ReadAll()
		if err != nil || len(rows) != 2 {
			s.t.Fatalf("%s.csv: got %d lines, %v", path, len(rows), err)
		}
		s.record(path+".csv", func(name string) string { return rows[1][slices.Index(rows[0], name)] })

		var feed struct {
			Entry []struct {
				Published string `xml:"published"`
				Summary   string `xml:"summary"`
			} `xml:"entry"`
		}
		if err := xml.Unmarshal([]byte(c.Get(path+".atom"+query).Want(http.StatusOK).Body), &feed); err != nil ||
			len(feed.Entry) != 1 {
			s.t.Fatalf("%s.atom: got %+v, %v", path, feed, err)
		}
		entry := feed.Entry[0]
		if first := s.now.Add(-s.first.ago).UTC().Format(time.RFC3339); entry.Published != first {
			s.t.Errorf("%s.atom: got %s, want %s", path, entry.Published, first)
		}
		in := func(r seenReport) string {
			return s.now.Add(-r.ago).UTC().Format("2006-01-02 15:04 UTC") + " in " + r.version + " (" + string(r.release) + ")"
		}
		if want := "First seen " + in(s.first) + ", last seen " + in(s.last) + "."; !strings.Contains(entry.Summary, want) {
			s.t.Errorf("%s.atom: got %q, want it to contain %q", path, entry.Summary, want)
		}
	}
}

func (s seenQuery) record(where string, value func(string) string) {
	s.t.Helper()
	s.same(where, value("first_seen")+" "+value("first_version")+" "+value("first_release"), value("last_seen")+" "+
		value("last_version")+" "+value("last_release"))
	checktest.Equal(s.t, fmt.Sprintf("%q, %s: highest version", s.release, where), value("highest_version"),
		s.highest)
}

// TestFirstSeenOfMerged checks that a merged problem shows the oldest and newest report of all its
// buckets.
func TestFirstSeenOfMerged(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	site := handlertest.New(t, handlertest.Options{Now: func() time.Time { return now }})
	into := postSeen(t, site, now, seenReports[3], 1)
	older, newer := seenReport{40 * day, "0.1-1", "Ubuntu 22.04"}, seenReport{time.Minute, "0.2-1", "Ubuntu 24.04"}
	var merged crash.Bucket
	for i, r := range []seenReport{newer, older} {
		merged = postSeen(t, site, now, r, 2+i, crashtest.Set("DuplicateSignature", "merged"))
	}
	checktest.NoError(t, site.Store.WaitCounted(t.Context()))
	dbtest.Must(site.Decisions.Merge(t.Context(), into.ID, []crash.BucketID{merged.ID}, "ada", ""))(t)
	for _, want := range []seenWant{
		{"", older, newer, "1.4-1"},
		{"Ubuntu 24.04", seenReports[3], newer, "1.4-1"},
		{"Ubuntu 22.04", older, older, "0.1-1"},
	} {
		s := seenQuery{t: t, site: site, bucket: into.ID, now: now, seenWant: want}
		if want.release == "" {
			s.pages()
			s.files()
			continue
		}
		row := site.Visitor(t).Get("/?" + s.query("period", "year", "sort", "first")).Want(http.StatusOK).HTML().Find(
			"table.problems tbody tr").First()
		first, last := listed(row)
		s.same("front", first, last)
	}
	if got := cmp.Or(site.Bucket(t, merged.ID).LastSeenVersion, "none"); got != newer.version {
		t.Errorf("last seen in %s, want %s", got, newer.version)
	}
}
