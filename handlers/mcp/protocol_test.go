package mcp_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// TestStateless checks that instances answer the requests of one client in turn, and that none needs what another one
// has seen: a client that connected to one can call tools of another that was started later.
func TestStateless(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	first := newSaved(t, handlertest.Options{Store: dbtest.Open(t, address)})
	secret := token(t, first.Site, first.AddUser(t, crash.RoleAdmin), everything...)
	second := handlertest.New(t, handlertest.Options{Store: dbtest.Open(t, address)})
	c := connect(t, secret, first.Site, second)
	before := c.transport.sent
	for range 2 {
		for _, tool := range []string{"search_problems", "problem", "report"} {
			c.want(t, tool, first.inputs()[tool])
		}
	}
	if n := c.transport.sent - before; n != 6 {
		t.Errorf("got %d requests for 6 calls", n)
	}
	c.transport.hosts = c.transport.hosts[1:]
	third := handlertest.New(t, handlertest.Options{Store: dbtest.Open(t, address)})
	c.transport.hosts = []string{strings.TrimPrefix(third.URL, "http://")}
	c.want(t, "problem", first.inputs()["problem"])
}

// post sends a message as it is.
func post(t *testing.T, s *handlertest.Site, body string, headers ...handlertest.Header) answered {
	t.Helper()
	r := dbtest.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/mcp", strings.NewReader(body)))(t)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range headers {
		r.Header.Set(h.Name, h.Value)
	}
	return send(t, r)
}

// answered is an answer that was read.
type answered struct {
	Status     string
	StatusCode int
	Header     http.Header
	Body       string
}

func send(t *testing.T, r *http.Request) answered {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body := dbtest.Must(io.ReadAll(answer.Body))(t)
	return answered{answer.Status, answer.StatusCode, answer.Header, string(body)}
}

// TestNull checks that a call whose arguments are null, or missing, gets the defaults.
func TestNull(t *testing.T) {
	t.Parallel()
	s := newSaved(t, handlertest.Options{})
	for _, arguments := range []string{"", `,"arguments":null`, `,"arguments": null `, `,"arguments":{}`} {
		answer := post(t, s.Site, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_problems"`+
			arguments+`}}`)
		body := answer.Body
		if !strings.Contains(body, s.problem.ID.String()) {
			t.Errorf("%s: got %s %s", arguments, answer.Status, body)
		}
	}
}

const callProblem = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_problems","arguments":{}}}`

// TestRefusedRequests checks requests that reach no tool.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	s := newSaved(t, handlertest.Options{})
	admin := s.AddUser(t, crash.RoleAdmin)
	expired, stored, err := s.People.AddToken(t.Context(), "", admin, "x", everything, s.Store.Now().AddDate(0, 1, 0))
	checktest.NoError(t, err)
	dbtest.Must(s.Store.Pool.Exec(t.Context(), `update api_tokens set expires = created where id = $1`, stored.ID))(t)
	revoked, stored, err := s.People.AddToken(t.Context(), "", admin, "x", everything, s.Store.Now().AddDate(0, 1, 0))
	checktest.NoError(t, err)
	checktest.NoError(t, errOf(s.People.RevokeTokenOf(t.Context(), "", admin.ID, stored.ID)))
	bearerOf := func(token string) handlertest.Header { return handlertest.Bearer(token)[0] }
	header := func(name, value string) []handlertest.Header { return []handlertest.Header{{Name: name, Value: value}} }
	for name, c := range map[string]struct {
		body    string
		headers []handlertest.Header
		status  int
	}{
		"no token":          {callProblem, nil, http.StatusOK},
		"expired token":     {callProblem, []handlertest.Header{bearerOf(expired)}, http.StatusUnauthorized},
		"revoked token":     {callProblem, []handlertest.Header{bearerOf(revoked)}, http.StatusUnauthorized},
		"mistyped token":    {callProblem, []handlertest.Header{bearerOf("mshp_x")}, http.StatusUnauthorized},
		"another site":      {callProblem, header("Origin", "https://evil.example"), http.StatusForbidden},
		"this site":         {callProblem, header("Origin", s.URL), http.StatusOK},
		"behind a proxy":    {callProblem, header("X-Forwarded-Host", "a.example"), http.StatusOK},
		"a form":            {"a=b", header("Content-Type", "text/plain"), http.StatusUnsupportedMediaType},
		"a batch":           {" [" + callProblem + "," + callProblem + "]", nil, http.StatusBadRequest},
		"no JSON":           {"{", nil, http.StatusBadRequest},
		"nothing":           {"", nil, http.StatusBadRequest},
		"too much":          {callProblem + strings.Repeat(" ", 300<<10), nil, http.StatusRequestEntityTooLarge},
		"an unknown method": {`{"jsonrpc":"2.0","id":1,"method":"x/y"}`, nil, http.StatusBadRequest},
	} {
		answer := post(t, s.Site, c.body, c.headers...)
		if answer.StatusCode != c.status {
			t.Errorf("%s: got %s, want %d", name, answer.Status, c.status)
		}
		challenge := strings.Join(answer.Header.Values("WWW-Authenticate"), " ")
		if strings.Contains(challenge, "Bearer") != (c.status == http.StatusUnauthorized) {
			t.Errorf("%s: got WWW-Authenticate %q", name, challenge)
		}
	}
	listen := post(t, s.Site, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`, handlertest.Header{Name: "Mcp-Protocol-Version",
		Value: "2026-07-28"}, handlertest.Header{Name: "Mcp-Method", Value: "subscriptions/listen"})
	if body := listen.Body; !strings.Contains(body, "nothing to listen to. (listen)") {
		t.Errorf("listening: got %s %s", listen.Status, body)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		r := dbtest.Must(http.NewRequestWithContext(t.Context(), method, s.URL+"/mcp", nil))(t)
		r.Header.Set("Accept", "text/event-stream")
		answer := send(t, r)
		if answer.StatusCode != http.StatusMethodNotAllowed || answer.Header.Get("Allow") != http.MethodPost {
			t.Errorf("%s: got %s, and Allow %q", method, answer.Status, answer.Header.Get("Allow"))
		}
	}
	// A session is nothing here: no cookie is read or set.
	c := s.As(t, crash.RoleAdmin)
	answer := post(t, s.Site, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"report","arguments":`+
		`{"report":"`+s.report+`"}}}`, handlertest.Header{Name: "Cookie", Value: "sessionid=" + c.Cookie("sessionid")})
	body := answer.Body
	if !strings.Contains(body, "(not_signed_in)") || len(answer.Header.Values("Set-Cookie")) > 0 {
		t.Errorf("with a session: got %s and the cookies %v", body, answer.Header["Set-Cookie"])
	}
}

// TestRateLimit checks that tokens have the limit of the API each, and visitors one by address.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	s := handlertest.New(t, handlertest.Options{APIRatePerToken: 3, APIRatePerAddress: 2})
	admin := s.AddUser(t, crash.RoleAdmin)
	for _, c := range []struct {
		token string
		limit int
	}{{token(t, s, admin, everything...), 3}, {token(t, s, admin, everything...), 3}, {"", 2}} {
		for i := range c.limit + 1 {
			var headers []handlertest.Header
			if c.token != "" {
				headers = handlertest.Bearer(c.token)
			}
			answer := post(t, s, callProblem, headers...)
			if limited := answer.StatusCode == http.StatusTooManyRequests; limited != (i == c.limit) {
				t.Errorf("request %d of %d: got %s", i+1, c.limit, answer.Status)
			}
		}
	}
}

// TestInvalidInputs checks that inputs beyond the bounds are refused with a reason, before a tool runs.
func TestInvalidInputs(t *testing.T) {
	t.Parallel()
	s := newSaved(t, handlertest.Options{})
	c := connect(t, token(t, s.Site, s.AddUser(t, crash.RoleAdmin), everything...), s.Site)
	id := s.problem.ID.String()
	for _, one := range []struct {
		tool string
		in   object
		want string
	}{
		{"search_problems", object{"limit": 51}, "limit"},
		{"search_problems", object{"limit": 0}, "limit"},
		{"search_problems", object{"period": "decade"}, "period"},
		{"search_problems", object{"query": strings.Repeat("x", 1001)}, "query"},
		{"search_problems", object{"query": `release:"`}, "(bad_query)"},
		{"search_problems", object{"after": "x"}, "(bad_after)"},
		{"search_problems", object{"nonsense": 1}, "nonsense"},
		{"problem", object{}, "problem"},
		{"problem", object{"problem": "x"}, "(unknown_bucket)"},
		{"problem", object{"problem": strings.Repeat("0", 40)}, "(unknown_bucket)"},
		{"report", object{"report": "x"}, "(unknown_oops)"},
		{"report", object{"report": s.report, "fields": []string{"Nonsense"}}, "(unknown_field)"},
		{"report", object{"report": s.report, "from": 5}, "(bad_from)"},
		{"inbox", object{"kind": "nonsense"}, "kind"},
		{"inbox", object{"package": "a\x00"}, "("},
		{"gate", object{"package": "none", "version": "1"}, "(unknown_package)"},
		{"gate", object{"package": "tidewatch", "version": "1.4.9-2", "against": "9"}, "(bad_against)"},
		{"compare_versions", object{"package": "none"}, "(unknown_package)"},
		{"note", object{"problem": id, "text": " "}, "(empty_note)"},
		{"note", object{"problem": id, "text": strings.Repeat("x", crash.MaxNote+1)}, "text"},
		{"assign", object{"problem": id, "assignee": "nobody-here"}, "("},
		{"propose_bug", object{"problem": id, "reason": ""}, "(bad_reason)"},
		{"propose_bug", object{"problem": id, "reason": "a\x00b"}, "(bad_reason)"},
	} {
		if out, problem := c.call(t, one.tool, one.in); !strings.Contains(problem, one.want) {
			t.Errorf("%s %.60v: got %v and %q, want %q", one.tool, one.in, out, problem, one.want)
		}
	}
	checktest.Equal(t, "changes", s.Value(t, `select (select count(*) from notes) + (select count(*) from assignments) +
		(select count(*) from candidates)`+"||''"), "0")
}

// TestRecords checks that reading a report, what tools change, and refusals leave the records that pages leave.
func TestRecords(t *testing.T) {
	t.Parallel()
	s := newSaved(t, handlertest.Options{})
	admin := s.AddUser(t, crash.RoleAdmin)
	c := connect(t, token(t, s.Site, admin, everything...), s.Site)
	for _, tool := range []string{"search_problems", "problem", "report", "report", "note", "assign", "propose_bug"} {
		if _, problem := c.call(t, tool, s.inputs()[tool]); problem != "" {
			t.Errorf("%s: %s", tool, problem)
		}
	}
	viewer := connect(t, token(t, s.Site, s.AddUser(t, crash.RoleViewer), crash.ScopeRead), s.Site)
	viewer.call(t, "note", s.inputs()["note"])
	rows := dbtest.Must(s.Store.Pool.Query(t.Context(), `select person || ' ' || action || ' ' || kind || ' ' ||
		(via like 'assistant %') || ' ' || (subject in ($1, $2)) || ' ' || result from audit_events
		where action not like 'token.%' and action not like 'user.%' order by id`, s.problem.ID.String(), s.report))(t)
	defer rows.Close()
	var got []string
	for rows.Next() {
		var line string
		checktest.NoError(t, rows.Scan(&line))
		got = append(got, line)
	}
	checktest.NoError(t, rows.Err())
	want := []string{"ada-admin read.report token true true done", "ada-admin note.add token true true done",
		"ada-admin problem.assign token true true done", "ada-admin candidate.proposed token true true done",
		"ada-viewer request.refused token true false refused"}
	checktest.Equal(t, "records", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// TestFilingOff checks that nothing is proposed where nobody could approve it, or that cannot be filed.
func TestFilingOff(t *testing.T) {
	t.Parallel()
	s := newSaved(t, handlertest.Options{NoFiling: true})
	c := connect(t, token(t, s.Site, s.AddUser(t, crash.RoleAdmin), everything...), s.Site)
	if _, problem := c.call(t, "propose_bug", s.inputs()["propose_bug"]); !strings.Contains(problem, "(filing_off)") {
		t.Errorf("got %q", problem)
	}
	checktest.Equal(t, "candidates", s.Value(t, `select count(*)::text from candidates`), "0")
}

// TestVersions checks that clients of each version of the protocol that the SDK knows can call a tool.
func TestVersions(t *testing.T) {
	t.Parallel()
	s := newSaved(t, handlertest.Options{})
	for _, version := range sdk.SupportedProtocolVersions() {
		meta := ""
		headers := []handlertest.Header{{Name: "Mcp-Protocol-Version", Value: version}}
		if version >= "2026-07-28" {
			meta = fmt.Sprintf(`,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
				`"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},`+
				`"io.modelcontextprotocol/clientCapabilities":{}}`, version)
			headers = append(headers, handlertest.Header{Name: "Mcp-Method", Value: "tools/call"},
				handlertest.Header{Name: "Mcp-Name", Value: "search_problems"})
		}
		answer := post(t, s.Site, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_problems",`+
			`"arguments":{}`+meta+`}}`, headers...)
		body := answer.Body
		if answer.StatusCode != http.StatusOK || !strings.Contains(body, s.problem.ID.String()) ||
			answer.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %s %s", version, answer.Status, body)
		}
	}
}

// TestLLMs checks that each address in /llms.txt exists, and each tool that it names.
func TestLLMs(t *testing.T) {
	t.Parallel()
	s := newSaved(t, handlertest.Options{})
	c := s.Visitor(t)
	text := c.Get("/llms.txt").Want(http.StatusOK)
	checktest.Equal(t, "type", text.Header.Get("Content-Type"), "text/plain; charset=utf-8")
	links := regexp.MustCompile(`\]\((\S+)\)`).FindAllStringSubmatch(text.Body, -1)
	if len(links) < 6 {
		t.Fatalf("got %d links:\n%s", len(links), text.Body)
	}
	for _, link := range links {
		path, ours := strings.CutPrefix(link[1], s.URL)
		want := http.StatusOK
		if path == "/mcp" {
			want = http.StatusMethodNotAllowed
		}
		if !ours {
			t.Errorf("%s is not an address of this site", link[1])
			continue
		}
		c.Get(path).Want(want)
	}
	for tool := range s.inputs() {
		if !strings.Contains(text.Body, tool) {
			t.Errorf("the text does not name the tool %s", tool)
		}
	}
}
