package handlertest

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/events"
	"mishap/notify/mail/mailtest"
	"mishap/notify/rules"
	"mishap/tracker"
)

// Addresses that tests of several areas use.
const (
	TrackerPath   = "/admin/tracker"
	FilingsPath   = "/admin/filings"
	TemplatesPath = "/admin/templates"
	ChosenPath    = "/problems/chosen"
	CreatePath    = "/api/1.0/create-bug-report/"
)

// SafeBuffer is a buffer that several goroutines may write to.
type SafeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends p.
func (s *SafeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// String returns what was written.
func (s *SafeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// AuditRecords returns the records that a query selects, oldest first, in words.
func AuditRecords(t *testing.T, admin *Client, query string) []string {
	t.Helper()
	a := admin.Get("/admin/audit.jsonl?" + query).Want(http.StatusOK)
	if got := a.Header.Get("Content-Type"); got != "application/jsonl; charset=utf-8" {
		t.Errorf("got the type %q", got)
	}
	records := []string{}
	for line := range strings.Lines(a.Body) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if r.Address != "127.0.0.1" || r.RequestID == "" {
			t.Errorf("%s: got the address %q and the request %q", line, r.Address, r.RequestID)
		}
		via, _, _ := strings.Cut(r.Via, " mishap_") // the key differs
		records = append([]string{strings.TrimSpace(strings.Join([]string{string(r.Kind), r.Person, via, r.Action, r.Object,
			r.Result, r.Reason}, "|"))}, records...)
	}
	return records
}

// WantRecords fails the test if a query selects other records than want.
func WantRecords(t *testing.T, admin *Client, query string, want ...string) {
	t.Helper()
	checktest.Diff(t, fmt.Sprintf("records of %s", query), AuditRecords(t, admin, query), want)
}

// APIError is an error of the API.
type APIError struct{ Error, Code string }

// CSVOf parses a CSV export into one map per line, keyed by the names in the first line.
func CSVOf(t *testing.T, a *Answer) []map[string]string {
	t.Helper()
	checktest.Equal(t, "Content-Type", a.Header.Get("Content-Type"), "text/csv; charset=utf-8")
	lines, err := csv.NewReader(strings.NewReader(a.Body)).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("CSV: got %d lines, %v", len(lines), err)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// Feed is an Atom feed as feed readers decode it.
type Feed struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Links   []struct {
		Rel  string `xml:"rel,attr"`
		Href string `xml:"href,attr"`
	} `xml:"link"`
	Entries []struct {
		ID      string `xml:"id"`
		Title   string `xml:"title"`
		Updated string `xml:"updated"`
		Summary string `xml:"summary"`
	} `xml:"entry"`
}

// FeedOf decodes an answer that is a feed.
func FeedOf(t *testing.T, a *Answer) Feed {
	t.Helper()
	checktest.Equal(t, "Content-Type", a.Header.Get("Content-Type"), "application/atom+xml; charset=utf-8")
	var f Feed
	if err := xml.Unmarshal([]byte(a.Body), &f); err != nil {
		t.Fatalf("Atom: %v in %s", err, a.Body)
	}
	return f
}

// Numbered returns a report whose problem depends on n.
func Numbered(n int) crashtest.Report {
	return crashtest.Native(crashtest.Set("DuplicateSignature", fmt.Sprintf("/usr/bin/tidewatch:11:problem_%d", n)),
		crashtest.Process(20_000+n))
}

// FileBug requests the bug of a new problem and returns the resulting bucket.
func FileBug(t *testing.T, site *Site, n int) crash.Bucket {
	t.Helper()
	b := site.Save(t, Numbered(n))
	// The error is ignored because some tests expect a refusal.
	_, _ = site.Filer.CreateBug(t.Context(), b.Signature, tracker.Options{Person: "ines", Wait: 10 * time.Second})
	return site.Bucket(t, b.ID)
}

// Publish publishes an event for one person.
func Publish(t *testing.T, site *Site, e crash.Event, user int64) {
	t.Helper()
	to := crash.Recipients{People: []crash.Recipient{{User: user, Reason: "you follow " + e.Package}}}
	checktest.NoError(t, site.Store.InTx(t.Context(), func(tx pgx.Tx) error {
		_, err := site.Store.Publish(t.Context(), tx, e, to)
		return err
	}))
}

// BugForm returns the form that links a bug.
func BugForm(bug any) url.Values { return url.Values{"bug": {fmt.Sprint(bug)}} }

// FieldsOf returns the hidden fields of a form, without its token.
func FieldsOf(a *Answer, form string) url.Values {
	fields := url.Values{}
	for _, input := range a.HTML().Find(form + " input").EachIter() {
		name, _ := input.Attr("name")
		value, _ := input.Attr("value")
		if name != "csrf_token" {
			fields.Set(name, value)
		}
	}
	return fields
}

// LinkIn returns the path of the first link in the plain text of a mail that begins with this path.
func LinkIn(t *testing.T, m mailtest.Mail, path string) string {
	t.Helper()
	text := strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(m.Raw)
	found := regexp.MustCompile(regexp.QuoteMeta(path) + `[\w.-]+`).FindString(text)
	if found == "" {
		t.Fatalf("got no link to %s in\n%s", path, text)
	}
	return found
}

// Twins saves reports of two similar problems: three of the first, one of the second.
func Twins(t *testing.T, site *Site) (often, once crash.Bucket) {
	t.Helper()
	for pid := range 3 {
		often = site.Save(t, crashtest.Native(crashtest.Process(pid+1)))
	}
	top := strings.ReplaceAll(crashtest.Native()["StacktraceTop"], "tide_load", "tide_reload")
	return often, site.Save(t, crashtest.Native(crashtest.Process(9), crashtest.Set("StacktraceTop", top)))
}

// Today is the time at which these tests view pages: two days after the crashes of package
// crashtest.
var Today = time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC)

// Pages is a site to which tests can post reports.
type Pages struct {
	*Site
	Intake *intake.Intake
	T      *testing.T
	PID    int
}

// NewPages returns a site on a new database.
func NewPages(t *testing.T) *Pages {
	t.Helper()
	return NewPagesOn(t, dbtest.New(t))
}

// NewPagesOn returns a site on a database.
func NewPagesOn(t *testing.T, store *db.Store) *Pages {
	t.Helper()
	return NewPagesIn(t, Options{Store: store})
}

// NewPagesIn returns a site with options.
func NewPagesIn(t *testing.T, o Options) *Pages {
	t.Helper()
	now := func() time.Time { return Today }
	o.Now = now
	site := New(t, o)
	return &Pages{Site: site, Intake: intake.New(intake.Config{MaxAgeDays: 366, Now: now}, site.Store), T: t}
}

// Accept stores a report as if its machine had posted it.
func (p *Pages) Accept(system crash.SystemID, report crashtest.Report) crash.OopsID {
	p.T.Helper()
	receipt, err := p.Intake.Accept(p.T.Context(), crash.Report{System: system, Fields: report.Fields()})
	if err != nil {
		p.T.Fatalf("accept: %v", err)
	}
	if receipt.Duplicate {
		p.T.Fatalf("accept: got a duplicate, want a new report")
	}
	dbtest.Counted(p.T, p.Store)
	return receipt.ID
}

// BucketOf returns the id of the bucket of a report.
func BucketOf(t *testing.T, report crashtest.Report) crash.BucketID {
	t.Helper()
	grouping := grouping.SignatureOf(report.Fields())
	if grouping.Signature == "" {
		t.Fatalf("signature: got none (%s)", grouping.Reason)
	}
	return crash.BucketIDOf(grouping.Signature)
}

// Several stores n reports of distinct crashes, each from its own machine.
func (p *Pages) Several(n int, build func(...crashtest.Option) crashtest.Report, options ...crashtest.Option) {
	p.T.Helper()
	for range n {
		p.PID++
		p.Accept(crash.SystemID(fmt.Sprintf("machine-%d", p.PID)), build(append(options, crashtest.Process(p.PID))...))
	}
	dbtest.Counted(p.T, p.Store)
}

// WantNoMarkup fails the test if a page contains an injected script or event handler.
func WantNoMarkup(t *testing.T, a *Answer) {
	t.Helper()
	a.WantNone("script:not([src]), main img, [onerror], [onmouseover], [style]")
	if strings.Contains(a.Body, "<script>") {
		t.Errorf("got <script> in the page, want it escaped")
	}
}

// privateWords are words that occur only in stacks, tracebacks and reports, never in counted values.
var privateWords = []string{
	"harbour.csv", "/home/ines", "parse.c", "0x0000", "XDG_RUNTIME_DIR", "host-77", "io.py", "machine-1",
	"Traceback (most",
}

// WantNothingPrivate fails the test if a page shows private words to visitors.
func WantNothingPrivate(t *testing.T, a *Answer) {
	t.Helper()
	for _, word := range privateWords {
		if strings.Contains(a.Body, word) {
			t.Errorf("got %q in a page for visitors, want no private data", word)
		}
	}
	a.WantNone("a[href^='/oops/'], a[href^='/user/']")
}

// BrokenSite returns a visitor of a site whose database is unavailable.
func BrokenSite(t *testing.T) *Client {
	t.Helper()
	return New(t, Options{Store: dbtest.Broken(t)}).Visitor(t)
}

// ReviewForm reads the fields of the review form as a browser would send them.
func ReviewForm(t *testing.T, a *Answer) url.Values {
	t.Helper()
	form := url.Values{}
	for _, input := range a.HTML().Find("form.review-form input").EachIter() {
		name, _ := input.Attr("name")
		kind, _ := input.Attr("type")
		_, checked := input.Attr("checked")
		value, _ := input.Attr("value")
		if name != "csrf_token" && (checked || kind != "radio" && kind != "checkbox") {
			form.Add(name, value)
		}
	}
	// Browsers send CR LF line ends and drop the first line end of a text area.
	text := a.HTML().Find("form.review-form textarea").Text()
	form.Set("description", strings.ReplaceAll(strings.TrimPrefix(text, "\n"), "\n", "\r\n"))
	return form
}

// With returns a form with some fields changed.
func With(form url.Values, pairs ...string) url.Values {
	form = maps.Clone(form)
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// RuleCount returns the number of rules.
func RuleCount(t *testing.T, site *Site) int {
	t.Helper()
	all, err := site.Events.Rules(t.Context())
	checktest.NoError(t, err)
	return len(all)
}

// Candidates makes n problems candidates, and returns the problems of candidate 1, 2 and so on.
func Candidates(t *testing.T, site *Site, n int) []crash.Bucket {
	t.Helper()
	if _, err := site.Events.SaveRule(t.Context(), rules.Rule{Name: "Queue", Scope: rules.Scope{Kind: rules.Everything},
		When: crash.EventNew, Machines: 1, Actions: rules.Actions{Queue: true}, Enabled: true}, "ada"); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		site.Save(t, crashtest.Native(crashtest.Without("Date"),
			crashtest.Set("DuplicateSignature", fmt.Sprint("candidate ", i)), crashtest.Process(100+i)))
	}
	e := events.NewEvaluator(site.Events, events.EvaluatorOptions{
		File: func(ctx context.Context, signature, rule string) error {
			_, err := site.Filer.CreateBug(ctx, signature, tracker.Options{Person: rule})
			return err
		},
	})
	checktest.NoError(t, e.Round(t.Context()))
	all, err := site.Events.Candidates(t.Context(), n)
	checktest.NoError(t, err)
	var problems []crash.Bucket
	for _, c := range all {
		problems = append(problems, site.Bucket(t, c.Problem))
	}
	return problems
}

// SearchFor returns the address of a search.
func SearchFor(text string) string { return "/search?" + url.Values{"q": {text}}.Encode() }

// MakeToken creates a token on the account page and returns it.
func MakeToken(t *testing.T, c *Client, scopes ...string) string {
	t.Helper()
	page := c.Post("/account/tokens", url.Values{"name": {"a script"}, "scope": scopes, "days": {"30"}}).Want(
		http.StatusCreated)
	token := page.Attr("#made-token", "value")
	if !strings.HasPrefix(token, "mshp_") {
		t.Fatalf("got the token %q", token)
	}
	return token
}

// Bearer returns the header with an API token.
func Bearer(token string) []Header {
	return []Header{{Name: "Authorization", Value: "Bearer " + token}}
}

// ManualStatus returns the manual status of a problem.
func ManualStatus(t *testing.T, site *Site, id crash.BucketID) crash.ManualStatus {
	t.Helper()
	m, _, err := site.Problems.Triage(t.Context(), id)
	checktest.NoError(t, err)
	return m
}
