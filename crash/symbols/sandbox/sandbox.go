// Package sandbox runs a program that reads files of strangers, such as a debugger, so that it can
// do no harm even if such a file takes it over. The program can read its own folder and the system's
// programs and libraries. It cannot write, reach the network or other processes, or start programs
// that could; its time and memory are limited.
//
// The confinement consists of Landlock, seccomp and resource limits, so it needs neither privileges
// nor user namespaces. Where the machine permits namespaces, they are added. The running program
// executes itself again, confines itself, and then executes the other program. Therefore main and
// TestMain call [Child] first.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mishap/crash"
)

// Command is a program to run.
type Command struct {
	Program string
	Args    []string
	Dir     string        // working folder, which it can read; absolute
	Memory  int64         // bytes of address space
	CPU     time.Duration // of processor time

	Probe bool // only for Check: try what is forbidden instead of running a program
}

// Process is a running program.
type Process struct {
	In  io.WriteCloser // its standard input
	Out io.ReadCloser  // its standard output

	cmd   *exec.Cmd
	group sync.Once
	ended chan struct{}
	err   error
}

// Usage is what a program used in all.
type Usage struct {
	CPU    time.Duration
	Memory int64 // bytes, at the most; 0 if it ended by itself
}

// childName is the name by which the program recognises that it is to confine itself.
const childName = "mishap-sandbox"

var environment = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "HOME=/nonexistent", "TZ=UTC"}

// Start starts a program. When ctx is done, it is killed with all its processes; it also dies with
// this process. The error is Unavailable, with code no_sandbox, if this machine cannot confine it.
func Start(ctx context.Context, c Command) (*Process, error) {
	spec, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var files [6]*os.File // both ends of standard input, standard output and status
	closeFrom := func(i, step int) {
		for ; i < len(files); i += step {
			if files[i] != nil {
				_ = files[i].Close()
			}
		}
	}
	for i := 0; i < len(files); i += 2 {
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			closeFrom(0, 1)
			return nil, fmt.Errorf("start the sandbox: %w", err)
		}
	}
	in, input, output, out, status, report := files[0], files[1], files[2], files[3], files[4], files[5]
	p := &Process{In: input, Out: output, ended: make(chan struct{})}
	start := func(namespaces bool) error {
		p.cmd = exec.CommandContext(ctx, "/proc/self/exe")
		p.cmd.Args = []string{childName, string(spec)}
		p.cmd.Dir, p.cmd.Env = "/", environment
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.ExtraFiles = in, out, []*os.File{report}
		p.cmd.SysProcAttr = attributes(namespaces)
		p.cmd.Cancel = func() error { p.Kill(); return nil }
		return p.cmd.Start()
	}
	started := make(chan error)
	go func() {
		// The program gets a signal when the thread that started it ends, so the thread must live.
		runtime.LockOSThread()
		err := start(!withoutNamespaces.Load())
		if err != nil && ctx.Err() == nil && !withoutNamespaces.Load() {
			if err = start(false); err == nil {
				withoutNamespaces.Store(true)
			}
		}
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			p.Kill() // what it may have left behind
		}
		close(p.ended)
	}()
	err = <-started
	for _, theirs := range []*os.File{in, out, report} {
		_ = theirs.Close()
	}
	if err != nil {
		for _, ours := range []*os.File{input, output, status} {
			_ = ours.Close()
		}
		return nil, errNoSandbox("the program cannot execute itself: " + err.Error())
	}
	message, _ := io.ReadAll(io.LimitReader(status, 64<<10)) // ends when the program is executed
	_ = status.Close()
	if len(message) > 0 && !c.Probe {
		p.Close()
		return nil, errNoSandbox(string(message))
	}
	if c.Probe {
		defer p.Close()
		return nil, probed(string(message))
	}
	return p, nil
}

func errNoSandbox(why string) error {
	return crash.Errorf(crash.Unavailable, "no_sandbox",
		"This machine cannot confine the debugger, so it does not run: %s.", strings.TrimSuffix(why, "."))
}

// Check starts a sandbox and tries everything in it that it forbids. It returns nil if all of that
// failed, otherwise an Unavailable error. The sandbox reads the folder dir.
func Check(ctx context.Context, dir string) error {
	_, err := Start(ctx, Command{Dir: dir, Memory: 4 << 30, CPU: 10 * time.Second, Probe: true})
	return err
}

// probeOK is what the child reports if everything forbidden failed.
const probeOK = "confined"

func probed(message string) error {
	if message == probeOK {
		return nil
	}
	if message == "" {
		message = "the sandbox ended unexpectedly"
	}
	return errNoSandbox(message)
}

// Kill kills the program and all processes of its group.
func (p *Process) Kill() {
	p.group.Do(func() {
		if p.cmd.Process != nil {
			_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		}
	})
}

// Close kills the program, if it still runs, waits for its end, and returns what it used.
func (p *Process) Close() Usage {
	memory := p.memory()
	p.Kill()
	_ = errors.Join(p.In.Close(), p.Out.Close())
	<-p.ended
	u := Usage{Memory: memory}
	if p.cmd.ProcessState != nil {
		u.CPU = p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}
	return u
}

// memory returns the memory that the program has used at the most, or 0 if it has ended. The kernel's
// figure for processes that have ended counts the process that they were copied from, too.
func (p *Process) memory() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\nVmHWM:")
	words := strings.Fields(rest)
	if len(words) == 0 {
		return 0
	}
	kilobytes, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}

// Ended waits for the end of a program that has closed its output, and describes how it ended.
func (p *Process) Ended() string {
	<-p.ended
	if p.err == nil {
		return "it ended"
	}
	return p.err.Error()
}

// probe tries what the sandbox forbids. It returns probeOK if everything failed, else what did not.
func probe(dir string) string {
	readable := func(name string) bool {
		f, err := os.Open(name)
		if err == nil {
			_, err = f.Read(make([]byte, 1))
			_ = f.Close()
		}
		return err == nil
	}
	opened := func(fd int, err error) bool {
		if err == nil {
			_ = unix.Close(fd)
		}
		return err == nil
	}
	var failures []string
	for _, try := range []struct {
		what    string
		succeed func() bool
	}{
		{"read /etc/passwd", func() bool { return readable("/etc/passwd") }},
		{"read /proc/self/environ", func() bool { return readable("/proc/self/environ") }},
		{"read /proc/1/environ", func() bool { return readable("/proc/1/environ") }},
		{"create a file", func() bool { return os.WriteFile(filepath.Join(dir, "probe"), nil, 0o600) == nil }},
		{"change the mode of a file", func() bool { return os.Chmod(dir, 0o700) == nil }},
		{"open a TCP socket", func() bool { return opened(unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)) }},
		{"open a Unix socket", func() bool { return opened(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)) }},
		{"send a signal", func() bool { return unix.Kill(os.Getppid(), 0) == nil }},
		{"trace a process", func() bool { return unix.PtraceAttach(os.Getppid()) == nil }},
		{"make a namespace", func() bool { return unix.Unshare(unix.CLONE_NEWUSER) == nil }},
		{"start a process", func() bool {
			pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
			if errno == 0 && pid == 0 {
				_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
			}
			return errno == 0
		}},
	} {
		if try.succeed() {
			failures = append(failures, try.what)
		}
	}
	if len(failures) > 0 {
		return "in its sandbox it can " + strings.Join(failures, ", ")
	}
	return probeOK
}
