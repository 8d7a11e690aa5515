package trackertest_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mishap/crash"
	"mishap/tracker/trackertest"
)

// caller calls the API as an application with full permissions.
type caller struct {
	t     *testing.T
	lp    *trackertest.Tracker
	token crash.AccessToken // zero: anonymous
}

func newCaller(t *testing.T, lp *trackertest.Tracker) caller {
	return caller{t: t, lp: lp, token: lp.TokenOf("tests", "WRITE_PRIVATE")}
}

// do sends a request with headers given as "Name: value".
func (c caller) do(method, path, body string, headers ...string) (status int, answer string, header http.Header) {
	c.t.Helper()
	address := path
	if strings.HasPrefix(path, "/") {
		address = c.lp.APIURL + path
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", fmt.Sprintf(`OAuth realm="OAuth", oauth_consumer_key="tests", oauth_token="%s", `+
		`oauth_signature_method="PLAINTEXT", oauth_signature="%%26%s"`, c.token.Token, string(c.token.Secret)))
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

func (c caller) entry(path string) map[string]any {
	c.t.Helper()
	status, body, _ := c.do(http.MethodGet, path, "")
	entry := map[string]any{}
	if err := json.Unmarshal([]byte(body), &entry); err != nil || status != http.StatusOK {
		c.t.Fatalf("GET %s: got %d %s, %v", path, status, body, err)
	}
	return entry
}

// TestDescriptionFitsAnswers checks that the description names exactly the attributes of entries,
// and contains everything that it refers to.
func TestDescriptionFitsAnswers(t *testing.T) {
	t.Parallel()
	lp := trackertest.New(t, trackertest.Options{Archive: &trackertest.Archive{
		Sources: map[string][]crash.Publication{"gedit": {{Series: "noble", Pocket: "Updates", Version: "46.1"}}},
		Binaries: map[string][]crash.Publication{"gedit": {{Series: "noble", Architecture: "amd64", Version: "46.1",
			Source: "gedit"}}},
		Subscriptions: map[string][]string{"ada": {"gedit"}},
	}})
	fill(lp)
	lp.Change(2100002, func(b *trackertest.Bug) { b.DuplicateOf, b.Subscribers = 2100001, []string{"ada"} })
	lp.Change(2100001, func(b *trackertest.Bug) { b.Subscribers = []string{"ada"} })
	c := newCaller(t, lp)
	status, document, header := c.do(http.MethodGet, "/", "", "Accept: application/vnd.sun.wadl+xml")
	if status != http.StatusOK || header.Get("Content-Type") != "application/vnd.sun.wadl+xml" {
		t.Fatalf("description: got %d, %v", status, header)
	}
	described, names, links := readWADL(t, document)

	for _, path := range []string{
		"/", "/bugs/2100001", "/ubuntu", "/ubuntu/+source/gedit", "/ubuntu/+archive/primary", "/~ada",
		"/ubuntu/+source/gedit/+bug/2100001", "/ubuntu/noble/+source/gedit/+bug/2100001",
		"/ubuntu/+source/gedit/+bug/2100001/comments/2", "/bugs/2100001/+subscription/ada",
	} {
		wantDescribed(t, path, c.entry(path), described)
	}
	for _, path := range []string{
		"/bugs", "/people", "/distros", "/bugs/2100001/bug_tasks", "/bugs/2100001/messages", "/bugs/2100001/subscriptions",
		"/bugs/2100001/duplicates", "/ubuntu?ws.op=searchTasks", "/~ada?ws.op=getBugSubscriberPackages",
		"/ubuntu/+archive/primary?ws.op=getPublishedSources&source_name=gedit",
		"/ubuntu/+archive/primary?ws.op=getPublishedBinaries&binary_name=gedit",
	} {
		page := c.entry(path)
		entries, _ := page["entries"].([]any)
		if len(entries) == 0 {
			t.Errorf("%s: got no entries", path)
		}
		if kind, named := page["resource_type_link"], strings.Contains(path, "ws.op"); named == (kind != nil) {
			t.Errorf("%s: got the type %v, want one only for linked collections", path, kind)
		}
		for _, entry := range entries {
			wantDescribed(t, path, entry.(map[string]any), described)
		}
	}
	for _, link := range links {
		if name, ours := strings.CutPrefix(link, lp.APIURL+"/#"); !ours || !slices.Contains(names, name) {
			t.Errorf("the description refers to %s but does not define it", link)
		}
	}
}

// wantDescribed compares the attributes of an entry with those of its type.
func wantDescribed(t *testing.T, path string, entry map[string]any, described map[string][]string) {
	t.Helper()
	link, _ := entry["resource_type_link"].(string)
	_, kind, _ := strings.Cut(link, "#")
	var got []string
	for name := range entry {
		got = append(got, name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(described[kind], got); diff != "" {
		t.Errorf("%s, a %q (-described +got):\n%s", path, kind, diff)
	}
}

// readWADL returns the attributes of each type of entry, the names of all definitions, and all
// references.
func readWADL(t *testing.T, document string) (attributes map[string][]string, names, links []string) {
	t.Helper()
	attributes = map[string][]string{}
	d := xml.NewDecoder(bytes.NewReader([]byte(document)))
	entry, depth := "", 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return attributes, names, links
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			depth++
			attr := map[string]string{}
			for _, a := range e.Attr {
				attr[a.Name.Local] = a.Value
			}
			switch {
			case depth == 2:
				names = append(names, attr["id"])
				entry, _ = strings.CutSuffix(attr["id"], "-full")
			case e.Name.Local == "param" && depth == 3:
				attributes[entry] = append(attributes[entry], attr["name"])
				slices.Sort(attributes[entry])
			case e.Name.Local == "link":
				links = append(links, attr["resource_type"])
			}
		case xml.EndElement:
			depth--
		}
	}
}

func TestPatch(t *testing.T) {
	t.Parallel()
	lp := trackertest.New(t)
	fill(lp)
	lp.Change(2100001, func(b *trackertest.Bug) { b.Subscribers = append(b.Subscribers, "practice-person") })
	c := newCaller(t, lp)
	const bug, task, asJSON = "/bugs/2100001", "/ubuntu/+source/gedit/+bug/2100001", "Content-Type: application/json"
	tag := func(path string) string { return c.entry(path)["http_etag"].(string) }

	before := tag(bug)
	status, body, _ := c.do(http.MethodPatch, bug, `{"title": "another", "private": true}`, asJSON, "If-Match: "+before)
	if status != 209 || !strings.Contains(body, `"another"`) || !strings.Contains(body, `"information_type":"Private"`) {
		t.Errorf("patch: got %d %s, want 209 and the new content", status, body)
	}
	for _, tt := range []struct {
		name, path, body string
		headers          []string
		status           int
		want             string
	}{
		{"changed meanwhile", bug, `{"title": "x"}`, []string{asJSON, "If-Match: " + before}, 412, ""},
		{"compressed on the way", bug, `{"title": "x"}`, []string{asJSON, "If-Match: " + strings.TrimSuffix(tag(bug), `"`) +
			`-gzip"`}, 209, `"x"`},
		{"form", bug, `title=x`, []string{"Content-Type: application/x-www-form-urlencoded"}, 415, ""},
		{"no JSON", bug, `{`, []string{asJSON}, 400, "well-formed"},
		{"read-only and unknown", bug, `{"heat": 7, "hat": 7, "id": 2100001}`, []string{asJSON}, 400,
			"hat: You tried to modify a nonexistent attribute.\nheat: You tried to modify a read-only attribute."},
		{"values", bug, `{"title": "", "tags": ["Bad Tag"], "information_type": "Odd", "private": "yes"}`, []string{asJSON},
			400, "information_type: Invalid"},
		{"duplicate of itself", bug, `{"duplicate_of_link": "` + lp.APIURL + bug + `"}`, []string{asJSON}, 400,
			"duplicate_of_link: No such object"},
		{"no such bug", "/bugs/1", `{}`, []string{asJSON}, 404, ""},
		{"no such task", "/ubuntu/+source/bash/+bug/2100001", `{}`, []string{asJSON}, 404, ""},
		{"status", task, `{"status": "Odd"}`, []string{asJSON}, 400,
			`status: Invalid value "Odd". Acceptable values are: Unknown, New,`},
		{"assignee", task, `{"assignee_link": "` + lp.APIURL + `/ubuntu"}`, []string{asJSON}, 400, "assignee_link: No " +
			"such object"},
		{"task", task, `{"status": "Fix Released", "importance": "High"}`, []string{asJSON}, 209, `"is_complete":true`},
		{"another way to say PATCH", task, `{"status": "New"}`, []string{asJSON, "X-HTTP-Method-Override: PATCH"}, 209,
			`"is_complete":false`},
	} {
		method := http.MethodPatch
		if len(tt.headers) > 1 && strings.HasPrefix(tt.headers[1], "X-HTTP") {
			method = http.MethodPost
		}
		status, body, _ := c.do(method, tt.path, tt.body, tt.headers...)
		if status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s: got %d %q, want %d and %q", tt.name, status, body, tt.status, tt.want)
		}
	}
	anonymous := caller{t: t, lp: lp}
	if status, body, _ := anonymous.do(http.MethodPatch, "/bugs/2100002", `{"title": "x"}`, asJSON); status != 401 {
		t.Errorf("anonymous: got %d %s, want 401", status, body)
	}
	reader := caller{t: t, lp: lp, token: lp.TokenOf("tests", "READ_PRIVATE")}
	if status, body, _ := reader.do(http.MethodPatch, bug, `{"title": "x"}`, asJSON); status != 401 {
		t.Errorf("read-only token: got %d %s, want 401", status, body)
	}
	if status, _, _ := c.do(http.MethodGet, bug, "", "If-None-Match: "+tag(bug)); status != http.StatusNotModified {
		t.Errorf("read again: got %d, want 304", status)
	}
	if status, _, _ := c.do(http.MethodDelete, bug, ""); status != http.StatusMethodNotAllowed {
		t.Errorf("delete: got %d, want 405", status)
	}
}

// TestAnonymous checks that an empty token is anonymous, even with an unknown consumer key.
func TestAnonymous(t *testing.T) {
	t.Parallel()
	lp := trackertest.New(t)
	fill(lp)
	c := caller{t: t, lp: lp}
	if got := c.entry("/bugs/2100001")["title"]; got != "gedit crashed with SIGSEGV" {
		t.Errorf("got %v, want the title", got)
	}
	if status, body, _ := c.do(http.MethodGet, "/people/+me", ""); status != 401 || !strings.Contains(body, "logged in") {
		t.Errorf("me: got %d %q, want 401", status, body)
	}
	if status, _, _ := c.do(http.MethodGet, "/bugs/2100015", ""); status != 404 {
		t.Errorf("a private bug: got %d, want 404", status)
	}
}

// TestTotalSize checks that the link to the size of a collection returns the number, for every type
// of collection.
func TestTotalSize(t *testing.T) {
	t.Parallel()
	lp := trackertest.New(t, trackertest.Options{PageSize: 5})
	fill(lp)
	c := newCaller(t, lp)
	page := c.entry("/ubuntu?ws.op=searchTasks&search_text=many")
	link, _ := page["total_size_link"].(string)
	if _, there := page["total_size"]; there || link == "" {
		t.Fatalf("got %v, want the link instead of the size", page)
	}
	if status, body, _ := c.do(http.MethodGet, link, ""); status != 200 || body != "12" {
		t.Errorf("size: got %d %s, want 12", status, body)
	}
	if status, body, _ := c.do(http.MethodGet, "/bugs/2100001/messages?ws.show=total_size", ""); status != 200 ||
		body != "3" {
		t.Errorf("size of the messages: got %d %s, want 3", status, body)
	}
	if page := c.entry("/bugs/2100001/messages?ws.size=2"); page["total_size"] != 3.0 ||
		page["next_collection_link"] == nil {
		t.Errorf("messages: got %v, want the size and the next page", page)
	}
}
