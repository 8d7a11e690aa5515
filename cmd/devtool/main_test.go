package main

import (
	"bytes"
	"net/url"
	"os"
	"strings"
	"testing"

	"mishap/tracker/kinds"
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

// TestTracker tries every kind of tracker with its practice tracker.
func TestTracker(t *testing.T) {
	t.Parallel()
	for _, k := range kinds.All {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			cmd := trackerCommand()
			cmd.SetArgs([]string{k.Name})
			cmd.SetOut(&out)
			if err := cmd.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"that of mishap", "Created bug", "Found it again", "and found it again", "It is "} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got %s, want %q", out.String(), want)
				}
			}
		})
	}
}
