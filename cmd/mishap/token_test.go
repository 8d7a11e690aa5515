package main

import (
	"net/netip"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/people"
)

// TestTokenCommands makes tokens without a browser, uses one, and revokes it.
func TestTokenCommands(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	environ, config := []string{"MISHAP_DATABASE_URL=" + url}, noConfig(t)
	run := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		status, stdout, stderr := runIn(t.Context(), strings.NewReader("correct horse battery\n"), environ,
			append(args, config)...)
		if status != want {
			t.Fatalf("%s: got status %d and %q, want %d", args, status, stderr, want)
		}
		return stdout, stderr
	}
	for name, role := range map[string]string{"ada": "triager", "bob": "viewer", "eve": "viewer"} {
		run(exitOK, "user", "add", name, "--role="+role, "--password-stdin")
	}
	run(exitOK, "user", "disable", "eve")

	stdout, stderr := run(exitOK, "token", "create", "ada", "--name=phased updates", "--scope=read,file", "--days=30")
	token := strings.TrimSpace(stdout)
	if !strings.HasPrefix(token, "mshp_") || strings.ContainsAny(token, " \n") ||
		!strings.Contains(stderr, "of ada, for read,file, until ") || strings.Contains(stderr, token) {
		t.Fatalf("create: got %q and %q, want only the token", stdout, stderr)
	}
	store, err := db.Open(t.Context(), db.Config{URL: url, Log: dbtest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	accounts := people.New(store)
	u, kept, err := accounts.ByToken(t.Context(), token, netip.Addr{})
	if err != nil || u.Name != "ada" || !kept.Allows(crash.ScopeRead) || !kept.Allows(crash.ScopeFile) {
		t.Fatalf("got %+v, %+v, %v, want ada's token for both", u, kept, err)
	}
	run(exitOK, "token", "create", "bob", "--name=gauge")
	if all, _ := run(exitOK, "token", "list"); !strings.Contains(all, "phased updates") ||
		!strings.Contains(all, "gauge") || strings.Contains(all, token) {
		t.Errorf("list: got %q, want both and no secret", all)
	}
	if one, _ := run(exitOK, "token", "list", "BOB"); strings.Contains(one, "phased") || !strings.Contains(one, "gauge") ||
		!strings.Contains(one, "never") {
		t.Errorf("list of bob: got %q", one)
	}
	for _, tt := range []struct {
		status     int
		args, want string
	}{
		{exitFailed, "token create bob --name=x --scope=file", "does not allow what the scope file is for"},
		{exitFailed, "token create eve --name=x", "is disabled"},
		{exitFailed, "token create nobody --name=x", `There is no account named "nobody".`},
		{exitFailed, "token create bob --name=x --days=0", "A token must expire within 5 years."},
		{exitFailed, "token create bob --name=x --days=3650", "A token must expire within 5 years."},
		{exitFailed, "token list nobody", `There is no account named "nobody".`},
		{exitFailed, "token revoke 999", "There is no valid token 999"},
		{exitUsage, "token create bob", "--name is missing"},
		{exitUsage, "token create bob --name=x --scope=write", `"write" is not a scope`},
		{exitUsage, "token revoke x", `"x" is not the number of a token`},
		{exitUsage, "token", "mishap token needs one of the commands above"},
	} {
		if _, stderr := run(tt.status, strings.Fields(tt.args)...); !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.args, stderr, tt.want)
		}
	}
	if stdout, _ := run(exitOK, "token", "revoke", "1"); stdout != "Token 1 of ada is revoked.\n" {
		t.Errorf("revoke: got %q", stdout)
	}
	if _, _, err := accounts.ByToken(t.Context(), token, netip.Addr{}); crash.KindOf(err) != crash.Unauthenticated {
		t.Errorf("revoked: got %v, want unauthenticated", err)
	}
	if all, _ := run(exitOK, "token", "list"); strings.Contains(all, "ada") {
		t.Errorf("after revoking: got %q, want bob's only", all)
	}
	if all, _ := run(exitOK, "token", "list", "--all"); !strings.Contains(all, "revoked 20") ||
		!strings.Contains(all, "bob") ||
		strings.Contains(all, token) {
		t.Errorf("list --all: got %q, want the revoked one, too, and no secret", all)
	}

	// A service account has tokens, but neither a password nor a person.
	run(exitOK, "user", "add", "phasing-bot", "--role=triager", "--service", "--team=launchpad:~ubuntu-sru")
	run(exitUsage, "user", "add", "x", "--role=viewer", "--service")
	run(exitUsage, "user", "add", "x", "--role=viewer", "--service", "--team=ldap:x")
	if _, stderr := run(exitFailed, "user", "password", "phasing-bot", "--password-stdin"); !strings.Contains(stderr,
		"is a service account") {
		t.Errorf("password of a service account: got %q", stderr)
	}
	stdout, _ = run(exitOK, "token", "create", "phasing-bot", "--name=gate", "--scope=file")
	if u, _, err := accounts.ByToken(t.Context(), strings.TrimSpace(stdout), netip.Addr{}); err != nil ||
		u.Team != (crash.Team{Source: crash.SourceLaunchpad, Name: "ubuntu-sru"}) {
		t.Errorf("got %+v, %v, want the service account", u, err)
	}
	run(exitOK, "user", "team", "phasing-bot", "oidc:release")
	run(exitFailed, "user", "team", "ada", "oidc:release")
	for args, want := range map[string]string{"user list": "oidc:release", "token list --text=release": "gate",
		"token list --scope=file": "gate", "token list --state=valid bob": "gauge"} {
		if out, _ := run(exitOK, strings.Fields(args)...); !strings.Contains(out, want) {
			t.Errorf("%s: got %q, want %s", args, out, want)
		}
	}
	if out, _ := run(exitOK, "token", "revoke", "--unused"); out != "There was no such token.\n" {
		t.Errorf("revoke unused tokens: got %q", out)
	}
	run(exitUsage, "token", "revoke", "--unused", "1")
	run(exitUsage, "token", "list", "--state=old")
}
