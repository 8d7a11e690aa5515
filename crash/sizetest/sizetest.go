// Package sizetest controls the extent of tests: "make test-quick" skips tests that need a browser or
// other programs, and "make hard" repeats random tests more often.
package sizetest

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

// Thorough is the environment variable that makes tests thorough, as "make hard" does.
const Thorough = "MISHAP_TEST_THOROUGH"

// Programs is the environment variable with the folder in which the packages of one run share the
// crashing programs of package symboltest. "devtool postgres" sets it; without it, each package makes them.
const Programs = "MISHAP_TEST_PROGRAMS"

// Rounds returns the number of repetitions of a random test: normally, or many in a thorough run.
func Rounds(normally, many int) int {
	if os.Getenv(Thorough) != "" {
		return many
	}
	return normally
}
