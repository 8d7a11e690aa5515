package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWriteTokens(t *testing.T) {
	t.Parallel()
	const added = "tracker_oauth_token = \"new\"\ntracker_oauth_secret = \"s\\\"\\\\3\\u007f\"\n"
	tests := []struct{ name, before, after string }{
		{"empty", "", added},
		{"in place", "# mine\n\n  tracker_oauth_secret   =  'old'  # keep\nlisten = " +
			"\"[::1]:0\"\n\ntracker_oauth_token=\"\"\n# end",
			"# mine\n\n  tracker_oauth_secret   =  \"s\\\"\\\\3\\u007f\"  # keep\nlisten = " +
				"\"[::1]:0\"\n\ntracker_oauth_token=\"new\"\n# end"},
		{"only commented", "# tracker_oauth_token = \"\"\n", "# tracker_oauth_token = \"\"\n" + added},
		{"no line end", "listen = \"[::1]:0\"", "listen = \"[::1]:0\"\n" + added},
		{"carriage returns", "\ufeffdata_dir = 'd'\r\ntracker_oauth_token = \"a\"\r\n",
			"\ufeffdata_dir = 'd'\r\ntracker_oauth_token = \"new\"\r\ntracker_oauth_secret = \"s\\\"\\\\3\\u007f\"\r\n"},
		{"several lines", "tracker_oauth_token = \"\"\"\nold\"\"\"\ntracker_oauth_secret = ''''''\n",
			"tracker_oauth_token = \"new\"\ntracker_oauth_secret = \"s\\\"\\\\3\\u007f\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := writeFile(t, tt.before)
			if err := os.Chmod(file, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := WriteTokens(file, "new", "s\"\\3\x7f"); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.after {
				t.Errorf("file: got %q, want %q", got, tt.after)
			}
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("mode: got %o, want 600", info.Mode().Perm())
			}
			entries, err := os.ReadDir(filepath.Dir(file))
			if err != nil || len(entries) != 1 {
				t.Errorf("folder: got %v, %v, want only the file", entries, err)
			}
		})
	}
}

func TestWriteTokensKeepsTheRest(t *testing.T) {
	t.Parallel()
	shipped, err := os.ReadFile("../../../local_config.default.toml")
	if err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, string(shipped))
	if err := WriteTokens(file, "tok", "sec"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(`tracker_oauth_token = ""`, `tracker_oauth_token = "tok"`,
		`tracker_oauth_secret = ""`, `tracker_oauth_secret = "sec"`).Replace(string(shipped))
	if string(got) != want {
		t.Errorf("shipped file with tokens: got\n%s\nwant\n%s", got, want)
	}
	c, err := Load(file, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.TrackerOAuthToken != "tok" || c.TrackerOAuthSecret != "sec" {
		t.Error("read back: got other tokens than were written")
	}
}

func TestWriteTokensThroughLinks(t *testing.T) {
	t.Parallel()
	for _, exists := range []bool{true, false} {
		folder := t.TempDir()
		target := filepath.Join(folder, "real.toml")
		if exists {
			if err := os.WriteFile(target, []byte("# mine\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		link := filepath.Join(folder, "local_config.toml")
		if err := os.Symlink("real.toml", link); err != nil {
			t.Fatal(err)
		}
		if err := WriteTokens(link, "tok", "sec"); err != nil {
			t.Fatal(err)
		}
		if to, err := os.Readlink(link); err != nil || to != "real.toml" {
			t.Errorf("link with existing target %t: got %q, %v, want it unchanged", exists, to, err)
		}
		if got, err := os.ReadFile(target); err != nil || !strings.Contains(string(got), `"tok"`) {
			t.Errorf("target (existed: %t): got %q, %v, want the token in it", exists, got, err)
		}
	}
}

func TestWriteTokensRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, doc, want string }{
		{"not TOML", "listen\ndata_dir = 'x'\n", "line 1 is not TOML; correct it first"},
		{"table", "[a]\nb = 1\n", "line 1 begins a table; every key must be at the top level"},
		{"array", "tracker_oauth_token = [1]\n", "line 1: tracker_oauth_token is not a text; correct it first"},
		{"inline table", "tracker_oauth_token = {a = 1}\n", "line 1: tracker_oauth_token is not a text; correct it first"},
	}
	for _, tt := range tests {
		file := writeFile(t, tt.doc)
		err := WriteTokens(file, "tok-hidden", "sec-hidden")
		if err == nil || err.Error() != file+": "+tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != tt.doc {
			t.Errorf("%s: got %q, %v, want an unchanged file", tt.name, got, err)
		}
	}
	for _, file := range []string{filepath.Join(t.TempDir(), "missing", "local_config.toml"), t.TempDir()} {
		err := WriteTokens(file, "tok-hidden", "sec-hidden")
		if err == nil || !strings.HasPrefix(err.Error(), file+" cannot be ") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: got %v, want an error that names the file and no token", file, err)
		}
	}
}

// TestWriteTokensForGroup writes into a file as packages install it: mishap's group may read it.
func TestWriteTokensForGroup(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to another group")
	}
	for before, after := range map[os.FileMode]os.FileMode{0o640: 0o640, 0o644: 0o640, 0o600: 0o600} {
		file := writeFile(t, "")
		if err := os.Chown(file, 0, 65534); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, before); err != nil {
			t.Fatal(err)
		}
		if err := WriteTokens(file, "new", "secret"); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != after {
			t.Errorf("%o: got mode %o, want %o", before, got, after)
		}
		if st := info.Sys().(*syscall.Stat_t); st.Gid != 65534 {
			t.Errorf("%o: got group %d, want 65534", before, st.Gid)
		}
	}
}
