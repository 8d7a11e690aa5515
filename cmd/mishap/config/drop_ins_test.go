package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDropIns checks that files in config.d are read in the order of their names, below the file itself and
// the environment, and that mistakes and exports name and contain what comes from them.
func TestDropIns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, file := filepath.Join(dir, "config.d"), filepath.Join(dir, "config.toml")
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	write("config.toml", "base_url = 'https://ours.example.com'\n")
	first := write("config.d/10-package.toml", "data_dir = '/srv/first'\nbase_url = 'https://theirs.example.com'\n"+
		"debuginfod_urls = [\"http://a.example.com\", \"http://b.example.com\"]\ntracker_target = 'debian'\n")
	second := write("config.d/20-site.toml", "data_dir = '/srv/second'\ncores_key = '"+strings.Repeat("k", 32)+"'\n")
	write("config.d/30-saved.toml.dpkg-old", "data_dir = '/srv/third'\n")
	c, err := Load(file, true, []string{"MISHAP_TRACKER_TARGET=fedora"})
	if err != nil {
		t.Fatal(err)
	}
	if c.DataDir != "/srv/second" || c.BaseURL != "https://ours.example.com" || c.TrackerTarget != "fedora" {
		t.Errorf("got %q, %q, %q", c.DataDir, c.BaseURL, c.TrackerTarget)
	}
	if got := c.Exposed(); got != second {
		t.Errorf("exposed: got %q, want %q", got, second)
	}
	doc, err := c.Export(false)
	if err != nil {
		t.Fatal(err)
	}
	want := "base_url = 'https://ours.example.com'\n" + hiddenLine("cores_key") +
		"\ndebuginfod_urls = \"http://a.example.com http://b.example.com\"\ndata_dir = \"/srv/second\"\n" +
		"tracker_target = \"fedora\"\n"
	if string(doc) != want {
		t.Errorf("export: got\n%s\nwant\n%s", doc, want)
	}
	if err := WriteTokens(c.File, "token", "s3cret"); err != nil {
		t.Fatal(err)
	}
	if c, err = Load(file, true, nil); err != nil || c.TrackerOAuthToken != "token" {
		t.Errorf("tokens: got %v, %v", c.TrackerOAuthToken, err)
	}

	write("config.d/10-package.toml", "data_dir = '/srv/first'\nlisen = ':80'\n")
	write("config.d/20-site.toml", "cores_keep_days = 'seven'\n")
	_, err = Load(file, true, nil)
	wanted := first + ":2: lisen: unknown key; did you mean listen?\n" +
		second + ":1: cores_keep_days: expected a number of days, or 0 for ever, got \"seven\""
	if err == nil || err.Error() != wanted {
		t.Errorf("mistakes: got %v\nwant %s", err, wanted)
	}
}
