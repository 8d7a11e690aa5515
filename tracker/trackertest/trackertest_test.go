package trackertest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

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
