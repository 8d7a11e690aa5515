package api_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/db/dbtest"
	"mishap/db/symbols"
	"mishap/handlers/handlertest"
	"mishap/tracker"
	"mishap/tracker/trackertest"
	"mishap/tracker/watch"
)

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
	report, err := h.Store.Report(ctx, id)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := store.WorkerSeen(ctx, crash.SymbolWorker{Store: "s", Architectures: []string{"amd64"}}); err != nil {
		h.t.Fatal(err)
	}
	if wanted, err := store.RequestCore(ctx, crash.CoreRequest{Report: id, System: report.System,
		Problem: *report.Bucket, Version: report.Version, Architecture: "amd64"}, "s"); !wanted || err != nil {
		h.t.Fatalf("ask for a core: got %v, %v", wanted, err)
	}
	if _, err := store.CoreReceived(ctx, crash.ReceivedCore{Report: id, Architecture: "amd64", Store: "s"}); err != nil {
		h.t.Fatal(err)
	}
	claim, _, err := store.ClaimJob(ctx, "s", []string{"amd64"})
	if err != nil {
		h.t.Fatal(err)
	}
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
	client := tracker.NewClient(cfg, tracker.NewCredentials(cfg, h.Bugs))
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
