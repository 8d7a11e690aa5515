// Package errtest ends tests at unexpected errors.
package errtest

import "testing"

// None ends the test if there is an error.
func None(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
