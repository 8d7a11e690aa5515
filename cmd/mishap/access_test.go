package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/crash/audit"
	"mishap/crash/crashtest"
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

// TestRootActsAsOwner checks that what root starts on the data_dir of another user leaves nothing of
// root there, so that the user's own service works afterwards.
func TestRootActsAsOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	const uid, gid = 65534, 65534
	data := dataDir(t)
	folder := filepath.Dir(data)
	backups := filepath.Join(folder, "backups")
	secret := filepath.Join(folder, "secret")
	file := filepath.Join(folder, "config.toml")
	program := filepath.Join(folder, "mishap") // where that user may run it
	for _, err := range []error{
		os.Link(built(t), program), os.Mkdir(data, 0o700), os.Chown(data, uid, gid), os.Mkdir(backups, 0o700),
		os.Chown(backups, uid, gid),
		os.WriteFile(secret, []byte(strings.Repeat("k", 32)), 0o600), // for root alone
		os.WriteFile(file, []byte("data_dir = '"+data+"'\ntracker_url = 'http://127.0.0.1:1'\n"), 0o600),
		os.Chown(file, 0, gid), os.Chmod(file, 0o640),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	listening, addresses := freeAddresses(t)
	run := func(as *syscall.Credential, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, append(args, "--config="+file)...)
		cmd.Env = append(append(os.Environ(), listening...), "TMPDIR=/tmp")
		if as == nil {
			cmd.Env = append(cmd.Env, "MISHAP_CORES_KEY_FILE="+secret)
		}
		cmd.Stdin = strings.NewReader("correct horse battery\n")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, args := range [][]string{
		{"doctor"}, {"migrate"}, {"user", "add", "ada", "--role=admin", "--password-stdin"}, {"backup", backups}, {"check",
			"--all"},
		{"symbols", "add", program}, {"filings", "reconcile"}, {"gate", "package", "1"}, {"system", "erase", "abc", "--yes"},
	} {
		out, err := run(nil, args...)
		_, failed := errors.AsType[*exec.ExitError](err)
		if err != nil && !failed {
			t.Fatal(err)
		}
		switch args[0] {
		case "migrate", "user", "backup", "check":
			if err != nil {
				t.Errorf("%s: got %v\n%s", args, err, out)
			}
		}
		if err != nil && !strings.Contains(out, "root acts as nobody, who owns "+data) {
			t.Errorf("%s: got %s, want who root is", args, out)
		}
	}
	made, err := filepath.Glob(filepath.Join(backups, "mishap-*"))
	if err != nil || len(made) != 1 {
		t.Fatalf("got backups %v, %v", made, err)
	}
	if out, err := run(nil, "restore", "--verify", made[0]); err != nil || !strings.Contains(out, "The backup is good.") {
		t.Errorf("restore --verify: got %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Args = append(cmd.Args, "serve", "--config="+file)
	server := startCommand(t, listening, cmd)
	server.until(`"msg":"ready"`)
	if postTo(t, addresses["ingest_listen"], "machine", crashtest.Native()) != 200 {
		t.Error("the server of root accepts no report")
	}
	if status := server.terminate(); status != exitOK {
		t.Errorf("serve: got status %d\n%s", status, server.said)
	}
	for _, dir := range []string{data, backups} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err == nil && info.Sys().(*syscall.Stat_t).Uid != uid {
				t.Errorf("%s belongs to user %d", path, info.Sys().(*syscall.Stat_t).Uid)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := run(&syscall.Credential{Uid: uid, Gid: gid}, "user", "list"); err != nil || !strings.Contains(out,
		"ada") {
		t.Errorf("the owner: got %v\n%s", err, out)
	}
	if out, err := run(nil, "backup", "/root/backups-of-nobody"); err == nil || !strings.Contains(out,
		"permission denied") {
		t.Errorf("a folder of root: got %v\n%s", err, out)
	}
}

// TestCommandsAreRecorded runs a command with a record of its own, one without, and one that reads.
func TestCommandsAreRecorded(t *testing.T) {
	t.Parallel()
	environ := []string{"MISHAP_DATABASE_URL=" + dbtest.URL(t), "MISHAP_DATA_DIR=" + t.TempDir()}
	run := func(want int, args ...string) string {
		t.Helper()
		status, stdout, stderr := runIn(t.Context(), strings.NewReader("correct horse battery\n"), environ,
			append(args, "--config", configFile(t, ""))...)
		if status != want {
			t.Fatalf("%s: got status %d and %q, want %d", args, status, stderr, want)
		}
		return stdout
	}
	run(exitOK, "user", "add", "ada", "--role", "viewer", "--password-stdin")
	run(exitOK, "user", "role", "ada", "admin")
	run(exitOK, "migrate")
	run(exitOK, "user", "list")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(run(exitOK, "audit")) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if r.Kind != audit.Command || r.Via != me.Username {
			t.Errorf("got the actor %q %q, want the command line and %s", r.Kind, r.Via, me.Username)
		}
		got = append(got, r.RequestID+": "+r.Action+" "+r.Object+" "+string(r.Before)+string(r.After))
	}
	want := []string{"mishap audit: read.log  ", "mishap migrate: command.other mishap migrate ",
		`mishap user role: user.role ada {"role":"viewer"}{"role":"admin"}`}
	for i, w := range want {
		if len(got) != 4 || got[i] != w {
			t.Fatalf("got %q, want it to begin with %q", got, want)
		}
	}
	for _, tt := range []struct{ flag, value, want string }{
		{"--who", me.Username, "user.role"}, {"--who", "nobody", ""}, {"--action", "user.add", "user.add"},
		{"--object", "ada", "user.role"}, {"--since", "2020-01-01", "user.role"}, {"--until", "2020-01-01", ""},
		{"--result", "refused", ""}, {"--address", "192.0.2.1", ""},
	} {
		if out := run(exitOK, "audit", tt.flag, tt.value); !strings.Contains(out, tt.want) || tt.want == "" && out != "" {
			t.Errorf("%s %s: got %q, want %q", tt.flag, tt.value, out, tt.want)
		}
	}
	run(exitUsage, "audit", "--since", "yesterday")
	run(exitUsage, "audit", "--action", "user.eat")
	run(exitUsage, "audit", "--result", "fine")
}

// TestReadingCommands checks that each reading command exists.
func TestReadingCommands(t *testing.T) {
	t.Parallel()
	all := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		all[cmd.CommandPath()] = true
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&program{}).rootCommand())
	for path := range readingCommands {
		if !all[path] {
			t.Errorf("there is no command %s", path)
		}
	}
}
