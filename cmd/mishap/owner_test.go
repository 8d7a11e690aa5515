package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mishap/crash/crashtest"
)

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
