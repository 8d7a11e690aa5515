package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/tracker/trackertest"
)

// bench is one run of a scenario with its options.
type bench struct {
	scenario

	program, against, database, dataDir, only     string
	reports, connections, rounds, strangers, slow int
	limits                                        bool
	out, err                                      io.Writer
}

// scenario is a table of measurements. docs/performance.md explains them. BenchmarkReports in handlers/ingest
// measures the handler alone.
type scenario struct {
	name, about string
	servers     []string // names (see bench.start); the first one is compared with the others
	lines       func(*bench, context.Context, *subject) ([]line, error)

	// Defaults of options.
	rate, pageRate int
	length         time.Duration
}

var scenarios = []scenario{
	{"ingest", "storing reports, on an empty database by default",
		[]string{""}, (*bench).ingestLines, 0, 0, 2 * time.Second},
	{"growth", "a filled database, compared with a new one with few reports",
		[]string{"filled", "new"}, (*bench).comparedLines, 200, 60, 2 * time.Second},
	{"programs", "two built programs, compared on new databases",
		[]string{"new", "against"}, (*bench).comparedLines, 200, 60, 2 * time.Second},
	{"pages", "pages and API resources of a filled database, and what a first visit loads",
		[]string{""}, (*bench).pageLines, 0, 0, 2 * time.Second},
	{"strangers", "a page and reports, with and without visitors who request one public address",
		[]string{"disturbed", "alone"}, (*bench).strangerLines, 20, 10, 10 * time.Second},
}

func benchCommand() *cobra.Command {
	b := &bench{}
	var set scenario
	cmd := &cobra.Command{
		Use:   "bench [SCENARIO]",
		Short: "Measures a server: reports, pages, the API",
		Long: `Measures a server on a database of its own or a given one. docs/performance.md explains the tables. The
reports stay in the database; the account "demo" is removed at the end. No other server may use the database
meanwhile. The scenarios are:
`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && !slices.Contains(cmd.ValidArgs, args[0]) {
				return fmt.Errorf("%q is not one scenario of %s", strings.Join(args, " "), strings.Join(cmd.ValidArgs, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range scenarios {
				if s.name == strings.Join(args, "") {
					b.scenario = s
				}
			}
			b.out, b.err = cmd.OutOrStdout(), cmd.ErrOrStderr()
			b.rate, b.pageRate = cmp.Or(set.rate, b.rate), cmp.Or(set.pageRate, b.pageRate)
			b.length = cmp.Or(set.length, b.length)
			return b.run(cmd.Context())
		},
	}
	b.scenario = scenarios[0]
	for _, s := range scenarios {
		cmd.ValidArgs = append(cmd.ValidArgs, s.name)
		cmd.Long += fmt.Sprintf("\n  %-10s %s", s.name, s.about)
	}
	f := cmd.Flags()
	f.StringVar(&b.program, "program", besideMe("mishap"), "the mishap `program`")
	f.StringVar(&b.against, "against", "", "programs: the mishap `program` to compare --program with")
	f.StringVar(&b.dataDir, "data-dir", "", "`folder`: the data_dir whose private PostgreSQL to use")
	f.StringVar(&b.database, "database", "", "the `url` of a database on this machine")
	f.StringVar(&b.only, "only", "", "measure only what has this `text` in its name")
	f.IntVar(&b.reports, "reports", 100_000, "`number` of reports that a new database gets first")
	f.IntVar(&b.connections, "connections", 8,
		"pages: `number` of clients; each sends its next request after an answer")
	f.IntVar(&set.rate, "rate", 0, "reports per second, where the scenario has a fixed rate (default 200, strangers 20)")
	f.IntVar(&set.pageRate, "page-rate", 0, "pages and resources per second, likewise (default 60, strangers 10)")
	f.IntVar(&b.strangers, "visitors", 20, "strangers: `number` of visitors that never pause")
	f.IntVar(&b.slow, "slow", 2000, "strangers: `number` of visitors that read one large file slowly")
	f.BoolVar(&b.limits, "limits", true, "strangers: limit the visitors per address; each has an address")
	f.IntVar(&b.rounds, "rounds", 5, "`number` of rounds")
	f.DurationVar(&set.length, "for", 0, "`duration` of a round (default 2s, strangers 10s)")
	cmd.MarkFlagsMutuallyExclusive("database", "data-dir")
	return cmd
}

func (b *bench) run(ctx context.Context) error {
	switch {
	case b.name == "programs" && b.against == "":
		return errors.New("--against names the other program")
	case b.name != "programs" && b.name != "ingest" && b.dataDir == "" && b.database == "":
		return fmt.Errorf("%s needs a filled database: --data-dir or --database", b.name)
	}
	var servers []*subject
	for _, name := range b.servers {
		s, err := b.start(ctx, name, servers)
		if err != nil {
			return err
		}
		defer s.stop()
		servers = append(servers, s)
	}
	for _, s := range servers {
		s.settle(ctx)
	}
	if err := b.table(ctx, servers); err != nil || b.name != "pages" {
		return err
	}
	return b.firstVisit(ctx, servers[0])
}

const mostConnections = 128

func (b *bench) ingestLines(_ context.Context, s *subject) (lines []line, err error) {
	next := reportsTo(s.ingest, crashtest.NewLoad(time.Now()))
	for _, n := range []int{1, 8, 32, mostConnections} {
		lines = append(lines, line{name: fmt.Sprintf("%d connections", n), traffic: []traffic{{next: next, clients: n}}})
	}
	return append(lines, line{name: "half of that", half: true, traffic: []traffic{{next: next}}}), nil
}

// comparedLines returns reports without and with a fixed rate, some pages and resources.
func (b *bench) comparedLines(ctx context.Context, s *subject) ([]line, error) {
	next := reportsTo(s.ingest, crashtest.NewLoad(time.Now()))
	lines := []line{
		{name: "ingest", traffic: []traffic{{next: next, clients: mostConnections}}},
		{name: fmt.Sprintf("ingest, %d per second", b.rate), traffic: []traffic{{next: next, perSecond: b.rate}}},
	}
	pages, err := b.pageLines(ctx, s)
	return append(lines, pages...), err
}

// benchPages lists the pages and resources that are requested. The names in braces are things in the
// database, see newNames.
//
//go:embed bench_pages.txt
var benchPages string

// listed yields the columns of benchPages: the bound and who asks, then the path.
func listed(yield func([2]string, string) bool) {
	for text := range strings.Lines(benchPages) {
		c := strings.Fields(text)
		if len(c) == 3 && !yield([2]string(c), c[2]) {
			return
		}
	}
}

// pageLines returns the pages and resources of the scenario. Servers that are compared get few, all at the
// same rate.
func (b *bench) pageLines(ctx context.Context, s *subject) (lines []line, err error) {
	names, err := newNames(ctx, s)
	if err != nil {
		return nil, err
	}
	audiences := map[string]struct {
		prefix   string
		header   http.Header
		uncached bool
	}{"visitor": {}, "uncached": {uncached: true}, "signed-in": {header: s.signedIn},
		"API": {prefix: "/api/1.0/", header: s.token}, "feed": {header: s.token}}
	compared := len(b.servers) > 1
	for columns, path := range listed {
		bound, who := columns[0], columns[1]
		for audience := range strings.SplitSeq(who, ",") {
			a, known := audiences[audience]
			if !known || compared && !strings.HasSuffix(bound, "*") {
				continue
			}
			l := line{name: audience + " " + a.prefix + path, bound: 30 * time.Millisecond}
			t := traffic{next: get(s.url+a.prefix+names.Replace(path), a.header, a.uncached), clients: b.connections}
			switch {
			case compared:
				l.bound, t.clients, t.perSecond = 0, 0, b.pageRate
			case strings.HasPrefix(bound, "filtered"):
				l.bound = 150 * time.Millisecond
			}
			l.traffic = []traffic{t}
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// strangerLines returns a page for a signed-in person and reports, while strangers request each public
// address, unless the server is left alone.
func (b *bench) strangerLines(ctx context.Context, s *subject) (lines []line, err error) {
	names, err := newNames(ctx, s)
	if err != nil {
		return nil, err
	}
	reports := reportsTo(s.ingest, crashtest.NewLoad(time.Now()))
	for columns, path := range listed {
		if columns[1] != "stranger" {
			continue
		}
		l := line{name: path, traffic: []traffic{
			{name: "page", next: get(s.url+"/?period=month", s.signedIn, false), perSecond: b.pageRate},
			{name: "reports", next: reports, perSecond: b.rate},
		}}
		if s.name == "disturbed" {
			l.visitors = &visitors{s.url + names.Replace(path), b.strangers, columns[0] == "slow"}
			if l.visitors.slow {
				l.visitors.number = b.slow
			}
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// newNames finds names to request, using the API.
func newNames(ctx context.Context, s *subject) (*strings.Replacer, error) {
	type answer struct {
		Objects []struct {
			Function, Package, Version, Incident string
			LastSeen                             string `json:"last_seen"`
			Release                              string `json:"last_seen_release"`
			Link                                 string `json:"web_link"`
		}
		Metadata struct{ Source string }
		Data     struct{ SystemIdentifier string }
	}
	ask := func(path string, least int) (a answer, err error) {
		body, err := s.fetch(ctx, "/api/1.0/"+path, s.token, nil)
		if err == nil {
			err = json.Unmarshal(body, &a)
		}
		if err == nil && len(a.Objects) < least {
			err = errors.New("the database has too few reports; fill it first")
		}
		return a, err
	}
	problems, err := ask("most-common-problems/?limit=100&period=year", 10)
	if err != nil {
		return nil, err
	}
	common, rare := problems.Objects[0], problems.Objects[len(problems.Objects)-1]
	id := url.QueryEscape(common.Function)
	versions, err1 := ask("versions/?limit=0&id="+id, 1)
	instances, err2 := ask("instances/?limit=1&id="+id, 1)
	bucket, err3 := ask("bucket/"+url.PathEscape(common.Function)+"/", 0)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	incident := instances.Objects[0].Incident
	report, err := ask("oops/"+incident+"/", 0)
	if err != nil {
		return nil, err
	}
	front, err := s.frontPage(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	pairs := []string{
		"{common}", path.Base(common.Link), "{rare}", path.Base(rare.Link), "{signature}", common.Function,
		"{report}", incident, "{system}", report.Data.SystemIdentifier, "{release}", common.Release,
		"{package}", common.Package, "{source}", bucket.Metadata.Source,
		"{version}", common.LastSeen, "{previous}", versions.Objects[0].Version, "{today}", now.Format("20060102"),
		"{from}", now.AddDate(0, 0, -80).Format(time.DateOnly), "{to}", now.AddDate(0, 0, -40).Format(time.DateOnly),
	}
	for i := 1; i < len(pairs); i += 2 {
		pairs[i] = strings.ReplaceAll(url.PathEscape(pairs[i]), "+", "%2B") // valid in paths and in queries
	}
	return strings.NewReplacer(append(pairs, "{long}", strings.Repeat("-", 2048),
		"{style}", front.Find("link[rel=stylesheet]").AttrOr("href", ""))...), nil
}

// frontPage returns the front page as visitors get it.
func (s *subject) frontPage(ctx context.Context) (*goquery.Document, error) {
	html, err := newVisitor(s.url).fetch(ctx, "/", nil, nil)
	if err != nil {
		return nil, err
	}
	return goquery.NewDocumentFromReader(bytes.NewReader(html))
}

// firstVisit prints what a browser loads for the front page on a first visit.
func (b *bench) firstVisit(ctx context.Context, s *subject) error {
	front, err := s.frontPage(ctx)
	if err != nil {
		return err
	}
	const loaded = "link[rel=stylesheet], link[rel=icon], link[rel=preload], script[src], img[src]"
	paths := []string{"/"}
	for _, e := range front.Find(loaded).EachIter() {
		paths = append(paths, e.AttrOr("href", e.AttrOr("src", "")))
	}
	total := 0.0
	fmt.Fprint(b.out, "\nA first visit loads\n")
	for _, path := range paths {
		body, err := newVisitor(s.url).fetch(ctx, path, http.Header{"Accept-Encoding": {"gzip"}}, nil)
		if err != nil {
			return err
		}
		total += float64(len(body)) / 1000
		fmt.Fprintf(b.out, "%8.1f kB  %s\n", float64(len(body))/1000, path)
	}
	fmt.Fprintf(b.out, "%8.1f kB  in %d requests\n", total, len(paths))
	return nil
}

// subject is a server under measurement, which runs in its own process.
type subject struct {
	*visitor

	name            string
	ingest          string      // address of its listener for reports
	signedIn, token http.Header // of requests from a person's browser and from an API client
	processes       dbtest.Processes
	stops           []func() error
}

// start starts the server with the given name. It has a practice tracker and a signed-in account. "new" and
// "against" have a new database with few reports, posted like machines do, which works with any version.
// "alone" is the same server as the one that runs.
func (b *bench) start(ctx context.Context, name string, running []*subject) (_ *subject, err error) {
	s := &subject{name: name}
	if name == "alone" {
		*s = *running[0]
		s.name, s.stops = name, nil
		return s, nil
	}
	program, dataDir, database := b.program, b.dataDir, b.database
	if name == "against" {
		program = b.against
	}
	fresh := name == "new" || name == "against"
	if fresh {
		dataDir, database = "", ""
	}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	folder, err := os.MkdirTemp("", "mishap-bench-")
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() error { return os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil { // the database's user needs access to subfolders
		return nil, err
	}
	database, stop, err := databaseAt(ctx, database, cmp.Or(dataDir, folder))
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, stop)
	practice, err := startPractice(ctx, trackertest.Options{}, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() error { practice.close(); return nil })
	var listen, ops string
	for _, a := range []*string{&listen, &s.ingest, &ops} {
		if *a, err = checktest.FreeAddress(); err != nil {
			return nil, err
		}
	}
	s.visitor = newVisitor("http://" + listen)
	d := demo{folder: folder, program: program, environ: append(os.Environ(),
		"MISHAP_DATABASE_URL="+database, "MISHAP_LISTEN="+listen, "MISHAP_BASE_URL="+s.url,
		"MISHAP_INGEST_LISTEN="+s.ingest, "MISHAP_OPS_LISTEN="+ops, "MISHAP_INGEST_RATE_PER_SYSTEM=0",
		"MISHAP_API_RATE_PER_TOKEN=0", "MISHAP_READ_ARCHIVE=false")}
	if b.name != "strangers" || !b.limits {
		d.environ = append(d.environ, "MISHAP_API_RATE_PER_ADDRESS=0", "MISHAP_EXPORT_RATE_PER_ADDRESS=0")
	}
	if err := d.remember(); err != nil {
		return nil, err
	}
	server, _, err := d.serve(ctx, practice, practice.Token(consumerKey))
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, server.stop)
	if s.processes, err = dbtest.FindProcesses(ctx, server.command.Process.Pid, database); err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() error { // its tokens, too: an account may have only 50
		_, err := d.command(context.WithoutCancel(ctx), "", "user", "remove", demoAccount)
		return err
	})
	token, err := d.command(ctx, "", "token", "create", demoAccount, "--name", "bench")
	if err != nil {
		return nil, fmt.Errorf("create a token: %s", token)
	}
	s.token = http.Header{"Authorization": {"Bearer " + token}}
	if err := s.signIn(ctx, d.memory.Password); err != nil {
		return nil, err
	}
	var cookies []string
	for _, c := range s.client.Jar.Cookies(&url.URL{Scheme: "http", Host: listen, Path: "/"}) {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	s.signedIn = http.Header{"Cookie": {strings.Join(cookies, "; ")}}
	if fresh {
		volume := crashtest.Volume{Reports: b.reports, Padding: 1000, Now: time.Now()}
		bar := progress(b.err, b.reports, "posting reports to "+program)
		err = postReports(ctx, "http://"+s.ingest, volume.All(), func() { _ = bar.Add(1) })
		_ = bar.Finish() // only affects the display
	}
	return s, err
}

// stop stops everything in reverse order. It ignores errors, since the measurement is done.
func (s *subject) stop() {
	for i := len(s.stops) - 1; i >= 0; i-- {
		_ = s.stops[i]()
	}
}

// settle waits until the server and PostgreSQL have been nearly idle for half a second, at most
// five seconds. It sends no requests to the server, so it works with any version.
func (s *subject) settle(ctx context.Context) dbtest.Used {
	now := s.processes.Used()
	for range 10 {
		_ = crash.Sleep(ctx, 500*time.Millisecond) // the loop ends
		before := now
		now = s.processes.Used()
		if ctx.Err() != nil || now.Server+now.PostgreSQL-before.Server-before.PostgreSQL <= 0.02 {
			break
		}
	}
	return now
}

// line is something to measure on each server.
type line struct {
	name     string
	bound    time.Duration // limit of the 99th percentile; 0: none
	half     bool          // at half the rate that the line before reached
	traffic  []traffic     // sent at the same time, with a row each
	visitors *visitors     // disturb the traffic; nil: none
}

// visitors request one address while something else is measured.
type visitors struct {
	address string
	number  int
	slow    bool
}

// result holds the measurements of one traffic with one server. Processor time is that of all traffic of
// the line.
type result struct {
	requests, together, seconds, server, postgres, memory, bytes float64

	p50, p99 []float64 // ms, of each round
	failed   int
	err      error  // of one of the failed requests
	visitors string // what they report
}

func (r result) perSecond() float64  { return r.requests / r.seconds }
func (r result) serverMS() float64   { return r.server * 1000 / r.together }
func (r result) postgresMS() float64 { return r.postgres * 1000 / r.together }

// table measures each line with all servers alternately, so that other load on the machine affects all
// equally. It prints a row for each traffic and server, with ratios of the first server to the others.
func (b *bench) table(ctx context.Context, servers []*subject) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(runtime.NumCPU()/2, 1))) // leaves processors for the servers
	lines := make([][]line, len(servers))
	for i, s := range servers {
		var err error
		if lines[i], err = b.lines(b, ctx, s); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.out, "\n%10s %8s %8s %8s %10s %6s %6s   %s\n",
		"per second", "p50 ms", "p99 ms", "CPU ms", "PostgreSQL", "MB", "kB", "ratios: rate p50 p99 CPU")
	reached := 0.0
	for n, l := range lines[0] {
		if !strings.Contains(l.name+" ", b.only) || l.half && reached == 0 {
			continue
		}
		if l.half {
			l.traffic[0].perSecond = int(reached / 2)
		}
		results := make([][]result, len(servers))
		for round := range b.rounds + 1 {
			for turn := range servers {
				i := (turn + round) % len(servers)
				if round <= 1 { // the first round only warms up
					results[i] = make([]result, len(l.traffic))
				}
				if err := b.measure(ctx, servers[i], lines[i][n], results[i]); err != nil {
					return fmt.Errorf("%s %s: %w", l.name, servers[i].name, err)
				}
			}
		}
		reached = results[0][0].perSecond()
		for t := range l.traffic {
			for i, s := range servers {
				name := strings.Join(strings.Fields(l.name+" "+l.traffic[t].name+" "+s.name), " ")
				b.printRow(results[i][t], results[0][t], l, name)
			}
		}
	}
	return nil
}

// printRow prints a result and, unless it is the first server's, ratios of that to it.
func (b *bench) printRow(r, first result, l line, name string) {
	p99, ratios, notes := median(r.p99), "", ""
	if &r.p99[0] != &first.p99[0] {
		cpu := (first.serverMS() + first.postgresMS()) / (r.serverMS() + r.postgresMS())
		ratios = fmt.Sprintf("%.2f  %.2f  %.2f  %.2f", first.perSecond()/r.perSecond(),
			paired(first.p50, r.p50), paired(first.p99, r.p99), cpu)
	}
	if l.bound > 0 && p99 > ms(l.bound) {
		notes = fmt.Sprintf("OVER %.0f ms: ", ms(l.bound))
	}
	if r.failed > 0 {
		notes += fmt.Sprintf("%d FAILED (%v): ", r.failed, r.err)
	}
	fmt.Fprintf(b.out, "%10.0f %8.2f %8.2f %8.2f %10.2f %6.0f %6.1f   %-24s %s%s  %s\n", r.perSecond(), median(r.p50), p99,
		r.serverMS(), r.postgresMS(), r.memory, r.bytes/r.requests/1000, ratios, notes, name, r.visitors)
}

// measure adds one round of a line to the results of a server. The processor time includes later background
// work of the server.
func (b *bench) measure(ctx context.Context, s *subject, l line, results []result) error {
	var strangers string
	var visiting sync.WaitGroup
	if l.visitors != nil {
		visiting.Go(func() { strangers = l.visitors.send(ctx, b.length+time.Second) })
	}
	before, together := s.processes.Used(), 0.0
	all := make([]*answers, len(l.traffic))
	var group sync.WaitGroup
	for i, t := range l.traffic {
		group.Go(func() { all[i] = t.send(ctx, b.length) })
	}
	group.Wait()
	visiting.Wait()
	after := s.settle(ctx)
	for _, a := range all {
		together += float64(len(a.times))
	}
	for i, a := range all {
		if a.failed == len(a.times) {
			return errors.Join(ctx.Err(), a.err, errors.New("no request succeeded"))
		}
		r := &results[i]
		r.requests, r.together = r.requests+float64(len(a.times)), r.together+together
		r.seconds, r.bytes, r.memory = r.seconds+a.took.Seconds(), r.bytes+a.bytes, max(r.memory, after.Memory)
		r.server, r.postgres = r.server+after.Server-before.Server, r.postgres+after.PostgreSQL-before.PostgreSQL
		r.p50, r.p99 = append(r.p50, a.percentile(50)), append(r.p99, a.percentile(99))
		r.failed, r.visitors = r.failed+a.failed, strangers
		if a.err != nil {
			r.err = a.err
		}
	}
	return ctx.Err()
}

// send requests the address for the given time, and returns what the visitors saw. Each has a loopback address
// of its own.
func (v visitors) send(ctx context.Context, length time.Duration) string {
	header := http.Header{}
	if v.slow { // compressed, most of the answer would be in buffers at once
		header.Set("Accept-Encoding", "identity")
	}
	a := traffic{clients: v.number, apart: true, slow: v.slow, next: get(v.address, header, false)}.send(ctx, length)
	said := fmt.Sprintf("%.0f/s of %d visitors, p99 %.2f ms, %d failed", a.perSecond(), v.number, a.percentile(99),
		a.failed)
	if len(a.cut) > 0 {
		said += fmt.Sprintf(", %d cut off after %.0f to %.0f s", len(a.cut), slices.Min(a.cut), slices.Max(a.cut))
	}
	return said
}

// paired returns the median of the pairwise ratios of two lists, measured alternately.
func paired(a, against []float64) float64 {
	ratios := slices.Clone(a)
	for i := range ratios {
		ratios[i] /= against[i]
	}
	return median(ratios)
}

func median(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }
