package watch_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker"
	"mishap/tracker/issuetest"
	"mishap/tracker/kinds"
	"mishap/tracker/watch"
)

// several is a database and practice trackers with several projects.
type several struct {
	*fixture
	now      time.Time
	practice map[string]*issuetest.Server // by name
	members  []tracker.Member
	store    *bugs.Store
	sites    *tracker.Sites
}

// newSeveral returns trackers with the names of their kinds. Those in upstreams are for bugs of upstream projects.
func newSeveral(t *testing.T, names []string, upstreams ...string) *several {
	t.Helper()
	f := newFixture(t)
	s := &several{fixture: f, now: time.Now(), practice: map[string]*issuetest.Server{}, store: bugs.New(f.db)}
	f.cfg.Now = func() time.Time { return s.now }
	for _, name := range slices.Concat(names, upstreams) {
		kind, server := kinds.Named(name), issuetest.New(t, issuetest.Kinds[name]())
		cfg := f.cfg
		cfg.Name, cfg.Title, cfg.Kind, cfg.ConsumerKey, cfg.Target = name, kind.Title, kind, name, "sandbox/trial"
		cfg.URL, cfg.APIURL, cfg.Mail, cfg.Transport = server.URL, kind.API(server.URL), server.Mailer(), server.TimeOutHung
		cfg.Upstream = slices.Contains(upstreams, name)
		cfg.Token = crash.AccessToken{Token: "mishap@example.org", Secret: "secret-of-mishap"}
		s.practice[name] = server
		s.members = append(s.members, tracker.Member{Config: cfg, Creds: tracker.NewCredentials(cfg, s.store)})
	}
	s.sites = tracker.NewSites(s.store, s.members...)
	return s
}

func (s *several) reader(o watch.BugOptions) *watch.BugReader {
	return watch.NewBugReader(s.cfg, s.store, s.sites, o)
}

func (s *several) site(name, project string) *tracker.Site {
	s.t.Helper()
	return dbtest.Must(s.sites.At(s.t.Context(), name, project))(s.t)
}

// link links an issue that a person filed to the n-th problem.
func (s *several) link(name, project string, n int) int64 {
	s.t.Helper()
	return s.linkIssue(name, project, n, crash.Intent{Title: "It fell over", Description: "By hand."}, "ada")
}

// linkIssue does the same with the issue of an intent. An empty person is that of an import.
func (s *several) linkIssue(name, project string, n int, in crash.Intent, person string) int64 {
	s.t.Helper()
	site := s.site(name, project)
	in.Target = cmp.Or(in.Target, site.Target)
	number, err := site.Tracker.Create(s.t.Context(), in, timeout)
	if name == "debian" { // it says nothing about the number
		issues := s.practice[name].Issues()
		number, err = crash.NumberAt(site.Place(), issues[len(issues)-1].Number), nil
	}
	checktest.NoError(s.t, err)
	bug := crash.Bug{Number: number, URL: site.Tracker.BugURL(number), By: person}
	dbtest.Must(s.store.LinkBug(s.t.Context(), s.problem(n), bug))(s.t)
	return number
}

// problem returns the n-th problem, with another report.
func (s *several) problem(n int) crash.BucketID {
	return crash.BucketIDOf(s.inVersion(n, "1.0-1"))
}

// wantRead checks whether the bugs have been read.
func (s *several) wantRead(read bool, numbers ...int64) {
	s.t.Helper()
	for _, number := range numbers {
		states, err := s.store.BugStates(s.t.Context(), []int64{number})
		if err != nil || (len(states) > 0) != read {
			s.t.Errorf("bug %s: got the states %+v, %v, want read %v", crash.BugText(number), states, err, read)
		}
	}
}

// operations returns how many requests of an operation a tracker got.
func (s *several) operations(name, operation string) int {
	return len(s.practice[name].Requests(operation))
}

// TestHangingTracker lets one tracker hang whose projects come before and after the others. These are read in the same
// round.
func TestHangingTracker(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, []string{"gitlab", "forgejo", "github"})
	hanging := []int64{s.link("gitlab", "sandbox/first", 1)}
	others := []int64{s.link("forgejo", "sandbox/trial", 2), s.link("github", "sandbox/trial", 3)}
	for n := range 4 {
		hanging = append(hanging, s.link("gitlab", fmt.Sprintf("sandbox/p%d", n), 4+n))
	}
	w := s.reader(watch.BugOptions{Pause: -1})
	hang := s.practice["gitlab"]
	hang.Fail("read", slices.Repeat([]issuetest.Fault{issuetest.HangBefore}, 3)...)
	round(t, w)
	s.wantRead(false, hanging...)
	s.wantRead(true, others...)
	if got := len(hang.Requests("read")); got != 3 {
		t.Errorf("got %d readings in the tracker that hangs, want 3", got)
	}
	round(t, w) // the pause has not ended
	s.wantRead(false, hanging...)

	s.now = s.now.Add(2 * time.Minute) // it is asked for changes first
	checktest.NoError(t, s.store.ReadBugsNow(t.Context(), slices.Concat(hanging, others)))
	hang.Fail("me", issuetest.HangBefore)
	forgejo := len(s.practice["forgejo"].Requests("read"))
	round(t, w)
	round(t, w)
	s.wantRead(false, hanging...)
	if got := len(s.practice["forgejo"].Requests("read")) - forgejo; got != 1 {
		t.Errorf("got %d readings in the other tracker, want 1", got)
	}
	s.now = s.now.Add(time.Hour)
	round(t, w)
	s.wantRead(true, hanging...)
}

// TestPausesGrow lets two trackers hang, so that the pause of each ends while the other one hangs.
func TestPausesGrow(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, []string{"gitlab", "forgejo"})
	for _, name := range []string{"gitlab", "forgejo"} {
		for i, project := range []string{"sandbox/trial", "sandbox/second"} {
			s.link(name, project, i)
		}
		s.practice[name].Fail("read", slices.Repeat([]issuetest.Fault{issuetest.Busy}, 100)...)
	}
	s.cfg.Now = func() time.Time { // each look at the clock takes longer than the first pause
		s.now = s.now.Add(10 * time.Second)
		return s.now
	}
	for i := range s.members {
		s.members[i].Now = s.cfg.Now
	}
	s.sites = tracker.NewSites(s.store, s.members...)
	w := s.reader(watch.BugOptions{Pause: -1, Changes: 24 * time.Hour})
	for n := range 12 {
		before := s.operations("gitlab", "read")
		round(t, w)
		if got := s.operations("gitlab", "read") - before; got > 1 {
			t.Errorf("round %d: got %d calls of a tracker that fails, want at most 1", n, got)
		}
	}
	if got := s.operations("gitlab", "read"); got > 10 {
		t.Errorf("got %d calls in 12 rounds, want fewer, since pauses grow", got)
	}
}

// TestManyPlaces has more projects than a tracker is asked about in a minute.
func TestManyPlaces(t *testing.T) {
	t.Parallel()
	const places = 25
	s := newSeveral(t, []string{"gitlab"})
	for n := range places {
		s.site("gitlab", fmt.Sprintf("sandbox/p%d", n))
	}
	w := s.reader(watch.BugOptions{Pause: -1})
	round(t, w) // nothing was read before, so nothing can have changed
	if got := s.operations("gitlab", "list"); got != 0 {
		t.Errorf("got %d lists in the first round, want none", got)
	}
	asked := map[string]int{}
	for minute := range 9 {
		s.now = s.now.Add(time.Minute)
		before := len(s.practice["gitlab"].Requests("list"))
		for range 4 { // rounds within the minute
			round(t, w)
			s.now = s.now.Add(time.Millisecond)
		}
		lists := s.practice["gitlab"].Requests("list")[before:]
		if len(lists) > 10 {
			t.Errorf("minute %d: got %d lists, want at most 10", minute, len(lists))
		}
		for _, r := range lists {
			asked[r.Path]++
		}
	}
	if len(asked) != places {
		t.Errorf("got lists of %d projects, want of all %d", len(asked), places)
	}
	for path, n := range asked {
		if n < 2 || n > 3 {
			t.Errorf("%s: got %d lists in nine minutes, want one in three minutes", path, n)
		}
	}
	again := s.reader(watch.BugOptions{Pause: -1}) // another instance takes over
	before := s.operations("gitlab", "list")
	round(t, again)
	if got := s.operations("gitlab", "list") - before; got > 10 {
		t.Errorf("another instance: got %d lists, want at most 10", got)
	}
}

// TestFailingProject lets the list of one project fail always. The other projects are read all the same.
func TestFailingProject(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, []string{"gitlab"})
	s.link("gitlab", "sandbox/trial", 1)
	second := s.link("gitlab", "sandbox/second", 2)
	w := s.reader(watch.BugOptions{Pause: -1, Again: 24 * time.Hour})
	round(t, w)
	s.now = s.now.Add(2 * time.Minute)
	s.practice["gitlab"].Fail("list", issuetest.ErrorBefore)
	round(t, w)
	closeIt := func(i *issuetest.Issue) { i.Closed = true }
	s.practice["gitlab"].Change("sandbox/second", crash.NumberInTracker(second), closeIt)
	s.now = s.now.Add(30 * time.Second)
	round(t, w)
	states := dbtest.Must(s.store.BugStates(t.Context(), []int64{second}))(t)
	if len(states) != 1 || states[0].Tasks[0].Status != "Closed" {
		t.Errorf("got %+v, want the change of the second project", states)
	}
}
