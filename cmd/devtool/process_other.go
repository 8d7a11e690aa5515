//go:build unix && !linux

package main

import "syscall"

// ownGroup puts a child into a process group of its own, where it does not see the terminal's Ctrl-C: it is stopped by us,
// in order.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
