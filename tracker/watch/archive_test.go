package watch_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/tracker"
	"mishap/tracker/trackertest"
	"mishap/tracker/watch"
)

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
	other := f.instance()
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
