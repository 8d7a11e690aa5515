package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mishap/crash/sizetest"
	"mishap/db/upkeep"
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
	sizetest.Needs(t, "Prometheus")
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
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
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
		status, _ := fetch(t, prom.url+"/-/ready")
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

// fetch returns the answer of an address, or status 0 if there is none.
func fetch(t *testing.T, address string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close() //nolint:errcheck // read below
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

// query returns the number of values of an expression.
func (p *promServer) query(expr string) int {
	p.t.Helper()
	status, body := fetch(p.t, p.url+"/api/v1/query?query="+url.QueryEscape(expr))
	var answer struct{ Data struct{ Result []any } }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		p.t.Fatalf("query %s: got %d and %s, %v", expr, status, body, err)
	}
	return len(answer.Data.Result)
}

// firing returns the names of the alerts that fire.
func (p *promServer) firing() []string {
	p.t.Helper()
	_, body := fetch(p.t, p.url+"/api/v1/alerts")
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

// TestAlertRules checks the rules with promtool, each threshold from both sides, and compares them with
// the limits of the health checks.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	sizetest.Needs(t, "Prometheus")
	rules, err := filepath.Abs(monitoring + "alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	cases := filepath.Join(t.TempDir(), "test.yml")
	text := readFile(t, "testdata/monitoring/alerts_test.yml")
	if err := os.WriteFile(cases, []byte(strings.Replace(text, "[RULES]", "["+rules+"]", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "rules", rules}, {"test", "rules", cases}} {
		if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", args[0], err, out)
		}
	}
	all := readFile(t, rules)
	for _, want := range []string{
		fmt.Sprintf("skew_seconds) > %.0f", upkeep.ClockWarning.Seconds()),
		fmt.Sprintf("oldest_open_seconds) > %.0f", upkeep.FilingLimit.Seconds()),
		fmt.Sprintf("symbol_queue_oldest_seconds) > %.0f", upkeep.SymbolsLimit.Seconds()),
		fmt.Sprintf("mail_retried_oldest_seconds) > %.0f", upkeep.MailLimit.Seconds()),
		fmt.Sprintf("!= 0) > %.0f", upkeep.BackupLimit.Seconds()),
		fmt.Sprintf("lag_bytes) > %d", int64(upkeep.LagBytes)),
		fmt.Sprintf("lag_seconds) > %.0f", upkeep.LagLimit.Seconds()),
	} {
		if !strings.Contains(all, want) {
			t.Errorf("rules: want %q, the limit of the health check", want)
		}
	}
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

// checkMetricNames compares the metrics that a server exports with those in the documentation, the rules
// and the dashboard.
func checkMetricNames(t *testing.T, exported string) {
	t.Helper()
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (mishap_\w+) (\w+)`).FindAllStringSubmatch(exported, -1) {
		known[m[1]] = true
		if m[2] == "histogram" {
			known[m[1]+"_bucket"] = false
		}
	}
	docs := readFile(t, "../../docs/operating.md")
	for name, base := range known {
		if base && !strings.Contains(docs, "| `"+name+"` |") {
			t.Errorf("docs/operating.md has no row for %s", name)
		}
	}
	for _, file := range []string{"../../docs/operating.md", monitoring + "alerts.yml", monitoring + "dashboard.json"} {
		for _, name := range metricName.FindAllString(readFile(t, file), -1) {
			if _, ok := known[name]; !ok {
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
