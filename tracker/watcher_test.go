package tracker_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/db/bugs"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

// hasty makes a watcher ask about everything in each round, and never pause.
var hasty = tracker.WatchOptions{Pause: -1, Changes: time.Nanosecond, Again: time.Nanosecond, Retry: time.Nanosecond}

// watcher returns a watcher of a unit.
func (h *house) watcher(u *unit, o tracker.WatchOptions) *tracker.Watcher {
	return tracker.NewWatcher(h.cfg, bugs.New(u.store), u.lp, o)
}

// round runs one round that must not fail.
func round(t *testing.T, w *tracker.Watcher) {
	t.Helper()
	if err := w.Round(t.Context()); err != nil {
		t.Fatalf("round: %v", err)
	}
}

// file has a bug filed for a problem and returns its number.
func (h *house) file(u *unit, signature string) int64 {
	h.t.Helper()
	result, err := u.filer.CreateBug(h.t.Context(), signature, tracker.Options{Person: "ada", Wait: 10 * time.Second})
	if err != nil || result.State != crash.FilingFiled {
		h.t.Fatalf("file: got %+v, %v", result, err)
	}
	return result.Bug
}

// inVersion stores a report of the problem from a version of its package.
func (h *house) inVersion(n int, version string) string {
	h.t.Helper()
	h.process++
	return h.report(crashtest.Native(crashtest.Set("DuplicateSignature", problemSignature(n)), crashtest.Version(version), crashtest.Process(50_000+h.process), crashtest.At(time.Now().UTC())))
}

func (h *house) wantState(signature string, word crash.StateWord, status string) crash.Bucket {
	h.t.Helper()
	b := h.judged(signature)
	if got := b.Status; got.Word != word || got.Tracker != status {
		h.t.Errorf("state of bug %d: got %s, %s (%s); want %s, %s; known: %+v", b.Bug.Number, got.Word, got.Tracker, got.Text(), word, status, b.Bug.State)
	}
	return b
}

func TestStatesComeBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	u := h.unit()
	w := h.watcher(u, hasty)
	signature := h.inVersion(1, "1.0-1")
	number := h.file(u, signature)
	h.wantState(signature, crash.StateUnread, "")
	round(t, w)
	if task := h.wantState(signature, crash.StateOpen, "New").Bug.State.Tasks[0]; task.Assignee != "" || task.Milestone != "" || task.Importance != "Undecided" {
		t.Errorf("a new bug: got the task %+v, want it for nobody", task)
	}

	h.lp.Change(number, func(b *trackertest.Bug) {
		b.Title, b.Importance, b.Assignee, b.Milestone = "A better title", "High", "grace", "ubuntu-24.04.3"
	})
	round(t, w)
	b := h.wantState(signature, crash.StateOpen, "New")
	want := crash.BugTask{
		Target: "/ubuntu/+source/" + b.SourcePackage, Name: b.SourcePackage + " (Ubuntu)", Status: "New", Importance: "High",
		Assignee: "grace", Milestone: "ubuntu-24.04.3",
	}
	if got := b.Bug.State; len(got.Tasks) != 1 || got.Tasks[0] != want || b.Bug.Title != "A better title" || got.InformationType != "Public" {
		t.Errorf("details: got %q, %+v; want %+v", b.Bug.Title, got, want)
	}

	h.inVersion(2, "1.1-1") // another problem of the package, in a newer version: this one was seen today
	h.wantState(signature, crash.StateOpen, "New")
	h.lp.Change(number, func(b *trackertest.Bug) { b.Status = "Fix Released" })
	round(t, w)
	h.wantState(signature, crash.StateFixed, "Fix Released")
	h.inVersion(1, "1.1-1") // was known when the bug was closed
	h.wantState(signature, crash.StateFixed, "Fix Released")
	h.inVersion(1, "1.2-1")
	h.wantState(signature, crash.StateRegression, "Fix Released")

	h.lp.Change(number, func(b *trackertest.Bug) { b.Janitor("1.3-1", "noble") })
	round(t, w)
	h.wantState(signature, crash.StateFixed, "Fix Released")
	h.inVersion(1, "1.10-1")
	h.wantState(signature, crash.StateRegression, "Fix Released")

	h.lp.Change(number, func(b *trackertest.Bug) { b.Series = []trackertest.SeriesTask{{Series: "noble", Status: "Triaged"}} })
	round(t, w)
	h.wantState(signature, crash.StateOpen, "Triaged")
	h.lp.Change(number, func(b *trackertest.Bug) { b.Series[0].Status, b.Status = "Won't Fix", "Won't Fix" })
	round(t, w)
	h.wantState(signature, crash.StateClosed, "Won't Fix")
}

func TestWordsOfOthersNameNoFix(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	u := h.unit()
	w := h.watcher(u, hasty)
	signature := h.inVersion(1, "1.0-1")
	number := h.file(u, signature)
	h.lp.Change(number, func(b *trackertest.Bug) {
		b.Janitor("0.1", "noble")
		b.Messages[0].Owner = "mallory"
	})
	round(t, w)
	if b := h.wantState(signature, crash.StateFixed, "Fix Released"); len(b.Bug.State.Fixes) != 0 {
		t.Errorf("got the fixes %+v, want none: the message is not the tracker's own", b.Bug.State.Fixes)
	}
}

func TestDuplicatesAndPrivateBugs(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	u := h.unit()
	w := h.watcher(u, hasty)
	signature := h.inVersion(1, "1.0-1")
	number := h.file(u, signature)
	master := h.lp.Add(trackertest.Bug{Title: "The first of them", Package: h.bucket(signature).SourcePackage, Status: "Fix Released"})
	h.lp.Change(number, func(b *trackertest.Bug) { b.DuplicateOf = master })
	round(t, w) // reads the duplicate
	round(t, w) // reads the master, which is known by now
	b := h.wantState(signature, crash.StateFixed, "Fix Released")
	if b.Bug.Number != number || b.Bug.State.DuplicateOf != master || b.Bug.Master == nil || b.Bug.Master.Title != "The first of them" ||
		b.Bug.MasterURL != fmt.Sprintf("%s/bugs/%d", h.lp.URL, master) {
		t.Errorf("a duplicate: got %+v, want its master %d beside it", b.Bug, master)
	}

	h.lp.Change(master, func(b *trackertest.Bug) { b.InformationType = "Private" })
	round(t, w)
	if b := h.wantState(signature, crash.StatePrivate, ""); b.Bug.Master.Title != "" {
		t.Errorf("a private master: got its title %q, want none", b.Bug.Master.Title)
	}
	h.lp.Change(number, func(b *trackertest.Bug) { b.DuplicateOf, b.InformationType = 0, "Private Security" })
	round(t, w)
	if b := h.wantState(signature, crash.StatePrivate, ""); b.Bug.Title != "" {
		t.Errorf("private: got the title %q, want none", b.Bug.Title)
	}
	h.lp.Change(number, func(b *trackertest.Bug) { b.InformationType, b.DuplicateOf = "Public", 0 })
	round(t, w)
	if b := h.wantState(signature, crash.StateOpen, "New"); b.Bug.Title == "" || b.Bug.Master != nil {
		t.Errorf("public again: got %+v, want its title and no master", b.Bug)
	}
}

// What goes wrong while a bug is read never changes what is known, and passes.
func TestReadingThroughFaults(t *testing.T) {
	t.Parallel()
	for _, op := range []trackertest.Operation{trackertest.OpBug, trackertest.OpTasks, trackertest.OpSearch, trackertest.OpMe} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			u := h.unit()
			signature := h.inVersion(1, "1.0-1")
			number := h.file(u, signature)
			round(t, h.watcher(u, hasty))
			statuses := []string{"Triaged", "Confirmed"}
			for i, fault := range trackertest.Faults() {
				if fault == trackertest.NotFound404 { // says that the bug is gone, which is believed until the next reading
					continue
				}
				h.lp.Change(number, func(b *trackertest.Bug) { b.Status = statuses[i%2] })
				h.lp.Fail(op, fault)
				round(t, h.watcher(u, hasty))
				if b := h.bucket(signature); b.Bug.State.Hidden || len(b.Bug.State.Tasks) != 1 {
					t.Errorf("%s: got %+v, want what was known", fault, b.Bug.State)
				}
				token := h.lp.Token(consumer) // one that is not held for dead
				fresh := h.unit(func(c *tracker.Config) { c.Token = token })
				h.lp.ClearFaults()
				h.exec(`update bug_states set next_read = now()`)
				round(t, h.watcher(fresh, hasty))
				h.wantState(signature, crash.StateOpen, statuses[i%2])
				if b := h.bucket(signature); b.Bug.State.Failures != 0 {
					t.Errorf("%s: got %d failures after a good reading, want 0", fault, b.Bug.State.Failures)
				}
			}
		})
	}
}

func TestOneReadsAtATime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first, second := h.unit(), h.unit()
	for n := range 5 {
		h.file(first, h.problem(n))
	}
	h.lp.FailWith(trackertest.FaultSpec{Operation: trackertest.OpBug, Fault: trackertest.Slow, Times: 100, Delay: 2 * time.Millisecond})
	before := len(h.lp.Requests(trackertest.OpBug))
	options := hasty
	options.Again = time.Hour
	var group sync.WaitGroup
	for _, u := range []*unit{first, second} {
		w := h.watcher(u, options)
		group.Go(func() {
			for range 4 {
				if err := w.Round(t.Context()); err != nil {
					t.Errorf("round: %v", err)
				}
			}
		})
	}
	group.Wait()
	// Changes are asked for with an overlap, so bugs that were just filed may be read again, but by one unit at a time.
	if totals, err := bugs.New(h.db).BugTotals(t.Context()); err != nil || totals.Followed != 5 || totals.Failing != 0 || totals.Oldest.IsZero() {
		t.Errorf("got %+v, %v; want 5 bugs, all read", totals, err)
	}
	if got := len(h.lp.Requests(trackertest.OpBug)) - before; got < 5 {
		t.Errorf("got %d readings, want at least 5", got)
	}
	end, ok, err := first.store.LockBugs(t.Context())
	if err != nil || !ok {
		t.Fatalf("take the turn: got %t, %v", ok, err)
	}
	if _, ok, err := second.store.LockBugs(t.Context()); ok || err != nil {
		t.Errorf("while another unit has the turn: got %t, %v; want false", ok, err)
	}
	end()
	if end, ok, err = second.store.LockBugs(t.Context()); !ok || err != nil {
		t.Errorf("after the turn: got %t, %v; want true", ok, err)
	} else {
		end()
	}
}

func TestWordGoesOut(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	u := h.unit()
	w := h.watcher(u, hasty)
	signature := h.inVersion(1, "1.0-1")
	number := h.file(u, signature)
	h.lp.Change(number, func(b *trackertest.Bug) { b.Janitor("1.1-1", "noble") })
	round(t, w)
	h.inVersion(1, "1.1-1")
	h.wantState(signature, crash.StateRegression, "Fix Released")
	said := func() []string {
		var out []string
		for _, m := range h.lp.Bugs()[0].Messages {
			if m.Owner != trackertest.Janitor {
				out = append(out, m.Content)
			}
		}
		return out
	}
	round(t, w)
	if got := said(); len(got) != 0 {
		t.Fatalf("switched off: got %q, want nothing said", got)
	}
	if err := bugs.New(u.store).SetComments(t.Context(), true, "root"); err != nil {
		t.Fatal(err)
	}
	silent := hasty
	silent.Silent = true
	round(t, h.watcher(u, silent))
	if got := said(); len(got) != 0 {
		t.Fatalf("a unit that must not write: got %q, want nothing said", got)
	}
	for range 3 {
		round(t, w)
	}
	got := said()
	if len(got) != 1 || !strings.Contains(got[0], "1.1-1") || !strings.Contains(got[0], "https://mishap.example"+h.bucket(signature).ID.Path()) {
		t.Fatalf("switched on: got %q, want one message with version and address", got)
	}

	h.inVersion(1, "1.2-1")
	h.lp.Fail(trackertest.OpComment, trackertest.DropAfter) // nobody can tell that it was added
	for range 3 {
		round(t, h.watcher(u, hasty))
	}
	if got := said(); len(got) != 2 {
		t.Errorf("after an unknown outcome: got %d messages, want the one of 1.1-1 and one of 1.2-1", len(got))
	}
	h.inVersion(1, "1.3-1")
	h.lp.Fail(trackertest.OpComment, trackertest.TooMany429) // certainly not added
	for range 3 {
		round(t, h.watcher(u, hasty))
	}
	if got := said(); len(got) != 3 || !strings.Contains(got[2], "1.3-1") {
		t.Errorf("after a refusal for now: got %q, want it said once later", got)
	}
}
