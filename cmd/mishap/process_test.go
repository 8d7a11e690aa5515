package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mishap/cmd/mishap/config"
	"mishap/crash/sizetest"
	"mishap/crash/symbols/sandbox"
	"mishap/crash/symbols/sandbox/sandboxtest"
	"mishap/db/dbtest"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	sandboxtest.Child()
	status := m.Run()
	if binary.folder != "" {
		_ = os.RemoveAll(binary.folder) // a temporary folder
	}
	os.Exit(status)
}

// binary is the program under test, built once.
var binary struct {
	once   sync.Once
	folder string
	path   string
	err    error
}

// built returns the path of the built program.
func built(t *testing.T) string {
	t.Helper()
	sizetest.Needs(t, "the built program")
	binary.once.Do(func() {
		if binary.folder, binary.err = os.MkdirTemp("", "mishap-built-"); binary.err != nil {
			return
		}
		binary.path = filepath.Join(binary.folder, "mishap")
		build := exec.Command("go", "build", "-o", binary.path, ".")
		// The flags of "make build", so that packages are compiled once for both.
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
		out, err := build.CombinedOutput()
		if err != nil {
			binary.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if binary.err != nil {
		t.Fatal(binary.err)
	}
	return binary.path
}

// process is a running copy of the program.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	said  *quietBuffer
	ended chan struct{}
}

// start runs the built program.
func start(t *testing.T, environ []string, args ...string) *process {
	t.Helper()
	return startCommand(t, environ, exec.CommandContext(context.WithoutCancel(t.Context()), built(t), args...))
}

// startCommand starts a command that runs the built program.
func startCommand(t *testing.T, environ []string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, said: &quietBuffer{}, ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), environ...)
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // ProcessState has the status
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // usually it has ended already
		<-p.ended
	})
	return p
}

// serveProcess starts a server on free ports and waits until it is ready. It returns the addresses
// by key.
func serveProcess(t *testing.T, environ []string, args ...string) (*process, map[string]string) {
	t.Helper()
	return serveCommand(t, environ, exec.CommandContext(context.WithoutCancel(t.Context()), built(t)), args...)
}

// serveCommand does the same with a command that runs the built program, to which it adds
// arguments.
func serveCommand(t *testing.T, environ []string, cmd *exec.Cmd, args ...string) (*process, map[string]string) {
	t.Helper()
	listening, addresses := freeAddresses(t)
	environ = slices.Concat([]string{"MISHAP_BASE_URL=http://" + addresses["listen"]}, environ, listening)
	cmd.Args = append(append(cmd.Args, "serve", noConfig(t)), args...)
	p := startCommand(t, environ, cmd)
	p.until(`"msg":"ready"`)
	return p, addresses
}

// freeAddresses returns an environment in which a server listens on unused addresses, and these addresses by
// the key of the configuration. The defaults may belong to another server.
func freeAddresses(t *testing.T) (environ []string, addresses map[string]string) {
	t.Helper()
	addresses = map[string]string{}
	for _, key := range []string{"listen", "ingest_listen", "ops_listen"} {
		addresses[key] = freeAddress(t)
		environ = append(environ, config.Variable(key)+"="+addresses[key])
	}
	return environ, addresses
}

// freeAddress returns an unused address, a different one each time.
func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := dbtest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// until waits until the output contains text.
func (p *process) until(text string) {
	p.t.Helper()
	eventually(p.t, "the program says "+text, func() bool {
		select {
		case <-p.ended:
			if !strings.Contains(p.said.String(), text) {
				p.t.Fatalf("the program ended with status %d and printed\n%s", p.cmd.ProcessState.ExitCode(), p.said)
			}
		default:
		}
		return strings.Contains(p.said.String(), text)
	})
}

// kill kills the process, like a power failure would.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
}

// terminate sends SIGTERM and returns the exit status.
func (p *process) terminate() int {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
	return p.status()
}

// status waits for the end of the process and returns its exit status.
func (p *process) status() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(eventualPatience):
		p.t.Fatalf("the program does not end; it printed\n%s", p.said)
	}
	return p.cmd.ProcessState.ExitCode()
}

// eventualPatience limits the wait for something that must happen, even on a busy machine. It only
// ends tests that would otherwise hang.
const eventualPatience = 5 * time.Minute

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(eventualPatience)
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}
