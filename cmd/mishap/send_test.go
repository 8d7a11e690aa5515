package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSendNeedsAgreement checks that nothing is sent without a valid configuration that names the server.
func TestSendNeedsAgreement(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, c := range map[string]struct{ content, want string }{
		"none":      {"", "to agree, write into it"},
		"empty":     {"# nothing\n", "the key server is missing"},
		"no TOML":   {"server = \n", "send.toml:1: "},
		"unknown":   {"server = \"https://x\"\nservers = \"https://y\"\n", "send.toml:2: unknown key \"servers\""},
		"a number":  {"server = 7\n", "expected server = "},
		"no server": {"server = \"crashes.example.org\"\n", "send.toml: server: expected the address"},
	} {
		file := filepath.Join(folder, name, "send.toml")
		if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if c.content != "" {
			if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		status, _, stderr := runIn(t.Context(), nil, nil, "send", "--config", file, "--state",
			filepath.Join(folder, "state"))
		if status != exitFailed || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: got status %d, %s; want %q", name, status, stderr, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "state")); !os.IsNotExist(err) {
		t.Errorf("the state folder: got %v, want none", err)
	}
}
