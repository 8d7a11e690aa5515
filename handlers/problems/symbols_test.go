package problems_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/db/symbols"
	"mishap/handlers/handlertest"
)

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
	if err != nil {
		t.Fatal(err)
	}
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
	if err := store.CoresRemoved(t.Context(), []crash.OopsID{id}); err != nil {
		t.Fatal(err)
	}
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
	if err := store.FinishJob(t.Context(), claim, crash.SymbolOutcome{State: crash.SymbolsFailed,
		Reason: "No."}); err != nil {
		t.Fatal(err)
	}
	viewer.Part(path).Want(http.StatusOK).WantText("#symbols .state", "failed")
	if path := follow(); path != "" {
		t.Errorf("after the end: got %q, want the page to follow no more", path)
	}
	named := site.Save(t, crashtest.Native(crashtest.Set("StacktraceAddressSignature",
		"/usr/bin/tidewatch:11:/usr/bin/tidewatch+1139"), crashtest.Process(2))) // with names
	dbtest.Counted(t, site.Store)
	want := named.ID.Path() + "?from=" + b.ID.String()
	if got := viewer.Part(path).Want(http.StatusOK).Header.Get("HX-Redirect"); got != want {
		t.Errorf("with names: got %q, want %q", got, want)
	}
	viewer.Get(path).WantRedirect(http.StatusSeeOther, want)
}
