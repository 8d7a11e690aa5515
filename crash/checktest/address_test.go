package checktest_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"mishap/crash/checktest"
)

// TestFreeAddress checks that nothing listens on a free address, that a program can, more than once, and
// that nobody gets it again.
func TestFreeAddress(t *testing.T) {
	t.Parallel()
	address, err := checktest.FreeAddress()
	checktest.NoError(t, err)
	if _, err := new(net.Dialer).DialContext(t.Context(), "tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("before anything listens: got %v, want a refused connection", err)
	}
	for range 2 {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		checktest.NoError(t, err)
		checktest.NoError(t, l.Close())
	}
	seen := map[string]bool{address: true}
	for range 200 {
		other, err := checktest.FreeAddress()
		if err != nil || seen[other] {
			t.Fatalf("got address %s again, or error %v", other, err)
		}
		seen[other] = true
	}
}
