package main

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"mishap/cmd/mishap/config"
	"mishap/cmd/mishap/traces"
	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/symbols/debuginfo"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/upkeep"
	"mishap/notify/mail/mailtest"
	"mishap/tracker/trackertest"
)

const monitoring = "../../packaging/monitoring/"

// promServer is a real Prometheus that scrapes instances and evaluates the alert rules.
type promServer struct {
	t   *testing.T
	url string
}

var (
	ruleFor   = regexp.MustCompile(`(?m)^( +for: ).*$`)
	ruleRange = regexp.MustCompile(`\[(6h|1h|10m)\]`)
)

// startPrometheus starts Prometheus. It evaluates the alert rules of the package each second, without
// their waiting times and over 20 seconds instead of minutes and hours.
func startPrometheus(t *testing.T, targets ...string) *promServer {
	t.Helper()
	checktest.Needs(t, "Prometheus")
	dir := t.TempDir()
	rules := ruleFor.ReplaceAllString(readFile(t, monitoring+"alerts.yml"), "${1}0s")
	rules = ruleRange.ReplaceAllString(rules, "[20s]")
	quoted := make([]string, len(targets))
	for i, target := range targets {
		quoted[i] = fmt.Sprintf("%q", target)
	}
	config := fmt.Sprintf(`
global: {scrape_interval: 5s, scrape_timeout: 5s, evaluation_interval: 1s}
rule_files: [alerts.yml]
scrape_configs:
  - job_name: mishap
    static_configs: [{targets: [%s]}]
`, strings.Join(quoted, ", "))
	for name, text := range map[string]string{"alerts.yml": rules, "prometheus.yml": config} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	address := freeAddress(t)
	p := startCommand(t, nil, exec.CommandContext(context.WithoutCancel(t.Context()), "prometheus",
		"--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=warn"))
	prom := &promServer{t, "http://" + address}
	eventually(t, "Prometheus is ready", func() bool {
		select {
		case <-p.ended:
			t.Fatalf("Prometheus ended and printed\n%s", p.said)
		default:
		}
		status, _, _ := statusAt(t, prom.url+"/-/ready")
		return status == http.StatusOK
	})
	return prom
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// query returns the number of values of an expression.
func (p *promServer) query(expr string) int {
	p.t.Helper()
	status, body, _ := statusAt(p.t, p.url+"/api/v1/query?query="+url.QueryEscape(expr))
	var answer struct{ Data struct{ Result []any } }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		p.t.Fatalf("query %s: got %d and %s, %v", expr, status, body, err)
	}
	return len(answer.Data.Result)
}

// firing returns the names of the alerts that fire.
func (p *promServer) firing() []string {
	p.t.Helper()
	_, body, _ := statusAt(p.t, p.url+"/api/v1/alerts")
	var answer struct {
		Data struct {
			Alerts []struct {
				State  string
				Labels map[string]string
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		p.t.Fatalf("alerts: got %s, %v", body, err)
	}
	var names []string
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" {
			names = append(names, a.Labels["alertname"])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// fires waits until all these alerts fire.
func (p *promServer) fires(names ...string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%v fire", names), func() bool {
		firing := p.firing()
		return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(firing, name) })
	})
}

// quiet checks that no alert fires, except those in but.
func (p *promServer) quiet(but ...string) {
	p.t.Helper()
	for _, name := range p.firing() {
		if !slices.Contains(but, name) {
			p.t.Errorf("healthy server: %s fires", name)
		}
	}
}

// TestMoreAlertRules checks the rules with promtool, each threshold from both sides, and compares them with
// the limits of the health checks.
func TestMoreAlertRules(t *testing.T) {
	t.Parallel()
	checktest.Needs(t, "Prometheus")
	rules, err := filepath.Abs(monitoring + "alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	cases := filepath.Join(t.TempDir(), "test.yml")
	text := readFile(t, "testdata/monitoring/alerts_test.yml")
	writeFile(t, cases, strings.Replace(text, "[RULES]", "["+rules+"]", 1))
	for _, args := range [][]string{{"check", "rules", rules}, {"test", "rules", cases}} {
		if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", args[0], err, out)
		}
	}
	all := readFile(t, rules)
	wantTexts(t, all, fmt.Sprintf("skew_seconds) > %.0f", upkeep.ClockWarning.Seconds()),
		fmt.Sprintf("oldest_open_seconds) > %.0f", upkeep.FilingLimit.Seconds()),
		fmt.Sprintf("symbol_queue_oldest_seconds) > %.0f", upkeep.SymbolsLimit.Seconds()),
		fmt.Sprintf("mail_retried_oldest_seconds) > %.0f", upkeep.MailLimit.Seconds()),
		fmt.Sprintf("!= 0) > %.0f", upkeep.BackupLimit.Seconds()), fmt.Sprintf("lag_bytes) > %d", int64(upkeep.LagBytes)),
		fmt.Sprintf("lag_seconds) > %.0f", upkeep.LagLimit.Seconds()))
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(all, -1) {
		if !strings.Contains(text, `"`+m[1]+`"`) {
			t.Errorf("%s has no case in alerts_test.yml", m[1])
		}
		if !strings.Contains(readFile(t, "../../docs/operating.md"), "`"+m[1]+"`") {
			t.Errorf("%s is not in docs/operating.md", m[1])
		}
	}
}

var metricName = regexp.MustCompile(`\bmishap_[a-z0-9_]+`)

// checkMetricNames checks that a server exports the metrics in the documentation, the rules and the dashboard.
func checkMetricNames(t *testing.T, exported string) {
	t.Helper()
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (mishap_\w+) (\w+)`).FindAllStringSubmatch(exported, -1) {
		known[m[1]] = true
		if m[2] == "histogram" {
			known[m[1]+"_bucket"] = true
		}
	}
	for _, file := range []string{"../../docs/operating.md", monitoring + "alerts.yml", monitoring + "dashboard.json"} {
		for _, name := range metricName.FindAllString(readFile(t, file), -1) {
			if !known[name] {
				t.Errorf("%s: a server exports no metric %s", file, name)
			}
		}
	}
}

// dashboardQueries returns the queries of the dashboard by panel, with its variables replaced.
func dashboardQueries(t *testing.T) map[string][]string {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(readFile(t, monitoring+"dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	queries := map[string][]string{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			expr := strings.NewReplacer("$job", "mishap", "$instance", ".*", "$__rate_interval", "1m").Replace(target.Expr)
			queries[p.Title] = append(queries[p.Title], expr)
		}
	}
	return queries
}

// traceCollector receives spans by OTLP over HTTP.
type traceCollector struct {
	url string

	mu    sync.Mutex
	raw   bytes.Buffer // all messages
	spans []*otlp.Span
}

func newTraceCollector(t *testing.T) *traceCollector {
	t.Helper()
	c := &traceCollector{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var message collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &message)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: got %v", r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(body)
		for _, resource := range message.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range c.spans {
			if t.Failed() {
				t.Logf("%x: %x below %x: %s", s.TraceId[:4], s.SpanId, s.ParentSpanId, s.Name)
			}
		}
	})
	c.url = s.URL
	return c
}

// path waits for spans with these names, each below the one before, and returns the last one.
func (c *traceCollector) path(t *testing.T, names ...string) *otlp.Span {
	t.Helper()
	var last *otlp.Span
	eventually(t, "there are the spans "+strings.Join(names, " > "), func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		above := []*otlp.Span{nil}
		for _, name := range names {
			var found []*otlp.Span
			for _, s := range c.spans {
				if strings.HasPrefix(s.Name, name) && slices.ContainsFunc(above, func(a *otlp.Span) bool {
					return a == nil && len(s.ParentSpanId) == 0 ||
						a != nil && bytes.Equal(s.ParentSpanId, a.SpanId) && bytes.Equal(s.TraceId, a.TraceId)
				}) {
					found = append(found, s)
				}
			}
			above = found
		}
		if len(above) > 0 {
			last = above[0]
		}
		return last != nil
	})
	return last
}

// TestTraces posts a report, files a bug for it and sends a mail, and checks the spans, and that they
// hold nothing private.
func TestTraces(t *testing.T) {
	t.Parallel()
	spans, relay, tr := newTraceCollector(t), mailtest.New(t), trackertest.New(t)
	in := installFor(t, tr, append(connected(tr), fmt.Sprintf("traces_url = %q", spans.url),
		fmt.Sprintf("smtp_url = %q", relay.URL), `smtp_tls = "off"`, `mail_from = "mishap@example.org"`)...)
	in.account("tess", crash.RoleTriager)

	report := crashtest.Native(crashtest.Set("Acme", "inwendig"), crashtest.Set("ProcCmdline", "vault --key inwendig"))
	bucket := in.report("inwendig-machine", report)
	s := signIn(t, in.url, "tess")
	create(s, in.bucket(bucket).Signature).Want(http.StatusCreated)
	in.get(in.url+"/?q=inwendig&package=inwendig", http.StatusOK)
	in.get(in.url+"/inwendig?inwendig=1", http.StatusNotFound)
	in.get(in.url+"/unsubscribe/inwendig", http.StatusNotFound)

	const accept, create = "POST /{system}", "POST /api/1.0/create-bug-report"
	click := spans.path(t, create)
	spans.path(t, accept, "store reports", "batch start", "batch query db.(*saver)")
	spans.path(t, accept, "store reports", "count reports", "query db.(*Store)")
	spans.path(t, create, "query db/bugs.(*Store)")
	spans.path(t, create, "file bug", "tracker POST")
	spans.path(t, create, "file bug", "query db/bugs.(*Store)")
	spans.path(t, create, "job file-bugs")
	spans.path(t, "GET /", "query db")
	spans.path(t, "task send-mail", "query db/events.(*Store)")
	spans.path(t, "task start-due-filings", "query db/bugs.(*Store)")

	if id := hex.EncodeToString(click.TraceId); !strings.Contains(in.said.String(), `"trace_id":"`+id+`"`) {
		t.Errorf("got no log line with the trace %s of the click", id)
	}
	spans.mu.Lock()
	defer spans.mu.Unlock()
	bug := in.bucket(bucket)
	for _, private := range []string{"inwendig", bug.Signature, bug.Title, "select ", "insert ", "ws.op",
		"oauth", "unsubscribe/inw", s.Cookie("csrftoken"), "tess"} {
		if bytes.Contains(spans.raw.Bytes(), []byte(private)) {
			t.Errorf("the spans contain %q", private)
		}
	}
	for _, got := range spans.spans {
		if len(got.Events) > 0 || got.Status.GetMessage() != "" {
			t.Errorf("%s: got events %v and status %q, want none", got.Name, got.Events, got.Status.GetMessage())
		}
	}
}

// TestTracesOfCalls checks the spans of a debuginfod server and of statements that fail, and that they hold no
// addresses and texts.
func TestTracesOfCalls(t *testing.T) {
	t.Parallel()
	spans, metrics, log := newTraceCollector(t), prometheus.NewRegistry(), newLog(&quietBuffer{}, 0)
	tr, err := traces.Start(t.Context(), traces.Config{Address: spans.url + "/v1/traces", Ratio: 1, Log: log,
		Registerer: metrics})
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.DataDir, c.SymbolsFromMachine = t.TempDir(), false
	site := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(site.Close)
	c.DebuginfodURLs = site.URL + "/inwendig"
	store, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(t), Tracer: tr.Tracer(), Statements: tr.Statements()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	ctx, step := tr.Tracer().Start(t.Context(), "task deliver")

	s, err := symboliser(c, tr.Transport("debuginfod"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finder.Find(ctx, debuginfo.Wanted{ID: "0123456789abcdef0123456789abcdef01234567",
		Kind: debuginfo.Debuginfo, Machine: elf.EM_X86_64, Class: elf.ELFCLASS64, Path: "/inwendig"},
		filepath.Join(t.TempDir(), "found")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Pool.Exec(ctx, "select $1::text::uuid", "inwendig"); err == nil {
		t.Error("got no error from a statement")
	}
	step.End(nil)
	tr.Stop(context.WithoutCancel(t.Context()))

	spans.path(t, "task deliver", "debuginfod GET")
	failed := spans.path(t, "task deliver", "query cmd/mishap.TestTracesOfCalls")
	if got := fmt.Sprint(failed.Attributes); !strings.Contains(got, "22P02") || failed.Status.GetMessage() != "" {
		t.Errorf("got %s and %q, want only the SQLSTATE", got, failed.Status.GetMessage())
	}
	spans.mu.Lock()
	defer spans.mu.Unlock()
	if bytes.Contains(spans.raw.Bytes(), []byte("inwendig")) {
		t.Errorf("got private values: %q", spans.raw.Bytes())
	}
}

// TestOutageLog checks that messages about a database that is unavailable or full are logged once, and that
// others are kept.
func TestOutageLog(t *testing.T) {
	t.Parallel()
	const over = `"msg":"the database works again"`
	var said quietBuffer
	var o outage
	plain := newLog(&said, slog.LevelInfo)
	log, queue := o.logger(plain).With("part", "a"), o.queueLogger(plain)
	away := db.Classify(&pgconn.PgError{Code: "57P01", Message: "terminating connection"})
	for range 20 {
		log.Warn("request failed", "error", away)
		log.Warn("request failed", "error", away.(*crash.Error).Err) //nolint:errorlint,forcetypeassert // Classify made it
		queue.Error("Elector: Error attempting reelection", "err", "unexpected EOF")
		queue.Info("producer: Producer job counts", "num_completed_jobs", 15)
	}
	log.Warn("the tracker is away", "error",
		crash.Errorf(crash.Unavailable, "tracker_away", "The tracker does not answer."))
	if n := strings.Count(said.String(), "\n"); n != 2 || !strings.Contains(said.String(), "left out") ||
		!strings.Contains(said.String(), "tracker is away") {
		t.Errorf("got %d lines, want one about the database and one about the tracker:\n%s", n, said.String())
	}
	broken := func(context.Context) error { return errors.New("refused") }
	works := func(context.Context) error { return nil }
	soon, later := time.Now().Add(quietAway/2), time.Now().Add(2*quietAway)
	o.check(t.Context(), plain, soon, works)
	o.check(t.Context(), plain, later, broken)
	if strings.Contains(said.String(), over) {
		t.Errorf("the outage ended too early:\n%s", said.String())
	}
	o.check(t.Context(), plain, later, works)
	o.check(t.Context(), plain, later, works)
	if n := strings.Count(said.String(), over); n != 1 || !strings.Contains(said.String(), `"messages_left_out":59`) {
		t.Errorf("got %d lines about the end, want one:\n%s", n, said.String())
	}
	for range 3 {
		log.Error("cannot count", "error", db.Classify(&pgconn.PgError{Code: "53100", Message: "could not extend file"}))
	}
	o.check(t.Context(), plain, later, works)
	if n := strings.Count(said.String(), "make space"); n != 1 || strings.Count(said.String(), over) != 1 {
		t.Errorf("got %d lines about the full disk, want one without an end yet:\n%s", n, said.String())
	}
}

// TestMachineProblems checks that a problem of the machine is logged when it begins and ends.
func TestMachineProblems(t *testing.T) {
	t.Parallel()
	var said quietBuffer
	p := &machineProblems{log: newLog(&said, slog.LevelInfo), now: map[string]string{}}
	check := crash.HealthCheck{ID: "clock", Name: "Clock", Remedy: "correct the clock"}
	for _, problem := range []string{"", "11 s wrong", "12 s wrong", "", ""} {
		check.Problem = problem
		p.update(t.Context(), []crash.HealthCheck{check, {ID: "disk", Name: "Disk of data_dir"}})
	}
	if n := strings.Count(said.String(), "\n"); n != 2 || !strings.Contains(said.String(), "correct the clock") ||
		!strings.Contains(said.String(), "this is over: 12 s wrong") {
		t.Errorf("got %d lines, want the begin and the end:\n%s", n, said.String())
	}
}

// TestOutageIsLoggedOnce takes the database away from a server while visitors come, and gives it back.
// Load balancers ask meanwhile.
func TestOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	database := dbtest.URL(t)
	p, addresses := serveProcess(t, []string{"MISHAP_DATABASE_URL=" + database, "MISHAP_DATA_DIR=" + t.TempDir()})
	if strings.Contains(p.said.String(), "Ctrl-C") {
		t.Errorf("start-up words without a terminal: %s", p.said)
	}
	before := len(p.said.String())
	dbtest.Refuse(t, database, true)
	for range 5 {
		statusAt(t, "http://"+addresses["listen"]+"/readyz")
		statusAt(t, "http://"+addresses["listen"]+"/")
	}
	p.until("further messages about the database are left out")
	dbtest.Refuse(t, database, false)
	p.until("the database works again")
	n := 0
	for line := range strings.Lines(p.said.String()[before:]) {
		if strings.Contains(line, "/readyz") || strings.Contains(line, "Producer job counts") {
			t.Errorf("got a line without an event: %s", line)
		}
		if !strings.Contains(line, `"msg":"request"`) {
			n++
		}
	}
	if n > 5 {
		t.Errorf("got %d lines about an outage, want at most 5:\n%s", n, p.said)
	}
}
