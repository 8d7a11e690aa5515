package db

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged returns a function that sets TCP_USER_TIMEOUT, in milliseconds, on the
// sockets of a dialer. It ignores errors: a kernel without this option only takes longer to detect
// a dead host.
func limitUnacknowledged(milliseconds int) func(network, address string, c syscall.RawConn) error {
	return func(network, _ string, c syscall.RawConn) error {
		if !strings.HasPrefix(network, "tcp") || milliseconds == 0 {
			return nil
		}
		return c.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, milliseconds)
		})
	}
}
