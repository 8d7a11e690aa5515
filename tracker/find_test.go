package tracker_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

const marker = "https://mishap.example/problem/1"

func TestFindBug(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ours := func(change func(*trackertest.Bug)) trackertest.Bug {
		b := trackertest.Bug{
			Title: "tidewatch crashed", Description: "text\n" + marker + "\n", Package: "tidewatch", Reporter: "practice-person",
			Created: now,
		}
		change(&b)
		return b
	}
	tests := []struct {
		name   string
		change func(*trackertest.Bug)
		found  bool
	}{
		{"open", func(*trackertest.Bug) {}, true},
		{"fix released", func(b *trackertest.Bug) { b.Status = "Fix Released" }, true},
		{"invalid", func(b *trackertest.Bug) { b.Status = "Invalid" }, true},
		{"does not exist", func(b *trackertest.Bug) { b.Status = "Does Not Exist" }, true},
		{"deferred", func(b *trackertest.Bug) { b.Status = "Deferred" }, true},
		{"duplicate of another", func(b *trackertest.Bug) { b.DuplicateOf = 2100001 }, true},
		{"title changed", func(b *trackertest.Bug) { b.Title = "something else" }, true},
		{"an hour before, by a clock that is wrong", func(b *trackertest.Bug) { b.Created = now.Add(-time.Hour) }, true},
		{"long before", func(b *trackertest.Bug) { b.Created = now.Add(-48 * time.Hour) }, false},
		{"by another person", func(b *trackertest.Bug) { b.Reporter = "mallory" }, false},
		{"moved to another package", func(b *trackertest.Bug) { b.Package = "harbor" }, true},
		{"moved to another project", func(b *trackertest.Bug) { b.Package, b.Distribution = "", "tidewatch" }, true},
		{"another problem", func(b *trackertest.Bug) { b.Description = "https://mishap.example/problem/2" }, false},
		{"private, and hidden from us", func(b *trackertest.Bug) { b.InformationType = "Private" }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, lp := finder(t, trackertest.Options{PageSize: 3})
			for i := range 10 { // other bugs of our account, on several pages
				lp.Add(ours(func(b *trackertest.Bug) { b.Description = fmt.Sprintf("https://mishap.example/problem/other%d", i) }))
			}
			number := lp.Add(ours(tt.change))
			if !tt.found {
				number = 0
			}
			got, err := c.FindBug(t.Context(), anIntent, now, nil)
			if err != nil || got != number {
				t.Errorf("got bug %d, %v, want %d", got, err, number)
			}
		})
	}
}

// TestFindBugTakesTheFirst checks that the lowest of two numbers is returned, and that excluded
// bugs are not read.
func TestFindBugTakesTheFirst(t *testing.T) {
	t.Parallel()
	c, lp := finder(t, trackertest.Options{PageSize: 2})
	bug := trackertest.Bug{Title: "x", Description: marker, Package: "tidewatch", Reporter: "practice-person"}
	known := []int64{lp.Add(bug), lp.Add(bug)}
	want := lp.Add(bug)
	lp.Add(bug)
	if got, err := c.FindBug(t.Context(), anIntent, time.Now(), known); err != nil || got != want {
		t.Errorf("got %d, %v, want %d", got, err, want)
	}
	if got := len(lp.Requests(trackertest.OpBug)); got != 1 {
		t.Errorf("got %d bugs read, want 1", got)
	}
}

// TestFailedSearchIsUnknown checks that any failure during a search makes the result unknown.
func TestFailedSearchIsUnknown(t *testing.T) {
	t.Parallel()
	for _, op := range []trackertest.Operation{trackertest.OpMe, trackertest.OpSearch, trackertest.OpBug} {
		for _, fault := range trackertest.Faults() {
			if fault == trackertest.Slow || op == trackertest.OpBug && fault == trackertest.NotFound404 ||
				op == trackertest.OpSearch && fault == trackertest.NotFound404 {
				continue // not failures of a search; see the next test
			}
			if fault == trackertest.OddLocation || op != trackertest.OpMe && strings.HasSuffix(string(fault), "-location") {
				continue // these faults only damage a Location, which a search does not use
			}
			t.Run(string(op)+" "+string(fault), func(t *testing.T) {
				t.Parallel()
				c, lp := authorised(t)
				lp.Add(trackertest.Bug{Title: "x", Description: "other", Package: "tidewatch", Reporter: "practice-person"})
				// Several times, because Go repeats a read request if a reused connection was closed.
				lp.FailWith(trackertest.FaultSpec{Operation: op, Fault: fault, Times: 5})
				if n, err := c.FindBug(t.Context(), anIntent, time.Now(), nil); err == nil {
					t.Errorf("got %d and no error, want an error", n)
				}
			})
		}
	}
}

// TestSearchOfUnknownPackage checks that an unknown package has no bugs, and that a bug moved to
// another package is found.
func TestSearchOfUnknownPackage(t *testing.T) {
	t.Parallel()
	c, lp := finder(t, trackertest.Options{Packages: []string{"harbor"}})
	if n, err := c.FindBug(t.Context(), anIntent, time.Now(), nil); err != nil || n != 0 {
		t.Errorf("got %d, %v, want certainly none", n, err)
	}
	want := lp.Add(trackertest.Bug{Title: "x", Description: marker, Package: "harbor", Reporter: "practice-person"})
	if n, err := c.FindBug(t.Context(), anIntent, time.Now(), nil); err != nil || n != want {
		t.Errorf("got %d, %v, want %d", n, err, want)
	}
}

// TestFindBugOfLostAccount checks that a former account may be unknown to the tracker, but our own
// must be known.
func TestFindBugOfLostAccount(t *testing.T) {
	t.Parallel()
	for lost, fails := range map[string]bool{"old-robot": false, "ines": true} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			store := newMemory()
			store.health["before"] = crash.TokenHealth{Account: "old-robot"}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				root := "http://" + r.Host + "/devel"
				switch {
				case strings.HasSuffix(r.URL.Path, "/+me"):
					w.Header().Set("Location", root+"/~ines")
					w.WriteHeader(http.StatusSeeOther)
				case strings.Contains(r.URL.Query().Get("bug_reporter"), lost):
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, `bug_reporter: No such object "/~`+lost+`".`)
				default:
					_, _ = io.WriteString(w, `{"entries": []}`)
				}
			}))
			t.Cleanup(s.Close)
			cfg := tracker.Config{URL: s.URL, APIURL: s.URL + "/devel", ConsumerKey: consumer,
				Token: crash.AccessToken{Token: "key", Secret: "secret"}}
			c := tracker.NewClient(cfg, tracker.NewCredentials(cfg, store))
			if n, err := c.FindBug(t.Context(), anIntent, time.Now(), nil); n != 0 || (err != nil) != fails {
				t.Errorf("got %d, %v, want 0 and an error: %t", n, err, fails)
			}
		})
	}
}

// TestSearchWithOlderStatuses checks that a tracker that does not know the newer statuses is
// searched without them.
func TestSearchWithOlderStatuses(t *testing.T) {
	t.Parallel()
	c := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		root := "http://" + r.Host + "/devel"
		switch {
		case strings.HasSuffix(r.URL.Path, "/+me"):
			w.Header().Set("Location", root+"/~ines")
			w.WriteHeader(http.StatusSeeOther)
		case strings.HasSuffix(r.URL.Path, "/bugs/7"):
			_, _ = io.WriteString(w, `{"id": 7, "description": "`+marker+`"}`)
		case strings.Contains(r.URL.Query().Get("status"), "Deferred"):
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `status: Invalid value "Deferred".`)
		default:
			_, _ = io.WriteString(w, `{"entries": [{"bug_link": "`+root+`/bugs/7"}]}`)
		}
	})
	if n, err := c.FindBug(t.Context(), anIntent, time.Now(), nil); err != nil || n != 7 {
		t.Errorf("got %d, %v, want 7", n, err)
	}
}
