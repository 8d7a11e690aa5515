//go:build !linux

package connect

import "syscall"

// limitUnacknowledged does nothing: only Linux has the option.
func limitUnacknowledged(int) func(network, address string, c syscall.RawConn) error { return nil }
