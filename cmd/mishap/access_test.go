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
	"mishap/db/dbtest"
	"mishap/db/people"
)

// TestAccessCommands gives a role to a group, looks at it, and takes it away.
func TestAccessCommands(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	if _, err := people.New(dbtest.Open(t, url)).SignInIdentity(t.Context(), crash.Identity{Source: crash.SourceLaunchpad,
		Issuer: "https://l.example", Subject: "https://l.example/+id/a", Name: "kim",
		Groups: []string{"bugcontrol"}}); err != nil {
		t.Fatal(err)
	}
	runSteps(t, []string{"MISHAP_DATABASE_URL=" + url}, []step{
		{"access list", exitOK, "kim none"},
		{"access grant launchpad bugcontrol admin", exitOK, ""},
		{"access list", exitOK, "launchpad bugcontrol admin … kim admin admin: member of bugcontrol (Launchpad)"},
		{"user role kim viewer", exitOK, "The role of kim is admin now; it was admin. It comes from a group."},
		{"access revoke launchpad bugcontrol", exitOK, "no admin can sign in"},
		{"access list", exitOK, "kim viewer viewer: given by hand"},
		{"user role kim none", exitOK, ""},
		{"access list", exitOK, "kim none"},
		{"access revoke launchpad bugcontrol", exitFailed, ""},
		{"access grant ldap x viewer", exitUsage, ""},
		{"access grant oidc x king", exitUsage, ""},
		{"access grant oidc x admin --packages linux", exitUsage, ""},
		{"access grant oidc x triager --packages linux --set core", exitUsage, ""},
		{"access revoke oidc x triager", exitUsage, ""},

		{"access grant launchpad bugcontrol triager --packages linux-*", exitOK,
			"Members of bugcontrol have the role triager for linux-* now."},
		{"access grant account kim private --team desktop-packages", exitOK, "The account kim has the right to " +
			"private data and embargoed problems of the packages of desktop-packages now."},
		{"access grant account kim triager --set core", exitOK, ""},
		{"access list", exitOK, "account kim private the packages of desktop-packages … account kim triager the package " +
			"set core … launchpad bugcontrol triager linux-* … kim viewer triager for the package " +
			"set core: given by hand; triager for linux-*: member of bugcontrol (Launchpad); private for the packages of " +
			"desktop-packages: given by hand"},
		{"access revoke account kim private", exitFailed, ""},
		{"access revoke account kim private --team desktop-packages", exitOK, ""},
		{"access revoke account kim --set core", exitOK, ""},
		{"access revoke launchpad bugcontrol --packages linux-*", exitOK, ""},
		{"access list", exitOK, "kim none"},
		{"access", exitUsage, ""},
	}...)
}

// TestTokenCommands makes tokens without a browser, uses one, and revokes it.
func TestTokenCommands(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	environ := []string{"MISHAP_DATABASE_URL=" + url}
	runSteps(t, environ, []step{
		{"user add ada --role=triager --password-stdin", exitOK, ""},
		{"user add bob --role=viewer --password-stdin", exitOK, ""},
		{"user add eve --role=viewer --password-stdin", exitOK, ""},
		{"user disable eve", exitOK, ""},
	}...)
	status, stdout, stderr := mishap(t, environ, "token", "create", "ada", "--name=phased updates", "--scope=read,file",
		"--days=30")
	token := strings.TrimSpace(stdout)
	if status != exitOK || !strings.HasPrefix(token, "mshp_") || strings.ContainsAny(token, " \n") ||
		!strings.Contains(stderr, "of ada, for read,file, until ") || strings.Contains(stderr, token) {
		t.Fatalf("create: got %q and %q, want only the token", stdout, stderr)
	}
	accounts := people.New(dbtest.Open(t, url))
	u, kept, err := accounts.ByToken(t.Context(), token, netip.Addr{})
	if err != nil || u.Name != "ada" || !kept.Allows(crash.ScopeRead) || !kept.Allows(crash.ScopeFile) {
		t.Fatalf("got %+v, %+v, %v, want ada's token for both", u, kept, err)
	}
	runSteps(t, environ, []step{
		{"token create bob --name=gauge", exitOK, ""},
		{"token list", exitOK, "phased updates … gauge"},
		{"token list BOB", exitOK, "gauge … never"},
		{"token create bob --name=x --scope=file", exitFailed, "does not allow the scope file"},
		{"token create eve --name=x", exitFailed, "is disabled"},
		{"token create nobody --name=x", exitFailed, `There is no account named "nobody".`},
		{"token create bob --name=x --days=0", exitFailed, "A token must expire within 5 years."},
		{"token create bob --name=x --days=3650", exitFailed, "A token must expire within 5 years."},
		{"token list nobody", exitFailed, `There is no account named "nobody".`},
		{"token revoke 999", exitFailed, "There is no valid token 999"},
		{"token create bob", exitUsage, "--name is missing"},
		{"token create bob --name=x --scope=write", exitUsage, `"write" is not a scope`},
		{"token revoke x", exitUsage, `"x" is not the number of a token`},
		{"token", exitUsage, "mishap token needs one of the commands above"},
		{"token revoke 1", exitOK, "Token 1 of ada is revoked."},
		{"token list --all", exitOK, "revoked 20 … bob"},
	}...)
	if _, _, err := accounts.ByToken(t.Context(), token, netip.Addr{}); crash.KindOf(err) != crash.Unauthenticated {
		t.Errorf("revoked: got %v, want unauthenticated", err)
	}
	if valid, all := mustRun(t, environ, "token", "list"), mustRun(t, environ, "token", "list", "--all"); strings.Contains(
		valid, "ada") || strings.Contains(all, token) {
		t.Errorf("got %q, want bob's only, and no secret in %q", valid, all)
	}

	// A service account has tokens, but neither a password nor a person.
	mustRun(t, environ, "user", "add", "phasing-bot", "--role=triager", "--service", "--team=launchpad:~ubuntu-sru")
	stdout = mustRun(t, environ, "token", "create", "phasing-bot", "--name=gate", "--scope=file")
	if u, _, err := accounts.ByToken(t.Context(), strings.TrimSpace(stdout), netip.Addr{}); err != nil ||
		u.Team != (crash.Team{Source: crash.SourceLaunchpad, Name: "ubuntu-sru"}) {
		t.Errorf("got %+v, %v, want the service account", u, err)
	}
	runSteps(t, environ, []step{
		{"user add x --role=viewer --service", exitUsage, ""},
		{"user add x --role=viewer --service --team=ldap:x", exitUsage, ""},
		{"user password phasing-bot --password-stdin", exitFailed, "is a service account"},
		{"user team phasing-bot oidc:release", exitOK, ""},
		{"user team ada oidc:release", exitFailed, ""},
		{"user list", exitOK, "oidc:release"},
		{"token list --text=release", exitOK, "gate"},
		{"token list --scope=file", exitOK, "gate"},
		{"token list --state=valid bob", exitOK, "gauge"},
		{"token revoke --unused", exitOK, "There was no such token."},
		{"token revoke --unused 1", exitUsage, ""},
		{"token list --state=old", exitUsage, ""},
	}...)
}

// TestMoreRootActsAsOwner checks that what root starts on the data_dir of another user leaves nothing of
// root there, so that the user's own service works afterwards.
func TestMoreRootActsAsOwner(t *testing.T) {
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
	server.stops()
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
	environ := ownDatabase(t)
	runSteps(t, environ, []step{
		{"user add ada --role viewer --password-stdin", exitOK, ""}, {"user role ada admin", exitOK, ""},
		{"migrate", exitOK, ""}, {"user list", exitOK, ""}, {"audit --since yesterday", exitUsage, ""},
		{"audit --action user.eat", exitUsage, ""}, {"audit --result fine", exitUsage, ""},
	}...)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(mustRun(t, environ, "audit")) {
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
		out := mustRun(t, environ, "audit", tt.flag, tt.value)
		if !strings.Contains(out, tt.want) || tt.want == "" && out != "" {
			t.Errorf("%s %s: got %q, want %q", tt.flag, tt.value, out, tt.want)
		}
	}
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
