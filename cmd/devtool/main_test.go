package main

import (
	"net/url"
	"os"
	"testing"
)

// TestSameAddress checks that runs one after another have the same address, after a kill too, and two at once
// addresses of their own.
func TestSameAddress(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	server := func() (folder, address string) {
		folder = t.TempDir()
		return folder, "postgres://mishap@/mishap?host=" + url.QueryEscape(folder)
	}
	_, address := server()
	first, forget := sameAddress(address)
	folder, other := server()
	if got, _ := sameAddress(other); got != other || first == address {
		t.Errorf("got %s for the first run, and %s for another at the same time", first, got)
	}
	forget()
	if got, _ := sameAddress(other); got != first {
		t.Errorf("next run: got %s, want %s", got, first)
	}
	if err := os.Remove(folder); err != nil { // as after a kill
		t.Fatal(err)
	}
	_, next := server()
	if got, _ := sameAddress(next); got != first {
		t.Errorf("after a kill: got %s, want %s", got, first)
	}
}
