package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mishap/crash/crashtest"
)

// fleet posts reports to several instances in turn. Like whoopsie, each sender repeats a report
// until it is acknowledged, and records the id in the answer.
type fleet struct {
	t       *testing.T
	ingest  []string // addresses
	stopped atomic.Bool
	posting sync.RWMutex // held for reading while a report is being sent; see pause
	sending sync.WaitGroup
	client  http.Client

	mu      sync.Mutex
	acks    []ack
	refused int // permanent refusals
}

type ack struct {
	id string
	at time.Time
}

func (f *fleet) start(senders int) {
	f.client.Timeout = time.Minute
	for machine := range senders {
		f.sending.Go(func() {
			for i := 0; !f.stopped.Load(); i++ {
				report := crashtest.Native(crashtest.Process(1+machine*1_000_000+i), crashtest.At(time.Now().UTC()),
					crashtest.Set("DuplicateSignature", fmt.Sprint("fault ", machine, " ", i/40))) // regularly adds new problems
				again := time.NewTicker(20 * time.Millisecond)
				f.posting.RLock()
				for try := i; !f.done(try, machine, report) && f.t.Context().Err() == nil; try++ {
					<-again.C
				}
				f.posting.RUnlock()
				again.Stop()
			}
		})
	}
}

// done posts a report once and reports whether it was acknowledged.
func (f *fleet) done(try, machine int, report crashtest.Report) bool {
	f.mu.Lock()
	address := f.ingest[try%len(f.ingest)]
	f.mu.Unlock()
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, fmt.Sprint("http://", address, "/machine",
		machine), bytes.NewReader(report.BSON()))
	if err != nil {
		return false
	}
	res, err := f.client.Do(req)
	if err != nil {
		return false
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch res.StatusCode {
	case http.StatusOK:
		id, _, _ := strings.Cut(string(body), " ")
		f.acks = append(f.acks, ack{id, time.Now()})
		return true
	case http.StatusServiceUnavailable:
	default:
		f.refused++
	}
	return false
}

// moveTo changes the address of the only instance.
func (f *fleet) moveTo(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ingest = []string{address}
}

// pause waits until every report in transit is acknowledged, and stops sending until resume.
func (f *fleet) pause()  { f.posting.Lock() }
func (f *fleet) resume() { f.posting.Unlock() }

func (f *fleet) acknowledged() []ack {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.acks[:len(f.acks):len(f.acks)]
}

// more waits until n more reports are acknowledged.
func (f *fleet) more(n int) {
	f.t.Helper()
	want := len(f.acknowledged()) + n
	eventually(f.t, fmt.Sprint(n, " more reports are acknowledged"), func() bool { return len(f.acknowledged()) >= want })
}

// times returns when reports were acknowledged.
func (f *fleet) times() (all []time.Time) {
	for _, a := range f.acknowledged() {
		all = append(all, a.at)
	}
	return all
}

// longestGap returns the longest time between some times after a given one.
func longestGap(last time.Time, times []time.Time) (longest time.Duration) {
	for _, at := range times {
		if at.After(last) {
			longest, last = max(longest, at.Sub(last)), at
		}
	}
	return longest
}

// visitor requests pages from one instance repeatedly. Whatever happens to the database, each
// answer must be a complete page, or say that none is available and when to try again.
type visitor struct {
	t       *testing.T
	url     string
	mu      sync.Mutex
	faults  map[string]int
	answers map[int]int
	good    []time.Time
}

func (v *visitor) run(ctx context.Context) {
	client := http.Client{Timeout: 2 * time.Minute}
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for ctx.Err() == nil {
		for _, path := range []string{"/", "/problems.json?period=day", "/readyz"} {
			v.visit(ctx, &client, path)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
}

func (v *visitor) visit(ctx context.Context, client *http.Client, path string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+path, nil)
	if err != nil {
		return
	}
	req.Header.Set("Accept", "text/html")
	res, err := client.Do(req)
	fault := ""
	if err == nil {
		var body []byte
		body, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
		switch {
		case err != nil:
		case res.StatusCode == http.StatusOK && path == "/" && !bytes.Contains(body, []byte("</html>")), len(body) == 0:
			fault = fmt.Sprintf("%s: %d with %d bytes", path, res.StatusCode, len(body))
		case res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "":
			fault = path + ": 503 without Retry-After"
		case res.StatusCode != http.StatusOK && res.StatusCode != http.StatusServiceUnavailable:
			fault = fmt.Sprintf("%s: %d: %.300s", path, res.StatusCode, body)
		}
	}
	if ctx.Err() != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		fault = path + ": " + err.Error()
	}
	if fault != "" {
		v.faults[fault]++
	}
	if res != nil {
		v.answers[res.StatusCode]++
		if path == "/" && res.StatusCode == http.StatusOK {
			v.good = append(v.good, time.Now())
		}
	}
}

// seen returns when complete pages came.
func (v *visitor) seen() []time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.good)
}

// report fails the test if there were bad answers.
func (v *visitor) report() {
	v.t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.faults) > 0 {
		v.t.Errorf("bad answers of %s: %v", v.url, v.faults)
	}
	v.t.Logf("answers to visitors of %s by status: %v", v.url, v.answers)
}

// more waits for the next page.
func (v *visitor) more() {
	v.t.Helper()
	want := len(v.seen()) + 2 // the first request may have begun before
	eventually(v.t, "pages are there again", func() bool { return len(v.seen()) >= want })
}
