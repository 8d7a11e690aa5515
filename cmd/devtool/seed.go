package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
)

const (
	fleetSeed = 1  // any number; the same seed gives the same reports
	senders   = 16 // machines that post concurrently
)

// sampleReports returns the reports of the demonstration: eight weeks of a fleet, the stories, and
// extreme reports of each kind.
func sampleReports(n int, now time.Time) iter.Seq[crash.Report] {
	return func(yield func(crash.Report) bool) {
		for r := range crashtest.Fleet(fleetSeed, n, now) {
			if !yield(r) {
				return
			}
		}
		for _, s := range stories(now) {
			for r := range s.reports(now) {
				if !yield(r) {
					return
				}
			}
		}
		for i, build := range []func(...crashtest.Option) crashtest.Report{
			crashtest.Native, crashtest.Unsymbolised, crashtest.Hang, crashtest.Assertion, crashtest.Python,
			crashtest.Recoverable,
			crashtest.Package, crashtest.Oops, crashtest.Suspend, crashtest.Ungroupable, crashtest.Markup, crashtest.Long,
			crashtest.Unicode,
		} {
			r := build(crashtest.At(now.Add(-time.Duration(i+1) * time.Hour)))
			if !yield(crash.Report{System: crash.SystemID("sample-machine-" + strconv.Itoa(i%3+1)), Fields: r.Fields()}) {
				return
			}
		}
	}
}

// freshReport returns a new report of the most common problem among the sample reports.
func freshReport(n int, seeded, now time.Time) crashtest.Report {
	counts := map[string]int{}
	var most string
	var found crash.Fields
	for r := range crashtest.Fleet(fleetSeed, n, seeded) {
		signature := grouping.SignatureOf(r.Fields).Signature
		counts[signature]++
		if signature != "" && (signature == most || counts[signature] > counts[most]) {
			most, found = signature, r.Fields
		}
	}
	fresh := crashtest.Report(found)
	crashtest.At(now)(fresh)
	return fresh
}

// postReports posts reports concurrently to the listener for machines, and calls sent after each.
// It stops at the first refused report.
func postReports(ctx context.Context, ingest string, reports iter.Seq[crash.Report], sent func()) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(senders)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: senders}}
	defer client.CloseIdleConnections()
	for r := range reports {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			defer sent()
			return post(ctx, client, ingest+"/"+string(r.System), crashtest.Report(r.Fields).BSON())
		})
	}
	return group.Wait()
}

func post(ctx context.Context, client *http.Client, url string, body []byte) error {
	_, err := answer(ctx, client, url, body)
	return err
}

// answer posts as a machine does, and returns what the server says.
func answer(ctx context.Context, client *http.Client, url string, body []byte) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below
	words, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("post a sample report: got %s: %s", resp.Status, words)
	}
	return string(words), nil
}

// seed posts the sample reports on the first run. After an interruption it posts all again, and the
// server recognises duplicates.
func (d *demo) seed(ctx context.Context, ingest string) error {
	m := d.memory
	if m.Seeded {
		return nil
	}
	if m.SeedTime.IsZero() {
		m.SeedTime = time.Now().UTC().Truncate(time.Second)
		if err := m.write(); err != nil {
			return err
		}
	}
	bar := progress(d.err, d.reports, "loading sample reports")
	err := postReports(ctx, ingest, sampleReports(d.reports, m.SeedTime), func() { _ = bar.Add(1) })
	_ = bar.Finish()
	if err != nil {
		return err
	}
	m.Seeded = true
	return m.write()
}
