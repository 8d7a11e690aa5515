package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mishap/cmd/mishap/config"
)

// TestManualPages checks that each page has the usual sections, and that the page of the configuration
// explains every key of the commented file.
func TestManualPages(t *testing.T) {
	t.Parallel()
	const commented = "../../local_config.default.toml"
	dir := t.TempDir()
	if status, _, stderr := runIn(t.Context(), nil, nil, "man", dir, commented); status != exitOK {
		t.Fatal(stderr)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "mishap*.1"))
	if err != nil || len(pages) < 30 {
		t.Fatalf("got %d pages, %v", len(pages), err)
	}
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, page := range pages {
		text := read(page)
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "FILES", "ENVIRONMENT"} {
			if strings.Count(text, "\n.SH "+section+"\n") != 1 {
				t.Errorf("%s: got not one section %s", filepath.Base(page), section)
			}
		}
	}
	page, file := read(filepath.Join(dir, "mishap.toml.5")), read(commented)
	for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "KEYS", "FILES", "ENVIRONMENT", "SEE ALSO"} {
		if strings.Count(page, "\n.SH "+section+"\n") != 1 {
			t.Errorf("mishap.toml.5: got not one section %s", section)
		}
	}
	keys := regexp.MustCompile(`(?m)^([a-z_0-9]+) = `).FindAllStringSubmatch(file, -1)
	for _, key := range keys {
		if !regexp.MustCompile(`\n\.TP\n\\fB` + key[1] + `\\fP = .*\n[A-Z]`).MatchString(page) {
			t.Errorf("%s is not explained", key[1])
		}
		if _, err := config.Load("missing", false, []string{config.Variable(key[1]) + "_FILE=/nonexistent"}); err == nil {
			t.Errorf("%s is no key", key[1])
		}
	}
	if !strings.HasPrefix(page, `.TH "MISHAP.TOML" "5" `) && !strings.Contains(page, "\n"+`.TH "MISHAP.TOML" "5" `) {
		t.Errorf("got %.200s", page)
	}
}
