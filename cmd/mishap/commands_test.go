package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mishap/db/dbtest"
)

// runIn executes one command line in this process, with the given standard input and environment.
func runIn(ctx context.Context, stdin io.Reader, environ []string, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	p := &program{in: stdin, out: &out, err: &errs, environ: environ, listen: listenOn}
	status = p.run(ctx, args)
	return status, out.String(), errs.String()
}

// noConfig returns a --config argument with an empty file, so that no local_config.toml is read by
// accident.
func noConfig(t *testing.T) string { return "--config=" + configFile(t, "") }

// dataDir returns a data_dir that other users may enter, as the private PostgreSQL requires if the
// tests run as root.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mishap-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// PostgreSQL still writes for a moment after a test has killed the process that runs it.
		eventually(t, "the folder is removed", func() bool { return os.RemoveAll(dir) == nil })
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want string // on the standard error
	}{
		{"no command", nil, "mishap needs one of the commands above"},
		{"unknown command", []string{"frobnicate"}, `unknown command "frobnicate" for "mishap"`},
		{"unknown flag", []string{"version", "--frobnicate"}, "unknown flag: --frobnicate"},
		{"argument too many", []string{"version", "x"}, `unknown command "x" for "mishap version"`},
		{"user alone", []string{"user"}, "mishap user needs one of the commands above"},
		{"user unknown", []string{"user", "frobnicate"}, `unknown command "frobnicate" for "mishap user"`},
		{"no name", []string{"user", "add", "--role=viewer"}, "accepts 1 arg(s), received 0"},
		{"no role", []string{"user", "add", "ada"}, "--role is missing: viewer, triager or admin"},
		{"no such role", []string{"user", "add", "ada", "--role=king"}, `"king" is not a role`},
		{"no terminal", []string{"user", "password", "ada"}, "give it with --password-stdin"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			status, _, stderr := runIn(t.Context(), strings.NewReader(""), nil, tt.args...)
			if status != exitUsage {
				t.Errorf("status: got %d, want %d", status, exitUsage)
			}
			if !strings.Contains(stderr, tt.want) || !strings.Contains(stderr, `--help" shows the usage.`) {
				t.Errorf("standard error: got %q, want %q and a reference to the help", stderr, tt.want)
			}
		})
	}
}

// TestHelp checks that every command has a help text with an example, and accepts --config.
func TestHelp(t *testing.T) {
	t.Parallel()
	root := (&program{}).rootCommand()
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		for _, c := range append(cmd.Commands(), cmd) {
			if c.Name() == "help" || c.Name() == "completion" || c.Parent().Name() == "completion" {
				continue
			}
			args := append(strings.Fields(c.CommandPath())[1:], "--help")
			status, stdout, stderr := runIn(t.Context(), nil, nil, args...)
			if status != exitOK || stderr != "" {
				t.Errorf("%s --help: got status %d and %q, want 0 and no errors", c.CommandPath(), status, stderr)
			}
			wants := []string{"--config file", c.Long}
			if !c.HasSubCommands() {
				wants = append(wants, "Examples:\n  ")
			}
			for _, want := range wants {
				if !strings.Contains(stdout, want) {
					t.Errorf("%s --help: got %q, want %q in it", c.CommandPath(), stdout, want)
				}
			}
		}
	}
}

func TestConfigMistakesStopACommand(t *testing.T) {
	t.Parallel()
	file := configFile(t, "lisen = 1\nallow_bug_filing = 3\n")
	status, _, stderr := runIn(t.Context(), nil, nil, "user", "list", "--config", file)
	want := file + ":1: lisen: unknown key; did you mean listen?\n" + file + ":2: allow_bug_filing: expected true or " +
		"false, got 3\n"
	if status != exitFailed || stderr != want {
		t.Errorf("got status %d and %q, want 1 and %q", status, stderr, want)
	}
}

func TestUserCommands(t *testing.T) {
	t.Parallel()
	environ := []string{"MISHAP_DATABASE_URL=" + dbtest.URL(t)}
	config := noConfig(t)
	steps := []struct {
		args, stdin string
		status      int
		want        string
	}{
		{"user add ada --role admin --password-stdin", "correct horse battery\n", exitOK, "ada can sign in now, with " +
			"role admin.\n"},
		{"user add ADA --role viewer --password-stdin", "correct horse battery", exitFailed, "mishap: There is already an " +
			"account named"},
		{"user add bob --role viewer --password-stdin", "", exitFailed, "mishap: --password-stdin: the standard " +
			"input contains no password\n"},
		{"user password ada --password-stdin", "staple battery horse\r\n", exitOK, "The password of ada is changed.\n"},
		{"user password bob --password-stdin", "staple battery horse\n", exitFailed,
			`mishap: There is no account named "bob".`},
		{"user list", "", exitOK, "admin  active "},
		{"user disable ada", "", exitOK, "ada can no longer sign in.\n"},
		{"user list", "", exitOK, "admin  disabled "},
		{"user disable ada", "", exitOK, "mishap: warning: no admin can sign in now."},
		{"user password ADA --password-stdin", "horse staple battery\n", exitOK,
			`The password of ada is changed. The account is disabled: ada cannot sign in before "mishap user enable ada".`},
		{"user role ada triager", "", exitOK, `The role of ada is triager now; it was admin. The account is disabled: `},
		{"user enable ADA", "", exitOK, "ada can sign in again, with role triager.\nmishap: warning: no admin"},
		{"user list", "", exitOK, "triager  active "},
		{"user role ada admin", "", exitOK, "The role of ada is admin now; it was triager.\n"},
		{"user role ada king", "", exitUsage, `"king" is not a role`},
		{"user role ada", "", exitUsage, "accepts 2 arg(s), received 1"},
		{"user disable bob", "", exitFailed, `mishap: There is no account named "bob".`},
		{"user enable bob", "", exitFailed, `mishap: There is no account named "bob".`},
		{"user role bob viewer", "", exitFailed, `mishap: There is no account named "bob".`},
		{"user remove bob", "", exitFailed, `mishap: There is no account named "bob".`},
		{"user remove ADA", "", exitOK, "The account of ada is removed. Decisions by ada stay under this name.\nmishap: " +
			"warning: no admin"},
		{"user password ada --password-stdin", "staple battery horse\n", exitFailed,
			`mishap: There is no account named "ada".`},
		{"user add Ada --role admin --password-stdin", "correct horse battery\n", exitOK,
			"Ada can sign in now, with role admin.\nAn account of this name was removed at "},
		{"migrate", "", exitOK, "The database schema is up to date.\n"},
	}
	for _, step := range steps {
		args := append(strings.Fields(step.args), config)
		status, stdout, stderr := runIn(t.Context(), strings.NewReader(step.stdin), environ, args...)
		if got := stdout + stderr; status != step.status || !strings.Contains(got, step.want) {
			t.Errorf("%s: got status %d and %q, want %d and %q", step.args, status, got, step.status, step.want)
		}
	}
}

// TestPrivateDatabase checks that a command without database_url starts the private PostgreSQL
// temporarily.
func TestPrivateDatabase(t *testing.T) {
	t.Parallel()
	environ := []string{"MISHAP_DATA_DIR=" + dataDir(t)}
	config := noConfig(t)
	status, _, stderr := runIn(t.Context(), strings.NewReader("correct horse battery"), environ,
		"user", "add", "ada", "--role=viewer", "--password-stdin", config)
	if status != exitOK {
		t.Fatalf("user add: got status %d and %q", status, stderr)
	}
	status, stdout, stderr := runIn(t.Context(), nil, environ, "user", "list", config)
	if status != exitOK || !strings.Contains(stdout, "ada") {
		t.Errorf("user list: got status %d, %q and %q, want the account of the previous command", status, stdout, stderr)
	}
}

// configFile writes a configuration file into its own folder.
func configFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "local_config.toml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
