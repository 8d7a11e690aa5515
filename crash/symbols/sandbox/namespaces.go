package sandbox

import (
	"os"
	"sync/atomic"
	"syscall"
)

// withoutNamespaces is true once this machine has refused to make namespaces.
var withoutNamespaces atomic.Bool

// attributes returns how the child starts: in a process group of its own and, with namespaces, in an
// empty network, with its own System V IPC and host name. Seccomp forbids these things anyway; this is
// a second barrier. Without root it needs user namespaces, which some systems do not permit.
func attributes(namespaces bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if !namespaces {
		return a
	}
	a.Cloneflags = syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	return a
}
