package main

import (
	"os"
	"strings"
	"testing"
)

func TestReleaseNotes(t *testing.T) {
	t.Parallel()
	const changelog = "# Changelog\n\n## Unreleased\n\n* new ([docs](docs/a.md#b), [site](https://example.org/))\n\n" +
		"## 0.2.0 (2026-11-01)\n\n* second\n  line\n\n## 0.1.0\n\n* first\n"
	for version, want := range map[string]string{
		"unreleased": "* new ([docs](https://x/v1/docs/a.md#b), [site](https://example.org/))\n",
		"0.2.0":      "* second\n  line\n",
		"0.1.0":      "* first\n",
	} {
		got, err := releaseNotes([]byte(changelog), version, "https://x/v1/")
		if string(got) != want || err != nil {
			t.Errorf("%s: got %q, %v; want %q", version, got, err, want)
		}
	}
	if got, err := releaseNotes([]byte(changelog), "0.3.0", ""); err == nil {
		t.Errorf("unknown version: got %q, want an error", got)
	}
	ours, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	version, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := releaseNotes(ours, strings.TrimSpace(string(version)), ""); err != nil {
		t.Errorf("CHANGELOG.md: %v; want notes of the version in VERSION", err)
	}
}
