package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mishap/cmd/mishap/config"
	"mishap/db/dbtest"
	"mishap/tracker/trackertest"
)

// terminal runs the program in its own terminal and returns the other end of the terminal.
func terminal(t *testing.T, environ []string, args ...string) (*process, *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	fd := int(ours.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	theirs, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, said: &quietBuffer{}, ended: make(chan struct{})}
	p.cmd = exec.CommandContext(t.Context(), built(t), args...)
	p.cmd.Env = append(os.Environ(), environ...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs, theirs, theirs
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close() // the program has its own copy
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = ours.WriteTo(p.said) // returns an error when the program has ended
	}()
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // ProcessState has the status
		<-read
	}()
	return p, ours
}

// typed waits for a question, and until the terminal hides the input, and answers it.
func (p *process) typed(ours *os.File, question, answer string) {
	p.t.Helper()
	p.until(question)
	eventually(p.t, "the terminal hides what is typed", func() bool {
		mode, err := unix.IoctlGetTermios(int(ours.Fd()), unix.TCGETS)
		if err != nil {
			p.t.Fatal(err)
		}
		return mode.Lflag&unix.ECHO == 0
	})
	if _, err := ours.WriteString(answer); err != nil {
		p.t.Fatal(err)
	}
}

func TestPasswordAtTerminal(t *testing.T) {
	t.Parallel()
	environ := []string{"MISHAP_DATABASE_URL=" + dbtest.URL(t)}
	config := noConfig(t)
	p, ours := terminal(t, environ, "user", "add", "ada", "--role=viewer", config)
	p.typed(ours, "New password: ", testPassword+"\n")
	p.typed(ours, "The same again: ", testPassword+"\n")
	if status := p.status(); status != exitOK || strings.Contains(p.said.String(), testPassword) {
		t.Errorf("user add: got status %d and %q, want 0 and no password shown", status, p.said)
	}
	p, ours = terminal(t, environ, "user", "password", "ada", config)
	p.typed(ours, "New password: ", testPassword+"\n")
	p.typed(ours, "The same again: ", "something else\n")
	if status := p.status(); status != exitFailed || !strings.Contains(p.said.String(), "the two passwords differ; "+
		"nothing was changed") {
		t.Errorf("user password, typed differently: got status %d and %q", status, p.said)
	}
	p, ours = terminal(t, environ, "user", "password", "ada", config)
	p.typed(ours, "New password: ", "\x03") // Ctrl-C
	if status := p.status(); status != exitFailed || !strings.Contains(p.said.String(), "mishap: interrupted") {
		t.Errorf("user password, interrupted: got status %d and %q", status, p.said)
	}
}

// TestImportAtTerminal checks that the log is plain text at a terminal, and that an import shows
// its progress.
func TestImportAtTerminal(t *testing.T) {
	t.Parallel()
	p, _ := terminal(t, []string{"MISHAP_DATABASE_URL=" + dbtest.URL(t)}, "import", noConfig(t),
		crashFile, "testdata/crashes/_usr_bin_tidewatch.1001.crash")
	if status := p.status(); status != exitOK {
		t.Errorf("import: got status %d and %q", status, p.said)
	}
	wantTexts(t, p.said.String(), "importing", "2 stored, 0 known already, 0 refused.")
}

// TestSetupOAuthTokenScript checks that the script in the root folder runs the command from any
// folder, and uses the configuration beside it.
func TestSetupOAuthTokenScript(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	script, err := os.ReadFile("../../setup-oauth-token.sh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "setup-oauth-token.sh"), script, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(built(t), filepath.Join(root, "bin", "mishap")); err != nil {
		t.Fatal(err)
	}
	tr := trackertest.New(t)
	cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "setup-oauth-token.sh"))
	cmd.Dir = t.TempDir()
	answers, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := startCommand(t, trackerEnviron(tr, "MISHAP_DATABASE_URL="+dbtest.URL(t)), cmd)
	p.until("Press Enter when that is done.")
	_, key, _ := strings.Cut(p.said.String(), "oauth_token=")
	tr.Authorize(strings.Fields(key)[0], "WRITE_PUBLIC")
	if _, err := answers.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if status := p.status(); status != exitOK {
		t.Fatalf("script: got status %d and %q", status, p.said)
	}
	c, err := config.Load(filepath.Join(root, "local_config.toml"), true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.TrackerOAuthToken == "" || c.TrackerOAuthSecret == "" {
		t.Error("configuration file beside the script: got no token in it")
	}
	checkHidden(t, p.said.String(), []string{"MISHAP_TRACKER_OAUTH_SECRET=" + string(c.TrackerOAuthSecret)})
	help, err := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "setup-oauth-token.sh"),
		"--help").CombinedOutput()
	if err != nil || !strings.Contains(string(help), "mishap setup-oauth-token") {
		t.Errorf("--help: got %q, %v, want the command's help", help, err)
	}
}

// TestServeAtTerminal checks that a server tells people at a terminal where it is.
func TestServeAtTerminal(t *testing.T) {
	t.Parallel()
	environ, addresses := freeAddresses(t)
	p, _ := terminal(t, append(environ, "MISHAP_DATABASE_URL="+dbtest.URL(t), "MISHAP_DATA_DIR="+t.TempDir()), "serve",
		noConfig(t))
	p.until("Ctrl-C stops it.")
	if !strings.Contains(p.said.String(), "machines post to    http://"+addresses["ingest_listen"]) {
		t.Errorf("got %q, want the addresses", p.said)
	}
	p.stops()
}
