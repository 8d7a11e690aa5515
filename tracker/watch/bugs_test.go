package watch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/privacy"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker"
	"mishap/tracker/trackertest"
	"mishap/tracker/watch"
)

// everyRound makes a reader query everything in each round, without pauses.
var everyRound = watch.BugOptions{Pause: -1, Changes: time.Nanosecond, Again: time.Nanosecond, Retry: time.Nanosecond,
	Quiet: time.Nanosecond, Section: time.Nanosecond}

// reader returns a BugReader of an instance.
func (f *fixture) reader(i *instance, o watch.BugOptions) *watch.BugReader {
	return watch.NewBugReader(f.cfg, bugs.New(i.store), i.sites, o)
}

// round runs one round and fails the test if it returns an error.
func round(t *testing.T, w *watch.BugReader) {
	t.Helper()
	if err := w.Round(t.Context()); err != nil {
		t.Fatalf("round: %v", err)
	}
}

// file files a bug for a problem and returns its number.
func (f *fixture) file(i *instance, signature string) int64 {
	f.t.Helper()
	result, err := i.filer.CreateBug(f.t.Context(), signature, tracker.Options{Person: "ada", Wait: 10 * time.Second})
	if err != nil || result.State != crash.FilingFiled {
		f.t.Fatalf("file: got %+v, %v", result, err)
	}
	return result.Bug
}

// inVersion stores a report of the problem from a version of its package.
func (f *fixture) inVersion(n int, version string) string {
	f.t.Helper()
	f.process++
	return f.report(crashtest.Native(crashtest.Set("DuplicateSignature", problemSignature(n)), crashtest.Version(version),
		crashtest.Process(50_000+f.process), crashtest.At(time.Now().UTC())))
}

func (f *fixture) wantState(signature string, word crash.StateWord, status string) crash.Bucket {
	f.t.Helper()
	b := f.judged(signature)
	if got := b.Status; got.Word != word || got.Tracker != status {
		f.t.Errorf("state of bug %d: got %s, %s (%s); want %s, %s; known: %+v", b.Bug.Number, got.Word, got.Tracker,
			got.Text(), word, status, b.Bug.State)
	}
	return b
}

func TestStatesComeBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.instance()
	w := f.reader(i, everyRound)
	signature := f.inVersion(1, "1.0-1")
	number := f.file(i, signature)
	f.wantState(signature, crash.StateUnknown, "")
	round(t, w)
	if task := f.wantState(signature, crash.StateOpen, "New").Bug.State.Tasks[0]; task.Assignee != "" ||
		task.Milestone != "" || task.Importance != "Undecided" {
		t.Errorf("a new bug: got the task %+v, want no assignee", task)
	}

	f.lp.Change(number, func(b *trackertest.Bug) {
		b.Title, b.Importance, b.Assignee, b.Milestone = "A better title", "High", "grace", "ubuntu-24.04.3"
	})
	round(t, w)
	b := f.wantState(signature, crash.StateOpen, "New")
	want := crash.BugTask{
		Target: "/ubuntu/+source/" + b.SourcePackage, Name: b.SourcePackage + " (Ubuntu)", Status: "New", Importance: "High",
		Assignee: "grace", Milestone: "ubuntu-24.04.3",
	}
	if got := b.Bug.State; len(got.Tasks) != 1 || got.Tasks[0] != want || b.Bug.Title != "A better title" ||
		got.InformationType != "Public" {
		t.Errorf("details: got %q, %+v; want %+v", b.Bug.Title, got, want)
	}

	f.inVersion(2, "1.1-1") // another problem of the package in a newer version; the first one was seen today
	f.wantState(signature, crash.StateOpen, "New")
	f.lp.Change(number, func(b *trackertest.Bug) { b.Status = "Fix Released" })
	round(t, w)
	f.wantState(signature, crash.StateFixed, "Fix Released")
	f.inVersion(1, "1.1-1") // this version was known when the bug was closed
	f.wantState(signature, crash.StateFixed, "Fix Released")
	f.inVersion(1, "1.2-1")
	f.wantState(signature, crash.StateRegression, "Fix Released")

	f.lp.Change(number, func(b *trackertest.Bug) { b.Janitor("1.3-1", "noble") })
	round(t, w)
	f.wantState(signature, crash.StateFixed, "Fix Released")
	f.inVersion(1, "1.10-1")
	f.wantState(signature, crash.StateRegression, "Fix Released")

	f.lp.Change(number,
		func(b *trackertest.Bug) { b.Series = []trackertest.SeriesTask{{Series: "noble", Status: "Triaged"}} })
	round(t, w)
	f.wantState(signature, crash.StateOpen, "Triaged")
	f.lp.Change(number, func(b *trackertest.Bug) { b.Series[0].Status, b.Status = "Won't Fix", "Won't Fix" })
	round(t, w)
	f.wantState(signature, crash.StateClosed, "Won't Fix")
}

func TestFixesComeFromTrackerOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.instance()
	w := f.reader(i, everyRound)
	signature := f.inVersion(1, "1.0-1")
	number := f.file(i, signature)
	f.lp.Change(number, func(b *trackertest.Bug) {
		b.Janitor("0.1", "noble")
		b.Messages[0].Owner = "mallory"
	})
	round(t, w)
	if b := f.wantState(signature, crash.StateFixed, "Fix Released"); len(b.Bug.State.Fixes) != 0 {
		t.Errorf("got the fixes %+v, want none: a person wrote the message", b.Bug.State.Fixes)
	}
}

func TestDuplicatesAndPrivateBugs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.instance()
	w := f.reader(i, everyRound)
	signature := f.inVersion(1, "1.0-1")
	number := f.file(i, signature)
	master := f.lp.Add(trackertest.Bug{Title: "The first of them", Package: f.bucket(signature).SourcePackage,
		Status: "Fix Released"})
	f.lp.Change(number, func(b *trackertest.Bug) { b.DuplicateOf = master })
	round(t, w) // reads the duplicate
	round(t, w) // reads the original bug, which is known by now
	b := f.wantState(signature, crash.StateFixed, "Fix Released")
	if b.Bug.Number != number || b.Bug.State.DuplicateOf != master || b.Bug.Master == nil ||
		b.Bug.Master.Title != "The first of them" ||
		b.Bug.MasterURL != fmt.Sprintf("%s/bugs/%d", f.lp.URL, master) {
		t.Errorf("a duplicate: got %+v, want the original %d with it", b.Bug, master)
	}

	f.lp.Change(master, func(b *trackertest.Bug) { b.InformationType = "Private" })
	round(t, w)
	if b := f.wantState(signature, crash.StatePrivate, ""); b.Bug.Master.Title != "" {
		t.Errorf("a private original: got its title %q, want none", b.Bug.Master.Title)
	}
	f.lp.Change(number, func(b *trackertest.Bug) { b.DuplicateOf, b.InformationType = 0, "Private Security" })
	round(t, w)
	if b := f.wantState(signature, crash.StatePrivate, ""); b.Bug.Title != "" {
		t.Errorf("private: got the title %q, want none", b.Bug.Title)
	}
	f.lp.Change(number, func(b *trackertest.Bug) { b.InformationType, b.DuplicateOf = "Public", 0 })
	round(t, w)
	if b := f.wantState(signature, crash.StateOpen, "New"); b.Bug.Title == "" || b.Bug.Master != nil {
		t.Errorf("public again: got %+v, want its title and no original", b.Bug)
	}
}

// TestReadingThroughFaults checks that a failed call does not change the stored state, and that the
// next reading succeeds. Unless the run is thorough, each operation meets a quarter of the faults.
func TestReadingThroughFaults(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	for o, op := range []trackertest.Operation{trackertest.OpBug, trackertest.OpTasks, trackertest.OpSearch,
		trackertest.OpMe} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			i := f.instance()
			signature := f.inVersion(1, "1.0-1")
			number := f.file(i, signature)
			round(t, f.reader(i, everyRound))
			statuses := []string{"Triaged", "Confirmed"}
			for n, fault := range checktest.EveryNth(trackertest.Faults(), 4, o) {
				if fault == trackertest.NotFound404 { // the bug counts as hidden until the next reading
					continue
				}
				f.lp.Change(number, func(b *trackertest.Bug) { b.Status = statuses[n%2] })
				f.lp.Fail(op, fault)
				round(t, f.reader(i, everyRound))
				if b := f.bucket(signature); b.Bug.State.Hidden || len(b.Bug.State.Tasks) != 1 {
					t.Errorf("%s: got %+v, want the previous state", fault, b.Bug.State)
				}
				token := f.lp.Token(consumer) // a valid token: faults may revoke tokens
				fresh := f.instance(func(c *tracker.Config) { c.Token = token })
				f.lp.ClearFaults()
				f.exec(`update bug_states set next_read = now()`)
				round(t, f.reader(fresh, everyRound))
				f.wantState(signature, crash.StateOpen, statuses[n%2])
				if b := f.bucket(signature); b.Bug.State.Failures != 0 {
					t.Errorf("%s: got %d failures after a good reading, want 0", fault, b.Bug.State.Failures)
				}
			}
		})
	}
}

// TestOneInstanceReadsAtATime checks that an instance reads nothing while another one has the lock.
func TestOneInstanceReadsAtATime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first, second := f.instance(), f.another()
	signature := f.inVersion(1, "1.0-1")
	f.file(first, signature)
	w := f.reader(first, everyRound)
	unlock, ok, err := second.store.LockBugs(t.Context())
	if err != nil || !ok {
		t.Fatalf("acquire the lock: got %t, %v", ok, err)
	}
	round(t, w)
	f.wantState(signature, crash.StateUnknown, "")
	if _, ok, err := first.store.LockBugs(t.Context()); ok || err != nil {
		t.Errorf("while another instance has the lock: got %t, %v; want false", ok, err)
	}
	unlock()
	round(t, w)
	f.wantState(signature, crash.StateOpen, "New")
}

func TestComments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.instance()
	w := f.reader(i, everyRound)
	signature := f.inVersion(1, "1.0-1")
	number := f.file(i, signature)
	f.lp.Change(number, func(b *trackertest.Bug) { b.Janitor("1.1-1", "noble") })
	round(t, w)
	f.inVersion(1, "1.1-1")
	f.wantState(signature, crash.StateRegression, "Fix Released")
	comments := func() []string {
		var out []string
		for _, m := range f.lp.Bugs()[0].Messages {
			if m.Owner != trackertest.Janitor {
				out = append(out, m.Content)
			}
		}
		return out
	}
	round(t, w)
	if got := comments(); len(got) != 0 {
		t.Fatalf("switched off: got %q, want no comment", got)
	}
	f.policy(crash.UpdatePolicy{Pattern: crash.EveryPackage, Again: true})
	silent := everyRound
	silent.Silent = true
	round(t, f.reader(i, silent))
	if got := comments(); len(got) != 0 {
		t.Fatalf("silent instance: got %q, want no comment", got)
	}
	for range 3 {
		round(t, w)
	}
	got := comments()
	if len(got) != 1 || !strings.Contains(got[0], "1.1-1") || !strings.Contains(got[0], "https://mishap.example"+
		f.bucket(signature).ID.Path()) {
		t.Fatalf("switched on: got %q, want one comment with version and address", got)
	}

	f.inVersion(1, "1.2-1")
	for range 3 {
		round(t, w)
	}
	if got := comments(); len(got) != 2 || !strings.Contains(got[1], "1.2-1") {
		t.Errorf("another version: got %q, want one more comment", got)
	}
}

// practiceArchive is the archive of the practice tracker in these tests.
var practiceArchive = trackertest.Archive{
	Sources: map[string][]crash.Publication{"tidewatch": {
		{Series: "noble", Pocket: "Release", Version: "1.0-1"}, {Series: "noble", Pocket: "Updates",
			Version: "1.0-1ubuntu0.1"},
		{Series: "resolute", Pocket: "Proposed", Version: "1:2.0~rc1-1"},
	}},
	Superseded: map[string][]crash.Publication{"tidewatch": {{Series: "noble", Pocket: "Updates", Version: "0.9-1"}}},
	Binaries: map[string][]crash.Publication{"libtide1": {
		{Series: "noble", Architecture: "amd64", Pocket: "Release", Version: "1.0-1", Source: "tidewatch"},
		{Series: "noble", Architecture: "arm64", Pocket: "Release", Version: "1.0-1", Source: "tidewatch"},
	}},
	Sets:          map[string][]string{"noble/desktop-core": {"tidewatch", "gtk4", "../evil"}},
	Subscriptions: map[string][]string{"tide-team": {"tidewatch", "gtk4"}, "idle": {}},
}

func want(kind crash.ArchiveKind, key string) crash.ArchiveWant {
	return crash.ArchiveWant{Kind: kind, Key: key}
}

// archiveFacts reads stored facts, with a fixed time of reading.
func archiveFacts(t *testing.T, i *instance, wants ...crash.ArchiveWant) []crash.ArchiveFact {
	t.Helper()
	facts, err := bugs.New(i.store).ArchiveFacts(t.Context(), wants)
	if err != nil {
		t.Fatal(err)
	}
	for n := range facts {
		if facts[n].Known() {
			facts[n].Read = time.Unix(0, 0)
		}
	}
	return facts
}

func TestArchive(t *testing.T) {
	t.Parallel()
	f := newFixture(t, trackertest.Options{Archive: &practiceArchive, PageSize: 1})
	i := f.instance(func(c *tracker.Config) { c.Token = crash.AccessToken{} }) // no token
	reader := watch.NewArchiveReader(f.cfg, bugs.New(i.store), i.lp,
		watch.ArchiveOptions{Pause: -1, Retry: time.Nanosecond})
	wants := []crash.ArchiveWant{
		want(crash.ArchiveSource, "tidewatch"), want(crash.ArchiveSource, "nosuch"), want(crash.ArchiveBinary, "libtide1"),
		want(crash.ArchiveVersion, "tidewatch 0.9-1"), want(crash.ArchiveVersion, "tidewatch 9-1"),
		want(crash.ArchiveSet, "noble/desktop-core"), want(crash.ArchiveSet, "noble/nosuch"),
		want(crash.ArchivePerson, "tide-team"), want(crash.ArchivePerson, "idle"), want(crash.ArchivePerson, "nobody"),
	}
	for _, f := range archiveFacts(t, i, wants...) {
		if f.Known() {
			t.Errorf("%v: got a known fact before the first round", f)
		}
	}
	if err := reader.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := time.Unix(0, 0)
	expected := []crash.ArchiveFact{
		{ArchiveWant: wants[0], Read: read, Exists: true, Publications: practiceArchive.Sources["tidewatch"]},
		{ArchiveWant: wants[1], Read: read},
		{ArchiveWant: wants[2], Read: read, Exists: true, Publications: practiceArchive.Binaries["libtide1"]},
		{ArchiveWant: wants[3], Read: read, Exists: true, Publications: practiceArchive.Superseded["tidewatch"]},
		{ArchiveWant: wants[4], Read: read},
		{ArchiveWant: wants[5], Read: read, Exists: true, Names: []string{"gtk4", "tidewatch"}},
		{ArchiveWant: wants[6], Read: read},
		{ArchiveWant: wants[7], Read: read, Exists: true, Names: []string{"gtk4", "tidewatch"}},
		{ArchiveWant: wants[8], Read: read, Exists: true},
		{ArchiveWant: wants[9], Read: read},
	}
	if diff := cmp.Diff(expected, archiveFacts(t, i, wants...)); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	calls := len(f.lp.Requests(trackertest.OpArchive))
	if err := reader.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(f.lp.Requests(trackertest.OpArchive)); n != calls {
		t.Errorf("got %d calls for fresh facts, want none", n-calls)
	}
	for _, r := range f.lp.Requests(trackertest.OpArchive) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s: sent a token, want none", r.URI)
		}
	}
	names, known, err := bugs.New(i.store).PackagesOfSet(t.Context(), "Ubuntu 24.04", "desktop-core")
	if err != nil || !known || len(names) != 2 {
		t.Errorf("PackagesOfSet: got %v, %v, %v, want two", names, known, err)
	}
	if _, _, err := bugs.New(i.store).PackagesOfPerson(t.Context(), "nobody"); crash.KindOf(err) != crash.NotFound {
		t.Errorf("PackagesOfPerson(nobody): got %v, want not found", err)
	}
	if names, known, err := bugs.New(i.store).PackagesOfPerson(t.Context(), "new-team"); err != nil || known ||
		names != nil {
		t.Errorf("PackagesOfPerson(new-team): got %v, %v, %v, want not known yet", names, known, err)
	}
}

func TestArchiveFaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t, trackertest.Options{Archive: &practiceArchive})
	i := f.instance()
	now := time.Now()
	cfg := f.cfg
	cfg.Now = func() time.Time { return now }
	reader := watch.NewArchiveReader(cfg, bugs.New(i.store), i.lp, watch.ArchiveOptions{Pause: -1, Retry: time.Nanosecond})
	set := want(crash.ArchiveSet, "noble/desktop-core")
	archiveFacts(t, i, set)
	for _, fault := range []trackertest.Fault{
		trackertest.Error500, trackertest.Error503, trackertest.TooMany429, trackertest.HangBefore, trackertest.PageBefore,
		trackertest.Redirect302,
	} {
		f.lp.Fail(trackertest.OpArchive, fault)
		if err := reader.Round(t.Context()); err != nil {
			t.Fatalf("%s: %v", fault, err)
		}
		if f := archiveFacts(t, i, set)[0]; f.Known() {
			t.Errorf("%s: got %+v, want an unknown fact", fault, f)
		}
		now = now.Add(time.Hour) // longer than every pause
	}
	if err := reader.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := archiveFacts(t, i, set)[0]; !f.Exists {
		t.Errorf("after the faults: got %+v, want the package set", f)
	}
	other := f.another()
	unlock, ok, err := other.store.LockArchive(t.Context())
	if err != nil || !ok {
		t.Fatalf("lock: got %v, %v, want true", ok, err)
	}
	defer unlock()
	archiveFacts(t, i, want(crash.ArchivePerson, "tide-team"))
	if err := reader.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := archiveFacts(t, i, want(crash.ArchivePerson, "tide-team"))[0]; f.Known() {
		t.Error("got a reading while another instance has the lock")
	}
}

// machineData are pieces of machineMessage and of fields that identify a machine or its user.
var machineData = []string{
	"5d41402abc4b2a76b9719d911017c592", // the machine, as every fixture sends it
	"ines.almeida", "Almeida", "cedarbox", "letter-to-ann", "192.168.7.12", "fe80::1c2a", "00:1a:2b:3c:4d:5e",
	"ann@mail.example.org", "PF3XK2L9", "9f86d081884c7d659a2feaa0c55ad015", "4c4c4544-0051-3510-8052-b4c04f4a4d32",
	"hunter2", "ghp_abcdefghijklmnop", machineMark,
}

// machineMark stands in fields of which bugs must contain nothing. No token contains a hyphen.
const machineMark = "Zqx-mark"

const machineMessage = "cannot open /home/ines.almeida/letter-to-ann.odt on cedarbox (192.168.7.12, " +
	"fe80::1c2a:3bff:fe4d:5e6f, 00:1a:2b:3c:4d:5e) for ann@mail.example.org, serial number: PF3XK2L9, " +
	"machine-id 9f86d081884c7d659a2feaa0c55ad015, uuid 4c4c4544-0051-3510-8052-b4c04f4a4d32, password=hunter2 " +
	"ghp_abcdefghijklmnopqrstuvwxyz0123456789"

// withMachineData adds machineMessage to all fields of a report whose class may change, and marks to all
// private and secret fields of which bugs must contain nothing.
func withMachineData(r crashtest.Report) {
	table := (*privacy.Table)(nil)
	for i, row := range table.Rows() {
		name := strings.Replace(row.Name, "*", "x", 1)
		switch {
		case row.Fixed || name == "ProcStatus" || name == "ProcMaps":
		case row.Class >= privacy.Private && row.Excerpt == "":
			r[name] = fmt.Sprintf("%s%d %s", machineMark, i, machineMessage)
		case r[name] == "":
			r[name] = machineMessage
		default:
			r[name] = r[name] + "\n" + machineMessage
		}
	}
	r["UserPassword"], r["FooTokenBar"] = machineMark+" hunter2", machineMark
	r["Title"] = r["Title"] + " for /home/ines.almeida/letter-to-ann.odt on host cedarbox"
	r["ProcEnviron"] = "USER=ines.almeida\nHOSTNAME=cedarbox\nLANG=en_GB.UTF-8"
	r["Uname"] = "Linux cedarbox 6.8.0-31-generic x86_64"
	r["UserName"], r["HostName"], r["RealName"] = "ines.almeida", "cedarbox", "Inês Almeida"
	r["SystemIdentifier"] = strings.Repeat("5d41402abc4b2a76b9719d911017c592", 4)
}

// TestBugsWithoutMachineData files a bug for each kind of report, each full of data about its machine.
// The bugs get sections and comments. It searches all requests that reached the tracker for that data. Unless the
// run is thorough, it files three of the kinds.
func TestBugsWithoutMachineData(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(...crashtest.Option) crashtest.Report{
		"native": crashtest.Native, "hang": crashtest.Hang, "assertion": crashtest.Assertion, "python": crashtest.Python,
		"package": crashtest.Package, "oops": crashtest.Oops, "recoverable": crashtest.Recoverable,
		"java": crashtest.Java, "go": crashtest.GoPanic, "rust": crashtest.RustPanic,
	}
	for _, name := range checktest.EveryNth(slices.Sorted(maps.Keys(kinds)), 4, 1) {
		kind := kinds[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			i := f.instance()
			w := f.reader(i, everyRound)
			report := func(version string) string {
				f.process++
				r := kind(crashtest.Version(version), crashtest.Process(70_000+f.process), crashtest.At(time.Now().UTC()))
				withMachineData(r)
				return f.report(r)
			}
			f.policy(crash.UpdatePolicy{Pattern: crash.EveryPackage, Section: true, Again: true})
			signature := report("1.0-1")
			number := f.file(i, signature)
			round(t, w)
			report("1.0-2")
			f.exec(`update bug_sections set next = now()`)
			round(t, w)
			f.lp.Change(number, func(b *trackertest.Bug) { b.Janitor("1.1-1", "noble") })
			round(t, w)
			if again := report("1.2-1"); again != signature {
				t.Fatalf("got the signature %q after %q", again, signature)
			}
			for range 3 {
				round(t, w)
			}
			if len(f.lp.Requests(trackertest.OpCreate)) == 0 || len(f.lp.Requests(trackertest.OpChange)) == 0 ||
				len(f.lp.Requests(trackertest.OpComment)) == 0 {
				t.Fatalf("got comments %q, want a bug with a changed section and a comment", f.comments(number))
			}
			for _, r := range f.lp.Requests("") {
				for _, text := range plain(r) {
					for _, word := range machineData {
						if !t.Failed() && strings.Contains(text, word) {
							t.Errorf("%s %s contains %q:\n%s", r.Method, r.Operation, word, around(text, word))
						}
					}
				}
			}
		})
	}
}

// plain returns the texts of a request as they are, and decoded.
func plain(r trackertest.Request) []string {
	texts := []string{r.URI, r.Body}
	for key, values := range r.Header {
		texts = append(texts, key+": "+strings.Join(values, " "))
	}
	for _, text := range slices.Clone(texts) {
		if decoded, err := url.QueryUnescape(text); err == nil {
			texts = append(texts, decoded)
		}
	}
	var object map[string]any
	if json.Unmarshal([]byte(r.Body), &object) == nil {
		texts = append(texts, fmt.Sprint(object))
	}
	return texts
}

// around returns the part of a text around a word.
func around(text, word string) string {
	at := strings.Index(text, word)
	return text[max(0, at-150):min(len(text), at+150)]
}

// TestSecretsInUpdates files a bug for each kind of private data that redaction recognises, with
// a changed section and a comment. It searches all requests that reached the tracker for that data.
// A run that is not thorough has a quarter of the kinds.
func TestSecretsInUpdates(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	for secrets := range slices.Chunk(checktest.EveryNth(crashtest.Secrets(), 4, 1), 30) { // a round reads 50 bugs
		t.Run("from "+secrets[0].Kind, func(t *testing.T) {
			t.Parallel()
			secretsInUpdates(t, secrets)
		})
	}
}

func secretsInUpdates(t *testing.T, secrets []crashtest.Secret) {
	t.Helper()
	f := newFixture(t)
	i := f.instance()
	w := f.reader(i, everyRound)
	f.policy(crash.UpdatePolicy{Pattern: crash.EveryPackage, Section: true, Again: true})
	numbers, signatures := make([]int64, len(secrets)), make([]string, len(secrets))
	report := func(n int, version string) {
		f.process++
		text, name := secrets[n].Text, fmt.Sprintf("/usr/bin/harbor-%d", n)
		r := crashtest.Python(crashtest.Version(version), crashtest.Process(70_000+f.process),
			crashtest.At(time.Now().UTC()), crashtest.Set("ExecutablePath", name), crashtest.Set("Title", "harbor: "+text))
		r["Traceback"] = strings.Replace(r["Traceback"], "invalid literal for int() with base 10: 'host-77'", text, 1)
		signatures[n] = f.report(r)
	}
	for n := range secrets {
		report(n, "1.0-1")
		numbers[n] = f.file(i, signatures[n])
	}
	wantNoSecrets := func() (changes int) {
		t.Helper()
		for _, r := range f.lp.Requests("") {
			if r.Operation == trackertest.OpChange {
				changes++
			}
			for _, text := range plain(r) {
				for _, s := range secrets {
					for _, hide := range s.Hide {
						if strings.Contains(text, hide) {
							t.Fatalf("%s: %s %s contains %q:\n%s", s.Kind, r.Method, r.Operation, hide, around(text, hide))
						}
					}
				}
			}
		}
		return changes
	}
	wantNoSecrets()
	round(t, w)
	for n, number := range numbers {
		report(n, "1.0-2")
		f.lp.Change(number, func(b *trackertest.Bug) { b.Janitor("1.1-1", "noble") })
	}
	round(t, w)
	for n := range secrets {
		report(n, "1.2-1")
	}
	for range 8 { // a round sends a few comments and changes
		f.exec(`update bug_sections set next = now()`)
		round(t, w)
	}
	if wantNoSecrets() == 0 {
		t.Error("got no change of a description")
	}
	for n, number := range numbers {
		if got := f.comments(number); !strings.Contains(strings.Join(got, "\n"), "1.2-1") {
			t.Errorf("%s: got %q, want a comment about the version", secrets[n].Kind, got)
		}
	}
}

// nameless stores a crash without function names, and returns the address signature and the id.
func (f *fixture) nameless(place string) (string, crash.OopsID) {
	f.t.Helper()
	f.process++
	address := "/usr/bin/tidewatch:11:/usr/bin/tidewatch+" + place
	f.report(crashtest.Native(crashtest.Set("StacktraceTop", "?? ()\n?? ()"),
		crashtest.Set("Stacktrace", "#0  0x1 in ?? ()"),
		crashtest.Set("StacktraceAddressSignature", address), crashtest.Process(60_000+f.process)))
	report, err := f.db.RepresentativeReport(f.t.Context(), crash.BucketIDOf(address))
	if err != nil {
		f.t.Fatal(err)
	}
	return address, report.ID
}

// name symbolises a report. The names contain a name of a person.
func (f *fixture) name(id crash.OopsID) {
	f.t.Helper()
	stack := "#0  0x0000000000001139 in parse (row=0x0) at /home/janekowalska/tide.c:1\n" +
		"#1  0x0000000000001177 in load () at tide.c:2\n#2  0x00000000000011a0 in main () at tide.c:3"
	err := db.NewDecisions(f.db).NameReport(f.t.Context(), id, crash.Fields{"SymbolisedBy": "mishap",
		"StacktraceTop": "parse (row=0x0) at /home/janekowalska/tide.c:1\nload () at tide.c:2\nmain () at tide.c:3",
		"Stacktrace":    stack}, true, func(context.Context, pgx.Tx, bool, string) error { return nil })
	if err != nil {
		f.t.Fatal(err)
	}
	dbtest.Counted(f.t, f.db)
}

// TestCommentWithNames checks that a bug that was filed without function names gets one comment
// with them, if comments are switched on.
func TestCommentWithNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	i := f.instance()
	w := f.reader(i, everyRound)
	first, firstID := f.nameless("1139")
	second, _ := f.nameless("2000")
	closed, closedID := f.nameless("3000")
	numbers := []int64{f.file(i, first), f.file(i, second), f.file(i, closed)}
	f.lp.Change(numbers[2], func(b *trackertest.Bug) { b.Status = "Invalid" })
	later := f.problem(4) // a bug filed with names
	numbers = append(numbers, f.file(i, later))
	f.policy(crash.UpdatePolicy{Pattern: crash.EveryPackage, Again: true})
	round(t, w)
	for _, n := range numbers {
		if got := f.comments(n); len(got) != 0 {
			t.Fatalf("bug %d, before there are names: got %q", n, got)
		}
	}
	f.policy(crash.UpdatePolicy{Pattern: crash.EveryPackage, Again: false})
	f.name(firstID)
	f.name(closedID)
	round(t, w)
	if got := f.comments(numbers[0]); len(got) != 0 {
		t.Fatalf("switched off: got %q, want no comment", got)
	}
	if due, err := bugs.New(i.store).NamedBugs(t.Context()); err != nil || len(due) != 1 || due[0].Number != numbers[0] {
		t.Fatalf("due: got %v, %v; want the open bug", due, err)
	}
	f.policy(crash.UpdatePolicy{Pattern: crash.EveryPackage, Again: true})
	for range 3 {
		round(t, w)
	}
	got := f.comments(numbers[0])
	if len(got) != 1 || !strings.Contains(got[0], "Signature: /usr/bin/tidewatch:11:parse:load:main") ||
		!strings.Contains(got[0], "#1  load at tide.c:2") || !strings.Contains(got[0], "https://mishap.example/problem/") {
		t.Fatalf("switched on: got %q, want one comment with the signature, the stack and the address", got)
	}
	if strings.Contains(got[0], "janekowalska") || strings.Contains(got[0], "row=0x0") {
		t.Errorf("got %q, want it redacted", got[0])
	}
	for _, n := range numbers[1:] {
		if got := f.comments(n); len(got) != 0 {
			t.Errorf("bug %d: got %q, want no comment on a bug that is closed, still nameless, or had names", n, got)
		}
	}
}
