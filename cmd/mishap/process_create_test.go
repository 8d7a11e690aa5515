package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/tracker/trackertest"
)

// script is a signed-in program that uses the JSON API, like scripts of the old site.
type script struct {
	t    *testing.T
	base *url.URL
	http *http.Client
}

func newScript(t *testing.T, base, name string) *script {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, base: u,
		http: &http.Client{Jar: jar, CheckRedirect: func(*http.Request,
			[]*http.Request) error {
			return http.ErrUseLastResponse
		}}}
	s.send(http.MethodGet, "/login", "", "")
	form := url.Values{"username": {name}, "password": {testPassword}, "csrf_token": {s.token()}}
	if status, _ := s.send(http.MethodPost, "/login", "application/x-www-form-urlencoded",
		form.Encode()); status != http.StatusSeeOther {
		t.Fatalf("sign in: got status %d, want %d", status, http.StatusSeeOther)
	}
	return s
}

func (s *script) token() string {
	for _, c := range s.http.Jar.Cookies(s.base) {
		if c.Name == "csrftoken" {
			return c.Value
		}
	}
	return ""
}

// send sends a request. It returns status 0 if there is no answer.
func (s *script) send(method, path, media, body string) (int, string) {
	req, err := http.NewRequestWithContext(context.WithoutCancel(s.t.Context()), method, s.base.String()+path,
		strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	if body != "" {
		req.Header.Set("Content-Type", media)
		req.Header.Set("X-CSRFToken", s.token())
		req.Header.Set("Referer", s.base.String()+"/")
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close() //nolint:errcheck // read below
	var read bytes.Buffer
	if _, err := read.ReadFrom(resp.Body); err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, read.String()
}

func (s *script) create(signature string) (int, string) {
	body, err := json.Marshal(map[string]string{"signature": signature})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.send(http.MethodPost, "/api/1.0/create-bug-report/?format=json", "application/json", string(body))
}

// prepared is a database with one problem and a triager, and the environment of instances that use
// it.
type prepared struct {
	url       string // address of the database
	tracker   *trackertest.Tracker
	store     *db.Store
	environ   []string
	signature string
	bucket    crash.BucketID
}

func prepare(t *testing.T, more ...string) *prepared {
	t.Helper()
	tr := trackertest.New(t)
	database := dbtest.URL(t)
	token := tr.Token("mishap")
	p := &prepared{tracker: tr, store: dbtest.Open(t, database), url: database}
	p.environ = trackerEnviron(tr, append([]string{
		"MISHAP_DATABASE_URL=" + database, "MISHAP_DATA_DIR=" + t.TempDir(),
		"MISHAP_TRACKER_OAUTH_TOKEN=" + token.Token, "MISHAP_TRACKER_OAUTH_SECRET=" + string(token.Secret),
	}, more...)...)
	if status, _, stderr := runIn(t.Context(), strings.NewReader(testPassword), p.environ,
		"user", "add", "tess", "--role=triager", "--password-stdin", noConfig(t)); status != exitOK {
		t.Fatalf("user add: %s", stderr)
	}
	if status, _, stderr := runIn(t.Context(), nil, p.environ, "import", "testdata/crashes/_usr_bin_tidewatch.1000.crash",
		noConfig(t)); status != exitOK {
		t.Fatalf("import: %s", stderr)
	}
	p.signature = "/usr/bin/tidewatch:11:tide_parse_row:tide_load:on_open_clicked:__libc_start_call_main:_start"
	p.bucket = crash.BucketIDOf(p.signature)
	return p
}

// linked waits until the bucket has a bug, and checks that it is the only one.
func (p *prepared) linked(t *testing.T) {
	t.Helper()
	var got crash.Bucket
	eventually(t, "the bucket has a bug", func() bool {
		var err error
		if got, err = p.store.Bucket(t.Context(), p.bucket); err != nil {
			t.Fatal(err)
		}
		return got.Bug.Number != 0
	})
	bugs := p.tracker.Bugs()
	if len(bugs) != 1 || bugs[0].Number != got.Bug.Number {
		t.Errorf("bugs in the tracker: got %d, and %d linked; want one, linked", len(bugs), got.Bug.Number)
	}
}

// TestKillDuringCreate kills the server while it waits for the tracker, which has or has not filed
// the bug. The next server finds out, and there is one bug.
func TestKillDuringCreate(t *testing.T) {
	t.Parallel()
	for _, fault := range []trackertest.Fault{trackertest.HangAfter, trackertest.HangBefore} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			p := prepare(t, "MISHAP_TRACKER_SETTLE_SECONDS=1", "MISHAP_TRACKER_TIMEOUT_SECONDS=60")
			p.tracker.Fail(trackertest.OpCreate, fault)
			server, addresses := serveProcess(t, p.environ)
			s := newScript(t, "http://"+addresses["listen"], "tess")
			var click sync.WaitGroup
			click.Go(func() { s.create(p.signature) })
			eventually(t, "the tracker is asked", func() bool { return len(p.tracker.Requests(trackertest.OpCreate)) > 0 })
			server.kill()
			click.Wait()

			server, addresses = serveProcess(t, p.environ)
			p.linked(t)
			s = newScript(t, "http://"+addresses["listen"], "tess")
			if status, body := s.create(p.signature); status != http.StatusOK || !strings.Contains(body, `"state":"filed"`) {
				t.Errorf("Create afterwards: got %d and %q, want 200 and the bug", status, body)
			}
			if status := server.terminate(); status != exitOK {
				t.Errorf("serve: got status %d; it printed\n%s", status, server.said)
			}
			checkHidden(t, server.said.String(), p.environ)
		})
	}
}

// TestManyClicksAtTwoInstances has fifty people click at once, at two instances on one database.
// One bug is filed, and one person's answer says so.
func TestManyClicksAtTwoInstances(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	p.tracker.FailWith(trackertest.FaultSpec{Operation: trackertest.OpCreate, Fault: trackertest.Slow, Delay: 3e8})
	var scripts []*script
	var instances []*process
	for range 2 {
		instance, addresses := serveProcess(t, append(p.environ, "MISHAP_DATA_DIR="+t.TempDir()), "--only=web")
		instances = append(instances, instance)
		scripts = append(scripts, newScript(t, "http://"+addresses["listen"], "tess"))
	}
	answers := make([]int, 50)
	var clicks sync.WaitGroup
	for i := range answers {
		clicks.Go(func() { answers[i], _ = scripts[i%len(scripts)].create(p.signature) })
	}
	clicks.Wait()
	counts := map[int]int{}
	for _, status := range answers {
		counts[status]++
	}
	if counts[http.StatusCreated]+counts[http.StatusAccepted]+counts[http.StatusOK] != len(answers) ||
		counts[http.StatusCreated] > 1 {
		t.Errorf("answers: got %v, want 201 at most once, otherwise 200 or 202", counts)
	}
	p.linked(t)
	for i, s := range scripts {
		if status, body := s.create(p.signature); status != http.StatusOK {
			t.Errorf("instance %d afterwards: got %d and %q, want 200", i+1, status, body)
		}
		if status := instances[i].terminate(); status != exitOK {
			t.Errorf("instance %d: got status %d; it printed\n%s", i+1, status, instances[i].said)
		}
		checkHidden(t, instances[i].said.String(), p.environ)
	}
}

// TestTokenReachesOtherInstances checks that an instance without an access token uses the token of
// another instance on the same database.
func TestTokenReachesOtherInstances(t *testing.T) {
	t.Parallel()
	p := prepare(t)
	first, addresses := serveProcess(t, p.environ, "--only=web")
	status, _, stderr := runIn(t.Context(), nil, p.environ, "import", "testdata/crashes/_usr_bin_harbor-sync.0.crash",
		noConfig(t))
	if status != exitOK {
		t.Fatalf("import: %s", stderr)
	}
	if status, body := newScript(t, "http://"+addresses["listen"],
		"tess").create(p.signature); status != http.StatusCreated {
		t.Fatalf("Create at the instance with a token: got %d and %q, want 201", status, body)
	}
	first.terminate()

	var environ []string
	for _, v := range p.environ {
		if !strings.HasPrefix(v, "MISHAP_TRACKER_OAUTH_") {
			environ = append(environ, v)
		}
	}
	second, addresses := serveProcess(t, append(environ, "MISHAP_DATA_DIR="+t.TempDir()), "--only=web")
	s := newScript(t, "http://"+addresses["listen"], "tess")
	if status,
		body := s.create("/usr/bin/harbor-sync:ValueError:/usr/bin/harbor-sync@20:main:load"); status != http.StatusCreated {
		t.Errorf("Create at the instance without a token: got %d and %q, want 201", status, body)
	}
	second.terminate()
}

// checkHidden fails the test if the output contains a password or a secret of the environment.
func checkHidden(t *testing.T, said string, environ []string) {
	t.Helper()
	for _, secret := range []string{variableOf(environ, "MISHAP_TRACKER_OAUTH_SECRET"), testPassword} {
		if secret != "" && strings.Contains(said, secret) {
			t.Error("output: got a secret in it")
		}
	}
}
