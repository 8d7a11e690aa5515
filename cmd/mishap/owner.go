package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"mishap/cmd/mishap/config"
	"mishap/crash"
)

// dataConfig reads the configuration for a command that uses data_dir. Root becomes the owner of
// data_dir first, because the owner could not use what root creates there.
func (p *program) dataConfig(cmd *cobra.Command) (config.Config, error) {
	c, err := p.config(cmd)
	if err != nil {
		return c, err
	}
	return c, p.becomeOwner(c.DataDir)
}

// becomeOwner makes the process of root one of the owner of an existing folder, for good. It does
// nothing if root owns the folder, if it is missing, and for other users. It returns Forbidden, with
// the command to run, if root lacks the right.
func (p *program) becomeOwner(dataDir string) error {
	info, err := os.Stat(dataDir)
	if os.Geteuid() != 0 || err != nil {
		return nil //nolint:nilerr // whoever uses the folder reports the error
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	id := strconv.Itoa(int(owner.Uid))
	name, gid, groups, home := "#"+id, int(owner.Gid), []int{int(owner.Gid)}, "/"
	if u, err := user.LookupId(id); err == nil { // it may have no account, as in containers
		name, home = u.Username, u.HomeDir
		gid, _ = strconv.Atoi(u.Gid) // always a number on Unix
		groups = []int{gid}
		ids, _ := u.GroupIds() // without them, the account has fewer rights
		for _, text := range ids {
			if n, err := strconv.Atoi(text); err == nil && n != gid {
				groups = append(groups, n)
			}
		}
	}
	if err := errors.Join(syscall.Setgroups(groups), syscall.Setgid(gid), syscall.Setuid(int(owner.Uid))); err != nil {
		return crash.Errorf(crash.Forbidden, "data_dir_forbidden", "%s belongs to %s, and root could not become that "+
			"user; run this as that user: sudo -u '%s' mishap …", dataDir, name, name).Because(err)
	}
	p.became = fmt.Sprintf("%s, who owns %s", name, dataDir)
	// As after starting with these rights: the sandbox of the debugger writes below /proc.
	return errors.Join(os.Setenv("HOME", home), unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0))
}
