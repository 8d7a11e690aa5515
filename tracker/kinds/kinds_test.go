package kinds_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	"mishap/tracker/issuetest"
	"mishap/tracker/kinds"
)

// patience is longer than any step takes on a slow machine.
const patience = 5 * time.Minute

// fixture is a practice tracker of a kind, and instances of mishap that file in it.
type fixture struct {
	t      *testing.T
	kind   tracker.Kind
	srv    *issuetest.Server
	db     *db.Store
	store  *bugs.Store
	filers []*tracker.Filer // one for each instance
	n      int              // problems so far
}

func newFixture(t *testing.T, k *tracker.Kind, instances int) *fixture {
	t.Helper()
	h := &fixture{t: t, kind: *k, srv: issuetest.New(t, issuetest.Kinds[k.Name]())}
	h.kind.Late = min(k.Late, time.Second)
	cfg := tracker.Config{
		Name: k.Name, Kind: &h.kind,
		URL: h.srv.URL, APIURL: k.API(h.srv.URL), Target: "sandbox/trial", BaseURL: "https://mishap.example",
		Token: crash.AccessToken{Token: "practice@example.org", Secret: "secret-of-mishap"},
		Mail:  h.srv.Mailer(), Transport: h.srv.TimeOutHung,
		Timeout: patience, Settle: settle, Backoff: 10 * time.Millisecond, Pause: time.Millisecond,
		Log: dbtest.Log(t),
	}
	database := dbtest.URL(t)
	for range instances {
		store := bugs.New(dbtest.Open(t, database))
		sites := tracker.NewSites(store, tracker.Member{Config: cfg, Creds: tracker.NewCredentials(cfg, store)})
		filer := tracker.NewFiler(cfg, store, sites)
		t.Cleanup(func() { filer.Close(context.WithoutCancel(t.Context())) })
		h.filers = append(h.filers, filer)
	}
	h.db = dbtest.Open(t, database)
	h.store = bugs.New(h.db)
	return h
}

// settle is the pause before a search. Lists of practice trackers may lag nearly as long.
const settle = 50 * time.Millisecond

// problem stores a report of a new problem.
func (h *fixture) problem() (signature string) {
	h.t.Helper()
	h.n++
	signature = fmt.Sprintf("/usr/bin/tidewatch:11:f%d", h.n)
	report := crashtest.Native(crashtest.Set("DuplicateSignature", signature), crashtest.Process(1000+h.n))
	_, err := intake.New(intake.Config{MaxAgeDays: 3660}, h.db).Accept(h.t.Context(), crash.Report{
		ID: crash.NewOopsID(time.Now()), System: "machine", Fields: report.Fields(),
	})
	checktest.NoError(h.t, err)
	dbtest.Counted(h.t, h.db)
	return signature
}

func (h *fixture) bucket(signature string) crash.Bucket {
	h.t.Helper()
	return dbtest.Must(h.store.Bucket(h.t.Context(), crash.BucketIDOf(signature)))(h.t)
}

// options are those of a person who clicks on Create.
func (h *fixture) options(signature string) tracker.Options {
	opts := tracker.Options{Person: "ines", Wait: patience}
	if h.kind.Review {
		p, err := h.filers[0].Propose(h.t.Context(), h.bucket(signature), false)
		checktest.NoError(h.t, err)
		opts.Draft = &p.Draft
	}
	return opts
}

// wantOneBug checks that the tracker has exactly one bug for a problem, and that it is linked.
func (h *fixture) wantOneBug(signature, when string) {
	h.t.Helper()
	b := h.bucket(signature)
	var filed []int64
	for _, issue := range h.srv.Issues() {
		if strings.Contains(issue.Text, b.ID.Path()) {
			filed = append(filed, issue.Number)
		}
	}
	if len(filed) != 1 || filed[0] != crash.NumberInTracker(b.Bug.Number) || b.Filing.Bug != b.Bug.Number {
		h.t.Errorf("%s: the tracker has the bugs %v, linked is %d, filed %d; want one, linked", when, filed, b.Bug.Number,
			b.Filing.Bug)
	}
}

// TestOneBug clicks on Create sixteen times at once, on three instances, while the tracker fails in a way that
// hides whether it filed the bug. There is one bug for each problem, whatever the kind.
func TestOneBug(t *testing.T) {
	t.Parallel()
	for _, k := range kinds.All {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, k, 3)
			for _, fault := range []issuetest.Fault{"", issuetest.DropBefore, issuetest.DropAfter, issuetest.ErrorBefore,
				issuetest.ErrorAfter, issuetest.PageAfter, issuetest.CutAfter} {
				signature := h.problem()
				if fault != "" {
					h.srv.Fail("create", fault)
				}
				opts := h.options(signature)
				var clicks sync.WaitGroup
				for n := range 16 {
					clicks.Go(func() {
						r, err := h.filers[n%3].CreateBug(t.Context(), signature, opts)
						for crash.KindOf(err) == crash.Refused && k.Late > 0 { // nobody knows: the person decides to send it again
							r, err = h.filers[n%3].CreateBug(t.Context(), signature, opts)
						}
						if err != nil || r.State != crash.FilingFiled {
							t.Errorf("%s: click %d: got %s, %v", fault, n, r.State, err)
						}
					})
				}
				clicks.Wait()
				h.wantOneBug(signature, string(fault))
			}
		})
	}
}

// searching are failures of a search: operations of the practice trackers, each with a fault. Not every kind has all
// operations.
var searching = []struct {
	operation string
	fault     issuetest.Fault
}{
	{}, {"list", issuetest.ErrorBefore}, {"list", issuetest.DropBefore}, {"list", issuetest.CutAfter},
	{"list", issuetest.HangBefore}, {"list", issuetest.PageAfter}, {"list", issuetest.Expired},
	{"list", issuetest.Busy}, {"list", issuetest.Limit}, {"list", issuetest.Forbidden}, {"me", issuetest.Expired},
	{"me", issuetest.ErrorBefore}, {"read", issuetest.CutAfter}, {"read", issuetest.Expired},
	{"read", issuetest.ErrorBefore}, {"comments", issuetest.Forbidden}, {"log", issuetest.DropBefore},
}

// TestFaultsOfAllKinds files 30 bugs in a tracker of each kind that fails to create each and then to search for it,
// and whose lists lag. People try again whatever waits or was refused. There is one bug for each problem.
func TestFaultsOfAllKinds(t *testing.T) {
	t.Parallel()
	faults := make([]int, 30)
	for i := range faults {
		faults[i] = i
	}
	for n, k := range kinds.All {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, k, 2)
			h.srv.HideNew(settle * 4 / 5)
			for _, i := range checktest.EveryNth(faults, 6, n) {
				fault, search := issuetest.Faults[i%len(issuetest.Faults)], searching[i%len(searching)]
				signature := h.problem()
				h.srv.Fail("create", fault)
				if search.fault != "" {
					h.srv.Fail(search.operation, search.fault)
				}
				when := fmt.Sprintf("%s, then %s at %s", fault, search.fault, search.operation)
				began, opts := time.Now(), h.options(signature)
				for h.bucket(signature).Bug.Number == 0 {
					if time.Since(began) > patience {
						t.Fatalf("%s: got %+v, want it filed", when, h.bucket(signature).Filing)
					}
					h.retry(signature, opts)
				}
				h.wantOneBug(signature, when)
			}
		})
	}
}

// retry presses Create, and Retry if the filing waits; the pause that the tracker asked for passes.
func (h *fixture) retry(signature string, opts tracker.Options) {
	h.t.Helper()
	opts.Wait = time.Second
	filer := h.filers[rand.IntN(len(h.filers))]
	if r, err := filer.CreateBug(h.t.Context(), signature, opts); err == nil && r.State == crash.FilingFiled {
		return
	}
	_, err := h.db.Pool.Exec(h.t.Context(), `update filing_queues set resumes = now(), rest = interval '0'`)
	checktest.NoError(h.t, err)
	if f := h.bucket(signature).Filing; f.State == crash.FilingQueued || f.State == crash.FilingUncertain {
		_, err := filer.Retry(h.t.Context(), f.ID, tracker.Options{Person: "ines"})
		if kind := crash.KindOf(err); err != nil && kind != crash.Refused && kind != crash.Unavailable {
			h.t.Errorf("retry: %v", err)
		}
	}
}

// TestLateBug files a bug by mail that Debian makes a bug of later, and one that it never does. The first gets its
// number; about the second, a person decides.
func TestLateBug(t *testing.T) {
	t.Parallel()
	srv := issuetest.New(t, issuetest.Kinds["debian"]())
	kind := *kinds.Named("debian")
	now := time.Now
	cfg := tracker.Config{
		Name: "debian", Title: "Debian", Kind: &kind, URL: srv.URL, APIURL: kind.API(srv.URL), Target: "{source}",
		BaseURL: "https://mishap.example", Token: crash.AccessToken{Token: "practice@example.org"}, Mail: srv.Mailer(),
		Review: true, Timeout: patience, Settle: time.Millisecond, Backoff: time.Millisecond, Pause: time.Millisecond,
		Log: dbtest.Log(t), Now: func() time.Time { return now() },
	}
	db := dbtest.Open(t, dbtest.URL(t))
	store := bugs.New(db)
	sites := tracker.NewSites(store, tracker.Member{Config: cfg, Creds: tracker.NewCredentials(cfg, store)})
	filer := tracker.NewFiler(cfg, store, sites)
	t.Cleanup(func() { filer.Close(context.WithoutCancel(t.Context())) })
	const signature = "/usr/bin/tidewatch:11:late"
	report := crashtest.Native(crashtest.Set("DuplicateSignature", signature), crashtest.Process(7))
	_, err := intake.New(intake.Config{MaxAgeDays: 3660}, db).Accept(t.Context(), crash.Report{
		ID: crash.NewOopsID(time.Now()), System: "machine", Fields: report.Fields(),
	})
	checktest.NoError(t, err)
	dbtest.Counted(t, db)
	b := dbtest.Must(store.Bucket(t.Context(), crash.BucketIDOf(signature)))(t)

	_, err = filer.CreateBug(t.Context(), signature, tracker.Options{Person: "ines"})
	checktest.Equal(t, "without a review", crash.KindOf(err), crash.Unprocessable)
	draft := dbtest.Must(filer.Propose(t.Context(), b, false))(t).Draft
	srv.HoldMail()
	opts := tracker.Options{Person: "ines", Draft: &draft}
	r, err := filer.CreateBug(t.Context(), signature, opts)
	checktest.NoError(t, err)
	waitFor(t, filer, func() bool {
		f := dbtest.Must(store.Filing(t.Context(), r.ID))(t)
		return f.State == crash.FilingUncertain && f.Problem == "tracker_pending"
	})
	now = func() time.Time { return time.Now().Add(kind.Late) }
	waitFor(t, filer, func() bool {
		f := dbtest.Must(store.Filing(t.Context(), r.ID))(t)
		return f.State == crash.FilingRefused && f.Problem == "unknown_outcome"
	})
	checktest.Equal(t, "mails", len(srv.Requests("create")), 1)
	now = time.Now
	srv.DeliverMail()
	r, err = filer.CreateBug(t.Context(), signature, tracker.Options{Person: "ines", Draft: &draft, Wait: patience})
	checktest.NoError(t, err)
	checktest.Equal(t, "state", r.State, crash.FilingFiled)
	checktest.Equal(t, "bugs after the retry", len(srv.Issues()), 1)
}

// TestUpstreamChanges makes a tracker that has bugs one of upstream projects.
func TestUpstreamChanges(t *testing.T) {
	t.Parallel()
	store := bugs.New(dbtest.Open(t, dbtest.URL(t)))
	for _, upstream := range []bool{false, true, false} {
		cfg := tracker.Config{Name: "gnome", Kind: kinds.Named("gitlab"), URL: "https://gitlab.example", Upstream: upstream}
		sites := tracker.NewSites(store, tracker.Member{Config: cfg, Creds: tracker.NewCredentials(cfg, store)})
		_ = dbtest.Must(sites.All(t.Context()))(t)
		site := dbtest.Must(sites.At(t.Context(), "gnome", "GNOME/mutter"))(t)
		checktest.Equal(t, "upstream", dbtest.Must(store.BugPlaces(t.Context()))(t)[site.Place()].Upstream, upstream)
		for _, name := range []string{"mutter#7", "GNOME/mutter#7", "https://gitlab.example/GNOME/mutter/-/issues/7"} {
			checktest.Equal(t, name, dbtest.Must(sites.BugNumber(t.Context(), name))(t), crash.NumberAt(site.Place(), 7))
		}
	}
}

// waitFor starts what is due until a condition holds.
func waitFor(t *testing.T, filer *tracker.Filer, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); {
		checktest.NoError(t, filer.StartDue(t.Context()))
		if time.Since(began) > patience {
			t.Fatal("it never came")
		}
	}
}

// TestStrayBugs finds the bugs that mishap filed and that a restored database lacks, in each kind of tracker.
func TestStrayBugs(t *testing.T) {
	t.Parallel()
	store := bugs.New(dbtest.Open(t, dbtest.URL(t)))
	for _, k := range kinds.All {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			srv := issuetest.New(t, issuetest.Kinds[k.Name]())
			cfg := tracker.Config{
				Name: k.Name, Kind: k, URL: srv.URL, APIURL: k.API(srv.URL), Target: "sandbox/trial",
				BaseURL: "https://mishap.example", Timeout: patience, Mail: srv.Mailer(), Log: dbtest.Log(t),
				Token: crash.AccessToken{Token: "practice@example.org", Secret: "secret-of-mishap"},
			}
			sites := tracker.NewSites(store, tracker.Member{Config: cfg, Creds: tracker.NewCredentials(cfg, store)})
			site := dbtest.Must(sites.Others(t.Context()))(t)[0]
			id := crash.BucketIDOf("lost " + k.Name)
			for _, marker := range []string{cfg.BaseURL + id.Path(), "https://example.org/"} {
				_, err := site.Tracker.Create(t.Context(), crash.Intent{
					Target: "sandbox/trial", Title: "It crashed", Description: "It crashed.\n\n" + marker + "\n", Marker: marker,
				}, tracker.MaxSending)
				if e, ok := errors.AsType[*tracker.CallError](err); ok && k.Mail && e.Outcome == tracker.OutcomeUnknown {
					err = nil
				}
				checktest.NoError(t, err)
			}
			strays := dbtest.Must(site.StrayBugs(t.Context(), time.Unix(0, 0), store.KnownBugs))(t)
			if len(strays) != 2 || strays[0].Bucket != id || strays[1].Marker != "" || crash.PlaceOf(strays[0].Number) == 0 {
				t.Fatalf("got %+v, want the bug of the problem and another", strays)
			}
			known := func(context.Context, []int64) ([]int64, error) { return []int64{strays[0].Number}, nil }
			rest := dbtest.Must(site.StrayBugs(t.Context(), time.Unix(0, 0), known))(t)
			checktest.Equal(t, "strays besides the known one", len(rest), 1)
		})
	}
}
