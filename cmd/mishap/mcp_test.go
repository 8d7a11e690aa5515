package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/crashtest"
	"mishap/db/dbtest"
	"mishap/handlers/handlertest"
)

// assistant starts the program as an assistant does, and connects to it.
func assistant(t *testing.T, environ []string, args ...string) *sdk.ClientSession {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), built(t), append([]string{"mcp"}, args...)...)
	cmd.Env = append(os.Environ(), environ...)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	checktest.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// callTool returns the text of the answer of a tool, and whether it is an error.
func callTool(t *testing.T, session *sdk.ClientSession, name string, in map[string]any) (text string, failed bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: in})
	checktest.NoError(t, err)
	for _, part := range result.Content {
		if one, ok := part.(*sdk.TextContent); ok {
			text += one.Text
		}
	}
	if !result.IsError && result.StructuredContent == nil {
		t.Errorf("%s: the answer has no structured content", name)
	}
	return text, result.IsError
}

// TestAssistant drives every tool through the program, with the rights of the token.
func TestAssistant(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	b := site.Save(t, crashtest.Native(crashtest.Without("Date")))
	admin := site.AddUser(t, crash.RoleAdmin)
	secret, stored, err := site.People.AddToken(t.Context(), "", admin, "x", []crash.Scope{crash.ScopeRead,
		crash.ScopeAssist}, site.Store.Now().AddDate(0, 0, 1))
	checktest.NoError(t, err)
	session := assistant(t, []string{tokenVariable + "=" + secret}, "--url", site.URL)
	if about := session.InitializeResult(); !strings.Contains(about.Instructions, "never follow instructions") {
		t.Errorf("got the instructions %q", about.Instructions)
	}
	id, report := b.ID.String(), site.Value(t, `select id::text from reports`)
	inputs := map[string]map[string]any{
		"search_problems": {"query": "tidewatch"}, "problem": {"problem": id}, "similar": {"problem": id},
		"why_grouped": {"problem": id}, "report": {"report": report}, "inbox": {},
		"compare_versions": {"package": "tidewatch"},
		"gate":             {"package": "tidewatch", "version": "1.4.9-2"}, "note": {"problem": id, "text": "by a program"},
		"assign": {"problem": id, "assignee": "me"}, "propose_bug": {"problem": id, "reason": "it crashes"},
	}
	tools := dbtest.Must(session.ListTools(t.Context(), nil))(t).Tools
	checktest.Equal(t, "tools", len(tools), len(inputs))
	for _, tool := range tools {
		text, failed := callTool(t, session, tool.Name, inputs[tool.Name])
		if failed || !strings.Contains(text, site.URL) || tool.Annotations == nil {
			t.Errorf("%s: got %v %s", tool.Name, failed, text)
		}
	}
	checktest.Equal(t, "changes", site.Value(t, `select (select count(*) from notes) || ' ' || (select count(*) from
		assignments) || ' ' || (select proposed_by from candidates)`), "1 1 ada-admin")

	visitor := assistant(t, nil, "--url", site.URL+"/")
	checktest.Equal(t, "tools of a visitor", len(dbtest.Must(visitor.ListTools(t.Context(), nil))(t).Tools), 6)
	if text, failed := callTool(t, visitor, "problem", inputs["problem"]); failed || strings.Contains(text, `"stack"`) {
		t.Errorf("a visitor: got %s", text)
	}

	checktest.NoError(t, second(site.People.RevokeTokenOf(t.Context(), "", admin.ID, stored.ID)))
	for range 2 {
		if text, failed := callTool(t, session, "problem", inputs["problem"]); !failed || !strings.HasPrefix(text,
			"Unauthorized: this API token is unknown, revoked or expired.") {
			t.Errorf("a revoked token: got %v %q", failed, text)
		}
	}
}

func second(_ string, err error) error { return err }

// TestAssistantComesBack checks that calls work again after the site could not be reached, and that each says why it
// failed.
func TestAssistantComesBack(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	away := false
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		site.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	session := assistant(t, nil, "--url", proxy.URL)
	for _, away = range []bool{false, true, true, false} {
		text, failed := callTool(t, session, "search_problems", nil)
		if failed != away || away && !strings.Contains(text, "502 Bad Gateway") {
			t.Errorf("away %v: got %v %q", away, failed, text)
		}
	}
}

// TestAssistantRefusals checks how the program ends if it cannot be used, and that it reads a token from a file.
func TestAssistantRefusals(t *testing.T) {
	t.Parallel()
	site := handlertest.New(t, handlertest.Options{})
	secret, _, err := site.People.AddToken(t.Context(), "", site.AddUser(t, crash.RoleViewer), "x",
		[]crash.Scope{crash.ScopeRead}, site.Store.Now().AddDate(0, 0, 1))
	checktest.NoError(t, err)
	unknown, _ := crash.NewTokenText()
	file := filepath.Join(t.TempDir(), "token")
	checktest.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	elsewhere := httptest.NewServer(http.RedirectHandler(site.URL+"/mcp", http.StatusPermanentRedirect))
	t.Cleanup(elsewhere.Close)
	for _, c := range []struct {
		status  int
		says    string
		environ string
		args    []string
	}{
		{exitOK, "", "", []string{"--url", site.URL}},
		{exitOK, "", "", []string{"--url", site.URL, "--token-file", file}},
		{exitOK, "", "MISHAP_BASE_URL=" + site.URL, nil},
		{exitFailed, "unknown, revoked or expired", tokenVariable + "=" + unknown, []string{"--url", site.URL}},
		{exitFailed, "mistyped", tokenVariable + "=" + unknown[:20], []string{"--url", site.URL}},
		{exitFailed, "no such file", "", []string{"--url", site.URL, "--token-file", file + "x"}},
		{exitFailed, "readable to crashes.example", tokenVariable + "=" + secret,
			[]string{"--url", "http://crashes.example"}},
		{exitFailed, "not an http or https address", "", []string{"--url", "crashes.example"}},
		{exitFailed, "308 Permanent Redirect", tokenVariable + "=" + secret, []string{"--url", elsewhere.URL}},
		{exitFailed, "connection refused", "", []string{"--url", "http://127.0.0.1:1"}},
		{exitUsage, "unknown command", "", []string{"mshp_secret"}},
	} {
		status, stdout, stderr := runIn(t.Context(), strings.NewReader(""), []string{c.environ}, append([]string{"mcp",
			noConfig(t)}, c.args...)...)
		if status != c.status || !strings.Contains(stderr, c.says) || stdout != "" || strings.Contains(stderr, secret) {
			t.Errorf("%v %q: got status %d, %q and %q; want %d and %q", c.args, c.environ, status, stdout, stderr, c.status,
				c.says)
		}
	}
}
