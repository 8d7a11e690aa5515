package main

import (
	"fmt"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/db/people"
	"mishap/tracker/trackertest"
)

// TestReconcile checks that bugs missing from a restored database are found and linked. Repeating
// it changes nothing.
func TestReconcile(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	const me = "practice-person"
	marked := func(id crash.BucketID) string { return "It crashed.\n\nhttp://localhost:8080" + id.Path() + "\n" }
	for i := range 301 { // more than one page of the tracker
		p.tracker.Add(trackertest.Bug{Title: fmt.Sprintf("by hand %d", i), Description: "nothing of ours", Reporter: me,
			Package: "tidewatch"})
	}
	lost := p.tracker.Add(trackertest.Bug{Title: "tidewatch crashed", Description: marked(p.bucket), Reporter: me,
		Package: "tidewatch", Status: "Invalid", DuplicateOf: 2100001})
	foreign := p.tracker.Add(trackertest.Bug{Title: "elsewhere", Description: marked(crash.BucketIDOf("not here")),
		Reporter: me})
	other := p.tracker.Add(trackertest.Bug{Title: "copied", Description: marked(p.bucket), Reporter: "someone-else"})
	// The intent is known, but not what became of it.
	filing, _, err := bugs.New(p.store).RequestFiling(t.Context(), crash.Intent{Bucket: p.bucket, Target: "/ubuntu",
		Title: "t", Description: "d", Marker: "m"}, crash.Filing{})
	if err != nil {
		t.Fatal(err)
	}

	reconcile := func(args ...string) string {
		t.Helper()
		status, out, stderr := runIn(t.Context(), nil, p.environ, append([]string{"filings", "reconcile", noConfig(t)},
			args...)...)
		if status != exitOK {
			t.Fatalf("got status %d: %s", status, stderr)
		}
		return out
	}
	line := func(out string, number int64) string {
		for l := range strings.SplitSeq(out, "\n") {
			if strings.HasPrefix(l, fmt.Sprint(number)+" ") {
				return l
			}
		}
		return ""
	}
	for range 2 { // listing changes nothing
		out := reconcile()
		if l := line(out, lost); !strings.Contains(l, "can be linked") || !strings.Contains(l, p.bucket.String()) {
			t.Errorf("the lost bug: got %q, want an offer to link it", l)
		}
		if l := line(out, foreign); !strings.Contains(l, "not in the database") {
			t.Errorf("a bug of another problem: got %q", l)
		}
		if line(out, other) != "" || !strings.Contains(out, "1 can be linked; --apply does it.") ||
			strings.Count(out, "names no problem") != 301 {
			t.Errorf("got %s", out)
		}
	}
	if l := line(reconcile("--apply"), lost); !strings.Contains(l, "linked") || strings.Contains(l, "can be") {
		t.Errorf("with --apply: got %q, want it linked", l)
	}
	b, err := p.store.Bucket(t.Context(), p.bucket)
	if err != nil || b.Bug.Number != lost || b.Bug.How != crash.Filed || b.Filing.State != crash.FilingFiled ||
		b.Filing.ID != filing.ID {
		t.Errorf("got %+v, %+v, %v, want bug %d as outcome of the filing", b.Bug, b.Filing, err, lost)
	}
	if out := reconcile("--apply"); line(out, lost) != "" || strings.Contains(out, "linked") {
		t.Errorf("again: got %s, want nothing to link", out)
	}
	entries, err := bugs.New(p.store).Ledger(t.Context(), crash.LedgerFilter{Bucket: p.bucket, Limit: 1})
	if err != nil || len(entries) != 1 || entries[0].Lines[len(entries[0].Lines)-1].Action != "bug.reconciled" {
		t.Errorf("ledger: got %+v, %v, want a line about the reconciliation", entries, err)
	}
}

func TestReconcileCannot(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	p.tracker.Fail(trackertest.OpSearch, trackertest.Offline503)
	status, _, stderr := runIn(t.Context(), nil, p.environ, "filings", "reconcile", noConfig(t))
	if status != exitFailed || !strings.Contains(stderr, "no usable answer") && !strings.Contains(stderr, "is busy") {
		t.Errorf("got status %d and %q, want a message", status, stderr)
	}
	if status, _, _ := runIn(t.Context(), nil, p.environ, "filings", noConfig(t)); status != exitUsage {
		t.Errorf("filings alone: got status %d, want %d", status, exitUsage)
	}
}

func TestTrackerName(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	run := func(want int, args ...string) string {
		t.Helper()
		status, out, stderr := runIn(t.Context(), nil, p.environ, append([]string{"user", "tracker-name", noConfig(t)},
			args...)...)
		if status != want {
			t.Fatalf("%v: got status %d, want %d: %s", args, status, want, stderr)
		}
		return out + stderr
	}
	name := func() string {
		t.Helper()
		u, err := people.New(p.store).ByName(t.Context(), "tess")
		if err != nil {
			t.Fatal(err)
		}
		return u.TrackerName
	}
	if out := run(exitOK, "tess", "~tess-lp"); !strings.Contains(out, "tess is tess-lp") || name() != "tess-lp" {
		t.Errorf("got %q, saved %q, want tess-lp", out, name())
	}
	if out := run(exitFailed, "tess", "Not A Name"); !strings.Contains(out, "not a valid account name") ||
		name() != "tess-lp" {
		t.Errorf("got %q, saved %q, want a refusal", out, name())
	}
	if out := run(exitFailed, "nobody", "tess-lp"); !strings.Contains(out, "nobody") {
		t.Errorf("unknown account: got %q", out)
	}
	if run(exitOK, "tess"); name() != "" {
		t.Errorf("after removing: got %q, want none", name())
	}
	run(exitUsage)
}
