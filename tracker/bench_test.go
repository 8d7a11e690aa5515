package tracker_test

import (
	"fmt"
	"testing"
	"time"

	"mishap/crash/crashtest"
	"mishap/db/bugs"
	"mishap/db/dbtest"
	"mishap/tracker"
	"mishap/tracker/trackertest"
)

// BenchmarkCreateBug measures the time of a click. Subtract BenchmarkBareCall, which only calls the
// tracker.
func BenchmarkCreateBug(b *testing.B) {
	store := dbtest.New(b)
	lp := trackertest.New(b)
	cfg := tracker.Config{
		URL: lp.URL, APIURL: lp.APIURL, ConsumerKey: consumer, Target: "ubuntu", BaseURL: "https://mishap.example",
		Token: lp.Token(consumer), Timeout: patience,
	}
	filer := tracker.NewFiler(cfg, bugs.New(store),
		tracker.NewClient(cfg, tracker.NewCredentials(cfg, bugs.New(store))))
	b.Cleanup(func() { filer.Close(b.Context()) })
	signature := func(n int) string { return fmt.Sprintf("/usr/bin/tidewatch:11:bench_%d", n) }
	n := 0
	for b.Loop() {
		b.StopTimer()
		saveReport(b, store, crashtest.Native(crashtest.Set("DuplicateSignature", signature(n)), crashtest.Process(n+1)))
		b.StartTimer()
		if _, err := filer.CreateBug(b.Context(), signature(n),
			tracker.Options{Person: "ines", Wait: time.Minute}); err != nil {
			b.Fatal(err)
		}
		n++
	}
}

func BenchmarkBareCall(b *testing.B) {
	lp := trackertest.New(b)
	cfg := tracker.Config{URL: lp.URL, APIURL: lp.APIURL, ConsumerKey: consumer, Token: lp.Token(consumer),
		Timeout: patience}
	client := tracker.NewClient(cfg, tracker.NewCredentials(cfg, newMemory()))
	for b.Loop() {
		if _, err := client.CreateBug(b.Context(), anIntent); err != nil {
			b.Fatal(err)
		}
	}
}
