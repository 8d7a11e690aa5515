package trackertest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
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

const formType = "application/x-www-form-urlencoded"

func (b *browser) signature() string { return sign("app", b.token.Token, string(b.token.Secret)) }

func sign(consumer, token, secret string) string {
	return fmt.Sprintf(
		`OAuth realm="x", oauth_consumer_key="%s", oauth_token="%s", oauth_signature_method="PLAINTEXT", oauth_signature="%%26%s"`,
		consumer, token, secret)
}

func (b *browser) create(form url.Values) answer {
	b.t.Helper()
	form.Set("ws.op", "createBug")
	return b.do(http.MethodPost, "/devel/bugs", form.Encode(), "Content-Type", formType, "Authorization", b.signature())
}

func (b *browser) get(path string) answer {
	b.t.Helper()
	return b.do(http.MethodGet, path, "", "Authorization", b.signature())
}

func (b *browser) lastBug() trackertest.Bug {
	b.t.Helper()
	bugs := b.lp.Bugs()
	if len(bugs) == 0 {
		b.t.Fatal("got no bugs")
	}
	return bugs[len(bugs)-1]
}

// good returns valid parameters of createBug, with changes.
func good(change ...string) url.Values {
	v := url.Values{"title": {`"t"`}, "description": {`"d"`}, "target": {`"/ubuntu/+source/bash"`}}
	for i := 0; i < len(change); i += 2 {
		v.Set(change[i], change[i+1])
		if change[i+1] == "" {
			v.Del(change[i])
		}
	}
	return v
}

func TestRefusedParameters(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, trackertest.Options{Packages: []string{"bash"}, Unpublished: []string{"ghost"}})
	long := strings.Repeat("x", 201)
	tests := []struct {
		name string
		form url.Values
		want string
	}{
		{"no title", good("title", ""), "title: Required input is missing."},
		{"null title", good("title", "null"), "title: Required input is missing."},
		{"empty title", good("title", `""`), "title: ('', 1)"},
		{"long title", good("title", `"`+long+`"`), "title: ('" + long + "', 200)"},
		{"title of two lines", good("title", `"a\nb"`), `title: ('a\nb', 'title')`},
		{"no description", good("description", ""), "description: Required input is missing."},
		{"blank description", good("description", `"  \n"`), `description: ('  \n', 1)`},
		{"upper case tag", good("tags", `["Foo"]`), "tags: ([ConstraintNotSatisfied('Foo', '')], 'tags')"},
		{"short tag", good("tags", `["f"]`), "tags: ([ConstraintNotSatisfied('f', '')], 'tags')"},
		{"tag that is decoded twice", good("tags", `["true"]`), "tags: ([ConstraintNotSatisfied('True', '')], 'tags')"},
		{"information type", good("information_type", "Secret"),
			`information_type: Invalid value "Secret". Acceptable values are: Public, Public Security, Private Security, Private, Proprietary, Embargoed`},
		{"type not for distributions", good("information_type", "Proprietary"), "Ubuntu doesn't allow Proprietary bugs."},
		{"private is no text", good("private", "True"), "private: got 'str', expected bool: 'True'"},
		{"no target", good("target", ""), "target: Required input is missing."},
		{"unknown package", good("target", `"/ubuntu/+source/zsh"`), `target: No such object "/ubuntu/+source/zsh".`},
		{"unpublished package", good("target", `"/ubuntu/+source/ghost"`), "Package ghost not published in Ubuntu"},
		{"another host", good("target", `"https://launchpad.net/ubuntu"`),
			`target: No such object "https://launchpad.net/ubuntu".`},
		{"no link", good("target", `"x"`), `target: "x" is not a valid URI.`},
		{"with a query", good("target", `"/ubuntu?x=1"`), `target: No such object "/ubuntu?x=1".`},
		{"series", good("target", `"/ubuntu/noble"`), "Can't create a bug on a series. Create it with a non-series task " +
			"instead, and target it to the series afterwards."},
		{"two mistakes", good("title", `""`, "tags", `["A B"]`), "title: ('', 1)\ntags: ([ConstraintNotSatisfied('A B', " +
			"'')], 'tags')"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := b.create(tt.form); got.status != 400 || got.body != tt.want {
				t.Errorf("got %d %q, want 400 %q", got.status, got.body, tt.want)
			}
		})
	}
	if got := len(b.lp.Bugs()); got != 0 {
		t.Errorf("got %d bugs, want none", got)
	}
}

// TestDecoding checks that unquoted text is parsed as JSON first, and items of lists twice.
func TestDecoding(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	for raw, want := range map[string]string{
		`"24.10"`: "24.10", "24.10": "24.1", "007": "007", "x": "x", "1e3": "1000.0", "true": "True", `{"a":1}`: "{'a': 1}",
		`[1, "a"]`: "[1, 'a']",
		"1.0":      "1.0", "-0": "0", "12345678901": "12345678901", `"a\r\n"`: "", "it's": "it's", `"\u00e9"`: "é",
	} {
		got := b.create(good("title", raw))
		if want == "" {
			if got.status != 400 {
				t.Errorf("title=%s: got %d, want 400", raw, got.status)
			}
			continue
		}
		if got.status != 201 || b.lastBug().Title != want {
			t.Errorf("title=%s: got %d, title %q, want %q", raw, got.status, b.lastBug().Title, want)
		}
	}
	for raw, want := range map[string]string{
		`["24.10"]`: "24.1", `["\"24.10\""]`: "24.10", `["aa", "bb"]`: "aa bb", `"aa"`: "aa", "aa": "aa", "[]": "",
	} {
		if got := b.create(good("tags", raw)); got.status != 201 || strings.Join(b.lastBug().Tags, " ") != want {
			t.Errorf("tags=%s: got %d %s, tags %q, want %q", raw, got.status, got.body, b.lastBug().Tags, want)
		}
	}
	repeated := good()
	repeated["tags"] = []string{"aa", "bb"}
	if b.create(repeated); strings.Join(b.lastBug().Tags, " ") != "aa bb" {
		t.Errorf("repeated tags: got %q", b.lastBug().Tags)
	}
	if got := b.do(http.MethodPost, "/devel/bugs", `{"title": "x"}`, "Content-Type", "application/json", "Authorization",
		b.signature()); got.status != 400 || got.body != "No operation name given." {
		t.Errorf("JSON body: got %d %q", got.status, got.body)
	}
}

// TestSubscribe checks that only people with a name can be subscribed.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.create(good())
	for person, want := range map[string]int{"/~ines": 200, "/~": 400, "/ines": 400, "/~ines/ppa": 400} {
		form := url.Values{"ws.op": {"subscribe"}, "person": {strconv.Quote(person)}}.Encode()
		got := b.do(http.MethodPost, fmt.Sprintf("/devel/bugs/%d", b.lastBug().Number), form,
			"Content-Type", "application/x-www-form-urlencoded", "Authorization", b.signature())
		if got.status != want {
			t.Errorf("%s: got %d %q, want %d", person, got.status, got.body, want)
		}
	}
	if got := b.lastBug().Subscribers; !slices.Contains(got, "ines") || slices.Contains(got, "") {
		t.Errorf("got subscribers %q, want ines and nobody without a name", got)
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

// collection is a page of a search.
type collection struct {
	Start   int
	Total   *int   `json:"total_size"`
	Link    string `json:"total_size_link"`
	Next    string `json:"next_collection_link"`
	Entries []struct {
		BugLink string `json:"bug_link"`
		Title   string
	}
}

func TestPaging(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, trackertest.Options{PageSize: 4})
	for range 10 {
		b.lp.Add(trackertest.Bug{Title: "x", Description: "d", Package: "bash"})
	}
	for version, wantTotal := range map[string]bool{"devel": false, "1.0": true} {
		var links []string
		next := "/" + version + "/ubuntu/+source/bash?ws.op=searchTasks"
		for pages := 0; next != "" && pages < 5; pages++ {
			var c collection
			got := b.get(strings.TrimPrefix(next, b.lp.URL))
			if err := json.Unmarshal([]byte(got.body), &c); err != nil {
				t.Fatalf("%v: %s", err, got.body)
			}
			if (c.Total != nil) != wantTotal || (c.Link != "") == wantTotal {
				t.Errorf("%s: got total %v, link %q", version, c.Total, c.Link)
			}
			if c.Link != "" {
				if total := b.get(strings.TrimPrefix(c.Link, b.lp.URL)); total.body != "10" {
					t.Errorf("total_size_link: got %q, want 10", total.body)
				}
			}
			for _, e := range c.Entries {
				links = append(links, e.BugLink)
			}
			next = c.Next
		}
		if unique := slices.Compact(slices.Sorted(slices.Values(links))); len(links) != 10 || len(unique) != 10 {
			t.Errorf("%s: got %d links, %d of them different, want 10", version, len(links), len(unique))
		}
	}
	if got := b.get("/devel/ubuntu?ws.op=searchTasks&ws.size=301"); got.status != 400 ||
		got.body != `Maximum for "ws.size" parameter is 300.` {
		t.Errorf("got %d %q", got.status, got.body)
	}
}

func TestReading(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	n := b.lp.Add(trackertest.Bug{Title: `<b>&"é`, Description: "d", Package: "bash"})
	hidden := b.lp.Add(trackertest.Bug{Title: "x", Description: "d", InformationType: "Private"})
	for path, want := range map[string]struct {
		status int
		part   string
	}{
		fmt.Sprintf("/devel/bugs/%d", n):                                 {200, `"title":"\u003cb\u003e\u0026\"é"`},
		fmt.Sprintf("/1.0/ubuntu/+source/bash/+bug/%d", n):               {200, `"bug_target_name":"bash (Ubuntu)"`},
		fmt.Sprintf("/devel/bugs/%d", hidden):                            {404, "Object: "},
		"/devel/bugs/1":                                                  {404, "Object: "},
		"/devel/bugs/none":                                               {404, "Object: "},
		"/2.0/bugs/1":                                                    {404, "Lost something?"},
		"/devel/nothing":                                                 {404, "Object: "},
		"/devel/ubuntu?ws.op=getSourcePackage&name=%22bash%22":           {200, `"name":"bash"`},
		"/devel/ubuntu?ws.op=getSourcePackage&name=%22No+such%22":        {200, "null"},
		"/devel/ubuntu?ws.op=somethingElse":                              {400, "No such operation: somethingElse"},
		"/devel/":                                                        {200, `"bugs_collection_link"`},
		"/devel/~ines":                                                   {200, `"name":"ines"`},
		"/devel/ubuntu?ws.op=searchTasks&status=%5B%22Odd%22%5D":         {400, `status: Invalid value "Odd"`},
		"/devel/ubuntu?ws.op=searchTasks&order_by=date_created":          {400, "Unrecognized order_by: 'date_created'"},
		"/devel/ubuntu?ws.op=searchTasks&created_since=%22yesterday%22":  {400, "created_since: "},
		"/devel/ubuntu?ws.op=searchTasks&bug_reporter=%22/people/a%22":   {400, "bug_reporter: No such object"},
		"/devel/ubuntu?ws.op=searchTasks&created_since=%222026-01-01%22": {200, `"entries":[{`},
	} {
		got := b.get(path)
		if got.status != want.status || !strings.Contains(got.body, want.part) {
			t.Errorf("%s: got %d %s, want %d and %q", path, got.status, got.body, want.status, want.part)
		}
	}
	if got := b.get(fmt.Sprintf("/devel/bugs/%d", n)); got.header.Get("ETag") == "" ||
		got.header.Get("Vary") != "Accept" || got.header.Get("X-Lazr-Notifications") != "[]" {
		t.Errorf("got headers %v", got.header)
	}
}

// TestStateFile checks that bugs, tokens and request tokens survive a restart.
func TestStateFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state.json")
	first := newBrowser(t, trackertest.Options{StateFile: file})
	if got := first.create(good()); got.status != 201 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	second := &browser{t: t, lp: trackertest.New(t, trackertest.Options{StateFile: file}), token: first.token}
	if got := second.get("/devel/bugs/2100001"); got.status != 200 {
		t.Errorf("bug after a restart: got %d %s", got.status, got.body)
	}
	if got := second.create(good()); got.header.Get("Location") != second.lp.APIURL+"/bugs/2100002" {
		t.Errorf("next bug after a restart: got %d %s", got.status, got.header.Get("Location"))
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	closed := newBrowser(t)
	if got := closed.do(http.MethodPost, "/+practice/faults",
		`{"operation":"create","fault":"error-500"}`); got.status != 404 {
		t.Errorf("not enabled: got %d, want 404", got.status)
	}
	b := newBrowser(t, trackertest.Options{Control: true})
	if got := b.do(http.MethodPost, "/+practice/faults",
		`{"operation":"create","fault":"error-500","times":2}`); got.status != 200 || !strings.Contains(got.body,
		`"times":2`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
	for _, bad := range []string{`{"operation":"create","fault":"nonsense"}`, `{`,
		`{"operation":"create","fault":"slow","delay":"soon"}`} {
		if got := b.do(http.MethodPost, "/+practice/faults", bad); got.status != 400 {
			t.Errorf("%s: got %d, want 400", bad, got.status)
		}
	}
	if got := b.create(good()); got.status != 500 || got.header.Get("X-Lazr-OopsId") == "" {
		t.Errorf("got %d, want 500 with an id", got.status)
	}
	b.do(http.MethodDelete, "/+practice/faults", "")
	if got := b.create(good()); got.status != 201 {
		t.Errorf("after clearing: got %d, want 201", got.status)
	}
	started := time.Now()
	b.do(http.MethodPost, "/+practice/faults", `{"operation":"create","fault":"slow","delay":"30ms"}`)
	if got := b.create(good()); got.status != 201 || time.Since(started) < 30*time.Millisecond {
		t.Errorf("slow: got %d in %v", got.status, time.Since(started))
	}
}
