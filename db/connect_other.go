//go:build !linux

package db

import "syscall"

// limitUnacknowledged does nothing: only Linux has the option.
func limitUnacknowledged(int) func(network, address string, c syscall.RawConn) error { return nil }
