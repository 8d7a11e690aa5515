package admin_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/symbols"
	"mishap/handlers/handlertest"
	"mishap/views/layout"
)

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
	if _, err := store.CoreReceived(t.Context(), crash.ReceivedCore{Report: rows[0].ID, Architecture: "amd64",
		Store: "s", Bytes: 1}); err != nil {
		t.Fatal(err)
	}
	return b, rows[0].ID
}

// endJob claims the next job and ends it.
func endJob(t *testing.T, store *symbols.Store, o crash.SymbolOutcome) {
	t.Helper()
	claim, ok, err := store.ClaimJob(t.Context(), "s", []string{"amd64"})
	if err != nil || !ok {
		t.Fatalf("claim: got %v, %v; want a job", ok, err)
	}
	if err := store.FinishJob(t.Context(), claim, o); err != nil {
		t.Fatal(err)
	}
}

// TestSymbolsForAdmins checks the page about symbols, its files and its list in the API.
func TestSymbolsForAdmins(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	store := symbols.New(site.Store)
	admin := site.As(t, crash.RoleAdmin)
	admin.Get(layout.PathSymbols).Want(http.StatusOK).WantText(".admin-nav [aria-current]", "Symbols").
		WantText("section", "No running instance symbolises").WantText("main", "Nothing is missing").
		WantText("main", "Nothing is being symbolised, and nothing is queued")

	for _, w := range []crash.SymbolWorker{{Store: "s", Problem: "gdb is <not> installed."},
		{Store: "s", Architectures: []string{"amd64", "i386"}}} {
		if err := store.WorkerSeen(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		admin.Get(layout.PathSymbols).WantText(".symbol-instances", w.Problem)
	}
	admin.Get(layout.PathSymbols).WantText(".symbol-instances", "symbolises amd64, i386")

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
	if got := page.Attr(".symbol-queue th a", "href"); got != queued.ID.Path() {
		t.Errorf("got a link to %s, want %s", got, queued.ID.Path())
	}
	if got := page.Attr(".symbol-queue td a", "href"); got != "/oops/"+report.String() {
		t.Errorf("got a link to %s, want the report", got)
	}
	next := page.Attr(".paging a[rel=next]", "href")
	admin.Get(next).WantText(".paging", "26–31 of 31").WantNone(".paging a[rel=next]").WantText(".paging a[rel=prev]",
		"More reports")
	admin.Get(layout.PathSymbols+"?missing=100").WantText(".empty", "Nothing else is missing")
	admin.Get(layout.PathSymbols+"?state=failed").WantText(".symbol-queue", "It is not a core.").
		WantText(".filing-states [aria-current]", "failed")
	if got := admin.Get(layout.PathSymbols+"?state=failed").Attr(".symbol-queue th a", "href"); got != failed.ID.Path() {
		t.Errorf("got a link to %s, want %s", got, failed.ID.Path())
	}
	admin.Get(layout.PathSymbols+"?state=waiting").WantText(".symbol-queue", "Files are <missing>. The next try is")
	admin.Get(layout.PathSymbols+"?state=done").WantText(".empty", "No report is in this state")
	for _, query := range []string{"state=none", "missing=-1", "queue=x", "missing=99999999999999999999"} {
		admin.Get(layout.PathSymbols + "?" + query).Want(http.StatusBadRequest)
	}
	if waiting.Reports != 1 {
		t.Errorf("got %d reports, want 1", waiting.Reports)
	}

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
