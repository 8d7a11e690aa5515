package checktest

import (
	"os"
	"testing"
)

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
