package worker_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
	"mishap/crash/blobs"
	"mishap/crash/blobs/blobstest"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/format/minidump"
	"mishap/crash/format/minidump/minidumptest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/crash/symbols"
	"mishap/crash/symbols/cores"
	"mishap/crash/symbols/debuginfo"
	"mishap/crash/symbols/symboltest"
	"mishap/crash/symbols/worker"
	"mishap/db/dbtest"
	dbsymbols "mishap/db/symbols"
	"mishap/db/upkeep"
)

func TestMain(m *testing.M) { symboltest.Main(m) }

// fixture is a worker with a database and a store of cores.
type fixture struct {
	*testing.T
	*worker.Worker
	store  *dbsymbols.Store
	builds *dbsymbols.Builds
	url    string
	cores  *cores.Store
	added  *debuginfo.Folder
}

func start(t *testing.T) fixture {
	t.Helper()
	stored, err := cores.OpenFolder(t.Context(), filepath.Join(symboltest.TempDir(t), "cores"), "the key of this test")
	checktest.NoError(t, err)
	return startWith(t, stored)
}

func startWith(t *testing.T, stored *cores.Store) fixture {
	t.Helper()
	dir := symboltest.TempDir(t)
	f := fixture{T: t, url: dbtest.URL(t)}
	f.store = dbsymbols.New(dbtest.Open(t, f.url))
	f.cores = stored
	var err error
	f.added = dbtest.Must(debuginfo.OpenFolder(filepath.Join(dir, "added"), 0))(t)
	cache, err := debuginfo.OpenFolder(filepath.Join(dir, "cache"), 1<<30)
	checktest.NoError(t, err)
	s, err := symbols.New(symbols.Config{Finder: debuginfo.NewFinder(debuginfo.Config{Added: f.added, Cache: cache}),
		WorkDir: filepath.Join(dir, "jobs"), Core: 1 << 30, Memory: 4 << 30, Time: 5 * time.Minute})
	checktest.NoError(t, err)
	f.builds = dbsymbols.NewBuilds(f.store.Store)
	s.Builds, s.Names = f.builds, f.store
	t.Cleanup(func() { _ = s.Close() })
	f.Worker, err = worker.New(worker.Deps{Store: f.store, Builds: f.builds,
		Cores: f.cores, Symboliser: s, Version: "1",
		Renew: dbsymbols.RenewInterval, Log: dbtest.Log(t), Registerer: prometheus.NewRegistry()})
	checktest.NoError(t, err)
	f.round() // announces what it can do
	return f
}

func (f fixture) round() {
	f.Helper()
	checktest.NoError(f.T, f.Round(f.Context()))
}

func (f fixture) add(files ...string) {
	f.Helper()
	for _, name := range files {
		err := f.added.Add(f.Context(), filepath.Join(symboltest.Programs(f.T), name), func(a debuginfo.Added) {
			if a.Refused != nil {
				f.Errorf("add %s: %v", a.Name, a.Refused)
			}
		})
		checktest.NoError(f.T, err)
	}
}

// crashed stores a crash of tiny without names.
func (f fixture) crashed(machine string) crash.CoreRequest {
	f.Helper()
	return f.crashedAt(machine, "1.0", "/usr/bin/tiny:11:/usr/bin/tiny+0:/usr/bin/tiny+5:/usr/bin/tiny+9")
}

// crashedAt stores a crash of a version of tiny with an address signature.
func (f fixture) crashedAt(machine, version, addresses string) crash.CoreRequest {
	f.Helper()
	fields := crashtest.Native(crashtest.Set("ExecutablePath", "/usr/bin/tiny"), crashtest.Set("Package", "tide "+version),
		crashtest.Set("StacktraceAddressSignature", addresses), crashtest.Set("Dependencies", ""),
		crashtest.Set("Stacktrace", "#0  0x1 in ?? ()"), crashtest.Set("StacktraceTop", "?? ()\n?? ()\n?? ()"),
		crashtest.Set("ProcStatus", "Pid:\t"+machine)).Fields()
	rec, err := intake.New(intake.Config{MaxAgeDays: 10000}, nil).Examine(crash.Report{System: crash.SystemID(machine),
		Fields: fields})
	if err == nil {
		_, _, err = f.store.SaveReport(f.Context(), rec)
	}
	checktest.NoError(f.T, err)
	return crash.CoreRequest{Report: rec.ID, System: rec.System, Problem: crash.BucketIDOf(rec.Grouping.Signature),
		Version: rec.Version, Architecture: "amd64"}
}

// sends asks for a core and stores what the machine sends.
func (f fixture) sends(r crash.CoreRequest, sent string) {
	f.Helper()
	if wanted, err := f.store.RequestCore(f.Context(), r, f.cores.ID()); !wanted || err != nil {
		f.Fatalf("ask for a core: got %v, %v; want it asked for", wanted, err)
	}
	size, _, err := f.cores.Put(f.Context(), r.Report, strings.NewReader(sent))
	if err == nil {
		_, err = f.store.CoreReceived(f.Context(), crash.ReceivedCore{Report: r.Report, Architecture: "amd64",
			Store: f.cores.ID(), Bytes: size})
	}
	checktest.NoError(f.T, err)
}

// asSent returns a core as whoopsie sends it.
func asSent(core []byte) string {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed) // the level is valid
	_, _ = w.Write(core)                                 // into memory
	_ = w.Close()
	b := packed.Bytes()
	return base64.StdEncoding.EncodeToString(b[:10]) + "\n" + base64.StdEncoding.EncodeToString(b[10:])
}

func (f fixture) wantJob(r crash.CoreRequest, state crash.SymbolState, reason string) crash.SymbolJob {
	f.Helper()
	j, _, err := f.store.ReportJob(f.Context(), r.Report)
	if err != nil || j.State != state || !strings.Contains(j.Reason, reason) {
		f.Errorf("got %s %q, %v; want %s with %q", j.State, j.Reason, err, state, reason)
	}
	return j
}

func (f fixture) wantCore(r crash.CoreRequest, there bool) {
	f.Helper()
	if _, err := f.cores.Size(f.Context(), r.Report); errors.Is(err, fs.ErrNotExist) == there {
		f.Errorf("core: got %v, want it there: %v", err, there)
	}
}

// age makes a stored core older.
func (f fixture) age(r crash.CoreRequest, by time.Duration) {
	f.Helper()
	at := time.Now().Add(-by)
	checktest.NoError(f.T, os.Chtimes(filepath.Join(f.cores.Dir(), r.Report.String()+".core"), at, at))
}

// TestWorker checks that a core waits for its files, is symbolised once they are added, and is gone
// then.
func TestWorker(t *testing.T) {
	t.Parallel()
	f := start(t)
	r := f.crashed("m1")
	f.crashed("m2")
	f.sends(r, asSent(symboltest.Core(t, "tiny")))
	f.round()
	j := f.wantJob(r, crash.SymbolsWaiting, "Files with function names are missing: ")
	if len(j.Modules) == 0 || j.Modules[0].BuildID == "" || j.Modules[0].Executable == nil || j.NotBefore.IsZero() {
		t.Errorf("got %+v, want the modules, where they were searched, and the time of the next try", j)
	}
	f.wantCore(r, true)
	report, err := f.store.Report(t.Context(), r.Report)
	if err != nil || report.Fields["Stacktrace"] != "#0  0x1 in ?? ()" || report.Fields["Registers"] == "" {
		t.Errorf("got %q, %v; want the sender's stack while nothing has a name, and the registers",
			report.Fields["Stacktrace"],
			err)
	}

	f.add("root/usr/bin/tiny", "symbols/tiny.debug")
	missing, err := f.store.MissingFiles(t.Context(), f.cores.ID())
	if err != nil || len(missing) == 0 {
		t.Fatalf("got %v, %v; want the missing files", missing, err)
	}
	f.SearchNow()
	f.round()
	f.wantJob(r, crash.SymbolsDone, "")
	f.wantCore(r, false)
	dbtest.Counted(t, f.store.Store)
	b, err := f.store.Bucket(t.Context(), r.Problem)
	if err != nil || b.Signature != "/usr/bin/tiny:11:parse:row:load:_start" || b.Reports != 2 {
		t.Errorf("got %q with %d reports, %v; want both in the problem with names", b.Signature, b.Reports, err)
	}
	report, err = f.store.Report(t.Context(), r.Report)
	if err != nil || !strings.HasPrefix(report.Fields[crash.SymbolisedBy], "mishap 1, GNU gdb") ||
		report.Fields["SenderStacktrace"] != "#0  0x1 in ?? ()" || report.Fields["Registers"] == "" ||
		!strings.Contains(report.Title, "crashed with SIGSEGV in parse()") {
		t.Errorf("got title %q, by %q, sender's %q, %v", report.Title, report.Fields[crash.SymbolisedBy],
			report.Fields["SenderStacktrace"], err)
	}
}

// TestNoFileHelps checks that a job that no file can help says so, lists no missing file and is not tried again.
func TestNoFileHelps(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.add("root/usr/bin/stray", "symbols/stray.debug")
	r := f.crashed("m1")
	f.sends(r, asSent(symboltest.Core(t, "stray")))
	f.round()
	if j := f.wantJob(r, crash.SymbolsPartial, "No file can help"); !j.NotBefore.IsZero() {
		t.Errorf("got a next try at %v, want none", j.NotBefore)
	}
	if missing, err := f.store.MissingFiles(t.Context(), f.cores.ID()); err != nil || len(missing) > 0 {
		t.Errorf("got %v, %v; want no missing file", missing, err)
	}
}

// TestGoPanics checks that three faults of a Go program, whose reports say nothing of the stack, become
// three problems, and that a call through a null pointer gets a name.
func TestGoPanics(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.add("root/usr/bin/spring", "symbols/spring.debug", "root/usr/bin/adrift", "symbols/adrift.debug")
	accept := intake.New(intake.Config{MaxAgeDays: 10000}, f.store)
	for core, want := range map[string]string{
		"spring-read":  "/usr/bin/spring:6:main.read:main.main",
		"spring-index": "/usr/bin/spring:6:main.(*row).index:main.main",
		"spring-store": "/usr/bin/spring:6:main.store:main.main",
		"adrift-load":  "/usr/bin/adrift:11:load:main",
	} {
		program, _, _ := strings.Cut(core, "-")
		signal, _, _ := strings.Cut(strings.TrimPrefix(want, "/usr/bin/"+program+":"), ":")
		receipt, err := accept.Accept(t.Context(), crash.Report{System: "m1", Fields: crashtest.Native(
			crashtest.Set("ExecutablePath", "/usr/bin/"+program), crashtest.Set("Signal", signal),
			crashtest.Set("Package", "tide 1.0"), crashtest.Set("StacktraceAddressSignature", ""),
			crashtest.Set("Stacktrace", "#0  0x47e581 in ?? ()"), crashtest.Set("StacktraceTop", "?? ()"),
			crashtest.Set("ProcMaps", ""), crashtest.Set("ProcStatus", core)).Fields()})
		if err != nil || receipt.Core == nil || !receipt.Unbucketed {
			t.Fatalf("%s: got %+v, %v; want a core wanted", core, receipt, err)
		}
		f.sends(*receipt.Core, asSent(symboltest.Core(t, core)))
		f.round()
		f.wantJob(*receipt.Core, crash.SymbolsDone, "")
		dbtest.Counted(t, f.store.Store)
		if b, err := f.store.Bucket(t.Context(), crash.BucketIDOf(want)); err != nil || b.Reports != 1 ||
			b.Rule != crash.RuleStacktrace {
			t.Errorf("%s: got %+v, %v; want one report in %s", core, b, err, want)
		}
	}
}

// TestMoreCoresAway checks that a job waits while the object storage with its core is away.
func TestMoreCoresAway(t *testing.T) {
	t.Parallel()
	server := blobstest.Start(t, "mishap")
	location, err := blobs.ParseLocation("s3://mishap/test?endpoint=http://" + server.Address)
	checktest.NoError(t, err)
	bucket, err := blobs.OpenBucket(location, blobstest.AccessKey, blobstest.Secret)
	checktest.NoError(t, err)
	stored, err := cores.Open(t.Context(), bucket, "cores/", t.TempDir(), "the key of all instances")
	checktest.NoError(t, err)
	f := startWith(t, stored)
	f.add("root/usr/bin/tiny", "symbols/tiny.debug")
	r := f.crashed("m1")
	f.sends(r, asSent(symboltest.Core(t, "tiny")))
	server.Kill()
	if err := f.Round(t.Context()); !errors.Is(err, crash.Unavailable) {
		t.Errorf("got %v, want the storage unavailable", err)
	}
	f.wantJob(r, crash.SymbolsQueued, "")
	server.Run(t)
	f.round()
	f.wantJob(r, crash.SymbolsDone, "")
}

// TestBadCores checks that a core that cannot be read ends as failed, with the reason, and that other
// machines are asked then.
func TestBadCores(t *testing.T) {
	t.Parallel()
	f := start(t)
	for i, c := range []struct{ sent, state, reason string }{
		{"not base64 at all !", "failed", "The core that the machine sent is damaged"},
		{asSent([]byte("a text")), "failed", "not a core"},
		{asSent(symboltest.Core(t, "tiny")[:200]), "failed", ""},
	} {
		r := f.crashed("m" + string(rune('1'+i)))
		f.sends(r, c.sent)
		f.round()
		f.wantJob(r, crash.SymbolState(c.state), c.reason)
		f.wantCore(r, true) // for cores_keep_days
	}
}

// TestHostileCompression checks that a core that is compressed for harm costs bounded memory and
// space, and has an outcome that says why.
func TestHostileCompression(t *testing.T) {
	t.Parallel()
	f := start(t)
	const most = 4 << 20
	f.Symboliser.Core = most
	for name, c := range map[string]struct {
		compressed []byte
		code       string
	}{
		"gzip, 200 MiB":         {crashtest.Bomb(bytes.Repeat([]byte("x"), 1<<20), 200), "core_too_large"},
		"gzip, 200 MiB of zero": {crashtest.Bomb(make([]byte, 1<<20), 200), "core_too_large"},
		// The frame says that its window has 2 GiB.
		"zstd, a large window": {[]byte("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"), "core_too_large"},
		"zstd, a large frame":  {[]byte("\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\x0f\x01\x00\x00"), "core_too_large"},
		// apport does not use xz, so no dictionary is ever allocated.
		"xz": {[]byte("\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x28\x00\x00\x00"), "bad_core"},
	} {
		report := crash.NewOopsID(time.Now())
		text := base64.StdEncoding.EncodeToString(c.compressed)
		if _, _, err := f.cores.Put(t.Context(), report, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		job, err := f.Symboliser.NewJob()
		checktest.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = worker.Unpack(t.Context(), job, f.cores, report, f.Symboliser.MaxUnpacked())
		runtime.ReadMemStats(&after)
		known, ok := errors.AsType[*crash.Error](err)
		if !ok || known.Code != c.code {
			t.Errorf("%s: got %v, want %s", name, err, c.code)
		}
		if got := after.HeapSys - min(before.HeapSys, after.HeapSys); got > 256<<20 {
			t.Errorf("%s: the heap grew by %d MiB", name, got>>20)
		}
		if err := job.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestClean checks that cores are removed that are too old or no longer needed, and that an arrival is
// recorded that was not.
func TestClean(t *testing.T) {
	t.Parallel()
	f := start(t)
	r := f.crashed("m1")
	if wanted, err := f.store.RequestCore(t.Context(), r, f.cores.ID()); !wanted || err != nil {
		t.Fatalf("ask: got %v, %v", wanted, err)
	}
	if _, _, err := f.cores.Put(f.Context(), r.Report, strings.NewReader("core")); err != nil {
		t.Fatal(err)
	}
	f.age(r, 10*time.Minute)
	clean := func(before time.Time) {
		t.Helper()
		checktest.NoError(t, worker.Clean(t.Context(), f.store, f.cores, before, 1<<30, dbtest.Log(t)))
	}
	clean(time.Time{}) // the database was away when it arrived
	f.wantJob(r, crash.SymbolsQueued, "")
	f.wantCore(r, true)
	dbtest.Exec(t, f.url, "update symbol_jobs set state = 'done'")
	hold := func() {
		t.Helper()
		dbtest.Exec(t, f.url, `insert into marks (kind, bucket_id, person, reason, at)
			select distinct 'hold', bucket_id, 'ada', '', now() from reports where bucket_id is not null`)
	}
	hold()
	clean(time.Now().Add(time.Hour))
	f.wantCore(r, true)
	dbtest.Exec(t, f.url, "update marks set undone_by = 'ada', undone_at = now() where undone_at is null")
	clean(time.Time{}) // its instance died before it removed the core
	f.wantCore(r, false)
	if j := f.wantJob(r, crash.SymbolsDone, ""); !j.CoreGone {
		t.Error("got the core recorded as stored, want it gone")
	}
	dbtest.Exec(t, f.url, "delete from symbol_jobs")
	other := f.crashed("m2")
	f.sends(other, "core")
	f.age(other, 48*time.Hour)
	hold()
	clean(time.Now().Add(-24 * time.Hour))
	f.wantCore(other, true)
	dbtest.Exec(t, f.url, "update marks set undone_by = 'ada', undone_at = now() where undone_at is null")
	clean(time.Now().Add(-24 * time.Hour))
	f.wantCore(other, false)
	f.wantJob(other, crash.SymbolsExpired, "removed before")
}

func (f fixture) nameAddresses() {
	f.Helper()
	dbtest.Counted(f.T, f.store.Store)
	checktest.NoError(f.T, f.NameAddresses(f.Context()))
}

// learn says which build of tiny a version of its package has.
func (f fixture) learn(version string, id debuginfo.BuildID) {
	f.Helper()
	err := f.builds.Learn(f.Context(), []debuginfo.Fact{{Path: "/usr/bin/tiny", Package: "tide", Version: version,
		Architecture: "amd64", Build: id}})
	checktest.NoError(f.T, err)
}

// TestNameAddresses checks that reports without a core wait for the builds of their version and for
// the files of these builds, and that all reports with the same addresses get the names then.
func TestNameAddresses(t *testing.T) {
	t.Parallel()
	f := start(t)
	id := debuginfo.BuildID(symboltest.BuildID(t, "tiny"))

	// The addresses of a stack come from a core of another problem.
	f.add("root/usr/bin/tiny", "symbols/tiny.debug")
	other := f.crashed("m0")
	f.sends(other, asSent(symboltest.Core(t, "tiny")))
	f.round()
	report, err := f.store.Report(t.Context(), other.Report)
	checktest.NoError(t, err)
	addresses := symboltest.TinyAddresses(t, report.Fields["Stacktrace"])

	older, newer := f.crashedAt("m1", "2.0", addresses), f.crashedAt("m2", "3.0", addresses)
	newest := f.crashedAt("m3", "3.0", addresses)
	f.nameAddresses()
	j := f.wantJob(older, crash.SymbolsWaiting, "It is not known which builds the machine had of tiny.")
	if !j.Addresses || len(j.Modules) != 1 || j.Modules[0].Path != "/usr/bin/tiny" || !j.NotBefore.IsZero() {
		t.Errorf("got %+v, want a job without a core that waits for a build of its only module", j)
	}
	if wanted, err := f.store.RequestCore(t.Context(), newer, f.cores.ID()); !wanted || err != nil {
		t.Errorf("a core: got %v, %v; want it asked for while the addresses have no names", wanted, err)
	}

	f.learn("2.0-1", id) // a neighbouring version
	f.wantJob(older, crash.SymbolsWaiting, "")
	f.learn("2.0", "aaaa")
	f.wantJob(older, crash.SymbolsQueued, "")
	f.nameAddresses()
	f.wantJob(older, crash.SymbolsWaiting, "Files with function names are missing: /usr/bin/tiny.")

	f.learn("3.0", id)
	f.nameAddresses()
	dbtest.Counted(t, f.store.Store)
	b, err := f.store.Bucket(t.Context(), older.Problem)
	if err != nil || b.Signature != "/usr/bin/tiny:11:parse:row:load:_start" || b.Reports != 4 {
		t.Errorf("got %q with %d reports, %v; want all in the problem with names", b.Signature, b.Reports, err)
	}
	report, err = f.store.Report(t.Context(), f.wantJob(newest, crash.SymbolsDone, "").Report)
	if err != nil || report.Fields[crash.SymbolisedBy] != "mishap 1, from addresses" ||
		!strings.HasPrefix(report.Fields["Stacktrace"], "#0  parse () at tiny.c:") {
		t.Errorf("got by %q %v and\n%s", report.Fields[crash.SymbolisedBy], err, report.Fields["Stacktrace"])
	}
	if wanted, err := f.store.RequestCore(t.Context(), f.crashedAt("m4", "2.0", addresses), f.cores.ID()); wanted ||
		err != nil {
		t.Errorf("a core: got %v, %v; want none asked for after the addresses have names", wanted, err)
	}
	result, err := upkeep.Check(t.Context(), f.store.Store, crash.CheckScope{Most: 10}, func() {})
	if err != nil || len(result.Differences) > 0 {
		t.Errorf("check: got %v, %+v", err, result.Differences)
	}
}

// TestNoDebugger checks that an instance without gdb leaves addresses to others.
func TestNoDebugger(t *testing.T) {
	f := start(t)
	f.add("root/usr/bin/tiny", "symbols/tiny.debug")
	f.learn("1.0", debuginfo.BuildID(symboltest.BuildID(t, "tiny")))
	report := f.crashed("m0")
	path := os.Getenv("PATH")
	t.Setenv("PATH", "")
	f.nameAddresses()
	f.wantJob(report, crash.SymbolsQueued, "")
	t.Setenv("PATH", path)
	f.nameAddresses()
	f.wantJob(report, crash.SymbolsDone, "")
}

// A remark can begin with the name of a file, in any script.
func TestSentence(t *testing.T) {
	t.Parallel()
	for remark, want := range map[string]string{
		"": "", "it ended": "It ended.", "ørsted.so: damaged": "Ørsted.so: damaged.",
	} {
		checktest.Equal(t, remark, worker.Sentence(remark), want)
	}
}

// TestNameBuilds checks that reports of two senders that know builds and offsets are one problem, wait for the files
// of the build, get names by them without a core, and that what the debugger said is stored until nobody needs it.
func TestNameBuilds(t *testing.T) {
	t.Parallel()
	f := start(t)
	id, offsets := symboltest.BuildID(t, "tiny"), tinyOffsets(t)
	send := func(machine, module, architecture string) crash.CoreRequest {
		fields := crash.Fields{"ProblemType": "Crash", "ExecutablePath": "/usr/bin/tiny", "Signal": "11",
			"Package": "tide 1.0", "Architecture": architecture, "DistroRelease": "Fedora 43"}
		var frames []grouping.ModuleFrame
		for _, offset := range offsets {
			frames = append(frames, grouping.ModuleFrame{Address: 0x400000 + offset, Module: module, BuildID: id,
				Offset: offset})
		}
		grouping.SetStack(fields, frames)
		rec, err := intake.New(intake.Config{MaxAgeDays: 10000}, nil).Examine(crash.Report{
			System: crash.SystemID(machine), Fields: fields})
		if err == nil {
			_, _, err = f.store.SaveReport(t.Context(), rec)
		}
		checktest.NoError(t, err)
		return crash.CoreRequest{Report: rec.ID, Problem: crash.BucketIDOf(rec.Grouping.Signature)}
	}
	journal, micro := send("m1", "tiny", "amd64"), send("m2", "/usr/bin/tiny", "x86_64")
	if journal.Problem != micro.Problem {
		t.Error("got two problems before symbolising, want one")
	}
	dbtest.Counted(t, f.store.Store)
	f.nameAddresses()
	// Of one problem and version, the newest report is symbolised.
	f.wantJob(micro, crash.SymbolsWaiting, "Files with function names are missing: /usr/bin/tiny.")
	missing, total, err := f.store.MissingSymbols(t.Context(), 10, 0)
	if err != nil || total == 0 || missing[0].BuildID != id || missing[0].Path != "/usr/bin/tiny" {
		t.Errorf("got %v, %+v; want the files of the build", err, missing)
	}
	f.add("root/usr/bin/tiny", "symbols/tiny.debug")
	f.SearchNow()
	f.round()
	f.nameAddresses()
	f.wantJob(micro, crash.SymbolsDone, "Named from build-ids, without a core dump.")
	dbtest.Counted(t, f.store.Store)
	b, err := f.store.Bucket(t.Context(), journal.Problem)
	if err != nil || b.Signature != "/usr/bin/tiny:11:parse:row:load:_start" || b.Reports != 2 || b.Provisional {
		t.Errorf("got %q with %d reports, %v; want both in the problem with names", b.Signature, b.Reports, err)
	}
	report, err := f.store.Report(t.Context(), micro.Report)
	if err != nil || report.Fields[crash.SymbolisedBy] != "mishap 1, from build-ids" ||
		!strings.HasPrefix(report.Fields["Stacktrace"], "#0  parse () at tiny.c:") {
		t.Errorf("got by %q, %v and\n%s", report.Fields[crash.SymbolisedBy], err, report.Fields["Stacktrace"])
	}

	count := func(want int) {
		t.Helper()
		var n int
		err := f.store.Pool.QueryRow(t.Context(), "select count(*) from build_names").Scan(&n)
		if err != nil || n != want {
			t.Errorf("got %d stored places, %v; want %d", n, err, want)
		}
	}
	count(len(offsets))
	dbtest.Exec(t, f.url, "update build_names set used = now() - interval '2 days'")
	place := crash.BuildPlace{Build: id, Offset: int64(offsets[0]), Callee: -1}
	if known, err := f.store.KnownNames(t.Context(), []crash.BuildPlace{place}); err != nil || len(known[place]) == 0 {
		t.Errorf("got %q, %v; want what is known of the first place", known[place], err)
	}
	dbtest.Exec(t, f.url, "update build_names set used = now() - interval '91 days' where used < now() - interval '1 day'")
	checktest.NoError(t, worker.Clean(t.Context(), f.store, f.cores, time.Time{}, 1<<30, dbtest.Log(t)))
	count(1) // the one that was used
}

// tinyOffsets returns the offsets of the stack of tiny in its file, by a core.
func tinyOffsets(t *testing.T) []uint64 {
	t.Helper()
	f := start(t)
	f.add("root/usr/bin/tiny", "symbols/tiny.debug")
	r := f.crashed("m0")
	f.sends(r, asSent(symboltest.Core(t, "tiny")))
	f.round()
	report, err := f.store.Report(t.Context(), r.Report)
	checktest.NoError(t, err)
	var offsets []uint64
	const code = 0x1000 // in the file
	for _, place := range strings.Split(symboltest.TinyAddresses(t, report.Fields["Stacktrace"]), "+")[1:] {
		hex, _, _ := strings.Cut(place, ":")
		offset, err := strconv.ParseUint(hex, 16, 64)
		checktest.NoError(t, err)
		offsets = append(offsets, code+offset)
	}
	return offsets
}

// TestMinidump checks that a minidump is named by the files of its builds: without minidump-stackwalk, and with one
// that fails, by what was found on its stack. What is no return address is left out.
func TestMinidump(t *testing.T) {
	f := start(t)
	id, offsets := symboltest.BuildID(t, "tiny"), tinyOffsets(t)
	d := minidumptest.Dump{Signal: 11, PC: 0x400000 + offsets[0], Modules: []minidumptest.Module{
		{Path: "/usr/bin/tiny", Start: 0x400000, Size: 0x4000, BuildID: id}}}
	d.Stack = []uint64{0x401000, 0x400000 + offsets[1], 12345, 0x402000, 0x400000 + offsets[2]}
	dump := d.Bytes(t)
	parsed, err := minidump.Parse(dump)
	checktest.NoError(t, err)
	f.add("root/usr/bin/tiny", "symbols/tiny.debug")
	bin := t.TempDir()
	for i, walker := range []string{"", "/bin/false"} {
		if walker != "" {
			checktest.NoError(t, os.Symlink(walker, filepath.Join(bin, minidump.Walker)))
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
		}
		version := strconv.Itoa(i)
		report := parsed.Report(minidump.Annotations{Version: version}, minidump.Project{Number: 1, Source: "tide"})
		report.Number += version
		rec, err := intake.New(intake.Config{MaxAgeDays: 10000}, nil).Examine(report)
		if err == nil {
			_, _, err = f.store.SaveReport(t.Context(), rec)
		}
		checktest.NoError(t, err)
		r := crash.CoreRequest{Report: rec.ID, Problem: crash.BucketIDOf(rec.Grouping.Signature), Version: version,
			Architecture: "amd64"}
		if _, err := f.store.OfferCore(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		f.sends(r, asSent(dump))
		f.round()
		f.wantJob(r, crash.SymbolsDone, "Named from build-ids")
		f.wantCore(r, false)
		stored, err := f.store.Report(t.Context(), r.Report)
		if got := grouping.SignatureOf(stored.Fields).Signature; err != nil ||
			got != "/usr/bin/tiny:11:parse:row:load:_start" {
			t.Errorf("walker %q: got %q, %v and\n%s", walker, got, err, stored.Fields["Stacktrace"])
		}
	}
}
