//go:build unix && !linux

package main

import "syscall"

// ownGroup puts a child into a process group of its own, so that Ctrl-C does not reach it and this
// process can stop it gracefully.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
