package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestVersionFile checks that a clone without git's tags, or without git, builds the version in
// VERSION.
func TestVersionFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(string(text))
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-dev)?$`).MatchString(version) {
		t.Errorf("got %q in VERSION, want three numbers, with -dev between releases", version)
	}
	out, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "--no-print-directory", "-n", "build").Output()
	if err != nil {
		t.Fatalf("make -n build: %v", err)
	}
	built := regexp.MustCompile(`-X main\.version=` + regexp.QuoteMeta(version) + `(\+[0-9a-f.]+(dirty)?)?'`)
	if !built.Match(out) {
		t.Errorf("make build runs\n%s\nwant the version %s in it, followed at most by the commit", out, version)
	}
}

func TestVersionFlag(t *testing.T) {
	t.Parallel()
	var outs [2]bytes.Buffer
	for i, arg := range []string{"version", "--version"} {
		p := &program{out: &outs[i], err: &outs[i]}
		if status := p.run(t.Context(), []string{arg}); status != exitOK {
			t.Errorf("%s: got status %d, want 0", arg, status)
		}
	}
	if got, want := outs[1].String(), outs[0].String(); got != want || !strings.HasPrefix(got, "mishap ") {
		t.Errorf("--version: got %q, want what version prints, %q", got, want)
	}
}
