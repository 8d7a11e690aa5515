package watch_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker"
	"mishap/tracker/kinds"
	"mishap/tracker/launchpad"
	"mishap/tracker/trackertest"
	"mishap/tracker/watch"
)

const (
	sectionBegins = "=== Crash reports (updated by mishap; if you change this section, mishap leaves it alone) ==="
	sectionEnds   = "=== End of crash reports ==="
)

// sectionFixture has one open bug, filed before sections were switched on.
type sectionFixture struct {
	*fixture
	i         *instance
	w         *watch.BugReader
	signature string
	number    int64
	versions  int
}

func newSectionFixture(t *testing.T) *sectionFixture {
	t.Helper()
	f := &sectionFixture{fixture: newFixture(t)}
	f.i = f.instance()
	f.w = f.reader(f.i, everyRound)
	f.signature = f.inVersion(1, "1.0-1")
	f.number = f.file(f.i, f.signature)
	round(t, f.w)
	f.policy(crash.UpdatePolicy{Pattern: crash.EveryPackage, Section: true})
	return f
}

// news stores a report from a new version, and returns the version.
func (f *sectionFixture) news() string {
	f.t.Helper()
	f.versions++
	version := fmt.Sprintf("2.%d-1", f.versions)
	f.inVersion(1, version)
	return version
}

// rounds makes the section due and runs a round, several times.
func (f *sectionFixture) rounds(w *watch.BugReader, n int) {
	f.t.Helper()
	for range n {
		f.exec(`update bug_sections set next = now()`)
		round(f.t, w)
	}
}

func (f *sectionFixture) description() string {
	f.t.Helper()
	for _, b := range f.lp.Bugs() {
		if b.Number == f.number {
			return b.Description
		}
	}
	f.t.Fatalf("the tracker has no bug %d", f.number)
	return ""
}

// edit changes the description as a person would.
func (f *sectionFixture) edit(change func(string) string) {
	f.lp.Change(f.number, func(b *trackertest.Bug) { b.Description = change(b.Description) })
}

func (f *sectionFixture) section() crash.BugSection {
	f.t.Helper()
	all, err := bugs.New(f.db).Sections(f.t.Context(), []int64{f.number})
	if err != nil || len(all) != 1 {
		f.t.Fatalf("section: got %v, %v", all, err)
	}
	return all[0]
}

// wantSection checks that the description is one section between two texts, and has the words.
func (f *sectionFixture) wantSection(before, after string, words ...string) {
	f.t.Helper()
	got := f.description()
	inner, ok := strings.CutPrefix(got, before)
	if ok {
		inner, ok = strings.CutSuffix(inner, after)
	}
	if !ok || strings.Count(got, sectionBegins) != 1 || strings.Count(got, sectionEnds) != 1 ||
		!strings.HasPrefix(inner, sectionBegins+"\n") || !strings.HasSuffix(inner, "\n"+sectionEnds) {
		f.t.Fatalf("got the description\n%s\nwant one section between %q and %q", got, before, after)
	}
	for _, word := range words {
		if !strings.Contains(inner, word) {
			f.t.Errorf("got the section\n%s\nwant it to contain %q", inner, word)
		}
	}
}

func (f *sectionFixture) changes() int { return len(f.lp.Requests(trackertest.OpChange)) }

func TestSectionIsUpdatedInPlace(t *testing.T) {
	t.Parallel()
	f := newSectionFixture(t)
	f.policy(crash.UpdatePolicy{Pattern: crash.EveryPackage})
	filed := f.description()
	round(t, f.w)
	if f.description() != filed || f.changes() != 0 {
		t.Fatalf("switched off: got %q", f.description())
	}
	f.policy(crash.UpdatePolicy{Pattern: "tide*", Section: true})
	round(t, f.w)
	f.wantSection(filed+"\n", "\n", "1 report from 1 machine", "Probable fix: none known", "1.0-1",
		"https://mishap.example"+f.bucket(f.signature).ID.Path())
	first := f.description()
	f.rounds(f.w, 3)
	if f.description() != first || f.changes() != 1 {
		t.Fatalf("without news: got %d changes, want 1", f.changes())
	}

	const above, below = "  Works for me – or does it? \t\n\n\n", "\n \nSteps:\n1. ✓ \n\n\n"
	f.edit(func(s string) string { return above + strings.TrimPrefix(s, filed) + below })
	version := f.news()
	f.rounds(f.w, 2)
	f.wantSection(above+"\n", "\n"+below, version, "1.0-1", "2 reports")
	if f.section().Stopped != crash.SectionActive || f.changes() != 2 {
		t.Errorf("got %+v after %d changes, want 2 changes", f.section(), f.changes())
	}
	f.edit(func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }) // as a browser's form sends it
	version = f.news()
	f.rounds(f.w, 1)
	if got := f.description(); !strings.Contains(got, version) || strings.Count(got, sectionBegins) != 1 {
		t.Errorf("other line ends: got\n%s\nwant an updated section", got)
	}
}

func TestSectionStopsWhenSomeoneChangesIt(t *testing.T) {
	t.Parallel()
	for why, edit := range map[crash.SectionStop]func(string) string{
		crash.SectionChanged: func(s string) string { return strings.Replace(s, "Probable fix:", "Fixed, I think:", 1) },
		crash.SectionRemoved: func(s string) string { return s[:strings.Index(s, sectionBegins)] + "Nothing more to say.\n" },
	} {
		t.Run(string(why), func(t *testing.T) {
			t.Parallel()
			f := newSectionFixture(t)
			round(t, f.w)
			f.edit(edit)
			edited := f.description()
			round(t, f.w)
			if f.section().Stopped != why {
				t.Errorf("without news: got %+v, want it to stop", f.section())
			}
			f.news()
			f.rounds(f.w, 3)
			if f.description() != edited || f.section().Stopped != why || f.section().StoppedAt.IsZero() {
				t.Fatalf("got %+v and\n%s\nwant it to stop", f.section(), f.description())
			}
			another := f.reader(f.another(), everyRound)
			f.news()
			f.rounds(another, 2)
			if f.description() != edited || f.changes() != 1 {
				t.Fatalf("another instance: got %d changes and\n%s", f.changes(), f.description())
			}
			store := bugs.New(f.db)
			id := f.bucket(f.signature).ID
			if err := store.ResumeSection(t.Context(), id, f.number, "ada"); err != nil {
				t.Fatal(err)
			}
			version := f.news()
			round(t, f.w)
			before, _, _ := strings.Cut(edited, sectionBegins)
			if why == crash.SectionRemoved {
				before = edited + "\n"
			}
			f.wantSection(before, "\n", version)
			if err := store.ResumeSection(t.Context(), id, f.number, "ada"); crash.KindOf(err) != crash.NotFound {
				t.Errorf("a second time: got %v, want NotFound", err)
			}
			if s := f.section(); s.Stopped != crash.SectionActive || s.Replace {
				t.Errorf("got %+v, want it to go on", s)
			}
		})
	}
}

func TestSectionOfOthersIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newSectionFixture(t)
	f.edit(func(s string) string {
		return s + "\n" + sectionBegins + "\n\n3 reports.\n" + sectionEnds + "\nThe end"
	})
	want := f.description()
	f.rounds(f.w, 2)
	if s := f.section(); f.description() != want || s.Stopped != crash.SectionForeign {
		t.Fatalf("got %+v and\n%s\nwant the section of another installation as it was", s, f.description())
	}
	if err := bugs.New(f.db).ResumeSection(t.Context(), f.bucket(f.signature).ID, f.number, "ada"); err != nil {
		t.Fatal(err)
	}
	round(t, f.w)
	before, _, _ := strings.Cut(want, sectionBegins)
	f.wantSection(before, "\nThe end", "1.0-1")
}

// meddler lets someone change the bug just before a request to change it reaches the tracker.
type meddler struct {
	next   http.RoundTripper
	meddle func()
}

func (m meddler) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch {
		m.meddle()
	}
	return m.next.RoundTrip(r)
}

func (f *sectionFixture) meddled(meddle func()) *watch.BugReader {
	return f.reader(f.instance(func(c *tracker.Config) {
		wrap := c.Transport
		c.Transport = func(next http.RoundTripper) http.RoundTripper { return meddler{wrap(next), meddle} }
	}), everyRound)
}

func TestSectionAndPersonAtTheSameTime(t *testing.T) {
	t.Parallel()
	t.Run("outside", func(t *testing.T) {
		t.Parallel()
		f := newSectionFixture(t)
		filed := f.description()
		var once sync.Once
		w := f.meddled(func() {
			once.Do(func() { f.edit(func(s string) string { return "A person was faster.\n" + s }) })
		})
		round(t, w)
		f.wantSection("A person was faster.\n"+filed+"\n", "\n", "1.0-1")
		if f.changes() != 2 {
			t.Errorf("got %d changes, want one refused and one accepted", f.changes())
		}
	})
	t.Run("inside", func(t *testing.T) {
		t.Parallel()
		f := newSectionFixture(t)
		round(t, f.w)
		w := f.meddled(func() { f.edit(func(s string) string { return strings.Replace(s, "Probable", "Improbable", 1) }) })
		f.news()
		f.rounds(w, 2)
		if s := f.section(); s.Stopped != crash.SectionChanged || !strings.Contains(f.description(), "Improbable fix") {
			t.Errorf("got %+v and\n%s\nwant the person's text", s, f.description())
		}
	})
	t.Run("always", func(t *testing.T) {
		t.Parallel()
		f := newSectionFixture(t)
		w := f.meddled(func() { f.edit(func(s string) string { return s + "again\n" }) })
		round(t, w)
		if s := f.section(); s.Problem == "" || s.Stopped != crash.SectionActive || f.changes() != 3 ||
			strings.Contains(f.description(), sectionBegins) {
			t.Errorf("got %+v after %d changes, want a problem after 3", s, f.changes())
		}
		f.rounds(f.w, 1)
		if s := f.section(); s.Problem != "" || !strings.Contains(f.description(), sectionBegins) {
			t.Errorf("in peace: got %+v and\n%s", s, f.description())
		}
	})
}

// TestSectionThroughFaults checks that after any failure of the tracker the description has exactly one
// section, which is current, and that mishap never takes its own text for a person's. Unless the run is thorough,
// each fault happens once or twice, not both.
func TestSectionThroughFaults(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "time")
	f := newSectionFixture(t)
	filed := f.description()
	for i, fault := range trackertest.Faults() {
		for _, times := range checktest.EveryNth([]int{1, 2}, 2, i) {
			version := f.news()
			f.lp.FailWith(trackertest.FaultSpec{Operation: trackertest.OpChange, Fault: fault, Times: times})
			for range times {
				f.rounds(f.reader(f.i, everyRound), 1)
			}
			f.lp.ClearFaults()
			token := f.lp.Token(consumer) // faults may revoke tokens
			f.i = f.instance(func(c *tracker.Config) { c.Token = token })
			f.rounds(f.reader(f.i, everyRound), 2)
			if s := f.section(); s.Stopped != crash.SectionActive || s.Problem != "" || s.Pending != (crash.SectionFacts{}) {
				t.Fatalf("%s, %d times: got %+v", fault, times, s)
			}
			if got := f.description(); strings.Count(got, sectionBegins) != 1 || !strings.Contains(got, version) ||
				!strings.HasPrefix(got, filed) {
				t.Fatalf("%s, %d times: got\n%s\nwant one section with %s", fault, times, got, version)
			}
		}
	}
}

func TestSectionProblemsAreVisible(t *testing.T) {
	t.Parallel()
	f := newSectionFixture(t)
	f.lp.Fail(trackertest.OpChange, trackertest.Permission)
	round(t, f.w)
	list, err := bugs.New(f.db).BucketBugs(t.Context(), f.bucket(f.signature).ID)
	if err != nil || len(list) != 1 || list[0].Section == nil ||
		!strings.Contains(list[0].Section.Problem, "launchpad.Edit") {
		t.Fatalf("got %+v, %v; want the tracker's reason", list, err)
	}
	f.rounds(f.w, 1)
	if s := f.section(); s.Problem != "" || s.Written.IsZero() {
		t.Errorf("later: got %+v, want no problem", s)
	}
}

// TestSectionAfterDeath lets an instance die after it recorded that it would send a text: before it
// sent the text, and before it recorded the answer.
func TestSectionAfterDeath(t *testing.T) {
	t.Parallel()
	for _, sent := range []bool{false, true} {
		t.Run(fmt.Sprint("sent ", sent), func(t *testing.T) {
			t.Parallel()
			f := newSectionFixture(t)
			round(t, f.w)
			before := f.description()
			version := f.news()
			body := sectionBegins + "\n\nWritten by the instance that died, with " + version + ".\n" + sectionEnds
			text := before[:strings.Index(before, sectionBegins)] + body + "\n"
			store, b := bugs.New(f.db), f.section()
			facts := crash.SectionFacts{Reports: 2, Last: "2026-01-01", Shape: "x"}
			hash := tracker.Section{Text: body}.Hash()
			if _, ok, err := store.BeginSection(t.Context(), b, hash, facts, 0); !ok || err != nil {
				t.Fatalf("begin: got %t, %v", ok, err)
			}
			if _, ok, err := store.BeginSection(t.Context(), b, "other", facts, 0); ok || err != nil {
				t.Errorf("another instance with stale data: got %t, %v; want false", ok, err)
			}
			if sent {
				bug, err := f.i.lp.ReadBug(t.Context(), f.number)
				if err != nil {
					t.Fatal(err)
				}
				if err := f.i.lp.ChangeDescription(t.Context(), f.number, bug.ETag, text); err != nil {
					t.Fatal(err)
				}
			}
			changes := f.changes()
			survivor := f.reader(f.another(), everyRound)
			f.rounds(survivor, 1)
			if s := f.section(); s.Stopped != crash.SectionActive || s.Pending != (crash.SectionFacts{}) || len(s.Hashes) != 1 {
				t.Errorf("got %+v, want it settled", s)
			}
			if got := f.changes() - changes; sent && got != 0 || !sent && got != 1 {
				t.Errorf("got %d changes by the survivor", got)
			}
			f.rounds(survivor, 1)
			f.wantSection(before[:strings.Index(before, sectionBegins)], "\n", version, "2 reports")
		})
	}
}

func TestSectionOnlyOfOpenPublicBugs(t *testing.T) {
	t.Parallel()
	f := newSectionFixture(t)
	master := f.lp.Add(trackertest.Bug{Title: "The first of them", Package: "tidewatch"})
	filed := f.description()
	for name, change := range map[string]func(*trackertest.Bug){
		"private":   func(b *trackertest.Bug) { b.InformationType = "Private" },
		"duplicate": func(b *trackertest.Bug) { b.DuplicateOf = master },
		"complete":  func(b *trackertest.Bug) { b.Status = "Invalid" },
	} {
		f.lp.Change(f.number, change)
		f.rounds(f.w, 2)
		if f.description() != filed || f.changes() != 0 {
			t.Errorf("%s: got\n%s", name, f.description())
		}
		f.lp.Change(f.number, func(b *trackertest.Bug) { b.InformationType, b.DuplicateOf, b.Status = "Public", 0, "New" })
	}
	// Nothing here knows yet that the bug has become private or a duplicate: the description itself tells.
	token := f.lp.TokenOf(consumer, "WRITE_PRIVATE")
	stale := everyRound
	stale.Again, stale.Changes = time.Hour, time.Hour
	w := f.reader(f.instance(func(c *tracker.Config) { c.Token = token }), stale)
	round(t, w)
	for _, change := range []func(*trackertest.Bug){
		func(b *trackertest.Bug) { b.InformationType = "Private" },
		func(b *trackertest.Bug) { b.InformationType, b.DuplicateOf = "Public", master },
	} {
		f.lp.Change(f.number, change)
		f.news()
		f.exec(`update bug_states set next_read = now() + interval '1 hour', private = false, duplicate_of = null`)
		changes := f.changes()
		f.rounds(w, 1)
		if f.changes() != changes {
			t.Errorf("got a change of a bug that is private or a duplicate by now")
		}
	}
}

func TestSectionWithinTheLimit(t *testing.T) {
	t.Parallel()
	f := newSectionFixture(t)
	for n := range 30 {
		f.inVersion(1, fmt.Sprintf("1.%d-1", n+1))
	}
	long := func(n int) string { return strings.Repeat("漢", n-1) + "." }
	f.edit(func(string) string { return long(49_900) })
	f.rounds(f.w, 2)
	if s := f.section(); f.description() != long(49_900) || f.changes() != 0 || !strings.Contains(s.Problem, "50,000") {
		t.Fatalf("got %+v after %d changes, want a problem", s, f.changes())
	}
	f.edit(func(string) string { return long(49_300) })
	f.rounds(f.w, 1)
	f.wantSection(long(49_300)+"\n\n", "\n", "31 reports")
	if got := f.description(); strings.Contains(got, "and 11 older versions") {
		t.Errorf("got the longest table, want a shorter one")
	}
	f.edit(func(string) string { return "Short." })
	if s := f.section(); s.Problem != "" {
		t.Errorf("got the problem %q, want none", s.Problem)
	}
}

func TestSectionOfNewBugs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := &sectionFixture{fixture: f, i: f.instance()}
	s.w = f.reader(s.i, everyRound)
	f.policy(crash.UpdatePolicy{Pattern: "tidewatch", Section: true})
	s.signature = f.inVersion(1, "1.0-1")
	s.number = f.file(s.i, s.signature)
	filed := s.description()
	before, _, _ := strings.Cut(filed, sectionBegins)
	s.wantSection(before, "\n", "1 report from 1 machine", "1.0-1")
	if strings.Contains(before, "Reports by version and release") || !strings.Contains(before, "https://mishap.example") {
		t.Errorf("got\n%s\nwant the table only in the section", filed)
	}
	for range 3 {
		round(t, s.w)
	}
	s.rounds(s.w, 1)
	if s.changes() != 0 || s.section().Written.IsZero() {
		t.Fatalf("right after filing: got %d changes, %+v; want none", s.changes(), s.section())
	}
	version := s.news()
	s.rounds(s.w, 1)
	s.wantSection(before, "\n", version, "2 reports")

	// A person's text is filed as it is, with the section below it; a private bug gets none.
	for n, information := range map[int]crash.InformationType{
		2: crash.InformationPublic, 3: crash.InformationPrivate,
	} {
		signature := f.problem(n)
		draft := &crash.Draft{Title: "By hand", Description: "Mine. https://mishap.example" + f.bucket(signature).ID.Path(),
			Tags: []string{"noble"}, Package: "tidewatch", Information: information}
		result, err := s.i.filer.CreateBug(t.Context(), signature, tracker.Options{Person: "ada", Wait: 10 * time.Second,
			Draft: draft})
		if err != nil || result.State != crash.FilingFiled {
			t.Fatalf("file: got %+v, %v", result, err)
		}
		s.number = result.Bug
		if information.Private() {
			if s.description() != draft.Description {
				t.Errorf("private: got\n%s", s.description())
			}
			continue
		}
		s.wantSection(draft.Description+"\n\n", "\n", "1 report")
	}
}

// TestSectionOfClosedBug checks that the section is updated once after the bug was closed, also if that
// would not be worth a mail otherwise, and as before if the bug is opened again. What a person writes
// stays.
func TestSectionOfClosedBug(t *testing.T) {
	t.Parallel()
	f := newSectionFixture(t)
	for range 9 {
		f.inVersion(1, "1.0-1")
	}
	f.rounds(f.w, 2)
	if f.changes() != 1 {
		t.Fatalf("got %d changes, want 1", f.changes())
	}
	f.inVersion(1, "1.0-1") // one more report
	f.rounds(f.w, 2)
	if f.changes() != 1 {
		t.Fatalf("one report more: got %d changes, want 1", f.changes())
	}
	f.lp.Change(f.number, func(b *trackertest.Bug) { b.Status = "Fix Released" })
	f.rounds(f.w, 3)
	if got := f.description(); f.changes() != 2 || !strings.Contains(got, "11 reports") {
		t.Errorf("closed: got %d changes, want 2, and\n%s", f.changes(), got)
	}
	f.news()
	f.rounds(f.reader(f.instance(), everyRound), 2)
	if f.changes() != 2 {
		t.Errorf("after that: got %d changes, want 2", f.changes())
	}
	f.lp.Change(f.number, func(b *trackertest.Bug) { b.Status = "New" })
	f.rounds(f.w, 2)
	if f.changes() != 3 {
		t.Errorf("opened again: got %d changes, want 3", f.changes())
	}
	f.edit(func(s string) string { return strings.Replace(s, "Probable fix:", "Fixed by me:", 1) })
	edited := f.description()
	f.news()
	f.lp.Change(f.number, func(b *trackertest.Bug) { b.Status = "Fix Released" })
	f.rounds(f.w, 2)
	if f.description() != edited || f.section().Stopped != crash.SectionChanged {
		t.Errorf("edited and closed: got %+v and\n%s", f.section(), f.description())
	}
}

// timeout is longer than any answer takes on a slow machine. Calls that the practice tracker lets
// hang time out at once.
const timeout = 10 * time.Minute

const consumer = "my crash service" // blanks are allowed

// fixture is one database, one practice tracker and any number of instances.
type fixture struct {
	t   *testing.T
	url string
	lp  *trackertest.Tracker
	cfg tracker.Config
	db  *db.Store // the test reads results with it

	process int // id of the last process that inVersion let crash
}

// instance holds the tracker's part of one running mishap.
type instance struct {
	store *db.Store
	lp    *launchpad.Client
	sites *tracker.Sites
	filer *tracker.Filer
}

func newFixture(t *testing.T, options ...trackertest.Options) *fixture {
	t.Helper()
	f := &fixture{t: t, url: dbtest.URL(t), lp: trackertest.New(t, options...)}
	f.db = dbtest.Open(t, f.url)
	f.cfg = tracker.Config{
		Kind: kinds.Launchpad,
		URL:  f.lp.URL, APIURL: f.lp.APIURL, ConsumerKey: consumer, Target: "ubuntu", BaseURL: "https://mishap.example",
		Token: f.lp.Token(consumer), Timeout: timeout, Settle: 20 * time.Millisecond, Backoff: 10 * time.Millisecond,
		Pause: time.Millisecond, Transport: f.lp.TimeOutHung, Log: dbtest.Log(t),
	}
	return f
}

// another starts an instance with a store of its own.
func (f *fixture) another() *instance {
	f.t.Helper()
	g := *f
	g.db = dbtest.Open(f.t, f.url)
	return g.instance()
}

// instance starts an instance with changes to the configuration, on the store that reads results. It
// ends with the test.
func (f *fixture) instance(change ...func(*tracker.Config)) *instance {
	f.t.Helper()
	cfg := f.cfg
	for _, c := range change {
		c(&cfg)
	}
	i := &instance{store: f.db}
	i.lp = launchpad.New(cfg, tracker.NewCredentials(cfg, bugs.New(i.store)))
	i.sites = tracker.NewSites(bugs.New(i.store), tracker.Member{Config: cfg, Creds: i.lp.Credentials()})
	i.filer = tracker.NewFiler(cfg, bugs.New(i.store), i.sites)
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		i.filer.Close(ctx)
	})
	return i
}

// report stores a report and returns the signature of its bucket.
func (f *fixture) report(r crashtest.Report) string {
	f.t.Helper()
	report := crash.Report{System: "5d41402abc4b2a76b9719d911017c592", Fields: r.Fields()}
	in := intake.New(intake.Config{MaxAgeDays: 3660}, f.db)
	rec, err := in.Examine(report)
	if err != nil {
		f.t.Fatalf("examine report: %v", err)
	}
	if _, err := in.Accept(f.t.Context(), report); err != nil {
		f.t.Fatalf("store report: %v", err)
	}
	dbtest.Counted(f.t, f.db)
	return rec.Grouping.Signature
}

// problem stores a report of the nth problem and returns its signature.
func (f *fixture) problem(n int) string {
	f.t.Helper()
	return f.report(crashtest.Native(crashtest.Set("DuplicateSignature", problemSignature(n)),
		crashtest.Process(10_000+n)))
}

func problemSignature(n int) string { return fmt.Sprintf("/usr/bin/tidewatch:11:problem_%d", n) }

func (f *fixture) bucket(signature string) crash.Bucket {
	f.t.Helper()
	b, err := f.db.Bucket(f.t.Context(), crash.BucketIDOf(signature))
	if err != nil {
		f.t.Fatalf("bucket: %v", err)
	}
	return b
}

// judged returns the problem of a signature with its status.
func (f *fixture) judged(signature string) crash.Bucket {
	f.t.Helper()
	b := f.bucket(signature)
	if err := f.db.Judge(f.t.Context(), &b); err != nil {
		f.t.Fatalf("judge: %v", err)
	}
	return b
}

// policy saves a row of the update policy.
func (f *fixture) policy(r crash.UpdatePolicy) {
	f.t.Helper()
	if r.QuietWeeks == 0 {
		r.QuietWeeks = crash.DefaultQuietWeeks
	}
	r.Person = "root"
	if err := bugs.New(f.db).SaveUpdatePolicy(f.t.Context(), r); err != nil {
		f.t.Fatal(err)
	}
}

// exec runs a statement on the database.
func (f *fixture) exec(sql string) {
	f.t.Helper()
	dbtest.Exec(f.t, f.url, sql)
}
