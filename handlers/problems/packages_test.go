package problems_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

func TestPackagePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	process := 0
	save := func(days int, options ...crashtest.Option) {
		t.Helper()
		process++
		options = append(options, crashtest.At(time.Now().AddDate(0, 0, -days).Add(-time.Hour)), crashtest.Process(process))
		site.Save(t, crashtest.Native(options...))
	}
	for range 3 {
		save(5, crashtest.Version("1.9-1"))
	}
	for range 40 {
		save(0, crashtest.Version("1.10-1"))
	}
	save(0, crashtest.Version("1.10-1"), crashtest.Set("DuplicateSignature", "a <b>second</b> problem"))
	dbtest.Counted(t, site.Store)
	c := site.Visitor(t)
	page := c.Get("/package/tidewatch").Want(http.StatusOK).WantText("h1", "tidewatch")
	checktest.Equal(t, "problems", page.HTML().Find("#package-problems ~ table tbody tr").Length(), 2)
	versions := page.HTML().Find("#package-versions ~ .scroll tbody tr")
	if versions.Length() != 2 || !strings.Contains(versions.First().Text(), "1.10-1") ||
		!strings.Contains(versions.First().Text(), "more") || !strings.Contains(versions.Last().Text(), "1.9-1") {
		t.Errorf("versions: got %s", versions.Text())
	}
	save(5, crashtest.Version("1.9-1"), crashtest.Set("DuplicateSignature", "gone by now"))
	for range 3 { // other versions and releases do not count
		save(5, crashtest.Version("1.8-1"), crashtest.Set("DuplicateSignature", "gone by now"))
		save(0, crashtest.On("Ubuntu 22.04"), crashtest.Version("1.10-1"),
			crashtest.Set("DuplicateSignature", "a <b>second</b> problem"))
	}
	dbtest.Counted(t, site.Store)
	compared := c.Get("/package/tidewatch?" + url.Values{"a": {"Ubuntu 24.04/1.10-1"},
		"b": {"Ubuntu 24.04/1.9-1"}}.Encode())
	compared.WantText("#compare", "New in 1.10-1 since 1.9-1 a <b>second</b> problem 1 report from 1.10-1").
		WantText("#compare", "Gone in 1.10-1 since 1.9-1 gone by now 1 report from 1.9-1").WantText("tr.chosen-version "+
		".letter", "A").
		WantText(".compared", "): more").WantNone("#compare .notice")
	if got := compared.Attr(`select[name=b] option[selected]`, "value"); got != "Ubuntu 24.04/1.9-1" {
		t.Errorf("compared: got B %q, want what was chosen", got)
	}
	// The other way round, the rate is smaller, and what is new and gone stays.
	reverse := c.Get("/package/tidewatch?" + url.Values{"a": {"Ubuntu 24.04/1.9-1"},
		"b": {"Ubuntu 24.04/1.10-1"}}.Encode())
	reverse.WantText(".compared", "): fewer").WantText("#compare", "New in 1.10-1 since 1.9-1")
	c.Get("/package/tidewatch?a=nosuch&b=x").Want(http.StatusOK).WantText("#compare .notice", "newest one")
	same := url.Values{"a": {"Ubuntu 24.04/1.9-1"}, "b": {"Ubuntu 24.04/1.9-1"}}.Encode()
	c.Get("/package/tidewatch?"+same).WantText("#compare .notice", "same version").WantNone(".comparison")
	if got := compared.HTML().Find("svg.interval").First().AttrOr("aria-label", ""); !strings.Contains(got,
		"95% interval") {
		t.Errorf("interval bar: got %q, want its figures", got)
	}
	if strings.Contains(page.Body, "<b>second</b>") {
		t.Error("a signature became markup")
	}
	rows := handlertest.CSVOf(t, c.Get("/package/tidewatch.csv").Want(http.StatusOK))
	if len(rows) != 3 || rows[0]["count"] != "43" {
		t.Errorf("CSV: got %v", rows)
	}
	f := handlertest.FeedOf(t, c.Get("/package/tidewatch.atom").Want(http.StatusOK))
	if len(f.Entries) != 3 || f.Title != "Problems of tidewatch · mishap" ||
		f.Entries[0].Title != "a <b>second</b> problem" {
		t.Errorf("Atom: got %+v, want the new problem first", f)
	}
	c.Get("/package/nosuch").Want(http.StatusNotFound)
	c.Get("/package/nosuch.json").Want(http.StatusOK)
	c.Get("/package/tidewatch/").WantRedirect(http.StatusMovedPermanently, "/package/tidewatch")
	page.WantText("main .exports", "Atom feed")
}

func TestReleasePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	process := 0
	save := func(days int, release string, options ...crashtest.Option) {
		t.Helper()
		process++
		options = append(options, crashtest.At(time.Now().AddDate(0, 0, -days).Add(-time.Hour)), crashtest.Process(process),
			crashtest.Set("DistroRelease", release))
		site.Save(t, crashtest.Native(options...))
	}
	other := crashtest.Set("DuplicateSignature", "a <b>second</b> problem")
	for range 2 {
		save(9, "Ubuntu 24.04")
	}
	for range 30 {
		save(1, "Ubuntu 24.04")
	}
	save(1, "Ubuntu 26.04")
	save(1, "Ubuntu 26.04", other)
	save(1, "Ubuntu 26.04", other)
	save(0, "Sea Monkey")
	dbtest.Counted(t, site.Store)
	c := site.Visitor(t)

	front := c.Get("/").Want(http.StatusOK)
	front.WantText(".trend", "Machines sent")
	front.WantText(".trend", "Worse: 24.04")

	noble := c.Get("/release/Ubuntu%2024.04").Want(http.StatusOK).WantText("h1", "Ubuntu 24.04 (noble)")
	noble.WantText(".trend", "worse Machines sent")
	checktest.Equal(t, "24.04: problems", noble.HTML().Find("#release-worst ~ table tbody tr").Length(), 1)
	resolute := c.Get("/release/Ubuntu%2026.04").Want(http.StatusOK)
	resolute.WantText("main", "This week, machines with 26.04 sent ")
	if got := resolute.HTML().Find("#release-worst ~ table tbody tr"); got.Length() != 2 ||
		!strings.Contains(got.First().Text(), "second") {
		t.Errorf("26.04: got problems %s, want two, by frequency", got.Text())
	}
	if got := resolute.HTML().Find("#release-new ~ table tbody tr"); got.Length() != 1 || !strings.Contains(got.Text(),
		"second") {
		t.Errorf("26.04, new: got %s, want the problem that 24.04 lacks", got.Text())
	}
	if got := resolute.HTML().Find("#release-packages ~ .scroll tbody tr"); got.Length() != 1 ||
		!strings.Contains(got.Text(), "tidewatch") {
		t.Errorf("26.04, packages: got %s", got.Text())
	}
	if strings.Contains(resolute.Body, "<b>second</b>") {
		t.Error("a signature became markup")
	}
	if rows := handlertest.CSVOf(t, c.Get("/release/Ubuntu%2026.04.csv").Want(http.StatusOK)); len(rows) != 2 ||
		rows[0]["count"] != "2" {
		t.Errorf("CSV: got %v", rows)
	}
	if f := handlertest.FeedOf(t, c.Get("/release/Ubuntu%2026.04.atom").Want(http.StatusOK)); len(f.Entries) != 2 ||
		f.Title != "Problems of Ubuntu 26.04 · mishap" {
		t.Errorf("Atom: got %+v", f)
	}
	c.Get("/release/Sea%20Monkey").Want(http.StatusOK).WantText("h1", "Sea Monkey")
	c.Get("/release/Ubuntu%204.10").Want(http.StatusNotFound)
	c.Get("/release/").Want(http.StatusNotFound)
}

// TestGatePage shows every state of the update gate, to a visitor and without JavaScript.
func TestGatePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	in := intake.New(intake.Config{MaxAgeDays: 366}, site.Store)
	process := 0
	save := func(machine, days int, version string, options ...crashtest.Option) {
		t.Helper()
		process++
		at := time.Now().AddDate(0, 0, -days)
		report := crashtest.Native(append([]crashtest.Option{crashtest.Version(version), crashtest.At(at),
			crashtest.Process(process)}, options...)...)
		dbtest.Must(in.Accept(t.Context(), crash.Report{ID: crash.NewOopsID(at), Fields: report.Fields(),
			System: crash.NewSystemID(fmt.Sprint("machine ", machine))}))(t)
	}
	fresh := "/usr/bin/tidewatch:11:new_function"
	for machine := range 60 {
		save(machine, 80, "1.0", crashtest.Set("Package", "other 1.0"))
		save(machine, 40+machine%30, "1.9-1")
	}
	save(1, 30, "1.10-1")
	for machine := range 8 {
		save(machine, machine, "1.11-1", crashtest.Set("DuplicateSignature", fresh))
	}
	dbtest.Counted(t, site.Store)
	c := site.Visitor(t)
	ask := func(version string, more ...string) *handlertest.Answer {
		t.Helper()
		return c.Get("/gate?package=tidewatch&version=" + version + strings.Join(more, ""))
	}

	form := c.Get("/gate").Want(http.StatusOK).WantNone(".gate-verdict").WantNone(".error")
	if got := form.Attr("form.gate-form", "action") + " " + form.Attr("form.gate-form", "method"); got != "/gate get" {
		t.Errorf("form: got %q", got)
	}
	c.Get("/gate?package=nosuch&version=1").Want(http.StatusNotFound).WantText(".error", "No report of a binary "+
		"package nosuch")
	c.Get("/gate?package=tidewatch").Want(http.StatusUnprocessableEntity).WantText(".error", "Enter a version")
	ask("1.10-1", "&against=1.11-1").Want(http.StatusUnprocessableEntity).WantText(".error", "not lower")
	ask("_").Want(http.StatusUnprocessableEntity).WantText(".error", "not a version")
	unknown := ask("2.0").Want(http.StatusOK).WantText(".gate-verdict", "no release has a report of tidewatch 2.0")
	if got := unknown.Attr("main a[href*='version=1.11-1']", "href"); got != "/gate?package=tidewatch&version=1.11-1" {
		t.Errorf("unknown version: got link %q", got)
	}
	ask("1.9-1").Want(http.StatusOK).WantText(".gate-verdict .state-wait", "not enough data").
		WantText(".gate-reasons", "no report of a lower version")
	pass := ask("1.10-1").Want(http.StatusOK).WantText(".gate-verdict .state-done", "pass").
		WantText(".gate-reasons", "Compared with 1.9-1, the version before").WantText(".gate-rates tbody", "1.10-1")
	if got := pass.Attr("input[name=version]", "value"); got != "1.10-1" {
		t.Errorf("form: got version %q, want the one that was asked about", got)
	}
	release := "&release=" + url.QueryEscape("Ubuntu 24.04")
	ask("1.11-1", release).Want(http.StatusOK).WantText(".gate-verdict .state-error", "worse").
		WantText(".gate-problems", "new_function").WantText(".gate-problems .state-error", "yes").
		WantText(".gate-result h2", "Ubuntu 24.04 (noble)")
	ask("1.11-1", "&release=Debian+13").Want(http.StatusOK).WantText(".gate-verdict", "no report from Debian 13")

	page := c.Get("/package/tidewatch").Want(http.StatusOK)
	checktest.Equal(t, "package page: link", page.Attr(".version-table tbody tr:first-child td:last-child a", "href"),
		"/gate?package=tidewatch"+"&release=Ubuntu+24.04&version=1.11-1")
}

// TestWhereItIsWorse checks that the gate and the page of a release say where problems are concentrated, and only to
// people with a role.
func TestWhereItIsWorse(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	in := intake.New(intake.Config{MaxAgeDays: 366}, site.Store)
	process := 0
	save := func(machine, days int, version string, options ...crashtest.Option) {
		t.Helper()
		process++
		at := time.Now().AddDate(0, 0, -days)
		report := crashtest.Native(append([]crashtest.Option{crashtest.Version(version), crashtest.At(at),
			crashtest.Process(process)}, options...)...)
		dbtest.Must(in.Accept(t.Context(), crash.Report{ID: crash.NewOopsID(at), Fields: report.Fields(),
			System: crash.NewSystemID(fmt.Sprint("machine ", machine))}))(t)
	}
	problem := func(name string) crashtest.Option { return crashtest.Set("DuplicateSignature", name) }
	nvidia := func(r crashtest.Report) {
		crashtest.Set("NonfreeKernelModules", "nvidia")(r)
		crashtest.Set(".proc.driver.nvidia.version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.120")(r)
	}
	for machine := range 60 {
		save(machine, 80, "1.0", crashtest.Set("Package", "other 1.0"), crashtest.Set("SourcePackage", "other"))
		save(machine, 40+machine%30, "1.9-1", problem(fmt.Sprint("old ", machine%3)))
	}
	for machine := range 12 {
		save(machine, machine%8, "1.11-1", problem("/usr/bin/tidewatch:11:new_function"), nvidia)
		save(20+machine, machine%8, "1.11-1", problem(fmt.Sprint("old ", machine%3)))
	}
	dbtest.Counted(t, site.Store)
	const gate = "/gate?package=tidewatch&version=1.11-1&release=Ubuntu+24.04"
	viewer := site.As(t, crash.RoleViewer)
	rows := viewer.Get(gate).Want(http.StatusOK).WantText(".gate-verdict", "worse").HTML().Find(".where-table tbody tr")
	var got []string
	for i := range rows.Length() {
		got = append(got, strings.Join(strings.Fields(rows.Eq(i).Text()), " "))
	}
	checktest.Diff(t, "gate", got, []string{
		"Crashes with 1.11-1 24 machines that crashed with this version and 30 with lower ones12 of 24 machines have " +
			"nvidia-550 (0 of 30 elsewhere) The same machines: nvidia Odds ratio ∞ (at least 5.16)",
		"tidewatch crashed with SIGSEGV in tide_parse_row() 12 machines with this problem and 12 with 3 other problems of " +
			"tidewatch12 of 12 machines have nvidia-550 (0 of 12 elsewhere) The same machines: nvidia Odds ratio ∞ " +
			"(at least 15.0)",
	})
	var answer struct {
		Objects []struct {
			Releases []struct {
				Where    []struct{ Sentence string } `json:"concentrated"`
				Problems []struct {
					Where []struct {
						Field, Value, Sentence string
						Here                   int                           `json:"machines"`
						Odds                   struct{ Low, Value *float64 } `json:"odds_ratio"`
					} `json:"concentrated"`
				} `json:"new_problems"`
			}
		}
	}
	api := strings.Replace(gate, "/gate", "/api/1.0/update-gate/", 1)
	viewer.Get(api).Want(http.StatusOK).JSON(&answer)
	r := answer.Objects[0].Releases[0]
	if len(r.Where) != 1 || len(r.Problems) != 1 || len(r.Problems[0].Where) != 1 {
		t.Fatalf("API: got %+v", r)
	}
	w := r.Problems[0].Where[0]
	if w.Field != "graphics" || w.Value != "nvidia-550" || w.Here != 12 || w.Odds.Value != nil ||
		w.Sentence != "12 of 12 machines have nvidia-550 (0 of 12 elsewhere)" || *w.Odds.Low < 14 {
		t.Errorf("API: got %+v", w)
	}
	release := viewer.Get("/release/Ubuntu%2024.04").Want(http.StatusOK).WantText(".traits-fold", "concentrated")
	where := release.Attr(".traits-fold", "hx-get")
	checktest.Equal(t, "link", release.Attr(".traits-fold a", "href"), where)
	viewer.Part(where).Want(http.StatusOK).WantText("#where", "12 of 12 machines have nvidia-550").WantNone("main")
	viewer.Get(where).Want(http.StatusOK).WantText("h1", "Where its problems are concentrated").
		WantText("#where .hint", "Of the 4 most common problems of the release")
	viewer.Get("/release/Ubuntu%204.10/concentrated").Want(http.StatusNotFound)

	visitor := site.Visitor(t)
	if body := visitor.Get(gate).Want(http.StatusOK).WantNone(".where-table").Body; strings.Contains(body, "nvidia") {
		t.Error("a visitor sees the driver at the gate")
	}
	if body := visitor.Get(api).Want(http.StatusOK).Body; strings.Contains(body, "nvidia") {
		t.Error("a visitor sees the driver in the API")
	}
	visitor.Get("/release/Ubuntu%2024.04").Want(http.StatusOK).WantNone(".traits-fold")
	visitor.Get(where).Want(http.StatusSeeOther)
}
