package main

import (
	"encoding/json"
	"os/user"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mishap/crash/audit"
	"mishap/db/dbtest"
)

// TestCommandsAreRecorded runs a command with a record of its own, one without, and one that reads.
func TestCommandsAreRecorded(t *testing.T) {
	t.Parallel()
	environ := []string{"MISHAP_DATABASE_URL=" + dbtest.URL(t), "MISHAP_DATA_DIR=" + t.TempDir()}
	run := func(want int, args ...string) string {
		t.Helper()
		status, stdout, stderr := runIn(t.Context(), strings.NewReader("correct horse battery\n"), environ,
			append(args, "--config", configFile(t, ""))...)
		if status != want {
			t.Fatalf("%s: got status %d and %q, want %d", args, status, stderr, want)
		}
		return stdout
	}
	run(exitOK, "user", "add", "ada", "--role", "viewer", "--password-stdin")
	run(exitOK, "user", "role", "ada", "admin")
	run(exitOK, "migrate")
	run(exitOK, "user", "list")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(run(exitOK, "audit")) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if r.Kind != audit.Command || r.Via != me.Username {
			t.Errorf("got the actor %q %q, want the command line and %s", r.Kind, r.Via, me.Username)
		}
		got = append(got, r.RequestID+": "+r.Action+" "+r.Object+" "+string(r.Before)+string(r.After))
	}
	want := []string{"mishap audit: read.log  ", "mishap migrate: command.other mishap migrate ",
		`mishap user role: user.role ada {"role":"viewer"}{"role":"admin"}`}
	for i, w := range want {
		if len(got) != 4 || got[i] != w {
			t.Fatalf("got %q, want it to begin with %q", got, want)
		}
	}
	for _, tt := range []struct{ flag, value, want string }{
		{"--who", me.Username, "user.role"}, {"--who", "nobody", ""}, {"--action", "user.add", "user.add"},
		{"--object", "ada", "user.role"}, {"--since", "2020-01-01", "user.role"}, {"--until", "2020-01-01", ""},
		{"--result", "refused", ""}, {"--address", "192.0.2.1", ""},
	} {
		if out := run(exitOK, "audit", tt.flag, tt.value); !strings.Contains(out, tt.want) || tt.want == "" && out != "" {
			t.Errorf("%s %s: got %q, want %q", tt.flag, tt.value, out, tt.want)
		}
	}
	run(exitUsage, "audit", "--since", "yesterday")
	run(exitUsage, "audit", "--action", "user.eat")
	run(exitUsage, "audit", "--result", "fine")
}

// TestReadingCommands checks that each reading command exists.
func TestReadingCommands(t *testing.T) {
	t.Parallel()
	all := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		all[cmd.CommandPath()] = true
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk((&program{}).rootCommand())
	for path := range readingCommands {
		if !all[path] {
			t.Errorf("there is no command %s", path)
		}
	}
}
