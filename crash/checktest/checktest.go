// Package checktest has the checks that many tests make, and controls the extent of tests: "make
// test-quick" skips tests that need a browser or other programs, and "make hard" repeats random tests
// more often.
package checktest

import (
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
