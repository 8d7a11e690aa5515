package send

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mishap/crash/sender"
)

// TestAgreement checks that nothing is sent without a valid configuration that names the server.
func TestAgreement(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, c := range map[string]struct{ content, want string }{
		"none":     {"", "to agree, write into it"},
		"empty":    {"# nothing\n", "the key server is missing"},
		"no TOML":  {"server = \n", "send.toml:1: "},
		"unknown":  {"server = \"https://x\"\nservers = \"https://y\"\n", "send.toml:2: unknown key \"servers\""},
		"a table":  {"server = \"https://x\"\n[a]\nb = 1\n", "send.toml:2: unknown key \"a\""},
		"a number": {"server = 7\n", "send.toml:1: "},
		"no room":  {"server = \"https://x\"\ncore_max_bytes = 0\n", "core_max_bytes: expected a positive"},
		"no users": {"server = \"https://x\"\nusers = []\n", "users: the list is empty"},
		"nobody": {"server = \"https://x\"\nusers = [\"root\", \"no-such-user\"]\n",
			"there is no user \"no-such-user\""},
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
		var out bytes.Buffer
		cmd := Command("mishap-send", "1", &out, &out)
		cmd.SetArgs([]string{"--config", file, "--state", filepath.Join(folder, "state")})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v; want %q", name, err, c.want)
		}
		if out.Len() > 0 {
			t.Errorf("%s: got output %q", name, &out)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "state")); !os.IsNotExist(err) {
		t.Errorf("the state folder: got %v, want none", err)
	}
}

// TestUsers checks whose crashes are sent.
func TestUsers(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "send.toml")
	if err := os.WriteFile(file, []byte("server = \"https://x\"\nusers = [\"root\", \"4711\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := load(file)
	if err != nil || !slices.Equal(s.uids, []int64{0, 4711}) {
		t.Errorf("got %v, %v", s.uids, err)
	}
}

// TestID checks the address with which administrators can erase the machine.
func TestID(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/etc/machine-id"); err != nil {
		t.Skip("this machine has no id")
	}
	file := filepath.Join(t.TempDir(), "send.toml")
	for content, want := range map[string]string{"": "https://SERVER/user/",
		"server = \"https://x/y/\"": "https://x/y/user/"} {
		if content != "" {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		cmd := Command("mishap-send", "1", &out, &out)
		cmd.SetArgs([]string{"--id", "--config", file})
		err := cmd.ExecuteContext(t.Context())
		id, _, _ := strings.Cut(out.String(), "\n")
		if err != nil || len(id) != 128 || !strings.Contains(out.String(), "\n"+want+id+"/erase\n") {
			t.Errorf("%q: got %v, %s", content, err, &out)
		}
		if err := os.Remove(file); content != "" && err != nil {
			t.Fatal(err)
		}
	}
}

// TestDryRun checks that people see what a ping contains, whether it is allowed or not.
func TestDryRun(t *testing.T) {
	if _, err := os.Stat("/etc/machine-id"); err != nil {
		t.Skip("this machine has no id")
	}
	folder := t.TempDir()
	t.Setenv("PATH", folder) // without journalctl
	file := filepath.Join(folder, "send.toml")
	ping := `{"release":"` + string(sender.ReadMachine("/").Release) + `","architecture":"`
	const wouldSend = `With "ping = true", it would also send this once a day, to `
	for content, want := range map[string]string{
		"":                                      wouldSend + `https://SERVER/ping, `,
		"server = \"https://x/y\"":              wouldSend + `https://x/y/ping, `,
		"server = \"https://x/y\"\nping = true": "Once a day, it also sends this, to https://x/y/ping, ",
	} {
		if content != "" {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var out, shown bytes.Buffer
		cmd := Command("mishap-send", "1", &out, &shown)
		args := []string{"--config", file, "--state", filepath.Join(folder, "state"), "--files", folder}
		cmd.SetArgs(append(args, "--dry-run"))
		err := cmd.ExecuteContext(t.Context())
		if got := shown.String(); err != nil || !strings.Contains(got, want) || !strings.Contains(got, ping) ||
			out.Len() > 0 {
			t.Errorf("%q: got %v, %s, %s", content, err, &out, &shown)
		}
		if !strings.Contains(content, "ping") {
			_ = os.Remove(file)
			continue
		}
		cmd.SetArgs(append(args, "--user"))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		// The flag --dry-run is still set: nothing is sent.
		err = cmd.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), "send.toml: ping: only") {
			t.Errorf("for one user: got %v, want that it cannot", err)
		}
	}
}
