package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/embedded"
	"mishap/tracker/trackertest"
)

// loadCommand returns the command that fills a database.
func loadCommand() *cobra.Command {
	var fill filling
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Fills a database with millions of reports",
		Long: `Stores reports directly in a database, with the same rules and statements as for reports from machines.
They cover 400 days and about a thousand packages. After an interruption, continue with --from. No server may
use the data_dir at the same time.

With --problems alone, it stores so many problems and ten daily counts for each, without reports, in an
empty database. That takes minutes for a million problems.`,
		Example: `  devtool load --fill 1000000 --data-dir /var/tmp/million
  devtool load --problems 1000000 --data-dir /var/tmp/problems`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			fill.volume.Now = time.Now().UTC().Truncate(24 * time.Hour)
			return fill.run(cmd.Context(), cmd.ErrOrStderr(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().IntVar(&fill.volume.Reports, "fill", 0, "`number` of reports")
	cmd.Flags().IntVar(&fill.volume.From, "from", 0, "`number` of the report to continue with")
	cmd.Flags().IntVar(&fill.volume.Problems, "problems", 0,
		"approximate `number` of problems (default: one per 100 reports)")
	cmd.Flags().IntVar(&fill.volume.Padding, "padding", 1000, "`bytes` in each report in addition to what grouping uses")
	cmd.Flags().StringVar(&fill.databaseURL, "database", "", "`url` of the database to fill")
	cmd.Flags().StringVar(&fill.dataDir, "data-dir", "", "the data_dir whose private PostgreSQL to fill")
	cmd.MarkFlagsMutuallyExclusive("database", "data-dir")
	cmd.MarkFlagsOneRequired("database", "data-dir")
	cmd.MarkFlagsOneRequired("fill", "problems")
	return cmd
}

// fillWorkers is the number of concurrent reports. It is large, so that each transaction stores
// many.
const fillWorkers = 256

// filling describes a database to fill and its reports.
type filling struct {
	databaseURL string
	dataDir     string // its private PostgreSQL is filled if databaseURL is empty
	volume      crashtest.Volume
}

// run stores the volume in the database, like reports that machines post. It returns when
// everything is counted.
func (f filling) run(ctx context.Context, errOut, out io.Writer) (err error) {
	url, stop, err := databaseAt(ctx, f.databaseURL, f.dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := db.Migrate(ctx, url, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	if f.volume.Reports == 0 {
		return loadProblems(ctx, url, f.volume.Problems, errOut, out)
	}
	store, err := db.Open(ctx, db.Config{URL: url, MaxConns: 8})
	if err != nil {
		return err
	}
	defer store.Close()
	began := time.Now()
	if err := f.post(ctx, store, errOut); err != nil {
		return err
	}
	if err := store.WaitCounted(ctx); err != nil {
		return err
	}
	reports := f.volume.Reports - f.volume.From
	took := time.Since(began)
	_, err = fmt.Fprintf(out, "%d reports stored and counted in %s: %.0f/s\n", reports,
		took.Round(time.Second), float64(reports)/took.Seconds())
	return err
}

// databaseAt returns a url or, if it is empty, that of the private PostgreSQL of a data_dir, until stop is called.
func databaseAt(ctx context.Context, url, dataDir string) (_ string, stop func() error, err error) {
	if url != "" {
		return url, func() error { return nil }, nil
	}
	server, err := embedded.Start(ctx, embedded.Config{DataDir: dataDir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "", nil, err
	}
	return server.URL(), func() error { return server.Stop(context.WithoutCancel(ctx)) }, nil
}

func (f filling) post(ctx context.Context, store *db.Store, errOut io.Writer) error {
	in := intake.New(intake.Config{MaxAgeDays: 366}, store)
	bar := progress(errOut, f.volume.Reports, "filling the database")
	_ = bar.Set(f.volume.From)
	reports := make(chan crash.Report, fillWorkers)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(reports)
		for r := range f.volume.All() {
			select {
			case reports <- r:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	for range fillWorkers {
		group.Go(func() error {
			for r := range reports {
				if err := accept(ctx, in, r); err != nil {
					return err
				}
				_ = bar.Add(1)
			}
			return nil
		})
	}
	err := group.Wait()
	_ = bar.Finish()
	return err
}

// accept stores a report. It retries while too many are in progress, as a machine would.
func accept(ctx context.Context, in *intake.Intake, r crash.Report) error {
	for {
		_, err := in.Accept(ctx, r)
		if e, ok := errors.AsType[*crash.Error](err); !ok || e.Code != "overload" {
			return err
		}
		if err := crash.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// traffic describes requests to a server.
type traffic struct {
	name      string
	next      func(context.Context) (*http.Request, error) // returns the next request; safe for concurrent use
	clients   int                                          // each sends its next request after an answer
	perSecond int                                          // fixed rate, in addition to that of the clients
	apart     bool                                         // each client has a loopback address of its own
	slow      bool                                         // clients send one request and read the answer slowly
}

const (
	slowPart    = 512              // bytes per second that a slow client reads
	answerLimit = 30 * time.Second // how long an answer may take
)

// answers are the results of traffic.
type answers struct {
	mu     sync.Mutex
	times  []float64 // ms of each request; sorted
	bytes  float64
	failed int
	err    error         // of the last request that failed
	cut    []float64     // seconds after which the server ended slow answers before their end
	took   time.Duration // from the first request to the last answer
}

// percentile returns how many ms p of 100 requests took at most.
func (a *answers) percentile(p int) float64 {
	if len(a.times) == 0 {
		return 0
	}
	return a.times[len(a.times)*p/100]
}

func (a *answers) perSecond() float64 { return float64(len(a.times)) / a.took.Seconds() }

// send sends requests for the given time, and waits for the answers.
func (t traffic) send(ctx context.Context, length time.Duration) *answers {
	limit := length
	if !t.slow {
		limit += answerLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a := &answers{}
	began := time.Now()
	var group sync.WaitGroup
	for i := range t.clients {
		group.Go(func() {
			c := t.client(i)
			defer c.CloseIdleConnections()
			for again := true; again && ctx.Err() == nil && time.Since(began) < length; again = !t.slow {
				t.request(ctx, c, a)
			}
		})
	}
	paced := t.client(0)
	defer paced.CloseIdleConnections()
	for n := range int(length.Seconds() * float64(t.perSecond)) {
		due := began.Add(time.Duration(n) * time.Second / time.Duration(t.perSecond))
		select {
		case <-time.After(time.Until(due)):
			group.Go(func() { t.request(ctx, paced, a) })
		case <-ctx.Done():
		}
	}
	group.Wait()
	a.took = time.Since(began)
	slices.Sort(a.times)
	return a
}

// client returns the HTTP client with the given number.
func (t traffic) client(number int) *http.Client {
	var dialer net.Dialer
	if t.apart {
		dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 1, byte(number>>8), byte(number))} //nolint:gosec // 65,536
	}
	transport := &http.Transport{MaxIdleConnsPerHost: mostConnections}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok && t.slow {
			_ = tcp.SetReadBuffer(4 * slowPart) // so that the kernel does not read much more
		}
		return conn, err
	}
	if t.slow {
		transport.ReadBufferSize = slowPart
	}
	return &http.Client{Transport: transport}
}

// request sends one request, reads its answer, and adds it to a.
func (t traffic) request(ctx context.Context, c *http.Client, a *answers) {
	began, status, read := time.Now(), 0, int64(0)
	req, err := t.next(ctx)
	var resp *http.Response
	if err == nil {
		resp, err = c.Do(req)
	}
	if err == nil {
		status = resp.StatusCode
		read, err = t.read(ctx, resp.Body)
		_ = resp.Body.Close()
	}
	took := time.Since(began)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times, a.bytes = append(a.times, ms(took)), a.bytes+float64(read)
	if t.slow && status > 0 && err != nil && ctx.Err() == nil {
		a.cut = append(a.cut, took.Seconds())
	}
	if err == nil && status >= http.StatusBadRequest {
		err = fmt.Errorf("got status %d", status)
	}
	if err != nil {
		a.failed, a.err = a.failed+1, err
	}
}

// read reads an answer to its end.
func (t traffic) read(ctx context.Context, body io.Reader) (n int64, err error) {
	if !t.slow {
		return io.Copy(io.Discard, body)
	}
	for err == nil {
		if _, err = io.CopyN(io.Discard, body, slowPart); err == nil {
			_ = crash.Sleep(ctx, time.Second) // the next read fails
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return 0, err
}

// get requests an address, compressed as browsers do. If uncached is true, it makes the address too
// long for the page cache; the page is the same.
func get(address string, header http.Header, uncached bool) func(context.Context) (*http.Request, error) {
	if uncached {
		mark := "?"
		if strings.Contains(address, "?") {
			mark = "&"
		}
		address += mark + "uncached=" + strings.Repeat("-", 2048)
	}
	return func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err == nil {
			req.Header.Set("Accept-Encoding", "gzip")
			maps.Copy(req.Header, header)
		}
		return req, err
	}
}

// reportsTo posts reports to the given address.
func reportsTo(address string, load *crashtest.Load) func(context.Context) (*http.Request, error) {
	return func(ctx context.Context) (*http.Request, error) {
		path, body := load.Next()
		return http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path, bytes.NewReader(body))
	}
}

// visitor is a browser with cookies. It does not follow redirects.
type visitor struct {
	url    string
	client *http.Client
}

func newVisitor(address string) *visitor {
	jar, _ := cookiejar.New(nil) // fails only for options
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &visitor{address, &http.Client{Jar: jar, CheckRedirect: stay}}
}

// fetch requests a path, or posts a form if there is one, and returns the body of the answer.
func (v *visitor) fetch(ctx context.Context, path string, header http.Header, form url.Values) ([]byte, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
		header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Referer": {v.url + path}}
	}
	req, err := http.NewRequestWithContext(ctx, method, v.url+path, body)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	resp, err := v.client.Do(req)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s: got status %d", path, resp.StatusCode)
	}
	return answer, err
}

var csrfField = regexp.MustCompile(`name="csrf_token" value="([^"]+)"`)

// signIn signs in with the form.
func (v *visitor) signIn(ctx context.Context, password string) error {
	page, err := v.fetch(ctx, "/login", nil, nil)
	if err != nil {
		return err
	}
	field := csrfField.FindSubmatch(page)
	if field == nil {
		return errors.New("the sign-in form contains no token")
	}
	form := url.Values{"csrf_token": {string(field[1])}, "username": {demoAccount}, "password": {password}}
	_, err = v.fetch(ctx, "/login", nil, form)
	return err
}

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
		for _, s := range append(stories(now), newcomer()) {
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
	daily    int    // reports of the problem on each of its days; 0: 1
	like     string // whose functions crash; empty: its own
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

// newcomer returns a story without a bug that is new, and may be a duplicate of one above.
func newcomer() story {
	return story{name: "coracle", like: "gannet", function: "dive", seen: []occurrences{{"1.3-1", 3, 0}}}
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
	of := cmp.Or(s.like, s.name)
	words := strings.NewReplacer("tide_parse_row", of+"_"+function, "tide_load", of+"_main_loop",
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
