package admin_test

import (
	"net/http"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/symbols/debuginfo"
	"mishap/db/symbols"
	"mishap/handlers/handlertest"
)

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
		if err := store.WorkerSeen(t.Context(), w); err != nil {
			t.Fatal(err)
		}
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
		c.Get(page).WantText("#symbols", "Asked for a core by ada-triager, at 20").
			WantText("#symbols", "; the next machine that reports it will be asked.")
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
	if got := admin.Get(page).Attr(".status .advice a", "href"); got != "/admin/symbols" {
		t.Errorf("got a link to %q, want /admin/symbols", got)
	}
	if got := admin.Get(page+"/review").Attr(".advice a", "href"); got != "/admin/symbols" {
		t.Errorf("review: got a link to %q, want /admin/symbols", got)
	}
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
	says("failed", "Not yet: symbolising has failed")
	again()
	endJob(t, store, crash.SymbolOutcome{State: crash.SymbolsDone, Fields: crash.Fields{"SymbolisedBy": "mishap",
		"StacktraceTop": "parse () at tide.c:1\nload () at tide.c:2\nmain () at tide.c:3",
		"Stacktrace":    "#0 0x1 in parse () at tide.c:1\n#1 0x2 in load () at tide.c:2\n#2 0x3 in main () at tide.c:3"}})
	to := triager.Get(page).Want(http.StatusSeeOther).Header.Get("Location")
	triager.Get(to).WantText("#symbols .state", "done").WantText(".status .advice", "Perhaps not: only one machine")
}
