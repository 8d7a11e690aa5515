package sender

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mishap/crash/checktest"
)

const (
	coredumpProgram = "/lib/systemd/systemd-coredump"
	corePattern     = "/proc/sys/kernel/core_pattern"
)

// TestMoreSystemdCoredump lets the kernel give the crash of a program to the real systemd-coredump, which writes it
// to the real journal, and checks what is sent of it. Without systemd as the first process, it starts the parts itself.
func TestMoreSystemdCoredump(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can choose who gets cores")
	}
	startSystemd(t)
	url, bodies, done := server(t, stored)
	x := newFixture(t, url)
	x.Journalctl, x.Machine = "journalctl", ReadMachine("/")
	x.Files = filepath.Join(x.dir, "none")
	last, err := exec.Command("journalctl", "--lines=1", "--quiet", "--show-cursor", "--output=cat").Output()
	checktest.NoError(t, err)
	_, cursor, _ := strings.Cut(string(last), "-- cursor: ")
	checktest.NoError(t, os.MkdirAll(x.State, 0o700))
	checktest.NoError(t, os.WriteFile(filepath.Join(x.State, cursorFile), []byte(cursor), 0o600))

	shell, err := filepath.EvalSymlinks("/bin/sh")
	checktest.NoError(t, err)
	began := time.Now().Truncate(time.Second)
	cmd := exec.Command(shell, "-c", "kill -SEGV $$")
	cmd.Env = append(os.Environ(), "MISHAP_TEST_SECRET=hunter2")
	err = cmd.Run()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.CoreDump() {
		t.Fatalf("the shell ended without a core: %v", err)
	}
	checktest.NoError(t, x.run(t, done))

	f := decode(t, bodies()[0])
	date, err := time.Parse(time.ANSIC, f["Date"])
	if err != nil || date.Before(began.UTC()) || date.After(time.Now().UTC()) {
		t.Errorf("Date: got %q, %v; want one since %v", f["Date"], err, began)
	}
	delete(f, "Date")
	checktest.Equal(t, "ExecutablePath", f["ExecutablePath"], shell)
	checktest.Equal(t, "Signal", f["Signal"], "11")
	checktest.Equal(t, "SourcePackage", f["SourcePackage"], filepath.Base(shell))
	if !strings.HasPrefix(f["Package"], filepath.Base(shell)+" ") || !strings.Contains(f["Stacktrace"], "from libc.so.6") {
		t.Errorf("got %v, want the package and the stack", f)
	}
	notes, err := exec.Command("readelf", "--notes", shell).Output()
	checktest.NoError(t, err)
	_, id, _ := strings.Cut(string(notes), "Build ID: ")
	if id, _, _ = strings.Cut(id, "\n"); id == "" || !strings.Contains(f["StacktraceBuildIDs"], " "+id+"+0x") {
		t.Errorf("got the builds %q, want %s", f["StacktraceBuildIDs"], id)
	}
	for name, text := range f {
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s has a part of the environment: %q", name, text)
		}
	}
}

// startSystemd starts what systemd runs for crashes: the journal, and for each core a systemd-coredump in a control
// group with the name of its service, by which the journal knows it.
func startSystemd(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		return // systemd does
	}
	old, err := os.ReadFile(corePattern)
	checktest.NoError(t, err)
	t.Cleanup(func() { _ = os.WriteFile(corePattern, old, 0o600) })
	pattern := "|" + coredumpProgram + " %P %u %g %s %t 9223372036854775808 %h"
	checktest.NoError(t, os.WriteFile(corePattern, []byte(pattern), 0o600))
	for _, dir := range []string{"/run/systemd/journal", "/run/log/journal", "/var/lib/systemd/coredump"} {
		checktest.NoError(t, os.MkdirAll(dir, 0o755))
	}
	const unit = "system.slice/system-systemd\\x2dcoredump.slice/systemd-coredump@7-1-0.service"
	var join strings.Builder
	for _, hierarchy := range []string{"/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		group := filepath.Join(hierarchy, unit)
		if _, err := os.Stat(filepath.Join(hierarchy, "cgroup.procs")); err == nil {
			checktest.NoError(t, os.MkdirAll(group, 0o755))
			_, _ = fmt.Fprintf(&join, "echo $$ > '%s/cgroup.procs' && ", group)
		}
	}
	ready := filepath.Join(t.TempDir(), "ready")
	notified, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: ready, Net: "unixgram"})
	checktest.NoError(t, err)
	defer notified.Close() //nolint:errcheck // only read
	start(t, exec.Command("/lib/systemd/systemd-journald"), "NOTIFY_SOCKET="+ready)
	until(t, notified, "READY=1")
	activate := exec.Command("sh", "-c", join.String()+
		"exec systemd-socket-activate --seqpacket --accept --listen=/run/systemd/coredump "+coredumpProgram)
	says, err := activate.StderrPipe()
	checktest.NoError(t, err)
	start(t, activate)
	until(t, says, "Listening on")
}

// start starts a server, which ends with the test.
func start(t *testing.T, cmd *exec.Cmd, environ ...string) {
	t.Helper()
	cmd.Env = append(os.Environ(), environ...)
	checktest.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
}

// until reads until a text comes.
func until(t *testing.T, from io.Reader, want string) {
	t.Helper()
	var got strings.Builder
	for part := make([]byte, 4096); !strings.Contains(got.String(), want); {
		n, err := from.Read(part)
		got.Write(part[:n])
		if err != nil {
			t.Fatalf("got %q, %v; want %q", &got, err, want)
		}
	}
}
