package kinds_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/intake"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker"
	"mishap/tracker/issuetest"
	"mishap/tracker/kinds"
)

// patience is longer than any step takes on a slow machine.
const patience = 5 * time.Minute

// TestOneBug clicks on Create sixteen times at once, on three instances, while the tracker fails in a way that
// hides whether it filed the bug. There is one bug for each problem, whatever the kind.
func TestOneBug(t *testing.T) {
	t.Parallel()
	for _, k := range kinds.All {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			srv := issuetest.New(t, issuetest.Kinds[k.Name]())
			kind := *k
			kind.Late = min(kind.Late, time.Second)
			cfg := tracker.Config{
				Name: k.Name, Kind: &kind,
				URL: srv.URL, APIURL: k.API(srv.URL), Target: "sandbox/trial", BaseURL: "https://mishap.example",
				Token:   crash.AccessToken{Token: "practice@example.org", Secret: "secret-of-mishap"},
				Mail:    srv.Mailer(),
				Timeout: patience, Settle: 20 * time.Millisecond, Backoff: 10 * time.Millisecond, Pause: time.Millisecond,
				Log: dbtest.Log(t),
			}
			database := dbtest.URL(t)
			var filers []*tracker.Filer
			for range 3 {
				store := bugs.New(dbtest.Open(t, database))
				sites := tracker.NewSites(store, tracker.Member{Config: cfg, Creds: tracker.NewCredentials(cfg, store)})
				filer := tracker.NewFiler(cfg, store, sites)
				t.Cleanup(func() { filer.Close(context.WithoutCancel(t.Context())) })
				filers = append(filers, filer)
			}
			store := dbtest.Open(t, database)
			in := intake.New(intake.Config{MaxAgeDays: 3660}, store)
			for i, fault := range []issuetest.Fault{"", issuetest.DropBefore, issuetest.DropAfter, issuetest.ErrorBefore,
				issuetest.ErrorAfter, issuetest.PageAfter, issuetest.CutAfter} {
				signature := fmt.Sprintf("/usr/bin/tidewatch:11:f%d", i)
				report := crashtest.Native(crashtest.Set("DuplicateSignature", signature), crashtest.Process(1000+i))
				_, err := in.Accept(t.Context(), crash.Report{
					ID: crash.NewOopsID(time.Now()), System: "machine", Fields: report.Fields(),
				})
				checktest.NoError(t, err)
				dbtest.Counted(t, store)
				if fault != "" {
					srv.Fail("create", fault)
				}
				var clicks sync.WaitGroup
				for n := range 16 {
					clicks.Go(func() {
						opts := tracker.Options{Person: "ines", Wait: patience}
						if k.Review {
							b := dbtest.Must(store.Bucket(t.Context(), crash.BucketIDOf(signature)))(t)
							p, err := filers[0].Propose(t.Context(), b, false)
							checktest.NoError(t, err)
							opts.Draft = &p.Draft
						}
						r, err := filers[n%3].CreateBug(t.Context(), signature, opts)
						for crash.KindOf(err) == crash.Refused && k.Late > 0 { // nobody knows: the person decides to send it again
							r, err = filers[n%3].CreateBug(t.Context(), signature, opts)
						}
						if err != nil || r.State != crash.FilingFiled {
							t.Errorf("%s: click %d: got %s, %v", fault, n, r.State, err)
						}
					})
				}
				clicks.Wait()
				b, err := store.Bucket(t.Context(), crash.BucketIDOf(signature))
				checktest.NoError(t, err)
				var filed []int64
				for _, issue := range srv.Issues() {
					if strings.Contains(issue.Text, b.ID.Path()) {
						filed = append(filed, issue.Number)
					}
				}
				if len(filed) != 1 || filed[0] != crash.NumberInTracker(b.Bug.Number) {
					t.Errorf("%s: the tracker has the bugs %v, linked is %d; want one, linked", fault, filed, b.Bug.Number)
				}
			}
		})
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
