package api_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/db/symbols"
	"mishap/handlers/handlertest"
	"mishap/tracker"
	"mishap/tracker/launchpad"
	"mishap/tracker/trackertest"
	"mishap/tracker/watch"
)

var update = flag.Bool("update", false, "write the golden answers anew")

// question is one request with a golden answer. The fact names the section about the old service
// that the answer follows.
type question struct {
	name, fact, path string
	signedIn         bool
}

// questions returns at least one request for each resource that can be read.
func (h *fixture) questions() []question {
	native := url.QueryEscape(nativeSignature())
	key := h.bucket(nativeSignature()).ID.String()
	day := "20260518"
	versions := "&old_version=" + older + "&new_version=" + newer
	id := h.ids[len(h.ids)-3].String()
	return []question{
		{"index", "8.1", "", false},
		{"most-common-problems", "9.1", "most-common-problems/?format=json&limit=30&period=day", false},
		{"most-common-problems-month", "9.1",
			"most-common-problems/?period=month&release=Ubuntu+24.04&package=tidewatch&pkg_arch=amd64&version=" + newer, false},
		{"most-common-problems-page", "8.2", "most-common-problems/?limit=2&offset=1&period=day", false},
		{"bucket", "9.2", "bucket/" + url.PathEscape(nativeSignature()) + "/", false},
		{"bucket-signed-in", "9.2", "bucket/" + key + "/", true},
		{"problem-status", "own", "problem-status/" + key + "/", false},
		{"versions", "9.2", "versions/?limit=0&id=" + native, false},
		{"instances", "9.2", "instances/?limit=100&id=" + url.QueryEscape(odd), false},
		{"average-instances", "9.2", "average-instances/?limit=0&id=" + native, false},
		{"average-crashes", "9.4", "average-crashes/?limit=0&release=Ubuntu+24.04", false},
		{"average-crashes-package", "9.4", "average-crashes/?limit=0&release=Ubuntu+24.04&package=tidewatch&version=" + older,
			false},
		{"rate-increase", "9.3",
			"package-rate-of-crashes/?format=json&release=Ubuntu+24.04&package=tidewatch&phased_update_percentage=10&date=" +
				day + versions, false},
		{"rate-no-increase", "9.3", "package-rate-of-crashes/?release=Ubuntu+24.04&package=tidewatch&date=" + day +
			"&old_version=" + newer + "&new_version=" + older, false},
		{"new-buckets", "9.2", "package-version-new-buckets/?format=json&package=tidewatch&previous_version=" + older +
			"&new_version=" + newer, false},
		{"update-gate", "added", "update-gate/?package=tidewatch&version=" + newer + "&against=" + older, false},
		{"release-health", "added", "release-health/?release=Ubuntu+24.04&package=tidewatch&version=" + newer, false},
		{"instances-count", "9.5", "instances-count/?limit=3", false},
		{"problems-count", "9.5", "problems-count/?limit=3", false},
		{"retracers-results", "9.5", "retracers-results/?limit=1&format=json", false},
		{"retracers-results-day", "9.5", "retracers-results/" + day + "/", false},
		{"retracers-time", "9.5", "retracers-average-processing-time/?limit=1&format=json", false},
		{"retracer-queue-length", "9.5", "retracer-queue-length/?hours=48", false},
		{"reports-for-system", "9.6", "reports-for-system/?limit=3&system=machine-6", true},
		{"dayoops", "9.6", "dayoops/" + day + "/?limit=2", false},
		{"dayoops-details", "9.6", "dayoops/2026-05-18/?limit=2&details=&details=1&release=Debian+13", false},
		{"oops", "9.6", "oops/" + id + "/", true},
		{"instance", "9.6", "instance/?id=" + id, true},
		{"binary-package-versions", "9.7",
			"binary-package-versions/?format=json&binary_package=tidewatch&release=Ubuntu+24.04", false},
		{"system-image-versions", "9.7", "system-image-versions/?image_type=device_image", true},
		{"symbols-missing", "added", "symbols/missing/?limit=1", true},
		{"crash-signatures-for-bug", "9.2", "crash-signatures-for-bug/?bug=1", false},
	}
}

// TestGolden compares whole answers with golden files.
func TestGolden(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.fill()
	visitor, viewer := h.Visitor(t), h.As(t, crash.RoleViewer)
	// The first request for an archive fact finds it unknown. After the tracker was read it is known.
	for _, q := range h.questions() {
		if !q.signedIn {
			visitor.Get(api(q.path)).Want(http.StatusOK)
		} else if strings.HasPrefix(q.path, "bucket") {
			visitor.Get(api(q.path)).Want(http.StatusOK)
		} else {
			visitor.Get(api(q.path)).Want(http.StatusUnauthorized)
		}
	}
	h.read()
	for _, q := range h.questions() {
		t.Run(q.name, func(t *testing.T) {
			c := visitor
			if q.signedIn {
				c = viewer
			}
			a := c.Get(api(q.path)).Want(http.StatusOK)
			checktest.Equal(t, q.path, a.Header.Get("Content-Type"), "application/json")
			compare(t, q.name, "# "+q.fact+": GET "+api(q.path)+"\n"+a.Body+"\n")
		})
	}
}

// compare compares a text with a golden file, or writes the file with -update.
func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		checktest.NoError(t, os.WriteFile(file, []byte(got), 0o600))
		return
	}
	want := dbtest.Must(os.ReadFile(file))(t)
	checktest.Diff(t, file, got, string(want))
}

// TestDocumentedDifferences checks the differences from errors.ubuntu.com that docs/api.md lists
// and no other test covers.
func TestDocumentedDifferences(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	stacked := h.save(1, now, crashtest.Native(crashtest.Set("Stacktrace", "#0 main ()"),
		crashtest.Set("ThreadStacktrace", "Thread 1: #0 main ()"), crashtest.Set("ProcMaps", "0-1 r-xp x")))
	traced := h.save(2, now, crashtest.Python(crashtest.Set("ProcMaps", "0-1 r-xp x")))
	kernel := h.save(3, now, crashtest.Native(crashtest.Set("ProblemType", "KernelCrash"),
		crashtest.Set("KernelCrash", "yes"), crashtest.Set("VmCoreDmesg", "panic")))
	for i := range 3 { // only derivatives have this problem
		h.save(10+i, now, crashtest.Native(crashtest.On("Linux Mint 22"), crashtest.Version(newer),
			crashtest.Set("DuplicateSignature", "on derivatives")))
	}
	h.save(20, now, crashtest.Native(crashtest.On("Debian 13"), crashtest.Version("1.4.8-1"),
		crashtest.Set("DuplicateSignature", "on derivatives")))
	c := h.As(t, crash.RoleViewer)
	fields := func(id crash.OopsID) map[string]string {
		var oops struct{ Data map[string]string }
		c.Get(api("oops/" + id.String() + "/")).Want(http.StatusOK).JSON(&oops)
		return oops.Data
	}
	if f := fields(stacked); f["Stacktrace"] == "" || f["ThreadStacktrace"] == "" || f["ProcMaps"] == "" {
		t.Errorf("the client's stacks and ProcMaps are not stored: %v", f)
	}
	f := fields(traced)
	if f["ProcMaps"] == "" || f["Traceback"] == "" {
		t.Errorf("the ProcMaps beside a traceback are not stored: %v", f)
	}
	if invented, ok := f["DuplicateSignature"]; ok || f["SAS"] == "" {
		t.Errorf("got DuplicateSignature %q and SAS %q, want no added field and the signature", invented, f["SAS"])
	}
	if f := fields(kernel); f["ProblemType"] != "KernelCrash" {
		t.Errorf("kernel crash: got %v, want it stored", f)
	}
	rows := get(t, c, "versions/?id="+url.QueryEscape("on derivatives")).Objects
	if got := fmt.Sprint(rows[len(rows)-1]["derivatives"], rows[len(rows)-1]["total"]); got != "4 4" {
		t.Errorf("versions: got derivatives and total %s, want 4 4", got)
	}
	for _, o := range get(t, c, "most-common-problems/?period=day").Objects {
		if o["function"] == "on derivatives" && (o["first_seen"] != "1.4.8-1" || o["first_seen_release"] != "Debian 13") {
			t.Errorf("first seen: got %v %v, want the version of Debian", o["first_seen"], o["first_seen_release"])
		}
	}
	path := "package-version-new-buckets/?package=tidewatch&previous_version=" + older + "&new_version=" + newer
	h.Visitor(t).Get(api(path))
	h.read()
	if got := get(t, c, path).Objects; len(got) != 1 || got[0]["function"] != "on derivatives" {
		t.Errorf("new buckets: got %v, want the bucket of the derivatives", got)
	}
	ask := api("most-common-problems/?packageset=no-such-set&release=Ubuntu+24.04")
	c.Get(ask).Want(http.StatusServiceUnavailable) // until the archive has answered
	h.read()
	var refused refusal
	c.Get(ask).Want(http.StatusNotFound).JSON(&refused)
	if refused.Code == "" || refused.Error == "" {
		t.Errorf("unknown package set: got %+v, want a message and a code", refused)
	}
	triager := h.As(t, crash.RoleTriager)
	var made struct{ Signature string }
	triager.PostJSON(api("create-bug-report/"), map[string]string{"signature": "on%20derivatives"}).Want(
		http.StatusCreated).JSON(&made)
	checktest.Equal(t, "create-bug-report: signature", made.Signature, "on derivatives")
	triager.PostJSON(api("create-bug-report/"), map[string]string{"signature": "nothing"}).Want(http.StatusNotFound).JSON(
		&refused)
	if refused.Error == "" || refused.Code != "unknown_bucket" {
		t.Errorf("create-bug-report without a signature: got %+v, want error and code", refused)
	}
}

// now is the time of all requests: three quarters of a Monday are over.
var now = time.Date(2026, 5, 18, 18, 0, 0, 0, time.UTC)

const (
	base    = "https://errors.example"
	older   = "1.4.9-1"
	newer   = "1.4.9-2"
	odd     = "/usr/bin/tidewatch:100%25 of <b>'it'</b>\nüber+all & so on" // a problem that only the newer version has
	machine = "machine-%d"
)

// fixture is a site with known reports, behind the real router.
type fixture struct {
	*handlertest.Site
	t     *testing.T
	saved int
	ids   []crash.OopsID
}

func newFixture(t *testing.T, options ...func(*handlertest.Options)) *fixture {
	t.Helper()
	o := handlertest.Options{
		BaseURL: base, Now: func() time.Time { return now },
		Tracker: trackertest.New(t, trackertest.Options{Archive: &archive, Now: func() time.Time { return now }}),
	}
	for _, change := range options {
		change(&o)
	}
	return &fixture{Site: handlertest.New(t, o), t: t}
}

// archive is what the practice tracker has published.
var archive = trackertest.Archive{
	Sources: map[string][]crash.Publication{"tidewatch": {
		{Series: "noble", Pocket: "Release", Version: older}, {Series: "noble", Pocket: "Updates", Version: newer},
	}},
	Binaries: map[string][]crash.Publication{"tidewatch": {
		{Series: "noble", Pocket: "Release", Version: older, Architecture: "amd64", Source: "tidewatch"},
		{Series: "noble", Pocket: "Updates", Version: newer, Architecture: "amd64", Source: "tidewatch"},
		{Series: "noble", Pocket: "Proposed", Version: "1.4.10-1", Architecture: "amd64", Source: "tidewatch"},
	}},
	Sets:          map[string][]string{"noble/desktop": {"tidewatch"}},
	Subscriptions: map[string][]string{"tide-team": {"tidewatch"}, "idle-team": {}},
}

// save stores a report of a machine that was received at a given time, and waits until it is counted.
func (h *fixture) save(machineNumber int, at time.Time, report crashtest.Report) crash.OopsID {
	h.t.Helper()
	h.saved++
	crashtest.Process(5000 + h.saved)(report)
	crashtest.At(at.Add(-time.Minute))(report)
	var id crash.OopsID // deterministic, but formatted like a real id
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
	copy(id[:6], ms[2:])
	id[6], id[8] = 0x70, 0x80
	binary.BigEndian.PutUint32(id[12:], uint32(h.saved))
	in := intake.New(intake.Config{MaxAgeDays: 366, Now: func() time.Time { return at }}, h.Store)
	_, err := in.Accept(h.t.Context(), crash.Report{ID: id, System: crash.SystemID(fmt.Sprintf(machine, machineNumber)),
		Fields: report.Fields()})
	if err != nil {
		h.t.Fatalf("save report: %v", err)
	}
	dbtest.Counted(h.t, h.Store)
	h.ids = append(h.ids, id)
	return id
}

// fill stores the reports that the golden answers describe.
func (h *fixture) fill() {
	h.t.Helper()
	for days, crashes := range []int{0, 4, 2, 3, 2, 4} { // crashes of the older version on the days before
		for i := range crashes {
			h.save(i+1, now.AddDate(0, 0, -days), crashtest.Native(crashtest.Version(older)))
		}
	}
	for i := range 9 { // crashes of the newer version today
		h.save(i%4+1, now.Add(-time.Duration(i)*time.Minute), crashtest.Native(crashtest.Version(newer)))
	}
	for i := range 3 { // a problem that is new in this version
		h.save(i+1, now.Add(-time.Hour), crashtest.Native(crashtest.Version(newer), crashtest.Set("DuplicateSignature", odd)))
	}
	for i := range 2 { // a new problem on only two machines
		h.save(i+1, now.Add(-time.Hour), crashtest.Native(crashtest.Version(newer), crashtest.Set("DuplicateSignature",
			"on two machines")))
	}
	h.save(5, now.Add(-2*time.Hour), crashtest.Native(crashtest.Version(newer),
		crashtest.Set("Tags", "noble package-from-proposed")))
	h.save(5, now.Add(-3*time.Hour), crashtest.Native(crashtest.On("Debian 13"), crashtest.Version("1.4.9-1+deb13u1")))
	h.save(6, now.Add(-4*time.Hour), crashtest.Python(crashtest.On("Ubuntu 26.04")))
	h.save(6, now.AddDate(0, 0, -1), crashtest.Recoverable())
	waiting := h.save(7, now.Add(-5*time.Hour), crashtest.Unsymbolised())
	h.save(7, now.AddDate(0, 0, -40), crashtest.Unsymbolised())
	h.waits(waiting)
}

// waits makes the core of a report arrive, and wait for symbols.
func (h *fixture) waits(id crash.OopsID) {
	h.t.Helper()
	store, ctx := symbols.New(h.Store), h.t.Context()
	report := dbtest.Must(h.Store.Report(ctx, id))(h.t)
	checktest.NoError(h.t, store.WorkerSeen(ctx, crash.SymbolWorker{Store: "s", Architectures: []string{"amd64"}}))
	if wanted, err := store.RequestCore(ctx, crash.CoreRequest{Report: id, System: report.System,
		Problem: *report.Bucket, Version: report.Version, Architecture: "amd64"}, "s"); !wanted || err != nil {
		h.t.Fatalf("ask for a core: got %v, %v", wanted, err)
	}
	dbtest.Must(store.CoreReceived(ctx, crash.ReceivedCore{Report: id, Architecture: "amd64", Store: "s"}))(h.t)
	claim, _, err := store.ClaimJob(ctx, "s", []string{"amd64"})
	checktest.NoError(h.t, err)
	missing := &crash.SymbolSearch{Searched: []crash.SymbolAttempt{{Source: "https://symbols.example", Outcome: "missing",
		Detail: "HTTP 404"}}}
	if err := store.FinishJob(ctx, claim, crash.SymbolOutcome{State: crash.SymbolsWaiting, Again: time.Hour,
		Missing: []string{"ab12cd34/executable", "ef56/debuginfo"}, Modules: []crash.SymbolModule{
			{Path: report.Executable, BuildID: "ab12cd34", Frames: 1, Executable: missing},
			{Path: "/usr/lib/libtide.so.1", BuildID: "ef56", Frames: 1, Debuginfo: missing}}}); err != nil {
		h.t.Fatal(err)
	}
}

// bucket returns the bucket of a signature.
func (h *fixture) bucket(signature string) crash.Bucket {
	h.t.Helper()
	return h.Bucket(h.t, crash.BucketIDOf(signature))
}

// read fetches from the tracker's archive everything that was requested so far.
func (h *fixture) read() {
	h.t.Helper()
	cfg := tracker.Config{URL: h.Tracker.URL, APIURL: h.Tracker.APIURL, ConsumerKey: handlertest.ConsumerKey,
		Target: "ubuntu", BaseURL: base, Now: func() time.Time { return now }}
	client := launchpad.New(cfg, tracker.NewCredentials(cfg, h.Bugs))
	if err := watch.NewArchiveReader(cfg, h.Bugs, client,
		watch.ArchiveOptions{Pause: -1}).Round(h.t.Context()); err != nil {
		h.t.Fatalf("read the archive: %v", err)
	}
}

// nativeSignature is the signature of crashtest.Native.
func nativeSignature() string { return grouping.SignatureOf(crashtest.Native().Fields()).Signature }

// api returns an address below the prefix of the API.
func api(parts ...string) string { return "/api/1.0/" + strings.Join(parts, "") }

// newProblem returns a report of a problem that fill does not store.
func newProblem() crashtest.Report {
	return crashtest.Native(crashtest.Set("DuplicateSignature", "something else"))
}
