package mcp_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// bearer sends the token of a caller with every request, and counts the bytes of the answers.
type bearer struct {
	token string
	hosts []string // if there are several, each request goes to the next one
	sent  int
	size  int // of the last answer in bytes
}

// RoundTrip implements [http.RoundTripper].
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.token != "" {
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	if len(b.hosts) > 0 {
		r.URL.Host = b.hosts[b.sent%len(b.hosts)]
	}
	b.sent++
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(answer.Body)
	b.size, answer.Body = len(body), io.NopCloser(bytes.NewReader(body))
	return answer, err
}

// caller is a client of the SDK with the token of somebody.
type caller struct {
	*sdk.ClientSession
	transport *bearer
}

// connect connects to a site, or to several in turn, with a token; empty: as a visitor.
func connect(t *testing.T, token string, sites ...*handlertest.Site) caller {
	t.Helper()
	transport := &bearer{token: token}
	for _, s := range sites {
		u := dbtest.Must(url.Parse(s.URL))(t)
		transport.hosts = append(transport.hosts, u.Host)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: sites[0].URL + "/mcp",
		HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1}, nil)
	checktest.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return caller{session, transport}
}

type object = map[string]any

// call calls a tool. It returns the structured answer, which must be the text, too, or the text of the error.
func (c caller) call(t *testing.T, tool string, in object) (object, string) {
	t.Helper()
	result, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text := ""
	for _, part := range result.Content {
		if one, ok := part.(*sdk.TextContent); ok {
			text += one.Text
		}
	}
	if result.IsError {
		return nil, text
	}
	var fromText object
	checktest.NoError(t, json.Unmarshal([]byte(text), &fromText))
	out, _ := result.StructuredContent.(object)
	if diff := cmp.Diff(fromText, out); diff != "" {
		t.Errorf("%s: the text is not the structured answer:\n%s", tool, diff)
	}
	if out["about_untrusted"] == nil {
		t.Errorf("%s: the answer does not say what is untrusted", tool)
	}
	return out, ""
}

// want calls a tool, which must not fail.
func (c caller) want(t *testing.T, tool string, in object) object {
	t.Helper()
	out, problem := c.call(t, tool, in)
	if problem != "" {
		t.Fatalf("%s %v: %s", tool, in, problem)
	}
	return out
}

// at returns the value at a path of keys and numbers.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(object)
			v = m[step]
		case int:
			list, ok := v.([]any)
			if !ok || step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func token(t *testing.T, site *handlertest.Site, person crash.User, scopes ...crash.Scope) string {
	t.Helper()
	secret, _, err := site.People.AddToken(t.Context(), "", person, "assistant", scopes, site.Store.Now().AddDate(0, 1, 0))
	checktest.NoError(t, err)
	return secret
}

// scopes of a token for everything.
var everything = []crash.Scope{crash.ScopeRead, crash.ScopeReadPrivate, crash.ScopeAssist}

// saved is a site with a few reports: a problem on two machines and in two versions, and another one.
type saved struct {
	*handlertest.Site
	problem, other crash.Bucket
	report         string // the newest of the problem
}

func newSaved(t *testing.T, o handlertest.Options) saved {
	t.Helper()
	s := saved{Site: handlertest.New(t, o)}
	s.Save(t, crashtest.Native(crashtest.Without("Date")))
	s.SaveFrom(t, "machine-2", crashtest.Native(crashtest.Without("Date"), crashtest.Version("1.4.10-1")))
	s.other = s.Save(t, crashtest.Python(crashtest.Without("Date")))
	s.problem = s.Bucket(t, handlertest.BucketOf(t, crashtest.Native()))
	s.report = s.Value(t, `select id::text from reports where bucket_id = $1 order by received desc, id desc limit 1`,
		s.problem.ID[:])
	return s
}

// inputs are inputs for every tool, about the problem and its newest report.
func (s saved) inputs() map[string]object {
	id := s.problem.ID.String()
	return map[string]object{
		"search_problems": {"query": "source:tidewatch"}, "problem": {"problem": id}, "similar": {"problem": id},
		"why_grouped": {"problem": id}, "compare_versions": {"package": "tidewatch"},
		"gate": {"package": "tidewatch", "version": "1.4.10-1"}, "report": {"report": s.report}, "inbox": {},
		"note": {"problem": id, "text": "seen by a program"}, "assign": {"problem": id, "assignee": "me"},
		"propose_bug": {"problem": id, "reason": "many machines"},
	}
}

// TestTools drives each tool, and compares the answers with the database.
func TestTools(t *testing.T) {
	t.Parallel()
	s := newSaved(t, handlertest.Options{})
	admin := s.AddUser(t, crash.RoleAdmin)
	c := connect(t, token(t, s.Site, admin, everything...), s.Site)
	in, id := s.inputs(), s.problem.ID.String()

	list := c.want(t, "search_problems", object{})
	checktest.Equal(t, "problems", at(list, "total"), any(2.))
	checktest.Equal(t, "most reports", at(list, "problems", 0, "problem"), any(id))
	checktest.Equal(t, "reports", at(list, "problems", 0, "reports"), any(2.))
	checktest.Equal(t, "machines", at(list, "problems", 0, "machines"), any(2.))
	checktest.Equal(t, "link", at(list, "problems", 0, "link"), any(s.URL+"/problem/"+id))
	one := c.want(t, "search_problems", object{"limit": 1})
	checktest.Equal(t, "first of two", at(one, "problems", 0, "problem"), any(id))
	two := c.want(t, "search_problems", object{"limit": 1, "after": at(one, "next")})
	checktest.Equal(t, "second of two", at(two, "problems", 0, "problem"), any(s.other.ID.String()))
	checktest.Equal(t, "no third", at(two, "next"), nil)
	var example string
	for _, tool := range dbtest.Must(c.ListTools(t.Context(), nil))(t).Tools {
		if _, after, found := strings.Cut(tool.Description, "for example: "); found {
			example, _, _ = strings.Cut(after, ". Fields")
		}
	}
	checktest.Equal(t, "the example", at(c.want(t, "search_problems", object{"query": example}), "total"), any(0.))
	checktest.Equal(t, "its field", strings.Contains(example, "frame:"), true)
	found := c.want(t, "search_problems", object{"query": "source:harbor"})
	checktest.Equal(t, "found", at(found, "total"), any(1.))

	c.want(t, "note", in["note"])
	checktest.Equal(t, "note", s.Value(t, `select n.person || ': ' || x.text from notes as n join note_texts as x on
		x.note_id = n.id where n.bucket_id = $1`, s.problem.ID[:]), "ada-admin: seen by a program")
	checktest.Equal(t, "assigned", at(c.want(t, "assign", in["assign"]), "done"), any("Assigned to ada-admin."))
	checktest.Equal(t, "assignee", s.Value(t, `select assignee from assignments`), "ada-admin")
	checktest.Equal(t, "again", at(c.want(t, "assign", in["assign"]), "done"),
		any("Nothing changed: it was already assigned that way."))
	proposed := c.want(t, "propose_bug", in["propose_bug"])
	checktest.Equal(t, "link", at(proposed, "link"), any(s.URL+"/candidates"))
	checktest.Equal(t, "candidate", s.Value(t, `select proposed_by || ' ' || state || ' ' || why from candidates`),
		"ada-admin waiting many machines")
	checktest.Equal(t, "bugs", len(s.Tracker.Bugs()), 0)
	if _, problem := c.call(t, "propose_bug", in["propose_bug"]); !strings.Contains(problem, "(is_candidate)") {
		t.Errorf("proposed again: got %q", problem)
	}

	whole := c.want(t, "problem", object{"problem": s.URL + "/problem/" + id + "?release=x#notes"})
	checktest.Equal(t, "reports", at(whole, "reports"), any(2.))
	checktest.Equal(t, "week", at(whole, "reports_past_week"), any(2.))
	checktest.Equal(t, "report", at(whole, "report"), any(s.report))
	checktest.Equal(t, "assignee", at(whole, "untrusted", "assignee"), any("ada-admin"))
	checktest.Equal(t, "note", at(whole, "untrusted", "notes", 0, "text"), any("seen by a program"))
	checktest.Equal(t, "version", at(whole, "untrusted", "versions", 0, "version"), any("1.4.10-1"))
	checktest.Equal(t, "in a release", at(whole, "untrusted", "versions", 0, "releases", "Ubuntu 24.04"), any(1.))
	if stack, _ := at(whole, "untrusted", "stack").(string); !strings.HasPrefix(stack,
		"#0 tide_parse_row at ../src/parse.c:88 in /usr/bin/tidewatch\n#1 tide_load") {
		t.Errorf("stack: got %q", stack)
	}

	dbtest.Must(s.Problems.Set(t.Context(), crash.Mark{Bucket: s.problem.ID, Kind: crash.MarkFixed, Person: "ada",
		Fixes: []crash.FixedIn{{Release: "Ubuntu 24.04", Version: "1.5-1"}}}))(t)
	fixed := c.want(t, "problem", in["problem"])
	if fix, _ := at(fixed, "untrusted", "fixes", 0).(string); !strings.Contains(fix, "1.5-1") {
		t.Errorf("fix: got %q", fix)
	}
	checktest.Equal(t, "decided", at(fixed, "decided") != nil, true)

	why := c.want(t, "why_grouped", in["why_grouped"])
	checktest.Equal(t, "rule", at(why, "rule"), any(string(s.problem.Rule)))
	checktest.Equal(t, "signature", at(why, "untrusted", "signature"), any(s.problem.Signature))
	checktest.Equal(t, "used", at(why, "untrusted", "used", 0, "as"), any("tide_parse_row"))
	why = c.want(t, "why_grouped", object{"report": s.report})
	checktest.Equal(t, "its problem", at(why, "problem"), any(id))
	if _, problem := c.call(t, "why_grouped", object{}); !strings.Contains(problem, "either a problem or a report") {
		t.Errorf("why nothing: got %q", problem)
	}

	compared := c.want(t, "compare_versions", in["compare_versions"])
	checktest.Equal(t, "version", at(compared, "version", "untrusted", "version"), any("1.4.10-1"))
	checktest.Equal(t, "against", at(compared, "against", "untrusted", "version"), any("1.4.9-2"))
	checktest.Equal(t, "reports of it", at(compared, "against", "reports"), any(1.))
	checktest.Equal(t, "newer", at(compared, "newer"), any("version"))
	compared = c.want(t, "compare_versions", object{"package": "tidewatch", "version": "1.4.9-2", "against": "1.4.10-1"})
	checktest.Equal(t, "newer", at(compared, "newer"), any("against"))
	if _, problem := c.call(t, "compare_versions", object{"package": "tidewatch", "version": "7"}); !strings.Contains(
		problem, "(unknown_version)") {
		t.Errorf("unknown version: got %q", problem)
	}
	gate := c.want(t, "gate", in["gate"])
	checktest.Equal(t, "verdict", at(gate, "verdict"), any("not enough data"))
	checktest.Equal(t, "against", at(gate, "releases", 0, "untrusted", "against"), any("1.4.9-2"))

	report := c.want(t, "report", in["report"])
	checktest.Equal(t, "problem", at(report, "problem"), any(id))
	checktest.Equal(t, "machine", at(report, "untrusted", "machine"), any("machine-2"))
	text := crashtest.Native()["Stacktrace"]
	part := c.want(t, "report", object{"report": s.report, "fields": []string{"Stacktrace"}, "from": 5})
	checktest.Equal(t, "a part of a field", at(part, "untrusted", "fields", 0, "text"), any(strings.TrimSpace(text)[5:]))

	handlertest.Publish(t, s.Site, crash.Event{Edge: "x", Kind: crash.EventNew, Title: "a title", Text: "It is new.",
		Bucket: &s.problem.ID, Package: "tidewatch"}, admin.ID)
	notices := c.want(t, "inbox", object{"unread": true})
	checktest.Equal(t, "unread", at(notices, "unread"), any(1.))
	checktest.Equal(t, "about", at(notices, "notices", 0, "problem"), any(id))
	checktest.Equal(t, "title", at(notices, "notices", 0, "untrusted", "title"), any("a title"))
	checktest.Equal(t, "others", at(c.want(t, "inbox", object{"package": "mesa"}), "notices", 0), nil)
	checktest.Equal(t, "still unread", s.Value(t, `select count(*)::text from notices where read is null`), "1")

	similar := c.want(t, "similar", in["similar"])
	checktest.Equal(t, "none", at(similar, "similar", 0), nil)
	like := s.Save(t, crashtest.Native(crashtest.Without("Date"), func(r crashtest.Report) {
		r["StacktraceTop"] = strings.Replace(r["StacktraceTop"], "on_open_clicked", "on_key_pressed", 1)
	}))
	similar = c.want(t, "similar", in["similar"])
	checktest.Equal(t, "similar", at(similar, "similar", 0, "problem"), any(like.ID.String()))
	if reason, _ := at(similar, "similar", 0, "untrusted", "why").(string); !strings.Contains(reason,
		" of 5 functions in the same order, differs from ") {
		t.Errorf("why similar: got %q", reason)
	}
}

// TestList checks the names of the tools, what they say about themselves, and that the list is short.
func TestList(t *testing.T) {
	t.Parallel()
	s := handlertest.New(t, handlertest.Options{})
	all := dbtest.Must(connect(t, token(t, s, s.AddUser(t, crash.RoleAdmin), everything...), s).ListTools(t.Context(),
		nil))(t)
	doc := dbtest.Must(json.Marshal(all))(t)
	if len(doc) > 20_000 {
		t.Errorf("the list has %d bytes", len(doc))
	}
	names := map[string]bool{}
	for _, tool := range all.Tools {
		changes := slices.Contains([]string{"note", "assign", "propose_bug"}, tool.Name)
		names[tool.Name] = true
		if a := tool.Annotations; tool.Title == "" || len(tool.Description) < 100 || a.ReadOnlyHint == changes ||
			*a.DestructiveHint || *a.OpenWorldHint || a.IdempotentHint != (tool.Name != "note") {
			t.Errorf("%s: got %+v", tool.Name, tool)
		}
		in, _ := tool.InputSchema.(object)
		properties, _ := in["properties"].(object)
		for name, p := range properties {
			p, _ := p.(object)
			if p["maxLength"] == nil && p["maximum"] == nil && p["maxItems"] == nil && p["enum"] == nil &&
				p["type"] != "boolean" {
				t.Errorf("%s: %s has no bound: %v", tool.Name, name, p)
			}
		}
	}
	for name := range (saved{Site: s}).inputs() {
		if !names[name] {
			t.Errorf("there is no tool %s", name)
		}
	}
	checktest.Equal(t, "tools", len(names), 11)
}

// TestRightsOfAssistants calls each tool as callers with different rights, and compares what they get with these:
// everything, what visitors get, or nothing but a reason. The list has the tools that they may use.
func TestRightsOfAssistants(t *testing.T) {
	t.Parallel()
	s := newSaved(t, handlertest.Options{})
	add := func(name string, role crash.Role) crash.User {
		dbtest.AddUserWithoutPrivate(t, s.Store, name, role, handlertest.Password)
		return dbtest.Must(s.People.ByName(t.Context(), name))(t)
	}
	viewer, triager := add("viewer", crash.RoleViewer), add("triager", crash.RoleTriager)
	add("private", crash.RoleViewer)
	checktest.NoError(t, s.People.Grant(t.Context(), "", crash.Grant{Source: crash.SourceAccount, Group: "private",
		Role: crash.RolePrivate, Scope: crash.GrantScope{Kind: crash.GrantAll}}))
	private := dbtest.Must(s.People.ByName(t.Context(), "private"))(t)
	add("other", crash.RoleViewer)
	checktest.NoError(t, s.People.Grant(t.Context(), "", crash.Grant{Source: crash.SourceAccount, Group: "other",
		Role: crash.RoleTriager, Scope: crash.GrantScope{Kind: crash.GrantPackage, Name: "mesa"}}))
	other := dbtest.Must(s.People.ByName(t.Context(), "other"))(t)
	public := []string{"search_problems", "problem", "similar", "why_grouped", "compare_versions", "gate"}
	const (
		signIn, scope, role = "(not_signed_in)", "(scope)", "(role_of_package)"
	)
	for _, c := range []struct {
		name                            string
		token                           string
		reads, sees                     bool   // reports; private fields
		reading, note, assign, proposal string // why the tool is refused; empty: it is not
	}{
		{"visitor", "", false, false, signIn, signIn, signIn, signIn},
		{"viewer", token(t, s.Site, viewer, crash.ScopeRead), true, false, "", scope, scope, scope},
		{"private", token(t, s.Site, private, crash.ScopeRead, crash.ScopeReadPrivate), true, true, "", scope, scope, scope},
		{"without read-private", token(t, s.Site, private, crash.ScopeRead), true, false, "", scope, scope, scope},
		{"private only", token(t, s.Site, private, crash.ScopeReadPrivate), false, false, scope, scope, scope, scope},
		{"assistant of a viewer", token(t, s.Site, viewer, crash.ScopeAssist), false, false, scope, "", role, role},
		{"assistant of another package", token(t, s.Site, other, crash.ScopeRead, crash.ScopeAssist), true, false, "", "",
			role, role},
		{"triage and file", token(t, s.Site, triager, crash.ScopeTriage, crash.ScopeFile), false, false, scope, scope, scope,
			scope},
		{"assistant of a triager", token(t, s.Site, triager, crash.ScopeAssist), false, false, scope, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			caller := connect(t, c.token, s.Site)
			want := slices.Clone(public)
			for tool, why := range map[string]string{"report": c.reading, "inbox": c.reading, "note": c.note,
				"assign": c.assign, "propose_bug": c.proposal} {
				out, problem := caller.call(t, tool, s.inputs()[tool])
				if (why == "") != (problem == "") || !strings.Contains(problem, why) || problem != "" && out != nil {
					t.Errorf("%s: got %v and %q, want %q", tool, out, problem, why)
				}
				if why == "" || why == role {
					want = append(want, tool)
				}
			}
			var names []string
			for _, tool := range dbtest.Must(caller.ListTools(t.Context(), nil))(t).Tools {
				names = append(names, tool.Name)
			}
			slices.Sort(want)
			checktest.Equal(t, "tools", strings.Join(names, " "), strings.Join(want, " "))
			for _, tool := range public {
				caller.want(t, tool, s.inputs()[tool])
			}
			whole := caller.want(t, "problem", s.inputs()["problem"])
			checktest.Equal(t, "may read", at(whole, "may_read_reports"), any(c.reads))
			checktest.Equal(t, "stack", at(whole, "untrusted", "stack") != nil, c.reads)
			checktest.Equal(t, "why", at(caller.want(t, "why_grouped", s.inputs()["why_grouped"]), "untrusted", "used") != nil,
				c.reads)
			title := at(caller.want(t, "search_problems", object{"query": "source:harbor"}), "problems", 0, "untrusted", "title")
			if text, _ := title.(string); strings.Contains(text, "host-77") != c.reads {
				t.Errorf("title of an exception: got %q", title)
			}
			if _, problem := caller.call(t, "why_grouped", object{"report": s.report}); (problem == "") != c.reads {
				t.Errorf("why a report: got %q", problem)
			}
			if c.reads {
				report := caller.want(t, "report", object{"report": s.report})
				doc := string(dbtest.Must(json.Marshal(report))(t))
				for _, secret := range []string{"/home/ines", "harbour.csv\"", "machine-2"} {
					if strings.Contains(doc, secret) != c.sees {
						t.Errorf("report: %q is in it, or not, against the rights:\n%s", secret, doc)
					}
				}
				checktest.Equal(t, "hidden", at(report, "hidden_fields") != 0., !c.sees)
			}
		})
	}
}
