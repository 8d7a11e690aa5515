package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/tracker/trackertest"
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
			_, err := answer(ctx, client, ingest+"/"+string(r.System), crashtest.Report(r.Fields).BSON())
			return err
		})
	}
	return group.Wait()
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

// story is a problem of the demonstration with its bugs. There is one story for each status that a
// problem with a bug can have.
type story struct {
	word     crash.StateWord // state that pages show
	name     string          // name of the program and its package
	function string          // the function that crashes
	seen     []occurrences   // reports of the problem
	since    []occurrences   // reports of another problem, which bring newer versions into use
	bugs     []trackertest.Bug
	daily    int // reports of the problem on each of its days; 0: 1
}

// occurrences names a version and the days before today on which it was seen.
type occurrences struct {
	version  string
	from, to int
}

const day = 24 * time.Hour

// stories returns the stories with dates relative to now.
func stories(now time.Time) []story {
	ago := func(days int) time.Time { return now.Add(-time.Duration(days) * day) }
	open := func(status string) trackertest.Bug {
		return trackertest.Bug{Status: status, Importance: "Medium", Created: ago(30)}
	}
	fixedIn := func(source, version string, days int) trackertest.Bug {
		b := trackertest.Bug{Package: source, Created: ago(days + 9), Closed: ago(days), Importance: "High"}
		b.Janitor(version, "noble")
		b.Messages[0].Created = ago(days)
		return b
	}
	return []story{
		{word: crash.StateOpen, name: "gannet", function: "dive", bugs: []trackertest.Bug{open("Confirmed")},
			seen: []occurrences{{"2.1.0-1ubuntu1", 33, 1}}, daily: 3},
		{word: crash.StateFixed, name: "kelpie", function: "swim",
			bugs: []trackertest.Bug{fixedIn("kelpie", "1.0.4-0ubuntu2", 18)},
			seen: []occurrences{{"1.0.4-0ubuntu1", 41, 17}}, since: []occurrences{{"1.0.4-0ubuntu2", 15, 1}}},
		{word: crash.StateRegression, name: "wherry", function: "row",
			bugs: []trackertest.Bug{fixedIn("wherry", "3.2-2", 24)},
			seen: []occurrences{{"3.2-1", 44, 25}, {"3.2-3", 5, 0}}, daily: 2},
		{word: crash.StateDisappeared, name: "skerry", function: "ground", bugs: []trackertest.Bug{open("Triaged")},
			seen: []occurrences{{"0.9.1-1", 40, 26}}, since: []occurrences{{"0.9.2-1", 20, 1}}},
		{word: crash.StateClosed, name: "bowline", function: "tie",
			bugs: []trackertest.Bug{{Status: "Won't Fix", Created: ago(28), Closed: ago(20)}},
			seen: []occurrences{{"5.0-2build1", 30, 2}}},
		{word: crash.StatePrivate, name: "capstan", function: "weigh",
			bugs: []trackertest.Bug{{Status: "New", InformationType: "Private Security", Created: ago(12)}},
			seen: []occurrences{{"1.12-3", 14, 1}}},
		// There are two bugs: one was closed for lack of information, and the other replaces it.
		{word: crash.StateOpen, name: "fairlead", function: "chafe",
			bugs: []trackertest.Bug{{Status: "Expired", Created: ago(50), Closed: ago(22)},
				{Status: "In Progress", Importance: "High", Created: ago(10)}},
			seen: []occurrences{{"0.44-1", 38, 1}}, daily: 2},
	}
}

// title returns the title of the problem, which its bugs have, too.
func (s story) title() string {
	return fmt.Sprintf("%s crashed with SIGSEGV in %s_%s()", s.name, s.name, s.function)
}

// report returns a report of the problem, or of the other problem of the package.
func (s story) report(function, version string, at time.Time) crashtest.Report {
	pid := fnv.New32a()
	_, _ = pid.Write([]byte(s.name + function + at.String())) // never fails
	r := crashtest.Native(crashtest.At(at), crashtest.Version(version), crashtest.Process(1000+int(pid.Sum32()%30000)))
	words := strings.NewReplacer("tide_parse_row", s.name+"_"+function, "tide_load", s.name+"_main_loop",
		"on_open_clicked", "on_"+function,
		"tidewatch", s.name, "/var/lib/tide/", "/var/lib/"+s.name+"/")
	for field, value := range r {
		r[field] = words.Replace(value)
	}
	return r
}

// bucket returns the bucket of the problem.
func (s story) bucket() crash.BucketID {
	return crash.BucketIDOf(grouping.SignatureOf(s.report(s.function, "1", time.Unix(0, 0)).Fields()).Signature)
}

// reports returns all reports of a story, from a dozen machines.
func (s story) reports(now time.Time) iter.Seq[crash.Report] {
	return func(yield func(crash.Report) bool) {
		for function, versions := range map[string][]occurrences{s.function: s.seen, "refit": s.since} {
			for _, v := range versions {
				for i := range (v.from - v.to + 1) * max(s.daily, 1) {
					days := v.from - i/max(s.daily, 1)
					at := now.Add(-time.Duration(days)*day - time.Duration(1+i%5)*time.Hour)
					r := s.report(function, v.version, at)
					machine := crash.SystemID(fmt.Sprintf("sample-machine-%s-%d", s.name, i*7%12))
					if !yield(crash.Report{System: machine, Fields: r.Fields()}) {
						return
					}
				}
			}
		}
	}
}
