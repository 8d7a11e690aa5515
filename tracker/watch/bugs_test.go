package watch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/bugs"
	"mishap/tracker"
	"mishap/tracker/trackertest"
	"mishap/tracker/watch"
)

// everyRound makes a reader query everything in each round, without pauses.
var everyRound = watch.BugOptions{Pause: -1, Changes: time.Nanosecond, Again: time.Nanosecond, Retry: time.Nanosecond,
	Quiet: time.Nanosecond, Section: time.Nanosecond}

// reader returns a BugReader of an instance.
func (f *fixture) reader(i *instance, o watch.BugOptions) *watch.BugReader {
	return watch.NewBugReader(f.cfg, bugs.New(i.store), i.lp, o)
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
	f.wantState(signature, crash.StateUnread, "")
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
// next reading succeeds.
func TestReadingThroughFaults(t *testing.T) {
	t.Parallel()
	for _, op := range []trackertest.Operation{trackertest.OpBug, trackertest.OpTasks, trackertest.OpSearch,
		trackertest.OpMe} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			i := f.instance()
			signature := f.inVersion(1, "1.0-1")
			number := f.file(i, signature)
			round(t, f.reader(i, everyRound))
			statuses := []string{"Triaged", "Confirmed"}
			for n, fault := range trackertest.Faults() {
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
	first, second := f.instance(), f.instance()
	signature := f.inVersion(1, "1.0-1")
	f.file(first, signature)
	w := f.reader(first, everyRound)
	unlock, ok, err := second.store.LockBugs(t.Context())
	if err != nil || !ok {
		t.Fatalf("acquire the lock: got %t, %v", ok, err)
	}
	round(t, w)
	f.wantState(signature, crash.StateUnread, "")
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
	f.rule(crash.UpdateRule{Pattern: crash.EveryPackage, Again: true})
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
