package main

import "syscall"

// ownGroup puts a child into its own process group. Then Ctrl-C does not reach it, and this process
// can stop it gracefully. If this process is killed, the kernel stops the child.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
