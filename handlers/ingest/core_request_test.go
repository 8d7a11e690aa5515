package ingest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/symbols/debuginfo"
	"mishap/db/symbols"
	"mishap/handlers/ingest"
)

// addresses is a native crash without function names.
func addresses(changes ...crashtest.Option) crashtest.Report {
	const top = "?? ()\n?? ()\n?? ()"
	return crashtest.Native(append([]crashtest.Option{
		crashtest.Set("StacktraceAddressSignature", "/usr/bin/tide:11:/usr/bin/tide+1139:/usr/bin/tide+1177"),
		crashtest.Set("StacktraceTop", top), crashtest.Set("Stacktrace", "#0  0x1 in ?? ()"),
	}, changes...)...)
}

// symbolised announces an instance that symbolises the cores of this listener.
func (h *fixture) symbolised(t *testing.T) {
	t.Helper()
	err := symbols.New(h.store).WorkerSeen(t.Context(), crash.SymbolWorker{
		Store: openCores(t, h.data).ID(), Architectures: []string{"amd64"}})
	if err != nil {
		t.Fatal(err)
	}
}

// wantCore posts a report and checks whether its core is asked for. It returns the path for the
// core.
func (h *fixture) wantCore(t *testing.T, machine string, r crashtest.Report, want bool) string {
	t.Helper()
	got := h.post(t, "/"+machine, body(r))
	id, word, _ := strings.Cut(got.text, " ")
	if got.status != http.StatusOK || (word == "CORE") != want || (word == "OOPSID") == want {
		t.Errorf("%s: got %d %q, want a core asked for: %v", machine, got.status, got.text, want)
	}
	return "/" + id + "/submit-core/amd64/" + machine
}

// TestAskForCore checks which reports are answered with CORE, until a core has arrived.
func TestAskForCore(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.symbolised(t)
	first := h.wantCore(t, "m1", addresses(), true)
	h.wantCore(t, "m1", addresses(), true) // the same report again: the answer was lost
	h.wantCore(t, "m2", addresses(), true) // m1 may never send it
	other := crashtest.Set("StacktraceAddressSignature", "/usr/bin/tide:11:/usr/bin/tide+2000")
	for name, r := range map[string]crashtest.Report{
		"names":        crashtest.Native(),
		"a traceback":  addresses(other, crashtest.Set("Traceback", "Traceback (most recent call last):\nE: no\n")),
		"own":          addresses(other, crashtest.Set("DuplicateSignature", "mine")),
		"architecture": addresses(other, crashtest.Set("Architecture", "riscv64")),
		"python":       crashtest.Python(),
	} {
		h.wantCore(t, strings.ReplaceAll(name, " ", ""), r, false)
	}
	h.wantCore(t, "deadbeef1", addresses(other), false) // a test machine
	late := h.wantCore(t, "m3", addresses(), true)
	h.post(t, first, text("core")).want(t, http.StatusOK, strings.Split(first, "/")[1])
	h.wantCore(t, "m4", addresses(), false)
	h.post(t, late, text("another core")).want(t, http.StatusOK, strings.Split(late, "/")[1])
	h.wantFiles(t, strings.Split(first, "/")[1]+".core") // the late one is not needed
}

// TestAskForUngroupedCore checks that crashes that no signature tells apart, as of Go programs, do not
// share one request: each kind gets its own, and one core does not replace another.
func TestAskForUngroupedCore(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.symbolised(t)
	ungrouped := func(number, address string) crashtest.Report {
		return crashtest.Native(crashtest.Set("StacktraceAddressSignature", ""), crashtest.Set("StacktraceTop",
			"?? ()\n?? ()"),
			crashtest.Set("ProcMaps", "00401000-0048a000 r-xp 00001000 08:01 17     /usr/bin/keel"),
			crashtest.Set("Stacktrace", "#0  0x"+address+" in ?? ()\n#1  0x14e9914a33a0 in ?? ()"),
			crashtest.Set("ProcStatus", "Pid:\t"+number))
	}
	var stored []string
	for i, number := range []string{"1", "2", "3", "4", "5"} {
		// Three cores of one kind are enough for a day.
		path := h.wantCore(t, "m"+number, ungrouped(number, "47e581"), i < 3)
		if i < 3 {
			id := strings.Split(path, "/")[1]
			h.post(t, path, text("core")).want(t, http.StatusOK, id)
			stored = append(stored, id+".core")
		}
	}
	h.wantFiles(t, stored...)
	h.wantCore(t, "m6", ungrouped("6", "45c7c5"), true)
}

// TestAskForNoCore checks that no core is asked for if the configuration, the disk or the lack of a
// debugger forbids it.
func TestAskForNoCore(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*ingest.Deps){
		"never":    func(d *ingest.Deps) { d.WantCores = false },
		"packages": func(d *ingest.Deps) { d.CorePackages = debuginfo.Patterns{"acme-*"} },
		"space":    func(d *ingest.Deps) { d.MaxCoresBytes = 1000 },
	} {
		h := start(t, change)
		h.symbolised(t)
		h.wantCore(t, name, addresses(), false)
	}
	h := start(t, nil) // no instance symbolises
	h.wantCore(t, "m1", addresses(), false)
}

// TestWantedCore checks that a person's wish for a core is put to the next machine, in any version,
// and that cores = "never" and the lack of a debugger take precedence.
func TestWantedCore(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.symbolised(t)
	store := symbols.New(h.store)
	problem := crash.BucketIDOf("/usr/bin/tide:11:/usr/bin/tide+1139:/usr/bin/tide+1177")
	first := h.wantCore(t, "m1", addresses(), true)
	h.post(t, first, text("core")).want(t, http.StatusOK, strings.Split(first, "/")[1])
	h.counted(t)
	h.wantCore(t, "m2", addresses(), false)
	if err := store.WantCore(t.Context(), problem, "ada"); err != nil {
		t.Fatal(err)
	}
	h.Close()
	h.serve(t, func(d *ingest.Deps) { d.WantCores, d.Registerer = false, prometheus.NewRegistry() })
	h.wantCore(t, "m3", addresses(), false)
	h.Close()
	h.serve(t, func(d *ingest.Deps) { d.Registerer = prometheus.NewRegistry() })
	second := h.wantCore(t, "m4", addresses(), true)
	h.wantCore(t, "m5", addresses(crashtest.Version("2.0-1")), true)
	h.post(t, second, text("core")).want(t, http.StatusOK, strings.Split(second, "/")[1])
	h.wantFiles(t, strings.Split(first, "/")[1]+".core", strings.Split(second, "/")[1]+".core")
	h.wantCore(t, "m6", addresses(), false)
	if p, err := store.ProblemSymbols(t.Context(), problem); err != nil || p.Wanted.Person != "" {
		t.Errorf("got %+v, %v; want the wish fulfilled", p.Wanted, err)
	}
}
