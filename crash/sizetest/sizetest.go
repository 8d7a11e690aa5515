// Package sizetest decides how much the tests of a run do: "make test-short" leaves out what needs other programs, and
// "make hard" repeats what is left to chance more often.
package sizetest

import (
	"os"
	"testing"
)

// LeftOut begins the message of each test that is left out of a short run.
const LeftOut = "left out of a short run: needs "

// Needs skips the test in a short run (go test -short), since it needs something that a short run goes without. Whatever
// starts a server, a browser or a built program for tests calls it first.
func Needs(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		t.Skip(LeftOut + what)
	}
}

// Thorough is the variable of the environment that makes tests thorough, as "make hard" does.
const Thorough = "MISHAP_TEST_THOROUGH"

// Rounds returns how often to repeat something that is made up at random: normally, or many times in a thorough run.
func Rounds(normally, many int) int {
	if os.Getenv(Thorough) != "" {
		return many
	}
	return normally
}
