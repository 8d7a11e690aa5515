package tracker_test

import (
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

const patience = timeout // longer than any expected event takes

func TestCreateBug(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance()
	signature := h.problem(1)
	opts := tracker.Options{Person: "ines", Wait: patience}
	first, err := u.filer.CreateBug(t.Context(), signature, opts)
	if err != nil || first.State != crash.FilingFiled || !first.New || first.Bug == 0 {
		t.Fatalf("got %+v, %v, want it filed", first, err)
	}
	if want := h.lp.URL + "/bugs/2100001"; first.URL != want {
		t.Errorf("got address %s, want %s", first.URL, want)
	}
	again, err := u.filer.CreateBug(t.Context(), signature, opts)
	if err != nil || again.New || again.Bug != first.Bug || again.URL != first.URL || again.State != crash.FilingFiled {
		t.Errorf("second time: got %+v, %v, want the same bug, not new", again, err)
	}
	h.wantOneBug(signature)
	b := h.bucket(signature)
	if b.Bug.How != crash.Filed || b.Bug.By != "ines" || b.Bug.URL != first.URL || b.Bug.Title == "" {
		t.Errorf("got bug %+v", b.Bug)
	}
	if got, err := bugs.New(h.db).BucketsOfBug(t.Context(), first.Bug); err != nil || len(got) != 1 || got[0].ID != b.ID {
		t.Errorf("bucket of the bug: got %d buckets, %v, want %v", len(got), err, b.ID)
	}
	if _, err := bugs.New(h.db).BucketsOfBug(t.Context(), 1); crash.KindOf(err) != crash.NotFound {
		t.Errorf("bucket of an unknown bug: got %v, want NotFound", err)
	}
}

// TestFiftyClicks has fifty people in three instances click at once. They must all get the number
// of the same bug.
func TestFiftyClicks(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	signature := h.problem(1)
	h.lp.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.Slow,
		Delay: 150 * time.Millisecond})
	instances := []*instance{h.instance(), h.instance(), h.instance()}
	var (
		people  sync.WaitGroup
		mu      sync.Mutex
		numbers = map[int64]int{}
		isNew   int
	)
	for i := range 50 {
		people.Go(func() {
			r, err := instances[i%3].filer.CreateBug(t.Context(), signature, tracker.Options{Person: "ines", Wait: patience})
			if err != nil || r.State != crash.FilingFiled {
				t.Errorf("got %+v, %v, want it filed", r.Filing, err)
			}
			mu.Lock()
			defer mu.Unlock()
			numbers[r.Bug]++
			if r.New {
				isNew++
			}
		})
	}
	people.Wait()
	if len(numbers) != 1 || isNew != 1 {
		t.Errorf("got numbers %v, %d of them new, want one number, new once", numbers, isNew)
	}
	h.wantOneBug(signature)
	if got := len(h.lp.Requests(trackertest.OpCreate)); got != 1 {
		t.Errorf("got %d requests to create, want 1", got)
	}
}

func TestCannotBeFiled(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance()
	native := h.problem(1)
	sourceless := h.report(crashtest.Native(crashtest.Without("SourcePackage"), crashtest.Set("DuplicateSignature",
		"no source"), crashtest.Process(2)))
	failed := h.report(crashtest.Native(crashtest.Set("DuplicateSignature", "failed:/usr/bin/tidewatch:11"),
		crashtest.Process(3)))
	tests := []struct {
		name, signature string
		opts            tracker.Options
		kind            crash.Kind
		code            string
	}{
		{"no such bucket", "nothing like it", tracker.Options{}, crash.NotFound, "unknown_bucket"},
		{"no source package", sourceless, tracker.Options{}, crash.Unprocessable, "cannot_be_filed"},
		{"retrace failed", failed, tracker.Options{}, crash.Unprocessable, "cannot_be_filed"},
		{"retrace failed, on the distribution", failed, tracker.Options{Distribution: true}, crash.Unprocessable,
			"cannot_be_filed"},
		{"impossible source package", native, tracker.Options{Source: "../../~mallory"}, crash.Unprocessable,
			"bad_source_package"},
		{"blank in source package", native, tracker.Options{Source: "tide watch"}, crash.Unprocessable, "bad_source_package"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := u.filer.CreateBug(t.Context(), tt.signature, tt.opts)
			if crash.KindOf(err) != tt.kind || codeOf(err) != tt.code {
				t.Errorf("got %v (kind %v, code %s), want kind %v, code %s", err, crash.KindOf(err), codeOf(err), tt.kind, tt.code)
			}
		})
	}
	if got := len(h.lp.Requests("")); got != 0 {
		t.Errorf("got %d requests to the tracker, want none", got)
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance()
	sourceless := h.report(crashtest.Native(crashtest.Without("SourcePackage"), crashtest.Set("DuplicateSignature",
		"no source"), crashtest.Process(2)))
	for signature, opts := range map[string]tracker.Options{
		h.problem(1): {Wait: patience}, h.problem(2): {Source: "libstdc++6", Distribution: true, Wait: patience},
		sourceless: {Distribution: true, Wait: patience},
	} {
		if _, err := u.filer.CreateBug(t.Context(), signature, opts); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]bool{}
	for _, b := range h.lp.Bugs() {
		got[b.Distribution+" "+b.Package] = true
	}
	if len(got) != 3 || !got["ubuntu tidewatch"] || !got["ubuntu libstdc++6"] || !got["ubuntu "] {
		t.Errorf("got targets %v, want ubuntu's tidewatch, libstdc++6 and ubuntu itself", got)
	}
}

// TestRefusal checks that a refusal stores the tracker's text, and that a retry sends new contents.
func TestRefusal(t *testing.T) {
	t.Parallel()
	h := newFixture(t, trackertest.Options{Packages: []string{"harbor"}})
	u := h.instance()
	signature := h.problem(1)
	opts := tracker.Options{Person: "ines", Wait: patience}
	for range 2 {
		_, err := u.filer.CreateBug(t.Context(), signature, opts)
		if crash.KindOf(err) != crash.Refused || !strings.Contains(err.Error(), `No such object "`+h.lp.APIURL+
			`/ubuntu/+source/tidewatch"`) {
			t.Errorf("got %v, want the tracker's text", err)
		}
	}
	if b := h.bucket(signature); b.Filing.State != crash.FilingRefused || b.Filing.Attempts != 2 || b.Filing.Reason == "" {
		t.Errorf("got %+v, want two refusals", b.Filing)
	}
	opts.Source = "harbor"
	if r, err := u.filer.CreateBug(t.Context(), signature, opts); err != nil || r.State != crash.FilingFiled || !r.New {
		t.Errorf("with another package: got %+v, %v, want it filed", r, err)
	}
	h.wantOneBug(signature)
}

// TestConcurrentRetriesRenewOnce has many people retry a refused filing at once. It is renewed
// once.
func TestConcurrentRetriesRenewOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t, trackertest.Options{Packages: []string{"harbor"}})
	signature := h.problem(1)
	b := h.bucket(signature)
	_, _ = h.instance().filer.CreateBug(t.Context(), signature, tracker.Options{Wait: patience})
	seen := h.bucket(signature).Filing
	intent := crash.Intent{Bucket: b.ID, Target: "/ubuntu/+source/harbor", Title: "t", Description: "d", Marker: "m"}
	stored := 0
	for range 5 {
		f, ok, err := bugs.New(h.db).RequestFiling(t.Context(), intent, seen)
		if err != nil || f.State != crash.FilingQueued {
			t.Fatalf("got %+v, %v, want it queued", f, err)
		}
		if ok {
			stored++
		}
	}
	if stored != 1 {
		t.Errorf("got %d renewals, want 1", stored)
	}
}

// TestUnreachable checks that an unreachable tracker causes no search and no loss: the bug is filed
// later.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	away := h.instance(func(c *tracker.Config) { c.APIURL = crashtest.NobodyListens + "/devel" })
	signature := h.problem(1)
	_, err := away.filer.CreateBug(t.Context(), signature, tracker.Options{Person: "ines", Wait: patience})
	if crash.KindOf(err) != crash.Unavailable || codeOf(err) != "tracker_unreachable" {
		t.Errorf("got %v, want tracker_unreachable", err)
	}
	// The next attempt may be in progress; it fails like the first.
	h.until("it is queued", nil, func() bool {
		f := h.bucket(signature).Filing
		return f.State == crash.FilingQueued && f.Problem == "tracker_unreachable"
	})
	back := h.instance()
	h.until("the bug is filed", []*instance{back},
		func() bool { return h.bucket(signature).Filing.State == crash.FilingFiled })
	h.wantOneBug(signature)
	if got := len(h.lp.Requests(trackertest.OpSearch)); got != 0 {
		t.Errorf("got %d searches, want none", got)
	}
}

// TestUncertainIsNotSentAgain checks that nothing is sent again while the outcome is unknown,
// however often people click. The state stays "filing".
func TestUncertainIsNotSentAgain(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	u := h.instance(func(c *tracker.Config) { c.Settle = time.Hour })
	signature := h.problem(1)
	h.lp.Fail(trackertest.OpCreate, trackertest.DropAfter)
	for range 5 {
		r, err := u.filer.CreateBug(t.Context(), signature, tracker.Options{Wait: patience})
		if err != nil || r.State != crash.FilingUncertain || r.URL != "" {
			t.Errorf("got %+v, %v, want it uncertain", r.Filing, err)
		}
		if err := u.filer.StartDue(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if f := h.bucket(signature).Filing; f.Reason == "" || time.Until(f.NotBefore) < 50*time.Minute {
		t.Errorf("got %+v, want a reason and a search in an hour", f)
	}
	if creates, searches := len(h.lp.Requests(trackertest.OpCreate)),
		len(h.lp.Requests(trackertest.OpSearch)); creates != 1 || searches != 0 {
		t.Errorf("got %d creates and %d searches, want 1 and 0", creates, searches)
	}
}

// TestLinkedByHand checks that a bug linked by hand is returned instead of filing one.
func TestLinkedByHand(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	signature := h.problem(1)
	id := crash.BucketIDOf(signature)
	h.exec(`insert into bugs (number, title, url) values (77, '', 'x')`)
	h.exec(`insert into bucket_bugs (bucket_id, bug_number, how, person, at) values ('\x` + id.String() +
		`', 77, 'linked', 'theo', now())`)
	r, err := h.instance().filer.CreateBug(t.Context(), signature, tracker.Options{Wait: patience})
	if err != nil || r.Bug != 77 || r.State != crash.FilingFiled || r.New || r.URL != h.lp.URL+"/bugs/77" {
		t.Errorf("got %+v, %v, want bug 77", r, err)
	}
	if got := len(h.lp.Requests("")); got != 0 {
		t.Errorf("got %d requests, want none", got)
	}
}
