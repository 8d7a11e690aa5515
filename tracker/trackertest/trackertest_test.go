package trackertest_test

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/tracker/trackertest"
)

// browser sends requests to a practice tracker.
type browser struct {
	t     *testing.T
	lp    *trackertest.Tracker
	token crash.AccessToken
}

func newBrowser(t *testing.T, options ...trackertest.Options) *browser {
	t.Helper()
	lp := trackertest.New(t, options...)
	return &browser{t: t, lp: lp, token: lp.Token("app")}
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (b *browser) do(method, path, body string, header ...string) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.lp.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func (b *browser) form(path, body string, header ...string) answer {
	b.t.Helper()
	return b.do(http.MethodPost, path, body, append([]string{"Content-Type", "application/x-www-form-urlencoded"},
		header...)...)
}

func (b *browser) signature() string { return sign("app", b.token.Token, string(b.token.Secret)) }

func sign(consumer, token, secret string) string {
	return fmt.Sprintf(
		`OAuth realm="x", oauth_consumer_key="%s", oauth_token="%s", oauth_signature_method="PLAINTEXT", oauth_signature="%%26%s"`,
		consumer, token, secret)
}

// create files a bug with valid parameters, except one.
func (b *browser) create(name, value string) answer {
	b.t.Helper()
	form := url.Values{"title": {`"t"`}, "description": {`"d"`}, "target": {`"/ubuntu/+source/bash"`},
		"ws.op": {"createBug"}}
	form.Set(name, value)
	return b.form("/devel/bugs", form.Encode(), "Authorization", b.signature())
}

// TestRefusedParameters checks the rules that bugs must obey, including the encoding of parameters.
func TestRefusedParameters(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, trackertest.Options{Packages: []string{"bash"}, Unpublished: []string{"ghost"}})
	long := strings.Repeat("x", 201)
	for _, tt := range []struct{ name, value, want string }{
		{"title", "24.10", "title: practice: 24.10 is not JSON text"},
		{"title", `""`, "title: ('', 1)"},
		{"title", `"` + long + `"`, "title: ('" + long + "', 200)"},
		{"title", `"a\nb"`, `title: ('a\nb', 'title')`},
		{"description", `"  "`, `description: ('  ', 1)`},
		{"tags", `["Foo"]`, "tags: ([ConstraintNotSatisfied('Foo', '')], 'tags')"},
		{"tags", `["f"]`, "tags: ([ConstraintNotSatisfied('f', '')], 'tags')"},
		{"tags", `["24.10"]`, "tags: practice: the item 24.10 is not JSON text"},
		{"information_type", "Secret", `information_type: Invalid value "Secret".`},
		{"target", `"/ubuntu/+source/zsh"`, `target: No such object "/ubuntu/+source/zsh".`},
		{"target", `"/ubuntu/+source/ghost"`, "Package ghost not published in Ubuntu"},
		{"target", `"https://launchpad.net/ubuntu"`, `target: No such object "https://launchpad.net/ubuntu".`},
		{"target", `"x"`, `target: "x" is not a valid URI.`},
	} {
		if got := b.create(tt.name, tt.value); got.status != 400 || !strings.HasPrefix(got.body, tt.want) {
			t.Errorf("%s=%s: got %d %q, want 400 %q", tt.name, tt.value, got.status, got.body, tt.want)
		}
	}
	if got := b.create("tags", `["\"24.10\"", "noble"]`); got.status != 201 {
		t.Errorf("a tag encoded twice: got %d %q, want 201", got.status, got.body)
	}
	if bugs := b.lp.Bugs(); len(bugs) != 1 || strings.Join(bugs[0].Tags, " ") != "24.10 noble" {
		t.Errorf("got bugs %+v, want one with the tags 24.10 and noble", bugs)
	}
}

// TestStateFile checks that bugs, tokens and request tokens survive a restart.
func TestStateFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state.json")
	first := newBrowser(t, trackertest.Options{StateFile: file})
	if got := first.create("title", `"t"`); got.status != 201 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	second := &browser{t: t, lp: trackertest.New(t, trackertest.Options{StateFile: file}), token: first.token}
	if got := second.create("title", `"t"`); got.header.Get("Location") != second.lp.APIURL+"/bugs/2100002" {
		t.Errorf("next bug after a restart: got %d %s", got.status, got.header.Get("Location"))
	}
}

// TestBugPage checks that the page of a bug shows it, whatever its text, and can close it.
func TestBugPage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.lp.Add(trackertest.Bug{Title: "<script>alert(1)</script>", Description: "one\n  two & <three>", Package: "bash"})
	for _, path := range []string{"/bugs/2100001", "/ubuntu/+source/bash/+bug/2100001"} {
		got := b.do(http.MethodGet, path, "")
		if got.status != 200 || strings.Contains(got.body, "<script") || !strings.Contains(got.body, "&lt;script&gt;") ||
			!strings.Contains(got.body, "<pre>one\n  two &amp; &lt;three&gt;</pre>") {
			t.Errorf("%s: got %d\n%s", path, got.status, got.body)
		}
	}
	if got := b.form("/bugs/2100001", "status=New&fixed_in=1.2-3&comment="); got.status != 303 {
		t.Errorf("closing: got %d %s, want 303", got.status, got.body)
	}
	if bug := b.lp.Bugs()[0]; bug.Status != "Fix Released" || bug.Closed.IsZero() || len(bug.Messages) != 1 {
		t.Errorf("got %+v, want it closed by an upload", bug)
	}
}

// launchpadlibPython returns the path of a Python that has launchpadlib. It prefers the
// distribution's Python, which may not be the first in PATH.
func launchpadlibPython(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import launchpadlib").Run() == nil {
			return python
		}
	}
	t.Skip("launchpadlib is not installed: apt-get install python3-launchpadlib")
	return ""
}

// TestLaunchpadlib runs the real launchpadlib, which signs in and reads, searches, files and
// changes bugs. It covers both API versions in use, as an application of its own and as apport.
func TestLaunchpadlib(t *testing.T) {
	t.Parallel()
	python := launchpadlibPython(t)
	for _, tt := range []struct{ version, how, button string }{
		{"devel", "consumer", "field.actions.WRITE_PRIVATE"},
		{"1.0", "desktop", "field.actions.DESKTOP_INTEGRATION"},
	} {
		t.Run(tt.version, func(t *testing.T) {
			t.Parallel()
			lp := trackertest.New(t, trackertest.Options{PageSize: 5, Archive: &trackertest.Archive{
				Sources: map[string][]crash.Publication{"gedit": {{Series: "noble", Pocket: "Updates", Version: "46.1"}}},
			}})
			fill(lp)
			client := exec.CommandContext(t.Context(), python, "testdata/launchpadlib_client.py", lp.URL+"/", tt.version,
				t.TempDir(), tt.how)
			said := talk(t, client, func(page string) { authorise(t, page, tt.button) })
			if !strings.HasSuffix(said, "done\n") {
				t.Errorf("the client printed %q, want it to finish", said)
			}
			bugs := lp.Bugs()
			made := bugs[len(bugs)-1]
			if made.Package != "bash" || made.InformationType != "Private" || len(made.Messages) != 1 ||
				len(made.Subscribers) != 2 {
				t.Errorf("got the bug %+v, want what the client filed", made)
			}
		})
	}
}

// fill creates the bugs that the client expects.
func fill(lp *trackertest.Tracker) {
	lp.Add(trackertest.Bug{
		Title: "gedit crashed with SIGSEGV", Description: "It crashes.", Package: "gedit", Status: "Confirmed",
		Tags:     []string{"noble"},
		Messages: []trackertest.Message{{Owner: "ada", Content: "Me too."}, {Owner: "bob", Content: "And me."}},
		Series:   []trackertest.SeriesTask{{Series: "noble", Status: "New"}},
	})
	lp.Add(trackertest.Bug{Title: "gedit crashed on exit", Description: "d", Package: "gedit", Status: "Fix Released"})
	for range 12 {
		lp.Add(trackertest.Bug{Title: "one of many", Description: "d", Package: "many", Tags: []string{"many"}})
	}
	lp.Add(trackertest.Bug{Title: "a secret one of many", Description: "d", Package: "many", InformationType: "Private",
		Status: "Invalid"})
}

var authorisePage = regexp.MustCompile(`\((http[^)]*\+authorize-token[^)]*)\)`)

// talk runs a client, calls authorise with the address that it prints, presses Enter, and returns
// the client's output.
func talk(t *testing.T, client *exec.Cmd, authorise func(page string)) string {
	t.Helper()
	var errs strings.Builder
	client.Stderr, client.WaitDelay = &errs, 10*time.Second
	client.Env = append(client.Environ(), "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1")
	enter, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		said.WriteString(line)
		if m := authorisePage.FindStringSubmatch(line); m != nil {
			authorise(m[1])
			if _, err := io.WriteString(enter, "\n"); err != nil {
				t.Errorf("press Enter: %v", err)
			}
		}
		if err != nil {
			break
		}
	}
	if err := client.Wait(); err != nil {
		t.Errorf("the client ended with %v and printed\n%s%s", err, said.String(), errs.String())
	}
	return said.String()
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// authorise opens the page on which a person decides, and presses a button.
func authorise(t *testing.T, page, button string) {
	t.Helper()
	body := fetch(t, http.MethodGet, page, nil)
	if !strings.Contains(body, `name="`+button+`"`) {
		t.Fatalf("the page has no button %s:\n%s", button, body)
	}
	form := url.Values{button: {"yes"}}
	for _, m := range hiddenField.FindAllStringSubmatch(body, -1) {
		form.Add(m[1], html.UnescapeString(m[2]))
	}
	if body := fetch(t, http.MethodPost, page[:strings.Index(page, "?")], form); !strings.Contains(body,
		"Almost finished") {
		t.Fatalf("after the button: got\n%s", body)
	}
}

func fetch(t *testing.T, method, address string, form url.Values) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: got %s, %v\n%s", method, address, res.Status, err, body)
	}
	return string(body)
}

const signedEmpty = "oauth_consumer_key=app&oauth_signature_method=PLAINTEXT&oauth_signature=%26"

func TestRequestTokens(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	tests := []struct {
		name, path, body string
		status           int
		challenge        bool
	}{
		{"good", "/+request-token", signedEmpty, 200, false},
		{"no consumer", "/+request-token", strings.Replace(signedEmpty, "=app", "=", 1), 401, true},
		{"wrong signature", "/+request-token", signedEmpty + "x", 401, true},
		{"no signature", "/+request-token", "oauth_consumer_key=app&oauth_signature_method=PLAINTEXT", 401, true},
		{"encoded twice", "/+request-token", strings.Replace(signedEmpty, "%26", "%2526", 1), 401, true},
		{"another method", "/+request-token", strings.Replace(signedEmpty, "PLAINTEXT", "HMAC-SHA1", 1), 400, false},
		{"no method", "/+request-token", "oauth_consumer_key=app&oauth_signature=%26", 400, false},
		{"a trailing slash", "/+request-token/", signedEmpty, 404, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := b.form(tt.path, tt.body)
			if got.status != tt.status || (got.header.Get("WWW-Authenticate") != "") != tt.challenge {
				t.Errorf("got %d, challenge %q, want %d, challenge %v", got.status, got.header.Get("WWW-Authenticate"), tt.status,
					tt.challenge)
			}
			if tt.status == 401 && got.body != "" {
				t.Errorf("got body %q, want none", got.body)
			}
		})
	}
}

// TestAuthorizePage decides as a person with a browser would, using only forms.
func TestAuthorizePage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	request := func() url.Values {
		t.Helper()
		values, err := url.ParseQuery(b.form("/+request-token", signedEmpty).body)
		if err != nil {
			t.Fatal(err)
		}
		return values
	}
	exchange := func(v url.Values) answer {
		t.Helper()
		return b.form("/+access-token", "oauth_consumer_key=app&oauth_signature_method=PLAINTEXT&oauth_token="+
			v.Get("oauth_token")+"&oauth_signature=%26"+v.Get("oauth_token_secret"))
	}
	decide := func(v url.Values, level string) answer {
		t.Helper()
		return b.form("/+authorize-token", "oauth_token="+v.Get("oauth_token")+"&field.actions."+level+"=x")
	}
	first := request()
	page := b.do(http.MethodGet, "/+authorize-token?oauth_token="+first.Get("oauth_token"), "")
	for _, part := range []string{"field.actions.UNAUTHORIZED", "field.actions.WRITE_PUBLIC",
		`name="oauth_token" value="` + first.Get("oauth_token"), "<b>app</b>"} {
		if !strings.Contains(page.body, part) {
			t.Errorf("the page does not contain %q:\n%s", part, page.body)
		}
	}
	if got := decide(first, "WRITE_PUBLIC"); got.status != 200 || !strings.Contains(got.body, "Almost finished") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := decide(first, "UNAUTHORIZED"); !strings.Contains(got.body, "decided already") {
		t.Errorf("deciding twice: got %s", got.body)
	}
	if got := exchange(first); got.status != 200 || !strings.HasSuffix(got.body, "&lp.context=None") {
		t.Errorf("exchange: got %d %s", got.status, got.body)
	}
	if got := exchange(first); got.status != 401 || got.body != "No request token specified." {
		t.Errorf("second exchange: got %d %s", got.status, got.body)
	}
	second := request()
	decide(second, "UNAUTHORIZED")
	for range 2 {
		if got := exchange(second); got.status != 403 || got.body != "End-user refused to authorize request token." {
			t.Errorf("after No Access: got %d %s", got.status, got.body)
		}
	}
	third := request()
	b.lp.Advance(2*time.Hour + time.Second)
	if got := decide(third, "WRITE_PUBLIC"); !strings.Contains(got.body, "expired") {
		t.Errorf("too late: got %s", got.body)
	}
	if got := exchange(third); got.status != 401 {
		t.Errorf("undecided and too late: got %d %s, want a permanent 401", got.status, got.body)
	}
}

// TestExchangeReadsTheFormOnly checks that consumer key and token are read only from the form.
func TestExchangeReadsTheFormOnly(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	v, err := url.ParseQuery(b.form("/+request-token", signedEmpty).body)
	if err != nil {
		t.Fatal(err)
	}
	b.lp.Authorize(v.Get("oauth_token"), "WRITE_PUBLIC")
	got := b.form("/+access-token", "", "Authorization", sign("app", v.Get("oauth_token"), v.Get("oauth_token_secret")))
	if got.status != 401 || got.body != "" {
		t.Errorf("got %d %q, want 401 and an empty body", got.status, got.body)
	}
}

func TestAuthentication(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	revoked, denied := b.lp.Token("app"), b.lp.TokenOf("app", "UNAUTHORIZED")
	b.lp.Revoke(revoked.Token)
	key, secret := b.token.Token, string(b.token.Secret)
	spaced := b.lp.Token("my app")
	tests := []struct {
		name, header string
		status       int
		body         string
	}{
		{"good", b.signature(), 303, ""},
		{"nobody", "", 401, "You need to be logged in to view this URL."},
		{"scheme in small letters", strings.Replace(b.signature(), "OAuth", "oauth", 1), 401, "You need to be logged in to " +
			"view this URL."},
		{"unknown consumer", sign("who", key, secret), 401, "Unknown consumer (who)."},
		{"unknown token", sign("app", "nokey", secret), 401, "Unknown access token (nokey)."},
		{"another consumer's token", sign("my%20app", key, secret), 401, "Unknown access token (" + key + ")."},
		{"wrong secret", sign("app", key, "no"), 401, "Invalid signature."},
		{"encoded twice", strings.Replace(b.signature(), "%26", "%2526", 1), 401, "Invalid signature."},
		{"revoked", sign("app", revoked.Token, string(revoked.Secret)), 401, "Expired token (" + revoked.Token + ")."},
		{"no access", sign("app", denied.Token, string(denied.Secret)), 401, "Unauthorized token (" + denied.Token + ")."},
		{"blank as %20", sign("my%20app", spaced.Token, string(spaced.Secret)), 303, ""},
		{"plus is a plus", sign("my+app", spaced.Token, string(spaced.Secret)), 401, "Unknown consumer (my+app)."},
		{"not quoted", "OAuth oauth_token=x", 500, "ValueError"},
		{"empty token", sign("app", "", ""), 401, "You need to be logged in to view this URL."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := b.do(http.MethodGet, "/devel/people/+me", "", "Authorization", tt.header)
			if got.status != tt.status || got.body != tt.body {
				t.Errorf("got %d %q, want %d %q", got.status, got.body, tt.status, tt.body)
			}
		})
	}
}
