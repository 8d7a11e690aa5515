package sandbox_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mishap/crash"
	"mishap/crash/checktest"
	"mishap/crash/symbols/sandbox"
	"mishap/db/dbtest"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	os.Exit(m.Run())
}

// folder returns a folder that the user nobody can read, too.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mishap-sandbox-")
	checktest.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	checktest.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

func run(t *testing.T, c sandbox.Command) (output string, used sandbox.Usage) {
	t.Helper()
	if c.Memory == 0 {
		c.Memory = 1 << 30
	}
	if c.CPU == 0 {
		c.CPU = 30 * time.Second
	}
	p, err := sandbox.Start(t.Context(), c)
	checktest.NoError(t, err)
	_ = p.In.Close()
	b, err := io.ReadAll(p.Out)
	checktest.NoError(t, err)
	p.Ended()
	return string(b), p.Close()
}

func TestCheck(t *testing.T) {
	t.Parallel()
	start := time.Now()
	checktest.NoError(t, sandbox.Check(t.Context(), folder(t)))
	t.Logf("a sandbox started and ended in %s", time.Since(start))
}

// TestShell runs a program that can do nearly everything else.
func TestShell(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	checktest.NoError(t, os.WriteFile(filepath.Join(dir, "core"), []byte("content\n"), 0o644))
	secret := filepath.Join(folder(t), "secret")
	checktest.NoError(t, os.WriteFile(secret, []byte("hidden\n"), 0o644))
	const script = `read line < core && echo "read: $line"
read line < "$1" && echo "secret: $line"
read line < /etc/passwd && echo "passwd: $line"
echo x > created && echo created
echo x > /tmp/mishap-created && echo created elsewhere
(echo subshell)
/bin/true && echo started a program
kill -0 "$PPID" && echo signalled
[ -n "$MISHAP_SECRET" ] && echo environment
echo end`
	// A subshell ends the shell if it cannot be made, so each line is tried alone.
	for line := range strings.SplitSeq(script, "\n") {
		want := ""
		switch {
		case strings.Contains(line, "core"):
			want = "read: content\n"
		case line == "echo end":
			want = "end\n"
		}
		got, _ := run(t, sandbox.Command{Program: "/bin/sh", Args: []string{"-c", line, "sh", secret}, Dir: dir})
		checktest.Equal(t, line, got, want)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	const busy = "while :; do :; done"
	start := time.Now()
	_, used := run(t, sandbox.Command{Program: "/bin/sh", Args: []string{"-c", busy}, Dir: folder(t), CPU: time.Second})
	if used.CPU == 0 || used.CPU > 3*time.Second {
		t.Errorf("got %+v in %s, want about a second", used, time.Since(start))
	}
	got, _ := run(t, sandbox.Command{Program: "/bin/sh", Dir: folder(t), Memory: 64 << 20,
		Args: []string{"-c", `s=xxxxxxxxxxxxxxxx; while :; do s="$s$s"; done; echo survived`}})
	if got != "" {
		t.Errorf("got %q after too much memory", got)
	}
}

// TestCancel checks that the whole group dies with its context.
func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p, err := sandbox.Start(ctx, sandbox.Command{Program: "/bin/sh", Args: []string{"-c", "echo on; while :; do :; done"},
		Dir: folder(t), Memory: 1 << 30, CPU: time.Minute})
	checktest.NoError(t, err)
	dbtest.Must(p.Out.Read(make([]byte, 10)))(t)
	cancel()
	if got := p.Ended(); got != "signal: killed" && got != "context canceled" {
		t.Errorf("got %q, want it killed", got)
	}
	p.Close()
}

func TestUnreadableFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root becomes nobody")
	}
	err := sandbox.Check(t.Context(), t.TempDir()) // mode 0700 in its parents
	if crash.KindOf(err) != crash.Unavailable || !strings.Contains(err.Error(), "nobody cannot read the folder") {
		t.Errorf("got %v, want the reason", err)
	}
}

func TestNoSuchProgram(t *testing.T) {
	t.Parallel()
	_, err := sandbox.Start(t.Context(), sandbox.Command{Program: "/usr/bin/none", Dir: folder(t), Memory: 1 << 30,
		CPU: time.Second})
	if crash.KindOf(err) != crash.Unavailable || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v, want the reason", err)
	}
}

// TestNamespaces checks that the program has namespaces of its own exactly where unshare gets them.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	args := []string{"--net", "--ipc", "--uts", "true"}
	if os.Geteuid() != 0 {
		args = append([]string{"--user"}, args...)
	}
	permitted := exec.CommandContext(t.Context(), "unshare", args...).Run() == nil
	p, err := sandbox.Start(t.Context(), sandbox.Command{Program: "/bin/sh", Args: []string{"-c", "echo on; read line"},
		Dir: folder(t), Memory: 1 << 30, CPU: time.Minute})
	checktest.NoError(t, err)
	defer p.Close()
	dbtest.Must(p.Out.Read(make([]byte, 10)))(t)
	for _, kind := range []string{"net", "ipc", "uts"} {
		ours, err := os.Readlink("/proc/self/ns/" + kind)
		checktest.NoError(t, err)
		theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", p.PID(), kind))
		checktest.NoError(t, err)
		if (ours != theirs) != permitted {
			t.Errorf("%s: got %s beside our %s, want another one: %t", kind, theirs, ours, permitted)
		}
	}
}
