package main

import (
	"strings"
	"testing"

	"mishap/crash"
	"mishap/db"
	"mishap/db/dbtest"
	"mishap/db/people"
)

// TestAccessCommands gives a role to a group, looks at it, and takes it away.
func TestAccessCommands(t *testing.T) {
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
	store, err := db.Open(t.Context(), db.Config{URL: url, Log: dbtest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	if _, err := people.New(store).SignInIdentity(t.Context(), crash.Identity{Source: crash.SourceLaunchpad,
		Issuer:  "https://l.example",
		Subject: "https://l.example/+id/a", Name: "kim", Groups: []string{"bugcontrol"}}); err != nil {
		t.Fatal(err)
	}
	list := func(want ...string) {
		t.Helper()
		out, _ := run(exitOK, "access", "list")
		lines := strings.Split(strings.Join(strings.Fields(strings.ReplaceAll(out, "\n", " | ")), " "), " | ")
		for _, w := range want {
			found := false
			for _, line := range lines {
				found = found || strings.HasPrefix(line, w)
			}
			if !found {
				t.Errorf("got %q, want a line that begins with %q", lines, w)
			}
		}
	}
	list("kim none")
	run(exitOK, "access", "grant", "launchpad", "bugcontrol", "admin")
	list("launchpad bugcontrol admin", "kim admin admin: member of bugcontrol (Launchpad)")
	out, _ := run(exitOK, "user", "role", "kim", "viewer")
	if !strings.Contains(out, "The role of kim is admin now; it was admin. It comes from a group.") {
		t.Errorf("got %q, want that the group still counts", out)
	}
	if _, warning := run(exitOK, "access", "revoke", "launchpad", "bugcontrol"); !strings.Contains(warning,
		"no admin can sign in") {
		t.Errorf("got %q, want a warning", warning)
	}
	list("kim viewer viewer: given by hand")
	run(exitOK, "user", "role", "kim", "none")
	list("kim none")
	run(exitFailed, "access", "revoke", "launchpad", "bugcontrol")
	run(exitUsage, "access", "grant", "ldap", "x", "viewer")
	run(exitUsage, "access", "grant", "oidc", "x", "king")
	run(exitUsage, "access", "grant", "oidc", "x", "admin", "--packages", "linux")
	run(exitUsage, "access", "grant", "oidc", "x", "triager", "--packages", "linux", "--set", "core")
	run(exitUsage, "access", "revoke", "oidc", "x", "triager")

	out, _ = run(exitOK, "access", "grant", "launchpad", "bugcontrol", "triager", "--packages", "linux-*")
	if want := "Members of bugcontrol have the role triager for linux-* now.\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	out, _ = run(exitOK, "access", "grant", "account", "kim", "private", "--team", "desktop-packages")
	if want := "The account kim has the right to private data and embargoed problems of the packages of " +
		"desktop-packages now.\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	run(exitOK, "access", "grant", "account", "kim", "triager", "--set", "core")
	list("account kim private the packages of desktop-packages", "account kim triager the package set core",
		"launchpad bugcontrol triager linux-*",
		"kim viewer triager for the package set core: given by hand; triager for linux-*: member of bugcontrol (Launchpad); "+
			"private for the packages of desktop-packages: given by hand")
	run(exitFailed, "access", "revoke", "account", "kim", "private")
	run(exitOK, "access", "revoke", "account", "kim", "private", "--team", "desktop-packages")
	run(exitOK, "access", "revoke", "account", "kim", "--set", "core")
	run(exitOK, "access", "revoke", "launchpad", "bugcontrol", "--packages", "linux-*")
	list("kim none")
	run(exitUsage, "access")
}
