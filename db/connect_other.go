//go:build !linux

package db

import "syscall"

// limitUnacknowledged returns nil, because only Linux has this option.
func limitUnacknowledged(int) func(network, address string, c syscall.RawConn) error { return nil }
