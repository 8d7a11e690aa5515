package embedded

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"

	"mishap/crash"
)

// account is the user that runs the server: the present user or, for root, which PostgreSQL
// refuses, another one.
type account struct {
	name     string
	uid, gid uint32
	other    bool // not the present user
}

// unprivileged lists users that root can run the server as, in order of preference.
var unprivileged = []string{"postgres", "mishap", "nobody"}

// chooseAccount returns the user for the server. If the server's files exist, that is their owner.
func chooseAccount(cluster string) (account, error) {
	me := account{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())} //nolint:gosec // never negative here
	if me.uid != 0 {
		return me, nil
	}
	if info, err := os.Stat(cluster); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return account{name: "user " + strconv.Itoa(int(st.Uid)), uid: st.Uid, gid: st.Gid, other: true}, nil
		}
	}
	for _, name := range unprivileged {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return account{name: "user " + name, uid: uint32(uid), gid: uint32(gid), other: true}, nil
		}
	}
	return account{}, crash.Errorf(crash.Unavailable, "no_account",
		"PostgreSQL does not run as root, and this machine has no user postgres, mishap or nobody to run it as; "+
			"add one (useradd --system postgres).")
}

// command returns a command that runs as the account in directory dir. It has a process group of
// its own, so that Ctrl-C in a terminal reaches only mishap.
func (a account) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if a.other {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// chown changes the owner of a file or directory to the account.
func (a account) chown(path string) error {
	if !a.other {
		return nil
	}
	if err := os.Lchown(path, int(a.uid), int(a.gid)); err != nil {
		return fmt.Errorf("give %s to %s: %w", path, a.name, err)
	}
	return nil
}

// mayEnter reports whether the account can access the directory, including all its parents.
func (a account) mayEnter(ctx context.Context, path string) bool {
	return !a.other || a.command(ctx, path, "/bin/sh", "-c", "test -x .").Run() == nil
}
