package kinds_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
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
	"mishap/tracker/issuetest"
	"mishap/tracker/kinds"
	"mishap/tracker/trackertest"
)

// several is an installation with three trackers. Routes lead "harbour…" to Bugzilla, and upstream bugs of "tidewatch"
// and "lantern" to two projects of GitLab. Everything else goes to Launchpad.
type several struct {
	t       *testing.T
	lp      *trackertest.Tracker
	bz, gl  *issuetest.Server
	db      *db.Store
	store   *bugs.Store
	members []tracker.Member
	filer   *tracker.Filer
	idle    *tracker.Filer // stores what people ask for, and sends nothing
	n       int
}

func newSeveral(t *testing.T, change ...func(*tracker.Config)) *several {
	t.Helper()
	h := &several{
		t: t, lp: trackertest.New(t), bz: issuetest.New(t, issuetest.Kinds["bugzilla"]()),
		gl: issuetest.New(t, issuetest.GitLab()), db: dbtest.New(t),
	}
	h.store = bugs.New(h.db)
	add := func(cfg tracker.Config, transport func(http.RoundTripper) http.RoundTripper) {
		cfg.BaseURL, cfg.Timeout, cfg.Settle = "https://mishap.example", patience, time.Millisecond
		cfg.Backoff, cfg.Pause, cfg.Log, cfg.Transport = time.Millisecond, time.Millisecond, dbtest.Log(t), transport
		for _, c := range change {
			c(&cfg)
		}
		h.members = append(h.members, tracker.Member{Config: cfg, Creds: tracker.NewCredentials(cfg, h.store)})
	}
	add(tracker.Config{
		Name: crash.FirstTracker, Title: "Launchpad", Kind: kinds.Launchpad, URL: h.lp.URL, APIURL: h.lp.APIURL,
		ConsumerKey: "mishap", Target: "ubuntu", Token: h.lp.Token("mishap"),
	}, h.lp.TimeOutHung)
	token := crash.AccessToken{Token: "mishap", Secret: "secret-of-mishap"}
	add(tracker.Config{
		Name: "harbour", Title: "Harbour", Kind: kinds.Named("bugzilla"), URL: h.bz.URL, APIURL: h.bz.URL + "/rest",
		Target: "sandbox/trial", Token: token,
	}, h.bz.TimeOutHung)
	add(tracker.Config{
		Name: "gnome", Title: "GNOME", Kind: kinds.Named("gitlab"), URL: h.gl.URL, APIURL: h.gl.URL + "/api/v4",
		Target: "gnome/{source}", Token: token, Upstream: true,
	}, h.gl.TimeOutHung)
	checktest.NoError(t, h.store.SaveRoutes(t.Context(), crash.Routes{
		{Package: "harbour*", Tracker: "harbour", Target: "Harbour Linux/tidewatch"},
		{Package: "tidewatch", Tracker: "gnome"}, {Package: "lantern", Tracker: "gnome", Target: "elsewhere/lantern"},
	}, "ada"))
	h.filer, h.idle = h.instance(h.members...), h.instance(h.members...)
	h.idle.Close(t.Context())
	return h
}

func (h *several) instance(members ...tracker.Member) *tracker.Filer {
	filer := tracker.NewFiler(h.members[0].Config, h.store, tracker.NewSites(h.store, members...))
	h.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
		cancel() // cancels calls that hang
		filer.Close(ctx)
	})
	return filer
}

// problem stores a report of a new problem of a source package.
func (h *several) problem(source string) (signature string) {
	h.t.Helper()
	h.n++
	signature = fmt.Sprintf("/usr/bin/%s:11:f%d", source, h.n)
	_, err := intake.New(intake.Config{MaxAgeDays: 3660}, h.db).Accept(h.t.Context(), crash.Report{
		ID: crash.NewOopsID(time.Now()), System: "machine", Fields: crashtest.Native(crashtest.Process(h.n),
			crashtest.Set("DuplicateSignature", signature), crashtest.Set("SourcePackage", source)).Fields(),
	})
	checktest.NoError(h.t, err)
	dbtest.Counted(h.t, h.db)
	return signature
}

var (
	distribution = tracker.Options{Person: "ines", Wait: patience}
	upstream     = tracker.Options{Person: "ines", Wait: patience, Upstream: true}
)

// create clicks on Create, and checks the code of the error, if any is wanted.
func (h *several) create(f *tracker.Filer, signature string, opts tracker.Options, code string) crash.Filing {
	h.t.Helper()
	r, err := f.CreateBug(h.t.Context(), signature, opts)
	h.wantCode(err, code)
	return r.Filing
}

func (h *several) wantCode(err error, code string) {
	h.t.Helper()
	got := ""
	if e, ok := err.(*crash.Error); ok { //nolint:errorlint // of this very type
		got = e.Code
	}
	if got != code || err != nil && got == "" {
		h.t.Fatalf("got %q, %v, want the code %q", got, err, code)
	}
}

// later lets the time pass for which filings wait.
func (h *several) later(sql string) {
	h.t.Helper()
	_, err := h.db.Pool.Exec(h.t.Context(), sql)
	checktest.NoError(h.t, err)
}

func (h *several) filing(id int64) crash.Filing {
	h.t.Helper()
	return dbtest.Must(h.store.Filing(h.t.Context(), id))(h.t)
}

// both returns the bugs of a problem: the distribution's and upstream's.
func (h *several) both(signature string) (distribution, upstream int64) {
	h.t.Helper()
	b := dbtest.Must(h.store.Bucket(h.t.Context(), crash.BucketIDOf(signature)))(h.t)
	number, _, err := h.store.Upstream(h.t.Context(), b.ID)
	checktest.NoError(h.t, err)
	return b.Bug.Number, number
}

// count returns how many bugs the trackers have.
func (h *several) count() [3]int {
	return [3]int{len(h.lp.Bugs()), len(h.bz.Issues()), len(h.gl.Issues())}
}

// TestRoutesLeadToTrackers files bugs that routes lead to three trackers and to two projects of one of them. Their
// numbers tell the places apart.
func TestRoutesLeadToTrackers(t *testing.T) {
	t.Parallel()
	h := newSeveral(t)
	tide, lantern, harbour := h.problem("tidewatch"), h.problem("lantern"), h.problem("harbour-sync")
	places := map[string]int64{}
	for _, c := range []struct {
		signature string
		opts      tracker.Options
		where     string
	}{
		{tide, distribution, "launchpad "}, {harbour, distribution, "harbour "}, {tide, upstream, "gnome gnome/tidewatch"},
		{lantern, upstream, "gnome elsewhere/lantern"}, {lantern, distribution, "launchpad "},
	} {
		f := h.create(h.filer, c.signature, c.opts, "")
		checktest.Equal(t, "place of "+c.signature, f.Tracker+" "+f.Project, c.where)
		if where := places[c.where]; where != 0 && crash.PlaceOf(where) != crash.PlaceOf(f.Bug) {
			t.Errorf("%s: got the places of %d and %d, want one", c.where, where, f.Bug)
		}
		places[c.where] = f.Bug
	}
	if crash.PlaceOf(places["launchpad "]) != 0 {
		t.Errorf("got Launchpad's bug %d, want it at place 0", places["launchpad "])
	}
	one, other := places["gnome gnome/tidewatch"], places["gnome elsewhere/lantern"]
	if crash.NumberInTracker(one) != 1 || crash.NumberInTracker(other) != 1 || one == other {
		t.Errorf("got %d and %d, want number 1 in two places", one, other)
	}
	checktest.Equal(t, "bugs", h.count(), [3]int{2, 1, 2})
	h.create(h.filer, harbour, upstream, "no_upstream")
	if got := h.bz.Issues()[0]; got.Project != "Harbour Linux" {
		t.Errorf("got the product %q, want that of the route", got.Project)
	}
}

// TestTrackersDoNotDelayEachOther files a bug while one tracker lets six searches and then a request hang, and
// another one cannot be reached.
func TestTrackersDoNotDelayEachOther(t *testing.T) {
	t.Parallel()
	h := newSeveral(t, func(c *tracker.Config) {
		switch c.Name {
		case "gnome":
			c.Transport = nil // it waits for answers that never come
		case "harbour":
			c.APIURL, c.Transport = "http://127.0.0.1:9/rest", nil // discard: nothing listens
		}
	})
	for range 6 {
		h.gl.Fail("create", issuetest.DropAfter)
		h.gl.Fail("me", issuetest.HangBefore)
		h.create(h.filer, h.problem("tidewatch"), tracker.Options{Person: "ines", Upstream: true}, "")
	}
	for hung := 0; hung < 4; { // as many as work at once
		select {
		case <-h.gl.Hung():
			hung++
		default:
			checktest.NoError(t, h.filer.StartDue(t.Context()))
		}
	}
	h.create(h.filer, h.problem("harbour-sync"), distribution, "tracker_unreachable")
	signature := h.problem("tidewatch")
	if f := h.create(h.filer, signature, distribution, ""); f.State != crash.FilingFiled {
		t.Errorf("got %s, want it filed while others hang", f.State)
	}
}

// TestLimitsOfATracker checks that a tracker gets no more bugs in a minute and in a day than its limits, which leave
// other trackers alone.
func TestLimitsOfATracker(t *testing.T) {
	t.Parallel()
	h := newSeveral(t, func(c *tracker.Config) {
		if c.Name == "harbour" {
			c.PerMinute, c.PerDay = 1, 2
		}
	})
	for i, want := range []string{"1 bug a minute", "2 bugs a day"} {
		h.create(h.filer, h.problem("harbour-sync"), distribution, "")
		if i == 1 {
			h.later(`update filing_attempts set started = started - interval '1 minute'`)
		}
		signature := h.problem("harbour-sync")
		f := h.create(h.filer, signature, distribution, "tracker_limit")
		if !strings.Contains(f.Reason, want) || !strings.Contains(f.Reason, "harbour") || !f.NotBefore.After(time.Now()) {
			t.Errorf("got the reason %q, not before %v, want %q and a later time", f.Reason, f.NotBefore, want)
		}
		h.create(h.filer, h.problem("tidewatch"), distribution, "")
		checktest.Equal(t, "bugs", len(h.bz.Issues()), 1+i)
		if i == 0 { // give it up, so that the limit of a day is next
			dbtest.Must(h.filer.GiveUp(t.Context(), f.ID, "ada", "enough"))(t)
			h.later(`update filing_attempts set started = started - interval '1 minute'`)
			continue
		}
		h.later(`update filing_attempts set started = started - interval '1 day'`)
		f = dbtest.Must(h.filer.Retry(t.Context(), f.ID, distribution))(t)
		checktest.Equal(t, "after a day", f.State, crash.FilingFiled)
	}
}

// TestBusyTracker checks that a tracker that asks to wait gets nothing at all for that time, and that others do.
func TestBusyTracker(t *testing.T) {
	t.Parallel()
	h := newSeveral(t)
	h.gl.Fail("create", issuetest.Busy)
	first, second := h.problem("tidewatch"), h.problem("lantern")
	f := h.create(h.filer, first, upstream, "tracker_busy")
	if wait := time.Until(f.NotBefore); wait < 50*time.Second {
		t.Errorf("got a wait of %v, want the minute that the tracker asked for", wait)
	}
	nowait := upstream
	nowait.Wait = 0
	other := h.create(h.filer, second, nowait, "")
	h.create(h.filer, second, distribution, "") // what the queue of GNOME does not keep
	checktest.NoError(t, h.filer.Work(t.Context(), other.ID))
	checktest.Equal(t, "state of the other project", h.filing(other.ID).State, crash.FilingQueued)
	checktest.Equal(t, "requests", len(h.gl.Requests("create")), 1)
	h.later(`update filing_queues set resumes = now(), rest = interval '0' where tracker = 'gnome'`)
	for _, id := range []int64{f.ID, other.ID} {
		got := dbtest.Must(h.filer.Retry(t.Context(), id, distribution))(t)
		checktest.Equal(t, "after the wait", got.State, crash.FilingFiled)
	}
	checktest.Equal(t, "bugs", h.count(), [3]int{1, 0, 2})
}

// TestRemovedTracker removes a tracker from the configuration. What is queued for it waits, and is filed when it is
// back.
func TestRemovedTracker(t *testing.T) {
	t.Parallel()
	h := newSeveral(t)
	signature := h.problem("tidewatch")
	without := h.instance(h.members[:2]...)
	nowait := upstream
	nowait.Wait = 0
	f := h.create(h.idle, signature, nowait, "")
	h.create(without, signature, upstream, "no_tracker")
	if got := h.filing(f.ID); got.State != crash.FilingQueued || !strings.Contains(got.Reason, "gnome") {
		t.Errorf("got %s (%s), want it queued, and the name of the tracker", got.State, got.Reason)
	}
	h.create(without, h.problem("tidewatch"), upstream, "no_tracker")
	got := dbtest.Must(h.filer.Retry(t.Context(), f.ID, distribution))(t)
	checktest.Equal(t, "with the tracker", got.State, crash.FilingFiled)
	checktest.Equal(t, "bugs", h.count(), [3]int{0, 0, 1})
	if address := without.BugURL(t.Context(), got.Bug); address != "" {
		t.Errorf("got the address %q of a bug of a removed tracker, want none", address)
	}
}

// TestDistributionAndUpstream merges two problems that wait for bugs of the distribution and of upstream, and links,
// unlinks, gives up, retries and reconciles one of them. The other one never changes.
func TestDistributionAndUpstream(t *testing.T) {
	t.Parallel()
	h := newSeveral(t)
	ctx := t.Context()
	one, two := h.problem("tidewatch"), h.problem("tidewatch")
	later, laterUpstream := tracker.Options{Person: "ines"}, tracker.Options{Person: "ines", Upstream: true}
	for _, signature := range []string{one, two} {
		h.create(h.idle, signature, later, "")
		h.create(h.idle, signature, laterUpstream, "")
	}
	_, err := db.NewDecisions(h.db).Merge(ctx, crash.BucketIDOf(one), []crash.BucketID{crash.BucketIDOf(two)}, "ada",
		"one fault")
	checktest.NoError(t, err)
	for _, signature := range []string{two, one} {
		h.create(h.filer, signature, distribution, "")
		h.create(h.filer, signature, upstream, "")
	}
	checktest.Equal(t, "bugs after the merge", h.count(), [3]int{1, 0, 1})
	theirs, ours := h.both(one)
	if crash.PlaceOf(theirs) != 0 || crash.PlaceOf(ours) == 0 {
		t.Fatalf("got the bugs %d and %d, want one of Launchpad and one of GNOME", theirs, ours)
	}

	checktest.NoError(t, h.store.UnlinkBug(ctx, crash.BucketIDOf(one), ours, "ada"))
	if d, u := h.both(one); d != theirs || u != 0 {
		t.Errorf("after unlinking upstream's: got %d and %d, want %d alone", d, u, theirs)
	}
	again := h.create(h.filer, one, upstream, "")
	if d, u := h.both(two); d != theirs || u != again.Bug || u == ours {
		t.Errorf("after filing upstream's again: got %d and %d, want %d and another one", d, u, theirs)
	}

	third := h.problem("tidewatch")
	own, up := h.create(h.idle, third, later, ""), h.create(h.idle, third, laterUpstream, "")
	dbtest.Must(h.filer.GiveUp(ctx, up.ID, "ada", "not yet"))(t)
	checktest.Equal(t, "distribution's, after giving up upstream's", h.filing(own.ID).State, crash.FilingQueued)
	up = dbtest.Must(h.idle.Retry(ctx, up.ID, later))(t)
	checktest.Equal(t, "retried", up.State, crash.FilingQueued)
	checktest.Equal(t, "tracker of the retry", up.Tracker, "gnome")
	dbtest.Must(h.store.LinkBug(ctx, crash.BucketIDOf(third), crash.Bug{Number: ours, By: "ada"}))(t)
	checktest.Equal(t, "upstream's, after linking it", h.filing(up.ID).State, crash.FilingFiled)
	checktest.Equal(t, "distribution's, after linking upstream's", h.filing(own.ID).State, crash.FilingQueued)

	fourth := h.problem("tidewatch")
	own, up = h.create(h.idle, fourth, later, ""), h.create(h.idle, fourth, laterUpstream, "")
	checktest.NoError(t, h.store.ReconcileBug(ctx, crash.BucketIDOf(fourth), crash.Bug{Number: ours, How: crash.Filed}))
	checktest.Equal(t, "upstream's, reconciled", h.filing(up.ID).Bug, ours)
	checktest.Equal(t, "distribution's, after reconciling upstream's", h.filing(own.ID).State, crash.FilingQueued)
	waitFor(t, h.filer, func() bool {
		for _, signature := range []string{third, fourth} {
			if number, _ := h.both(signature); number == 0 {
				return false
			}
		}
		return true
	})
	checktest.Equal(t, "bugs in the end", h.count(), [3]int{3, 0, 2})
}
