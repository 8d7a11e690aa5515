package checktest

import (
	"fmt"
	"os"
	"syscall"
)

// FreeAddress returns an address of this machine on which nothing listens. It stays reserved until the
// test or program ends: the system gives its port to nobody who asks for any port, as outgoing
// connections do. A program that asks for it by number may listen on it if it sets SO_REUSEADDR, as Go
// and PostgreSQL do.
func FreeAddress() (string, error) {
	reserved, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", os.NewSyscallError("socket", err)
	}
	if err := syscall.SetsockoptInt(reserved, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return "", os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(reserved, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", os.NewSyscallError("bind", err)
	}
	bound, err := syscall.Getsockname(reserved)
	if err != nil {
		return "", os.NewSyscallError("getsockname", err)
	}
	return fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port), nil //nolint:forcetypeassert // as bound
}
