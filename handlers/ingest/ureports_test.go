package ingest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/db/problems"
	"mishap/handlers/ingest"
)

func uReport(t testing.TB, name string) string {
	t.Helper()
	return string(dbtest.Must(os.ReadFile(filepath.Join("../../crash/format/abrt/testdata", name)))(t))
}

// form returns a form as libcurl sends it for libreport.
func form(path, file string) string {
	const boundary = "------------------------d74496d66958873e"
	body := "--" + boundary + "\r\n" +
		"Content-Disposition: form-data; name=\"file\"; filename=\"*buffer*\"\r\n" +
		"Content-Type: application/json\r\n\r\n" + file + "\r\n--" + boundary + "--\r\n"
	return "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: ABRT/2.17.6\r\nAccept: application/json\r\n" +
		"Connection: close\r\nContent-Length: " + fmt.Sprint(len(body)) + "\r\n" +
		"Content-Type: multipart/form-data; boundary=" + boundary + "\r\n\r\n" + body
}

// abrtReply is the answer that ABRT's client reads.
type abrtReply struct {
	Result     *bool
	Error      *string
	Message    string
	Hash       string                                   `json:"bthash"`
	ReportedTo []struct{ Reporter, Type, Value string } `json:"reported_to"`

	status int
}

// sendRaw sends a request as it is, and reads the answer as ABRT's client does: 202 without an error, else an error.
func (h *fixture) sendRaw(t *testing.T, request string) abrtReply {
	t.Helper()
	conn, in := h.dial(t)
	write(t, conn, []byte(request))
	got := readReply(t, in)
	var a abrtReply
	if err := json.Unmarshal([]byte(got.text), &a); err != nil || got.header.Get("Content-Type") != "application/json" {
		t.Fatalf("got %d %q (%s), want JSON", got.status, got.text, got.header.Get("Content-Type"))
	}
	a.status = got.status
	if accepted := a.status == http.StatusAccepted; accepted != (a.Error == nil) || accepted != (a.Result != nil) ||
		a.Error != nil && *a.Error == "" || got.header.Get("Set-Cookie") != "" {
		t.Errorf("got %d %q, want 202 with a result or another status with an error", got.status, got.text)
	}
	return a
}

const pages = "https://crashes.example"

func startABRT(t *testing.T, change func(*ingest.Deps)) *fixture {
	t.Helper()
	return start(t, func(d *ingest.Deps) {
		d.BaseURL = pages + "/"
		if change != nil {
			change(d)
		}
	})
}

func failingIntake(err error) *intake.Intake {
	store := storeFunc(func(crash.Record) (crash.OopsID, bool, error) { return crash.OopsID{}, false, err })
	return intake.New(intake.Config{MaxAgeDays: 366}, store)
}

// TestUReports sends a µReport of each type over a plain connection, and checks its problem.
func TestUReports(t *testing.T) {
	t.Parallel()
	h := startABRT(t, nil)
	for name, signature := range map[string]string{
		"core.json": "/usr/bin/tidewatch:11:tide_parse_row:tide_load:__libc_start_call_main",
		"core-addresses.json": "/usr/bin/reefd:11:reefd@aa11bb22cc33+9234:" +
			"reefd@aa11bb22cc33+9a10:libc.so.6@dd44ee55+29d90",
		"python.json":     "/usr/bin/quillpad:KeyError:/usr/bin/quillpad@8:main:load",
		"ruby.json":       "/usr/bin/tidepool:Wrap::MyException:func:times:<class:WillClass>:<main>",
		"kerneloops.json": "kernel:NULL pointer dereference:reef_read [reef]:vfs_read:ksys_read",
		"java.json": "chartroom:chartroom.Gone:chartroom.Main.run:chartroom.Main.main:caused by " +
			"java.io.FileNotFoundException:java.io.FileInputStream.open0:chartroom.Store.open",
	} {
		body := uReport(t, name)
		if name == "core-addresses.json" {
			body = strings.ReplaceAll(body, "/usr/bin/tidewatch", "/usr/bin/reefd")
		}
		got := h.sendRaw(t, form("/reports/new/", body))
		id := crash.BucketIDOf(signature)
		if got.status != http.StatusAccepted || *got.Result || got.Hash != id.String() || len(got.ReportedTo) != 1 ||
			got.ReportedTo[0].Value != pages+id.Path() || !strings.Contains(got.Message, pages+id.Path()) {
			t.Errorf("%s: got %+v, want a new report of %s", name, got, id)
		}
		h.counted(t)
		b := dbtest.Must(h.store.Bucket(t.Context(), id))(t)
		if b.Signature != signature || b.Reports != 1 || b.HighestRelease != "Fedora 43" {
			t.Errorf("%s: got bucket %+v, want one report of Fedora 43", name, b)
		}
	}
	got := h.sendRaw(t, form("/faf//reports/new", uReport(t, "ruby.json")))
	checktest.Equal(t, "status with a prefix", got.status, http.StatusAccepted)
	short := strings.NewReplacer("core_backtrace", "x", "USERSPACE", "KERNELOOPS").Replace(uReport(t, "version1.json"))
	short = strings.Replace(short, `"reason"`, `"oops": "no function", "reason"`, 1)
	if got = h.sendRaw(t, form("/reports/new/", short)); got.Hash != "" || len(got.ReportedTo) > 0 {
		t.Errorf("in no problem: got %+v, want no hash", got)
	}
}

// TestRepeatedUReports checks that a machine's report counts once, and that reports of unknown machines all count.
func TestRepeatedUReports(t *testing.T) {
	t.Parallel()
	h := startABRT(t, nil)
	known, anonymous := uReport(t, "core-addresses.json"), uReport(t, "core.json")
	other := strings.Replace(known, "systemd=4e", "systemd=5f", 1)
	for _, body := range []string{known, known, other, anonymous, anonymous} {
		h.sendRaw(t, form("/reports/new/", body))
	}
	h.counted(t)
	// The stack without names belongs to the problem with the names of its addresses.
	b := dbtest.Must(h.store.Bucket(t.Context(),
		crash.BucketIDOf("/usr/bin/tidewatch:11:tide_parse_row:tide_load:__libc_start_call_main")))(t)
	if b.Reports != 4 || b.Systems != 2 || b.Members != 2 {
		t.Errorf("got %d reports of %d machines, %d members; want 4 of 2, two members", b.Reports, b.Systems, b.Members)
	}
	h.wantMetric(t, "mishap_ingest_reports_total",
		map[string]string{"door": "abrt", "outcome": "stored", "reason": "bucketed"}, 4)
	h.wantMetric(t, "mishap_ingest_reports_total",
		map[string]string{"door": "abrt", "outcome": "repeated", "reason": ""}, 1)
}

// TestReportedTo checks that clients are told public bugs, and nothing of embargoed problems.
func TestReportedTo(t *testing.T) {
	t.Parallel()
	h := startABRT(t, nil)
	serve := func() {
		h.serve(t, func(d *ingest.Deps) { d.BaseURL, d.Bugs, d.Registerer = pages, bugs.New(h.store), nil })
	}
	body := uReport(t, "core.json")
	first := h.sendRaw(t, form("/reports/new/", body))
	id := dbtest.Must(crash.ParseBucketID(first.Hash))(t)
	b := bugs.New(h.store)
	for number, reading := range map[int64]crash.BugReading{
		7: {Title: "public"}, 8: {Private: true}, 9: {Hidden: true}, 10: {},
	} {
		url := fmt.Sprintf("https://bugs.example/%d", number)
		dbtest.Must(b.LinkBug(t.Context(), id, crash.Bug{Number: number, URL: url, How: crash.Linked, By: "ada",
			At: today}))(t)
		reading.Number = number
		if number != 10 { // it was never read
			checktest.NoError(t, b.SaveBugReading(t.Context(), reading, "", time.Hour))
		}
	}
	serve()
	got := h.sendRaw(t, form("/reports/new/", body))
	if !*got.Result || len(got.ReportedTo) != 2 || got.ReportedTo[1].Value != "https://bugs.example/7" {
		t.Errorf("got %+v, want the page and the public bug", got)
	}
	dbtest.Must(problems.New(h.store).Set(t.Context(),
		crash.Mark{Kind: crash.MarkEmbargo, Bucket: id, Person: "ada", Reason: "r"}))(t)
	serve()
	got = h.sendRaw(t, form("/reports/new/", body))
	if fmt.Sprint(got.Hash, *got.Result, got.Message, got.ReportedTo) !=
		fmt.Sprint(first.Hash, *first.Result, first.Message, first.ReportedTo) {
		t.Errorf("embargoed: got %+v, want the same as for a new problem, %+v", got, first)
	}
}

// TestABRTRefusals checks the status of what is refused: never 200 and never 429.
func TestABRTRefusals(t *testing.T) {
	t.Parallel()
	h := startABRT(t, nil)
	core := uReport(t, "core.json")
	whole := form("/reports/new/", core)
	for name, c := range map[string]struct {
		request string
		status  int
		text    string
	}{
		"no JSON":      {form("/reports/new/", "ProblemType: Crash"), 400, "Couldn't parse JSON data."},
		"deep":         {form("/reports/new/", strings.Repeat("[", 100_000)), 400, "levels"},
		"a name twice": {form("/reports/new/", `{"os":1,"os":2}`), 400, "twice"},
		"no package":   {form("/reports/new/", strings.ReplaceAll(core, `"tidewatch"`, `""`)), 400, "Incomplete"},
		"another type": {form("/reports/new/", strings.Replace(core, `"core"`, `"selinux"`, 1)), 400, "selinux"},
		"end of life": {form("/reports/new/", strings.NewReplacer("fedora", "ubuntu", `"43"`, `"12.04"`).Replace(core)),
			400, "End of Life"},
		"another part":  {strings.Replace(whole, `name="file"`, `name="else"`, 1), 400, "form"},
		"no form":       {strings.Replace(whole, "multipart/form-data", "text/plain", 1), 400, "form"},
		"cut short":     {form("/reports/new/", core[:300]), 400, "JSON"},
		"too large":     {form("/reports/new/", core+strings.Repeat(" ", 1<<20)), 413, "limit"},
		"no attachment": {form("/reports/attach/", "[]"), 400, "type"},
		"a large one":   {form("/reports/attach/", strings.Repeat(" ", 2049)), 413, "2048"},
		"a huge one":    {form("/reports/attach/", strings.Repeat(" ", 1<<16)), 413, "limit"},
	} {
		got := h.sendRaw(t, c.request)
		if got.status != c.status || got.Error == nil || !strings.Contains(*got.Error, c.text) {
			t.Errorf("%s: got %+v, want %d with %q", name, got, c.status, c.text)
		}
	}
	comment := form("/reports/attach/", `{"bthash":"98da","type":"comment","data":"it ate my row"}`)
	if got := h.sendRaw(t, comment); got.status != http.StatusAccepted || !*got.Result {
		t.Errorf("attachment: got %+v, want it accepted", got)
	}
	h.wantMetric(t, "mishap_ingest_attachments_total", map[string]string{"outcome": "dropped", "reason": ""}, 1)
	for _, path := range []string{"/reports/new/", "/reports/attach/", "/reports/bthash/x", "/reports/bthash/"} {
		h.send(t, http.MethodGet, path, nil).want(t, http.StatusNotFound, "Not found.")
	}
	h.wantAlive(t)
}

// TestABRTOverload checks that too many reports and an unavailable database give 503.
func TestABRTOverload(t *testing.T) {
	t.Parallel()
	h := startABRT(t, func(d *ingest.Deps) { d.RatePerSystem, d.RatePerAddress = 2, 5 })
	core := uReport(t, "core-addresses.json")
	for i, want := range []int{202, 202, 503, 503, 503, 503} {
		if got := h.sendRaw(t, form("/reports/new/", core)); got.status != want {
			t.Errorf("report %d: got %+v, want %d", i, got, want)
		}
	}
	failing := startABRT(t, func(d *ingest.Deps) {
		d.Intake = failingIntake(crash.Errorf(crash.Unavailable, "unavailable", "The database is away."))
	})
	if got := failing.sendRaw(t, form("/reports/new/", core)); got.status != http.StatusServiceUnavailable {
		t.Errorf("without a database: got %+v, want 503", got)
	}
	internal := startABRT(t, func(d *ingest.Deps) { d.Intake = failingIntake(errors.New("secret")) })
	if got := internal.sendRaw(t, form("/reports/new/", core)); got.status != 500 || *got.Error != "Internal error." {
		t.Errorf("an internal error: got %+v", got)
	}
}

// TestRedirects checks that the address by which ABRT names a problem, and the one that mishap-send prints for
// erasing a machine, lead to the pages.
func TestRedirects(t *testing.T) {
	t.Parallel()
	h := startABRT(t, nil)
	id := crash.BucketIDOf(grouping.SignatureOf(crashtest.Native().Fields()).Signature)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	machine := string(crash.HashedSystemID("a machine"))
	for path, page := range map[string]string{
		"/reports/bthash/" + id.String():           "/reports/bthash/" + id.String(),
		"/faf/reports/bthash/" + id.String() + "/": "/reports/bthash/" + id.String(),
		"/user/" + machine + "/erase":              "/user/" + machine + "/erase",
		"/x/user/" + machine + "/erase":            "/user/" + machine + "/erase",
	} {
		req := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL+path, bytes.NewReader(nil)))(t)
		res, err := client.Do(req)
		checktest.NoError(t, err)
		checktest.NoError(t, res.Body.Close())
		if to := res.Header.Get("Location"); res.StatusCode != 302 || to != pages+page {
			t.Errorf("%s: got %d to %q", path, res.StatusCode, to)
		}
	}
	h.send(t, http.MethodGet, "/user/x/erase", nil).want(t, http.StatusNotFound, "Not found.")
	h.post(t, "/user/"+machine+"/erase", text("")).want(t, http.StatusNotFound, "Not found.")
}

// TestUReportFlood sends large µReports at once: each is accepted or may be sent again.
func TestUReportFlood(t *testing.T) {
	t.Parallel()
	h := startABRT(t, nil)
	frame := `{"address":1,"build_id_offset":5,"function_name":"deep"},`
	large := strings.Replace(uReport(t, "core.json"), `"frames": [`, `"frames": [`+strings.Repeat(frame, 8000), 1)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if got := h.sendRaw(t, form("/reports/new/", large)); got.status != 202 && got.status != 503 {
				t.Errorf("got %+v, want 202 or 503", got)
			}
		})
	}
	wg.Wait()
	h.wantAlive(t)
}
