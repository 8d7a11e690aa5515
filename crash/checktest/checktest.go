// Package checktest has the checks that many tests make, and controls the extent of tests: "make
// test-quick" skips tests that need a browser or other programs, and "make hard" repeats random tests
// more often.
package checktest

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// NoError ends the test if there is an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Equal checks that a value, which what names, is the wanted one.
func Equal[T comparable](t testing.TB, what any, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%v: got %#v, want %#v", what, got, want)
	}
}

// Diff is like Equal for values that contain others.
func Diff(t testing.TB, what any, got, want any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%v (-want +got):\n%s", what, diff)
	}
}

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

// Needs skips the test in a quick run (go test -short), because it needs what. Helpers that start a
// browser or another program call it first.
func Needs(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out of a quick run: needs " + what)
	}
}

// Programs is the environment variable with the folder in which the packages of one run share the
// crashing programs of package symboltest. "devtool postgres" sets it; without it, each package makes them.
const Programs = "MISHAP_TEST_PROGRAMS"

// Rounds returns the number of repetitions of a random test: normally, or many in a thorough run, as of
// "make hard".
func Rounds(normally, many int) int {
	if os.Getenv("MISHAP_TEST_THOROUGH") != "" {
		return many
	}
	return normally
}

// EveryNth returns each nth element, beginning with the element i modulo n, so that n successive i get
// all. A thorough run returns all elements.
func EveryNth[T any](all []T, n, i int) (some []T) {
	n = Rounds(n, 1)
	for at := i % n; at < len(all); at += n {
		some = append(some, all[at])
	}
	return some
}
