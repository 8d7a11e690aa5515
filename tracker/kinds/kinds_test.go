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
			cfg := tracker.Config{
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
				filer := tracker.NewFiler(cfg, store, k.New(cfg, tracker.NewCredentials(cfg, store)))
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
						r, err := filers[n%3].CreateBug(t.Context(), signature, tracker.Options{Person: "ines", Wait: patience})
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
				if len(filed) != 1 || filed[0] != b.Bug.Number {
					t.Errorf("%s: the tracker has the bugs %v, linked is %d; want one, linked", fault, filed, b.Bug.Number)
				}
			}
		})
	}
}
