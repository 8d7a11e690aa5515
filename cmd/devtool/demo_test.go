package main

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"net/http"
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

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/crash/grouping"
	"mishap/handlers/handlertest"
)

// screen records output, which tests can read while it is written.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// testDemo returns a demonstration in its own folder, on free ports.
func testDemo(t *testing.T, program, folder string) (*demo, *screen) {
	t.Helper()
	shown := &screen{}
	d := &demo{folder: folder, tracker: "127.0.0.1:0", program: program, reports: 120, out: shown, err: shown,
		environ: os.Environ()}
	for _, key := range []string{"LISTEN", "INGEST_LISTEN", "OPS_LISTEN"} {
		address, err := checktest.FreeAddress()
		if err != nil {
			t.Fatal(err)
		}
		d.environ = append(d.environ, "MISHAP_"+key+"="+address)
	}
	return d, shown
}

// runDemo runs a demonstration, calls then after the greeting, and stops it.
func runDemo(t *testing.T, d *demo, shown *screen, then func(greeting string)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- d.run(ctx) }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(shown.String(), "the data stays in") {
		select {
		case err := <-ended:
			t.Fatalf("demo ended with %v and printed\n%s", err, shown)
		case <-tick.C:
		}
	}
	then(shown.String())
	stop()
	if err := <-ended; err != nil {
		t.Errorf("demo: got %v, want no error; it printed\n%s", err, shown)
	}
}

// TestMoreDemo runs the demonstration twice. The first run loads everything and prints what a newcomer
// needs; the second run finds it all again.
func TestMoreDemo(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "mishap-demo-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "mishap")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, "../mishap")
	// The flags of "make build", so that packages are compiled once for both.
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	data := filepath.Join(folder, "demo")
	var password, routed string

	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(here, data)
	if err != nil {
		t.Fatal(err)
	}
	d, shown := testDemo(t, program, relative)
	runDemo(t, d, shown, func(greeting string) {
		password = regexp.MustCompile(`password (\S+)`).FindStringSubmatch(greeting)[1]
		for _, line := range []string{"open              " + d.pages() + "\n", "the data stays in " + data + ".\n",
			"log               " + data + "/mishap.log\n"} {
			if !strings.Contains(greeting+"\n", line) {
				t.Errorf("greeting: got %q, want %q", greeting, line)
			}
		}
		s := signedIn(t, d)
		wantNames(t, s)
		wantStories(t, d, s)
		if status := createFirst(d, s); status != http.StatusServiceUnavailable {
			t.Errorf("Create before the tracker is connected: got %d, want 503", status)
		}
		first := freshReport(d.reports, d.memory.SeedTime, d.memory.SeedTime)
		waiting := s.Get(crash.BucketIDOf(grouping.SignatureOf(first.Fields()).Signature).Path()).Body
		if !strings.Contains(waiting, `<a class="bug-connect" href="/admin/tracker">`) {
			t.Errorf("page of a problem whose bug is waiting: got no link to connect the tracker in\n%s", waiting)
		}
		connect(t, s)
		status := createFirst(d, s) // it was requested before, so it may be in progress
		if status != http.StatusCreated && status != http.StatusOK && status != http.StatusAccepted {
			t.Errorf("Create after connecting: got %d, want 200, 201 or 202", status)
		}
		wantStories(t, d, s)
		routed = createRouted(t, d, s)
	})
	sample, err := os.ReadFile(filepath.Join(data, "sample.bson"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := crashtest.Decode(sample); err != nil {
		t.Errorf("sample.bson: got %v, want a report", err)
	}
	for file, want := range map[string]os.FileMode{"demo.json": 0o600, "local_config.toml": 0o600, "tracker.json": 0o600,
		"mishap.log": 0o600} {
		if info, err := os.Stat(filepath.Join(data, file)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v, want mode %o", file, info, err, want)
		}
	}

	d, shown = testDemo(t, program, data)
	runDemo(t, d, shown, func(greeting string) {
		if !strings.Contains(greeting, "password "+password+"\n") {
			t.Errorf("second greeting: got %q, want the same password", greeting)
		}
		s := signedIn(t, d)
		if again := createFirst(d, s); again != http.StatusOK {
			t.Errorf("Create in the second run: got %d, want 200 for the bug of the first", again)
		}
		if again := createRouted(t, d, s); again != routed {
			t.Errorf("bug in Bugzilla in the second run: got %s, want that of the first, %s", again, routed)
		}
		ingest := "http://" + variable(d.environ, "MISHAP_INGEST_LISTEN")
		if _, err := answer(t.Context(), http.DefaultClient, ingest+"/machine-1", sample); err != nil {
			t.Errorf("the sample, posted as the greeting says: got %v", err)
		}
	})

	d, _ = testDemo(t, program, data)
	d.environ = append(d.environ, "MISHAP_LISTEN=nowhere")
	if err := d.run(t.Context()); err == nil ||
		err.Error() != `MISHAP_LISTEN: expected an address such as 127.0.0.1:8080, got "nowhere"` {
		t.Errorf("demo with an invalid variable: got %v, want the server's message", err)
	}
}

// pages returns the address of the pages.
func (d *demo) pages() string {
	_, port, _ := strings.Cut(variable(d.environ, "MISHAP_LISTEN"), ":")
	return "http://localhost:" + port
}

// signedIn signs in with the account of the greeting.
func signedIn(t *testing.T, d *demo) *handlertest.Client {
	t.Helper()
	c := handlertest.NewClient(t, d.pages())
	c.Post("/login", url.Values{"username": {demoAccount}, "password": {d.memory.Password}}).Want(http.StatusSeeOther)
	return c
}

// wantNames waits until the native crash has its function names: its problem leads to another one.
func wantNames(t *testing.T, s *handlertest.Client) {
	t.Helper()
	_, path, err := nativeCrash(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var moved []string
	for moved == nil {
		<-tick.C
		moved = movedTo.FindStringSubmatch(s.Get(path).Body)
	}
	if page := s.Get(html.UnescapeString(moved[1])).Body; !strings.Contains(page, "crashed with SIGSEGV in level_at()") {
		t.Errorf("the problem with names: got\n%s", page)
	}
}

// movedTo matches the address of the problem that another one was merged into.
var movedTo = regexp.MustCompile(`<a href="(/problem/[^"]+)">See Other`)

// wantStories checks that there is a bug for each status that a problem with a bug can have.
func wantStories(t *testing.T, d *demo, s *handlertest.Client) {
	t.Helper()
	words := map[crash.StateWord]bool{}
	for _, story := range stories(d.memory.SeedTime) {
		page := s.Get(story.bucket().Path()).Body
		cell := regexp.MustCompile(`class="verdict verdict-status-([a-z-]+)"`).FindStringSubmatch(page)
		if cell == nil || cell[1] != string(story.word) {
			t.Errorf("%s: got the state %q, want %q", story.name, cell, story.word)
		}
		bugs := map[string]bool{}
		for _, link := range regexp.MustCompile(`class="bug-link" href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			bugs[link[1]] = true
		}
		if len(bugs) != len(story.bugs) {
			t.Errorf("%s: got the bugs %v, want %d", story.name, bugs, len(story.bugs))
		}
		words[story.word] = true
	}
	if page := s.Get(newcomer().bucket().Path()).Body; !strings.Contains(page, "Possible duplicate") ||
		!strings.Contains(page, stories(d.memory.SeedTime)[0].bucket().Path()) {
		t.Error("the page of the new problem names no possible duplicate")
	}
	for _, word := range []crash.StateWord{
		crash.StateOpen, crash.StateFixed, crash.StateRegression, crash.StateDisappeared, crash.StateClosed,
		crash.StatePrivate,
	} {
		if !words[word] {
			t.Errorf("no story has the status %q", word)
		}
	}
}

// connect follows the steps of the greeting.
func connect(t *testing.T, s *handlertest.Client) {
	t.Helper()
	s.Post("/admin/tracker/request-token", nil).Want(http.StatusSeeOther)
	steps := s.Get("/admin/tracker").Body
	link := regexp.MustCompile(`id="authorize"[^>]* href="([^"]*)"`).FindStringSubmatch(steps)
	if link == nil {
		t.Fatalf("got no link to the tracker's page in\n%s", steps)
	}
	authorise, err := url.Parse(html.UnescapeString(link[1]))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.PostForm(authorise.String(), url.Values{"oauth_token": authorise.Query()["oauth_token"],
		"field.actions.WRITE_PUBLIC": {"yes"}})
	if err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("authorise: got %v, %v", answer, err)
	}
	s.Post("/admin/tracker/access-token", nil).Want(http.StatusSeeOther)
	if page := s.Get("/admin/tracker").Body; !strings.Contains(page, "practice-person") {
		t.Fatalf("not connected:\n%s", page)
	}
}

// createFirst clicks Create for the problem of the sample report and returns the status.
func createFirst(d *demo, s *handlertest.Client) int {
	fresh := freshReport(d.reports, d.memory.SeedTime, d.memory.SeedTime)
	signature := url.PathEscape(grouping.SignatureOf(fresh.Fields()).Signature)
	return s.PostJSON("/api/1.0/create-bug-report/", map[string]string{"signature": signature}).Status
}

// createRouted clicks Create for a problem whose bugs go to the practice Bugzilla, and reads the page of the bug.
// It returns the path of the page.
func createRouted(t *testing.T, d *demo, s *handlertest.Client) (path string) {
	t.Helper()
	var signature string
	for r := range sampleReports(d.reports, d.memory.SeedTime) {
		if slices.Contains(d.further[0].packages, r.Fields["SourcePackage"]) && signature == "" {
			signature = grouping.SignatureOf(r.Fields).Signature
		}
	}
	if signature == "" {
		t.Fatal("no sample report leads to Bugzilla")
	}
	var bug struct {
		URL string `json:"url"`
	}
	for bug.URL == "" { // it may be in progress
		answer := s.PostJSON("/api/1.0/create-bug-report/", map[string]string{"signature": url.PathEscape(signature)})
		if err := json.Unmarshal([]byte(answer.Body), &bug); err != nil || answer.Status >= 400 {
			t.Fatalf("create a bug in Bugzilla: got %d, %v: %s", answer.Status, err, answer.Body)
		}
	}
	path = bug.URL[strings.LastIndex(bug.URL, "/"):]
	resp, err := http.Get(d.further[0].url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode != http.StatusOK {
		t.Errorf("page of %s: got %s", bug.URL, resp.Status)
	}
	return path
}

// TestDemoConfigFollowsTheTracker checks that the configuration file has the present port of the
// practice tracker, for commands in a terminal.
func TestDemoConfigFollowsTheTracker(t *testing.T) {
	t.Parallel()
	d := &demo{folder: t.TempDir(), further: furtherTrackers()}
	for _, f := range d.further {
		f.url = "http://127.0.0.1:" + f.port
	}
	before := demoConfig(d.folder, "http://127.0.0.1:8085", crash.AccessToken{Token: "key", Secret: "secret"}) + "# kept\n"
	before = d.addTables(before)
	if err := os.WriteFile(d.configFile(), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	d.further[1].url = "http://127.0.0.1:9124"
	if err := d.configure(&practice{url: "http://127.0.0.1:9123"}, crash.AccessToken{}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(d.configFile())
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("127.0.0.1:8085", "127.0.0.1:9123", "127.0.0.1:8087", "127.0.0.1:9124").Replace(before)
	if string(got) != want || strings.Count(want, "[[tracker]]") != 2 ||
		!strings.Contains(want, `tracker_api_url = "http://127.0.0.1:9123/devel"`) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
