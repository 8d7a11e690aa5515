package admin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/privacy"
	"mishap/crash/symbols/debuginfo"
	"mishap/db/dbtest"
	"mishap/db/symbols"
	"mishap/db/upkeep"
	"mishap/handlers/handlertest"
	view "mishap/views/admin"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// marked returns a report in which each field that does not determine its problem has a value of its
// own, and the values by the names of the fields.
func marked() (report crashtest.Report, values map[string]string) {
	report, values = crashtest.Native(), map[string]string{}
	names := []string{"FooBar", "<b>hostile</b>", "procenviron", "ProcEnviron ", "Proc\nEnviron", "Grüße"}
	for _, row := range (*privacy.Table)(nil).Rows() {
		if _, used := report[row.Name]; !row.Fixed && (!used || row.Class == privacy.Private) {
			names = append(names, strings.Replace(row.Name, "*", "x", 1))
		}
	}
	for i, name := range names {
		if name != "ProcStatus" && name != "ProcMaps" && name != "Traceback" && name != "OopsText" &&
			name != "AssertionMessage" && name != "Failure" && name != "SystemIdentifier" { // the API has it of the sender
			values[name] = "Zqx" + strings.Repeat("abcdefghij"[i%10:i%10+1], 3) + "N" + string(rune('a'+i/26)) +
				string(rune('a'+i%26)) + "xqZ"
			report[name] = values[name]
		}
	}
	return report, values
}

// TestFieldsByReader requests every place where fields appear as every kind of reader. It checks that
// each place contains the values of exactly the fields that the reader may read there. Unless the run is thorough,
// it compares by some of the fields only.
func TestFieldsByReader(t *testing.T) {
	t.Parallel()
	for what, changes := range map[string]string{
		"built-in":   "",
		"configured": "UserGroups=restricted InterpreterPath=private ErrorMessage=private FooBar=secret Dm*=restricted",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			table := dbtest.Must(privacy.Parse(changes, privacy.Unlisted.String()))(t)
			site := handlertest.New(t, handlertest.Options{Privacy: table})
			report, values := marked()
			b := site.Save(t, report) // the configuration is younger than the report
			id := site.Value(t, "select id from reports")
			readers := map[string]struct {
				client *handlertest.Client
				class  privacy.Class
			}{
				"visitor": {site.Visitor(t), privacy.Public},
				"viewer":  {site.AsWithoutPrivate(t, crash.RoleViewer), privacy.Restricted},
				"private": {site.As(t, crash.RoleAdmin), privacy.Private},
			}
			for reader, r := range readers {
				whole := map[string]bool{"/oops/" + id: true, "/oops/" + id + ".json": true, "/oops/" + id + ".crash": true,
					"/api/1.0/oops/" + id + "/": true, "/api/1.0/instance/?id=" + id: true}
				paths := []string{"/", b.ID.Path(), b.ID.Path() + "/traits", b.ID.Path() + "/compare?report=" + id,
					b.ID.Path() + "/bug", b.ID.Path() + "/review", "/api/1.0/bucket/" + b.ID.String() + "/", b.ID.Path() + ".csv",
					"/search?q=tidewatch", "/problems.csv", b.ID.Path() + "?facet=kernel"}
				for path := range whole {
					paths = append(paths, path)
				}
				for _, path := range paths {
					body := r.client.Get(path).Body
					for name, value := range values {
						readable := table.Class(name) <= r.class
						if strings.Contains(body, value) && !readable && table.Excerpt(name) > r.class {
							t.Errorf("%s, %s: contains %q, which is %s", reader, path, name, table.Class(name))
						}
						if !whole[path] || r.class == privacy.Public {
							continue
						}
						writable := !strings.HasSuffix(path, ".crash") || !strings.ContainsAny(name, "< \nß")
						if got := strings.Contains(body, value); got != readable && writable &&
							(got || table.Excerpt(name) > r.class || readable) {
							t.Errorf("%s, %s: contains %q: %v, want %v", reader, path, name, got, readable)
						}
					}
				}
				for _, name := range checktest.EveryNth(slices.Sorted(maps.Keys(values)), 8, int(r.class)) {
					value := values[name]
					a := r.client.Get(b.ID.Path() + "?" + url.Values{"facet": {name}}.Encode())
					if strings.Contains(a.Body, value) && table.Class(name) > r.class && table.Excerpt(name) > r.class {
						t.Errorf("%s: comparison by %q contains the value", reader, name)
					}
				}
			}
		})
	}
}

func TestPrivacyPage(t *testing.T) {
	t.Parallel()
	table := dbtest.Must(privacy.Parse("JournalErrors=secret Acme*=private", "restricted"))(t)
	site := handlertest.New(t, handlertest.Options{Privacy: table})
	b := site.Save(t, crashtest.Native(crashtest.Set("JournalErrors", "a secret line"), crashtest.Set("AcmeNote", "note")))
	c := site.As(t, crash.RoleAdmin)
	page := c.Get(layout.PathPrivacy).Want(http.StatusOK).
		WantText("#changes + ul", "JournalErrors: secret instead of private").
		WantText("#changes + ul", "Acme*: private instead of restricted").WantText("[aria-label=Breadcrumb]", "Data")
	c.Get(layout.PathData).Want(http.StatusOK).WantText(".retention-table", "private_keep_days").
		WantText("main", "changes the class of 2 fields").WantNone(".rule-list")
	checktest.Equal(t, "rows", page.HTML().Find(".field-table tbody tr").Length(), len(table.Rows()))
	c.Post(layout.PathPrivacy+"/check", nil).WantRedirect(http.StatusSeeOther, layout.PathData+"#privacy")
	c.Post(layout.PathPrivacy+"/check", nil).Want(http.StatusConflict).WantText("[role=alert]", "has not ended yet")
	store := upkeep.NewRetention(site.Store, table)
	checktest.NoError(t, store.Continue(t.Context()))
	c.Part(layout.PathData).Want(http.StatusOK).WantNone("main").
		WantText("#privacy-runs", "Of 1 report, 1 has secret fields and 1 has private fields.").
		WantText("#found-secret", "JournalErrors 1")
	c.Post(layout.PathPrivacy+"/apply", nil).WantRedirect(http.StatusSeeOther, layout.PathData+"#privacy")
	checktest.NoError(t, store.Continue(t.Context()))
	c.Get(layout.PathData).WantText("#privacy-runs", "Removed secret fields from 1 of 1 reports.")
	c.Get("/oops/"+site.Value(t, "select id from reports")).WantText("#fields-system", "names of secret fields, which "+
		"mishap does not store")
	c.Post(b.ID.Path()+"/hold", url.Values{"do": {"set"}, "reason": {"court"}})
	c.Get(layout.PathData).WantText(".rule-list", "by ada-admin").WantText(".rule-list", "court").
		WantText("h3", "Problems exempt from retention (1 report)")
}

// TestExpiredCounts checks that no page and no answer of the API claims zero reports for days whose counts
// have expired.
func TestExpiredCounts(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	site.Save(t, crashtest.Native(crashtest.At(time.Now().UTC())))
	c := site.As(t, crash.RoleAdmin)
	c.Get(layout.PathData).WantText("main", "No daily counts have expired.")
	old := time.Now().UTC().AddDate(-2, -6, 0).Format("20060102")
	c.Get("/api/1.0/most-common-problems/?period=" + old).Want(http.StatusOK)
	c.Get("/api/1.0/retracers-results/" + old + "/").Want(http.StatusOK)

	dbtest.Must(upkeep.NewRetention(site.Store, nil).ExpireCounts(t.Context(), 2))(t)
	from := upkeep.CountsFrom(time.Now(), 2)
	c.Get(layout.PathData).WantText("main", "Daily counts before "+from.Format(time.DateOnly)+" have expired")
	for _, path := range []string{"/api/1.0/most-common-problems/?period=" + old,
		"/api/1.0/retracers-results/" + old + "/"} {
		if body := c.Get(path).Want(http.StatusBadRequest).Body; !strings.Contains(body, "counts_expired") {
			t.Errorf("%s: got %s, want counts_expired", path, body)
		}
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	c, path := site.As(t, crash.RoleTriager), b.ID.Path()
	c.Get(path).WantText(".manual-actions", "Retention hold…")
	c.Get(path+"/hold").Want(http.StatusOK).WantText("h1", "Retention hold")
	c.Post(path+"/hold", url.Values{"do": {"set"}, "reason": {strings.Repeat("x", 600)}}).
		Want(http.StatusUnprocessableEntity).WantText("[role=alert]", "A reason is one line")
	c.Post(path+"/hold", url.Values{"do": {"lift"}}).Want(http.StatusUnprocessableEntity).
		WantText("[role=alert]", "not held")
	c.Post(path+"/hold", url.Values{"do": {"set"}, "reason": {"a <b>court</b>"}}).WantRedirect(http.StatusSeeOther, path)
	c.Get(path).WantText("#manual", "held").WantText("#manual", "a <b>court</b>").WantNone("#manual b")
	site.Visitor(t).Get(path).Want(http.StatusOK).WantNone(".manual-line")
	for _, list := range []string{"/?period=year", "/search?q=is:held", "/search?q=is:held+type:Crash"} {
		c.Get(list).Want(http.StatusOK).WantText("td .word", "held")
		visitor := site.Visitor(t).Get(list).Want(http.StatusOK).WantNone("td .word")
		if found := strings.Contains(visitor.Body, path); found != (list == "/?period=year") {
			t.Errorf("%s for a visitor: found the problem: %v", list, found)
		}
	}
	if body := c.Get("/search?q=-is:held").Want(http.StatusOK).Body; strings.Contains(body, path) {
		t.Error("-is:held finds the held problem")
	}
	c.Get(path+"/hold").WantText("h1", "Lift the hold of this problem")
	status := func(client *handlertest.Client) (held bool) {
		t.Helper()
		var answer struct {
			Held bool `json:"held"`
		}
		body := client.Get("/api/1.0/problem-status/" + b.ID.String() + "/").Body
		checktest.NoError(t, json.Unmarshal([]byte(body), &answer))
		return answer.Held
	}
	if !status(c) || status(site.Visitor(t)) {
		t.Error("problem-status: want held for a triager, and not for a visitor")
	}
	c.Post(path+"/hold", url.Values{"do": {"lift"}}).WantRedirect(http.StatusSeeOther, path)
	if status(c) {
		t.Error("problem-status after the hold was lifted: got held")
	}
	got := site.Value(t, "select string_agg(action, ' ' order by id) from audit_events where action like 'problem.%'")
	if want := "problem.hold problem.lift-hold"; got != want {
		t.Errorf("audit log: got %q, want %q", got, want)
	}
}

// TestErasePage erases a machine on its page and by the API.
func TestErasePage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	site.Save(t, crashtest.Native())
	system := crash.SystemID(site.Value(t, `select max(system) from reports`))
	c := site.As(t, crash.RoleAdmin)
	c.Get(problemsview.SystemPath(system)).Want(http.StatusOK).WantText("a[href='"+problemsview.ErasePath(system)+"']",
		"Erase")
	site.As(t, crash.RoleTriager).Get(problemsview.SystemPath(system)).Want(http.StatusOK).
		WantNone("a[href='" + problemsview.ErasePath(system) + "']")
	c.Get(problemsview.ErasePath(system)).Want(http.StatusOK).WantText("main", "1 report, which arrived").WantText("main",
		"1 problem that no other machine has reported.")
	refused := c.Post(problemsview.ErasePath(system), url.Values{"confirm": {"no"}, "block": {"yes"}}).
		Want(http.StatusUnprocessableEntity).WantText("#erase-problem", "nothing was erased").
		WantText("main", "1 report, which arrived")
	if refused.Attr("input[name=block][checked]", "value") != "yes" {
		t.Error("the check box has lost its mark")
	}
	dump := c.Get(view.DumpPath(system)).Want(http.StatusOK).Body
	if !strings.Contains(dump, `{"kind":"report"`) || !strings.Contains(dump, string(system)) {
		t.Errorf("dump: got %s", dump)
	}
	confirm := url.Values{"confirm": {crash.Truncate(string(system), view.EraseConfirmLength)}}
	c.Post(problemsview.ErasePath(system), confirm).WantRedirect(http.StatusSeeOther, layout.PathData+"#erased")
	c.Get(layout.PathErasures).WantRedirect(http.StatusMovedPermanently, layout.PathData+"#erased")
	c.Get(layout.PathData).WantText("details[open] tbody tr", "running").WantText("details[open] tbody tr", "nothing.")
	c.Get(problemsview.ErasePath(system)).WantText("main", "is being erased").WantNone("form#erase")
	checktest.NoError(t, upkeep.NewErasing(site.Store).Continue(t.Context(), nil))
	list := c.Get(layout.PathData).WantText("#erased ~ details tbody tr", "1 report;")
	if strings.Contains(list.Body, string(system)) {
		t.Error("the receipt contains the machine")
	}
	c.Get(problemsview.SystemPath(system)).Want(http.StatusOK).WantNone(".machine")
	const path = "/api/1.0/erase-machine/"
	c.PostJSON(path, map[string]any{"system": "other-machine", "block": true}).Want(http.StatusAccepted)
	c.PostJSON(path, map[string]any{"system": ""}).Want(http.StatusBadRequest)
	site.As(t, crash.RoleTriager).PostJSON(path, map[string]any{"system": "x"}).Want(http.StatusForbidden)
	if n := site.Value(t, `select count(*) from erasures where blocked and finished is null`); n != "1" {
		t.Errorf("got %s erasures by the API, want 1", n)
	}
}

func TestRegroupPage(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native())
	c := site.As(t, crash.RoleAdmin)
	c.Get(layout.PathData).Want(http.StatusOK).WantText("main", "Stored reports have not been regrouped yet.")
	c.Get(layout.PathRegroup).Want(http.StatusOK).WantText(".admin-nav [aria-current]", "Data")
	c.Post(layout.PathRegroup, nil).WantRedirect(http.StatusSeeOther, layout.PathRegroup)
	c.Get(layout.PathRegroup).WantText("#regroup-run", "0 would move").WantNone("form[action='/admin/regroup/apply']").
		WantText("#regroup-run form button", "Stop")
	c.Post(layout.PathRegroup+"/apply", nil).WantRedirect(http.StatusSeeOther, layout.PathRegroup)
	c.Get(layout.PathRegroup).WantText(".flash-error", "already being regrouped")
	run := dbtest.Must(site.Decisions.RunningRegroup(t.Context()))(t)
	// These rules move every report.
	rules := crash.GroupingRules{Version: run.Rules, Group: func(crash.Fields) crash.Grouping {
		return crash.Grouping{Signature: "all <of> them", Rule: crash.RuleStacktrace}
	}}
	if run, err := site.Decisions.WorkRegroup(t.Context(), run.ID, rules, nil); err != nil ||
		run.State != crash.RegroupDone || run.Moved != 0 {
		t.Fatalf("dry run of the same version: got %+v, %v, want nothing to move", run, err)
	}
	rules.Version++
	run = dbtest.Must(site.Decisions.StartRegroup(t.Context(), rules.Version, false, "ada"))(t)
	if run, err := site.Decisions.WorkRegroup(t.Context(), run.ID, rules, nil); err != nil || run.Moved != 1 {
		t.Fatalf("run: got %+v, %v, want one report moved", run, err)
	}
	c.Get(layout.PathRegroup).WantText("#regroup-run", "1 moved; done").WantText("#regroup-run",
		"all <of> them").WantText(".regroup-runs", "preview")
	c.Part(layout.PathRegroup+"?run=1").Want(http.StatusOK).WantText("section", "would move").WantNone("main")
	c.Get(layout.PathRegroup + "?run=99").Want(http.StatusNotFound)
	c.Get(layout.PathRegroup + "?run=x").Want(http.StatusNotFound)
	c.Post(layout.PathRegroup+"/stop", url.Values{"run": {"1"}}).WantRedirect(http.StatusSeeOther, layout.PathRegroup)
	c.Get(layout.PathRegroup).WantText(".flash-error", "has already ended")
	c.Get(b.ID.Path()).Want(http.StatusSeeOther)
	c.Get(crash.BucketIDOf("all <of> them").Path()).WantText(".decision-list", "regrouped")
}

// nameless returns a native crash at an address, without function names.
func nameless(place int) crashtest.Report {
	return crashtest.Native(crashtest.Set("StacktraceTop", "?? ()\n?? ()"),
		crashtest.Set("Stacktrace", "#0  0x1 in ?? ()"), crashtest.Process(30_000+place),
		crashtest.Set("StacktraceAddressSignature", fmt.Sprintf("/usr/bin/tidewatch:11:/usr/bin/tidewatch+%x", place)))
}

// coreArrives makes the core of a new crash arrive.
func coreArrives(t *testing.T, site *handlertest.Site, store *symbols.Store, r crashtest.Report) (crash.Bucket,
	crash.OopsID) {
	t.Helper()
	b := site.Save(t, r)
	rows, err := site.Problems.BucketReports(t.Context(), b.ID, crash.OopsID{}, 1)
	if err != nil || len(rows) != 1 {
		t.Fatalf("reports: got %v, %v; want one", rows, err)
	}
	wanted, err := store.RequestCore(t.Context(), crash.CoreRequest{Report: rows[0].ID, System: "machine-1",
		Problem: b.ID, Version: "1", Architecture: "amd64"}, "s")
	if err != nil || !wanted {
		t.Fatalf("ask for a core: got %v, %v", wanted, err)
	}
	dbtest.Must(store.CoreReceived(t.Context(), crash.ReceivedCore{Report: rows[0].ID, Architecture: "amd64",
		Store: "s", Bytes: 1}))(t)
	return b, rows[0].ID
}

// endJob claims the next job and ends it.
func endJob(t *testing.T, store *symbols.Store, o crash.SymbolOutcome) {
	t.Helper()
	claim, ok, err := store.ClaimJob(t.Context(), "s", []string{"amd64"})
	if err != nil || !ok {
		t.Fatalf("claim: got %v, %v; want a job", ok, err)
	}
	checktest.NoError(t, store.FinishJob(t.Context(), claim, o))
}

// TestSymbolsForAdmins checks the page about symbols, its files and its list in the API.
func TestSymbolsForAdmins(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	store := symbols.New(site.Store)
	admin := site.As(t, crash.RoleAdmin)
	admin.Get(layout.PathData).Want(http.StatusOK).WantText("main", "No running instance symbolises")
	admin.Get(layout.PathSymbols).Want(http.StatusOK).WantText("main", "No symbols are missing").
		WantText("main", "The queue is empty.")

	for _, w := range []crash.SymbolWorker{{Store: "s", Problem: "gdb is <not> installed."},
		{Store: "s", Architectures: []string{"amd64", "i386"}}} {
		checktest.NoError(t, store.WorkerSeen(t.Context(), w))
		admin.Get(layout.PathData).WantText(".symbol-instances", w.Problem)
	}
	admin.Get(layout.PathData).WantText(".symbol-instances", "symbolises amd64, i386")

	const path = "/opt/it's <b>/libtide.so"
	missing := &crash.SymbolSearch{Searched: []crash.SymbolAttempt{{Source: "http://symbols.example", Outcome: "missing",
		Detail: "HTTP 404"}}}
	waiting, _ := coreArrives(t, site, store, nameless(1))
	var files []string
	modules := []crash.SymbolModule{{Path: path, BuildID: "ab12", Frames: 1, Executable: missing}}
	for i := range 30 {
		id := fmt.Sprintf("cd%02d", i)
		files = append(files, id+"/debuginfo")
		modules = append(modules, crash.SymbolModule{Path: "/usr/lib/lib" + id + ".so", BuildID: id, Frames: 1,
			Executable: &crash.SymbolSearch{Found: true}, Debuginfo: missing})
	}
	endJob(t, store, crash.SymbolOutcome{State: crash.SymbolsWaiting, Again: time.Hour, Reason: "Files are <missing>.",
		Missing: append(files, "ab12/executable"), Modules: modules})
	failed, _ := coreArrives(t, site, store, nameless(2))
	endJob(t, store, crash.SymbolOutcome{State: crash.SymbolsFailed, Reason: "It is not a core."})
	queued, report := coreArrives(t, site, store, nameless(3))

	page := admin.Get(layout.PathSymbols).Want(http.StatusOK)
	page.WantText(".missing-symbols tbody tr:nth-child(1) th", path+" program").
		WantText(".missing-symbols tbody tr:nth-child(1) code", `mishap symbols add '/opt/it'\''s <b>/libtide.so'`).
		WantText(".missing-symbols tbody tr:nth-child(1)", "http://symbols.example: missing (HTTP 404)").
		WantText(".missing-symbols tbody tr:nth-child(2) code", "mishap symbols add /usr/lib/debug/.build-id/cd/00.debug").
		WantText(".paging", "1–25 of 31").WantText(".filing-states", "waiting 1").WantText(".filing-states", "failed 1").
		WantText(".symbol-queue tbody tr", "queued").WantNone(".symbol-queue tbody tr:nth-child(2)").
		WantText("main", "Oldest queued job: created")
	checktest.Equal(t, "link to", page.Attr(".symbol-queue th a", "href"), queued.ID.Path())
	checktest.Equal(t, "link to", page.Attr(".symbol-queue td a", "href"), "/oops/"+report.String())
	next := page.Attr(".paging a[rel=next]", "href")
	admin.Get(next).WantText(".paging", "26–31 of 31").WantNone(".paging a[rel=next]").WantText(".paging a[rel=prev]",
		"More reports")
	admin.Get(layout.PathSymbols+"?missing=100").WantText(".empty", "Nothing else is missing")
	admin.Get(layout.PathSymbols+"?state=failed").WantText(".symbol-queue", "It is not a core.").
		WantText(".filing-states [aria-current]", "failed")
	checktest.Equal(t, "link to", admin.Get(layout.PathSymbols+"?state=failed").Attr(".symbol-queue th a", "href"),
		failed.ID.Path())
	admin.Get(layout.PathSymbols+"?state=waiting").WantText(".symbol-queue", "Files are <missing>. The next try is")
	admin.Get(layout.PathSymbols+"?state=done").WantText(".empty", "No reports in this state")
	for _, query := range []string{"state=none", "missing=-1", "queue=x", "missing=99999999999999999999"} {
		admin.Get(layout.PathSymbols + "?" + query).Want(http.StatusBadRequest)
	}
	checktest.Equal(t, "reports", waiting.Reports, 1)

	rows := handlertest.CSVOf(t, admin.Get(layout.PathSymbols+".csv").Want(http.StatusOK))
	if len(rows) != 31 || rows[0]["path"] != path || rows[0]["reports"] != "1" || rows[0]["kind"] != "executable" ||
		rows[0]["searched"] != "http://symbols.example: missing (HTTP 404)" {
		t.Errorf("got %d rows, first %v", len(rows), rows[0])
	}
	if f := handlertest.FeedOf(t, admin.Get(layout.PathSymbols+".atom").Want(http.StatusOK)); len(f.Entries) != 31 {
		t.Errorf("got %d entries, want 31", len(f.Entries))
	}
	checkMissingByAPI(t, site, path)
}

// checkMissingByAPI checks the list of missing symbols in the API, which needs a token that may
// read.
func checkMissingByAPI(t *testing.T, site *handlertest.Site, path string) {
	t.Helper()
	const list = "/api/1.0/symbols/missing/"
	viewer := site.As(t, crash.RoleViewer)
	token := handlertest.MakeToken(t, viewer, "read")
	visitor := site.Visitor(t)
	visitor.Get(list).Want(http.StatusUnauthorized)
	file := handlertest.MakeToken(t, site.As(t, crash.RoleTriager), "file")
	visitor.Get(list, handlertest.Bearer(file)...).Want(http.StatusForbidden)
	var got struct {
		Meta struct {
			Total int `json:"total_count"`
		}
		Objects []struct {
			Path, Kind, Command string
			Reports             int
			Searched            []crash.SymbolAttempt
		}
	}
	visitor.Get(list+"?limit=1&offset=0", handlertest.Bearer(token)...).Want(http.StatusOK).JSON(&got)
	if got.Meta.Total != 31 || len(got.Objects) != 1 || got.Objects[0].Path != path ||
		got.Objects[0].Kind != "executable" ||
		got.Objects[0].Reports != 1 || len(got.Objects[0].Searched) != 1 || got.Objects[0].Command == "" {
		t.Errorf("got %+v", got)
	}
	viewer.Get("/api/1.0/symbols/missing").WantRedirect(http.StatusMovedPermanently, list)
	viewer.Post(list, nil).Want(http.StatusMethodNotAllowed)
	viewer.Get(list + "schema/").Want(http.StatusOK)
	viewer.Get(list + "x/").Want(http.StatusNotFound)
}

// TestAskForCore checks the buttons that ask for a core and withdraw that, and that the page says
// why there are none.
func TestAskForCore(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	store := symbols.New(site.Store)
	b, named := site.Save(t, nameless(1)), site.Save(t, crashtest.Native())
	page, ask := b.ID.Path(), b.ID.Path()+"/core"
	viewer, triager := site.As(t, crash.RoleViewer), site.As(t, crash.RoleTriager)
	refused := func(why string) {
		t.Helper()
		triager.Get(page).Want(http.StatusOK).WantText("#symbols", why).WantNone("#symbols button")
		triager.Post(ask, nil).Want(http.StatusConflict)
	}
	refused("No running instance symbolises core dumps")
	seen := func(w crash.SymbolWorker) {
		t.Helper()
		w.Store = "s"
		checktest.NoError(t, store.WorkerSeen(t.Context(), w))
	}
	seen(crash.SymbolWorker{Problem: "gdb is not installed."})
	refused("No instance can symbolise core dumps")
	seen(crash.SymbolWorker{Architectures: []string{"riscv64"}})
	refused("No instance can symbolise core dumps of amd64")
	seen(crash.SymbolWorker{Architectures: []string{"amd64"}})
	triager.Get(page).WantText("#symbols", "mishap has no core dump of this crash.").
		WantText("#symbols button", "Ask for a core").WantText(".advice", "Not yet: without function names")
	viewer.Get(page).WantNone("#symbols")
	triager.Get(named.ID.Path()).WantNone("#symbols")
	triager.Post(named.ID.Path()+"/core", nil).Want(http.StatusConflict)

	triager.Post(ask, nil).WantRedirect(http.StatusSeeOther, page+"#symbols")
	for _, c := range []*handlertest.Client{viewer, triager} {
		c.Get(page).WantText("#symbols", "ada-triager asked for a core on 20").
			WantText("#symbols", "The next machine that reports the problem will send one.")
	}
	viewer.Get(page).WantNone("#symbols button")
	site.Visitor(t).Get(page).WantNone("#symbols")
	triager.Get(page).WantText("#symbols button", "Withdraw").
		WantText(".advice", "Wait for names: the next machine that reports it will be asked for its core dump.")
	triager.Post(ask+"/withdraw", nil).WantRedirect(http.StatusSeeOther, page+"#symbols")
	triager.Get(page).WantText("#symbols button", "Ask for a core")

	for name, o := range map[string]handlertest.Options{
		`cores = "never"`: {Store: site.Store, NoCores: true},
		"cores_packages":  {Store: site.Store, CorePackages: debuginfo.Patterns{"acme-*"}},
	} {
		other := handlertest.New(t, o).As(t, crash.RoleTriager)
		other.Get(page).WantText("#symbols", name).WantNone("#symbols button")
		other.Post(ask, nil).Want(http.StatusConflict)
	}
}

// TestAdviceAboutSymbols checks that the advice about filing says how far a crash is symbolised, as
// the rest of the page does, and that it changes at once.
func TestAdviceAboutSymbols(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	store := symbols.New(site.Store)
	if err := store.WorkerSeen(t.Context(), crash.SymbolWorker{Store: "s", Architectures: []string{"amd64"}}); err != nil {
		t.Fatal(err)
	}
	triager, admin := site.As(t, crash.RoleTriager), site.As(t, crash.RoleAdmin)
	b, id := coreArrives(t, site, store, nameless(1))
	page := b.ID.Path()
	says := func(state, advice string) {
		t.Helper()
		triager.Get(page).WantText("#symbols .state", state).WantText(".status .advice", advice).
			WantText(".status", "Function names are missing.").WantNone(".advice a")
		triager.Get(page+"/review").WantText(".advice", advice)
	}
	says("queued", "Wait for names: the crash is being symbolised.")
	triager.Get(page).WantNone("#symbols button")
	lost := &crash.SymbolSearch{Searched: []crash.SymbolAttempt{{Source: "added files", Outcome: "missing"}}}
	outcome := crash.SymbolOutcome{State: crash.SymbolsWaiting, Again: time.Hour, Missing: []string{"ab12/executable"},
		Modules: []crash.SymbolModule{{Path: "/usr/lib/libtide.so.1", BuildID: "ab12", Frames: 1, Executable: lost}}}
	endJob(t, store, outcome)
	says("waiting", "Wait for names: symbols of libtide.so.1 are missing.")
	checktest.Equal(t, "link to", admin.Get(page).Attr(".status .advice a", "href"), "/admin/symbols")
	checktest.Equal(t, "review: link to", admin.Get(page+"/review").Attr(".advice a", "href"), "/admin/symbols")
	again := func() {
		t.Helper()
		triager.Post("/oops/"+id.String()+"/symbolise", nil).Want(http.StatusSeeOther)
	}
	again()
	outcome.State, outcome.Fields = crash.SymbolsPartial, crash.Fields{"StacktraceTop": "?? ()\nmain () at tide.c:1",
		"Stacktrace": "#0 0x1 in ?? ()\n#1 0x2 in main () at tide.c:1", "SymbolisedBy": "mishap"}
	endJob(t, store, outcome)
	says("partial", "Wait for names: some functions have none, because symbols of libtide.so.1 are missing.")
	again()
	endJob(t, store, crash.SymbolOutcome{State: crash.SymbolsFailed, Reason: "It is not a core."})
	says("failed", "Not yet: symbolising failed")
	again()
	endJob(t, store, crash.SymbolOutcome{State: crash.SymbolsDone, Fields: crash.Fields{"SymbolisedBy": "mishap",
		"StacktraceTop": "parse () at tide.c:1\nload () at tide.c:2\nmain () at tide.c:3",
		"Stacktrace":    "#0 0x1 in parse () at tide.c:1\n#1 0x2 in load () at tide.c:2\n#2 0x3 in main () at tide.c:3"}})
	to := triager.Get(page).Want(http.StatusSeeOther).Header.Get("Location")
	triager.Get(to).WantText("#symbols .state", "done").WantText(".status .advice", "Perhaps not: only one machine")
}
