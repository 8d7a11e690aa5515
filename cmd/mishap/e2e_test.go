package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/problems"
	"mishap/handlers/handlertest"
	"mishap/tracker/trackertest"
)

const testPassword = "correct horse battery staple"

// installation is a running mishap: the real serve command in this process, with its own database
// and a practice tracker.
type installation struct {
	t       *testing.T
	url     string // address of the pages
	ingest  string
	ops     string
	config  string // file
	environ []string
	store   *db.Store // a separate connection to check results
	tracker *trackertest.Tracker
	said    *quietBuffer // all output
}

// install starts an installation. lines are added to its configuration file; without any it is
// connected to the tracker.
func install(t *testing.T, lines ...string) *installation {
	t.Helper()
	tr := trackertest.New(t)
	if len(lines) == 0 {
		lines = connected(tr)
	}
	return installFor(t, tr, lines...)
}

// connected returns the lines of a configuration file that connect mishap to a tracker.
func connected(tr *trackertest.Tracker) []string {
	token := tr.Token("mishap")
	return []string{fmt.Sprintf("tracker_oauth_token = %q", token.Token), fmt.Sprintf("tracker_oauth_secret = %q",
		string(token.Secret))}
}

// installFor starts an installation for a practice tracker, with these lines in its configuration file.
func installFor(t *testing.T, tr *trackertest.Tracker, lines ...string) *installation {
	t.Helper()
	database := dbtest.URL(t)
	in := &installation{
		t: t, tracker: tr, said: &quietBuffer{}, store: dbtest.Open(t, database),
		config: configFile(t, strings.Join(lines, "\n")+"\n"),
	}
	listeners := map[string]net.Listener{}
	for _, key := range []string{"listen", "ingest_listen", "ops_listen"} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners[key] = l
	}
	in.url, in.ingest, in.ops = "http://"+listeners["listen"].Addr().String(),
		"http://"+listeners["ingest_listen"].Addr().String(), "http://"+listeners["ops_listen"].Addr().String()
	in.environ = trackerEnviron(tr, "MISHAP_DATABASE_URL="+database, "MISHAP_BASE_URL="+in.url, "MISHAP_DATA_DIR="+
		t.TempDir(),
		"MISHAP_TRACKER_SETTLE_SECONDS=1", "MISHAP_TRACKER_TIMEOUT_SECONDS=600")
	p := &program{in: strings.NewReader(""), out: in.said, err: in.said, environ: in.environ,
		listen: func(_ context.Context, key, _ string) (net.Listener, error) { return listeners[key], nil }}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan int, 1)
	go func() { ended <- p.run(ctx, []string{"serve", "--config", in.config}) }()
	t.Cleanup(func() {
		stop()
		if status := <-ended; status != exitOK {
			t.Errorf("serve: got status %d, want %d; it printed\n%s", status, exitOK, in.said)
		}
		checkHidden(t, in.said.String(), append(secretOf(t, in.config), in.environ...))
	})
	in.get(in.ops+"/readyz", http.StatusOK)
	return in
}

// quietBuffer collects the output of several goroutines.
type quietBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *quietBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *quietBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// get requests an address and returns the body of the answer.
func (in *installation) get(url string, want int) string {
	in.t.Helper()
	status, body, _ := statusAt(in.t, url)
	if status != want {
		in.t.Fatalf("%s: got status %d and %q, want %d; the server printed\n%s", url, status, body, want, in.said)
	}
	return body
}

// report posts a report as a machine would, waits until it is counted, and returns its bucket.
func (in *installation) report(system string, r crashtest.Report) crash.BucketID {
	in.t.Helper()
	answer := answerTo(in.t, strings.TrimPrefix(in.ingest, "http://"), "/"+system, r.BSON())
	if !strings.HasSuffix(answer, " OOPSID") && !strings.HasSuffix(answer, " CORE") {
		in.t.Fatalf("answer to a report: got %q, want an id and OOPSID or CORE", answer)
	}
	dbtest.Counted(in.t, in.store)
	return crash.BucketIDOf(grouping.SignatureOf(r.Fields()).Signature)
}

// account creates an account with testPassword.
func (in *installation) account(name string, role crash.Role) {
	in.t.Helper()
	mustRun(in.t, in.environ, "user", "add", name, "--role", string(role), "--password-stdin", "--config", in.config)
}

// bucket reads a bucket.
func (in *installation) bucket(id crash.BucketID) crash.Bucket {
	in.t.Helper()
	b, err := in.store.Bucket(in.t.Context(), id)
	if err != nil {
		in.t.Fatal(err)
	}
	return b
}

// secretOf returns the access token's secret in a configuration file, as an environment.
func secretOf(t *testing.T, file string) []string {
	t.Helper()
	c, err := config.Load(file, true, nil)
	if err != nil {
		t.Error(err)
	}
	if c.TrackerOAuthSecret == "" {
		return nil
	}
	return []string{"MISHAP_TRACKER_OAUTH_SECRET=" + string(c.TrackerOAuthSecret)}
}

func variableOf(environ []string, name string) string {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// browser is a headless Chromium with its own profile that visits an installation.
type browser struct {
	t   *testing.T
	ctx context.Context
	in  *installation

	watching sync.WaitGroup
	mu       sync.Mutex
	console  []string // console messages of pages and of the browser
	requests []string // requested addresses
}

func (in *installation) browser() *browser {
	t := in.t
	t.Helper()
	b := &browser{t: t, in: in}
	t.Cleanup(b.watching.Wait) // after the browser has ended
	b.ctx = handlertest.StartBrowser(t)
	b.watch()
	return b
}

// watch records console messages and requests.
func (b *browser) watch() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `addEventListener("securitypolicyviolation", e => 
			console.error("CSP: " + e.violatedDirective + " " + e.blockedURI))`,
	}); err != nil {
		b.t.Fatal(err)
	}
	console, requests := chromedp.Console(b.ctx), chromedp.Events(b.ctx, network.RequestWillBeSent)
	b.watching.Go(func() {
		for m, err := range console {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.console = append(b.console, fmt.Sprintf("%s %s (%s)", m.Type, m.Text, m.URL))
			b.mu.Unlock()
		}
	})
	b.watching.Go(func() {
		for e, err := range requests {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.requests = append(b.requests, e.Request.URL)
			b.mu.Unlock()
		}
	})
}

// do runs steps.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	handlertest.Do(b.ctx, b.t, steps...)
}

// ask runs one step and returns its result.
func ask[T any](b *browser, step chromedp.Action[T]) T {
	b.t.Helper()
	v, err := handlertest.Run(b.ctx, step)
	if err != nil {
		b.t.Fatalf("browser step: %v", err)
	}
	return v
}

func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.in.url + path))
}

func (b *browser) location() string {
	b.t.Helper()
	return strings.TrimPrefix(ask(b, chromedp.Location()), b.in.url)
}

// text returns the visible text of the first matching element, without waiting for one.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return ask(b, chromedp.Evaluate[string](fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector)))
}

// until waits for a condition in the page.
func (b *browser) until(condition string) {
	b.t.Helper()
	if _, err := handlertest.Run(b.ctx, handlertest.Until(condition)); err != nil {
		b.t.Fatalf("%v; the page is\n%s\nconsole: %s", err, handlertest.Page(b.ctx), b.complaints())
	}
}

// signIn signs in with the form and must end at path.
func (b *browser) signIn(name, path string) {
	b.t.Helper()
	b.open("/login?next=" + path)
	b.until(`document.activeElement.id === "username"`) // else the browser complains that it cannot focus the field
	b.do(
		handlertest.Type("#username", name),
		handlertest.Type("#password", testPassword),
		handlertest.Click("#sign-in button"),
		handlertest.WaitVisible(".account form button"),
	)
	if got := b.location(); got != path {
		b.t.Fatalf("after signing in: got %s, want %s", got, path)
	}
}

// complaints returns the console messages of pages and of the browser.
func (b *browser) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.console...)
}

// outside returns requests to other hosts.
func (b *browser) outside() []string {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) == 0 {
		b.t.Error("requests of the browser: got none, want them recorded")
	}
	var list []string
	for _, url := range b.requests {
		if !strings.HasPrefix(url, b.in.url+"/") && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "about:") {
			list = append(list, url)
		}
	}
	return list
}

// TestBrowserCreateWithoutScripts checks that the form files the bug without scripts. The browser
// then shows the problem with a message.
func TestBrowserCreateWithoutScripts(t *testing.T) {
	t.Parallel()
	in := install(t)
	id := in.report("machine-1", crashtest.Native())
	in.account("tess", crash.RoleTriager)
	b := in.browser()
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	b.signIn("tess", id.Path())
	b.do(handlertest.Click(".create-bug button"), handlertest.WaitVisible(".bug-link"))
	if got := b.location(); got != id.Path() {
		t.Errorf("after Create: got %s, want %s", got, id.Path())
	}
	if got := b.text("#flash"); !strings.Contains(got, "Bug 2100001 was created.") {
		t.Errorf("message: got %q, want one that the bug was created", got)
	}
	if got := len(in.tracker.Bugs()); got != 1 {
		t.Errorf("bugs in the tracker: got %d, want 1", got)
	}
}

// TestBrowserConnectTracker connects the tracker as an admin: request, decision on the practice
// tracker's page, and return. The file then contains the tokens.
func TestBrowserConnectTracker(t *testing.T) {
	t.Parallel()
	in := install(t, "# mine", "data_dir = \"/nowhere\" # the environment wins", "tracker_oauth_token = \"\"")
	id := in.report("machine-1", crashtest.Native())
	in.account("ann", crash.RoleAdmin)
	b := in.browser()
	b.signIn("ann", "/admin/tracker")
	b.do(
		handlertest.Click(`form[action$="/request-token"] button`),
		handlertest.WaitVisible("#authorize"),
		handlertest.Click(`form[action$="/access-token"] button`), // before the decision
		handlertest.WaitVisible("#tracker-problem"),
	)
	if got := b.text("#tracker-problem"); !strings.Contains(got, "mishap has not been authorised on the "+
		"tracker's page yet") {
		t.Errorf("before the decision: got %q, want a message that nobody has authorised it yet", got)
	}
	page := ask(b, handlertest.Attribute("#authorize", "href"))
	if !strings.HasPrefix(page, in.tracker.URL+"/+authorize-token?oauth_token=") {
		t.Fatalf("address to authorise at: got %q", page)
	}
	b.do(
		chromedp.Navigate(page),
		handlertest.Click(`button[name="field.actions.WRITE_PUBLIC"]`),
	)
	b.until(`document.body.innerText.includes("Almost finished")`)
	b.open("/admin/tracker")
	b.do(handlertest.Click(`form[action$="/access-token"] button`), handlertest.WaitVisible(".state-done"))
	if got := b.text("main"); !strings.Contains(got, "Connected") || !strings.Contains(got, "practice-person") {
		t.Errorf("after connecting: got %q, want the connection and its account", got)
	}
	doc, err := os.ReadFile(in.config)
	if err != nil {
		t.Fatal(err)
	}
	wantTexts(t, string(doc), "# mine\n", "# the environment wins\n", "tracker_oauth_token = \"",
		"tracker_oauth_secret = \"")
	if strings.Contains(string(doc), `tracker_oauth_token = ""`) {
		t.Errorf("configuration file: got %q, want a token in it", doc)
	}
	b.open(id.Path())
	b.do(handlertest.Click(".create-bug button"))
	b.until(`document.querySelector(".bug-link") !== null`)
}

// These call Back and Forward in the page, where new history entries are available at once.
var (
	goBack    = chromedp.Evaluate[chromedp.Void]("void history.back()")
	goForward = chromedp.Evaluate[chromedp.Void]("void history.forward()")
)

// TestBrowserBackAndForward checks that filters and pages have their own addresses, through which
// Back and Forward lead.
func TestBrowserBackAndForward(t *testing.T) {
	t.Parallel()
	in := install(t)
	var id crash.BucketID
	for i := range 60 {
		id = in.report("machine-1", crashtest.Native(crashtest.Process(1000+i), crashtest.On("Ubuntu 24.04")))
	}
	in.report("machine-2", crashtest.Python(crashtest.On("Ubuntu 22.04")))
	in.account("vera", crash.RoleViewer)
	b := in.browser()
	b.signIn("vera", "/?period=year")
	rows := func(n int) string {
		return `document.querySelectorAll(".problems tbody tr").length === ` + string(rune('0'+n))
	}
	b.until(rows(2))
	b.do(handlertest.Choose("#release", "Ubuntu 22.04"))
	b.until(rows(1))
	b.until(`new URLSearchParams(location.search).get("release") === "Ubuntu 22.04"`)
	b.do(goBack)
	b.until(rows(2))
	b.until(`document.querySelector("#release").value === ""`)
	b.do(goForward)
	b.until(rows(1))
	b.until(`document.querySelector("#release").value === "Ubuntu 22.04"`)

	b.open(id.Path())
	b.do(handlertest.Click(".reports summary"), handlertest.WaitVisible(".reports-table"))
	first := b.text(".reports-table tbody tr a")
	b.do(handlertest.Click(`.reports a[href*="after="]`))
	const shown = `document.querySelector(".reports-table tbody tr a")?.innerText ?? ""`
	other := `location.search.includes("after=") && !["", ` + strconv.Quote(first) + `].includes(` + shown + `)`
	b.until(other)
	b.do(goBack)
	b.until(`!location.search.includes("after=") && (` + shown + `) === ` + strconv.Quote(first))
	b.do(goForward)
	b.until(other) // the page has been loaded again
	b.do(chromedp.Reload(), handlertest.WaitVisible(".reports-table"))
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("console: got %q, want nothing", got)
	}
}

// TestMoreBrowserPolicySweep checks that no page violates the content policy, writes to the console or
// contacts another host, whatever reports contain.
func TestMoreBrowserPolicySweep(t *testing.T) {
	t.Parallel()
	in := install(t)
	pages := []string{"/", "/?period=year", "/?period=year&release=Ubuntu+24.04&package=tidewatch", "/admin/tracker",
		"/user/machine-1", "/user/"}
	for i, build := range []func(...crashtest.Option) crashtest.Report{
		crashtest.Native, crashtest.Unsymbolised, crashtest.Python, crashtest.Package, crashtest.Oops, crashtest.Recoverable,
		crashtest.Ungroupable, crashtest.Markup, crashtest.Long, crashtest.Unicode,
	} {
		r := build(crashtest.Process(100 + i))
		id := in.report("machine-1", r)
		if signature := grouping.SignatureOf(r.Fields()).Signature; signature != "" {
			pages = append(pages, id.Path(), "/bucket/?id="+url.QueryEscape(signature))
		}
	}
	rows, err := problems.New(in.store).SystemReports(t.Context(), "machine-1", crash.OopsID{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		pages = append(pages, "/oops/"+row.ID.String())
	}
	in.account("ann", crash.RoleAdmin)
	b := in.browser()
	b.open("/login")
	for _, path := range pages {
		b.open(path)
	}
	b.signIn("ann", "/?period=year")
	for _, path := range pages {
		b.open(path)
		b.until(`!!document.querySelector("h1")?.innerText`)
	}
	if got := b.complaints(); len(got) > 0 {
		t.Errorf("console: got %q, want nothing", got)
	}
	if got := b.outside(); len(got) > 0 {
		t.Errorf("requests to other hosts: got %q, want none", got)
	}
	b.open("/no/such/page") // the browser itself logs the status
	if got := b.text("main"); got == "" {
		t.Error("/no/such/page: got an empty page")
	}
}
