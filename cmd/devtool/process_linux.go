package main

import "syscall"

// ownGroup puts a child into a process group of its own, where it does not see the terminal's Ctrl-C: it is stopped by us,
// in order. When we are killed the kernel stops it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
