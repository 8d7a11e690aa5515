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
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/net/bpf"
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

// Nobody is the user and group that the program gets if mishap runs as root.
const Nobody = 65534

// reportTo is the file descriptor of the pipe to the parent. It closes when the program is executed.
const reportTo = 3

// Child confines this process and executes the program, if [Start] started this process for that. It
// returns if it did not.
func Child() {
	if os.Args[0] != childName || len(os.Args) != 2 {
		return
	}
	report := os.NewFile(reportTo, "report")
	unix.CloseOnExec(reportTo)
	_, _ = report.WriteString(child(os.Args[1], report).Error()) // the parent reads it
	os.Exit(1)
}

// child returns only if it fails.
func child(spec string, report *os.File) error {
	var c Command
	if err := json.Unmarshal([]byte(spec), &c); err != nil {
		return err
	}
	runtime.LockOSThread() // seccomp applies to this thread, which executes the program
	filter, err := filter()
	if err != nil {
		return err
	}
	program := c.Program
	if !c.Probe {
		if program, err = filepath.EvalSymlinks(c.Program); err != nil {
			return err
		}
	}
	if err := os.Chdir(c.Dir); err != nil {
		return err
	}
	if err := restrictFiles(c.Dir); err != nil {
		return err
	}
	if err := dropRoot(c.Dir); err != nil {
		return err
	}
	if err := dieWithParent(); err != nil {
		return err
	}
	if err := limit(c); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := install(filter); err != nil {
		return err
	}
	if c.Probe {
		_, _ = report.WriteString(probe(c.Dir)) // the parent reads it
		os.Exit(0)
	}
	args := append([]string{filepath.Base(c.Program)}, c.Args...)
	return execute(program, args, uint64(c.Memory)) //nolint:gosec // the configuration allows no negative value
}

// execute limits the address space and executes a program. Go's runtime reserves more than the limit,
// so it would crash if it needed memory between the two: they are bare system calls.
func execute(program string, args []string, memory uint64) error {
	path, err := syscall.BytePtrFromString(program)
	if err != nil {
		return err
	}
	argv, err := syscall.SlicePtrFromStrings(args)
	if err != nil {
		return err
	}
	env, err := syscall.SlicePtrFromStrings(environment)
	if err != nil {
		return err
	}
	space := syscall.Rlimit{Cur: memory, Max: memory}
	_, _, errno := syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_AS, uintptr(unsafe.Pointer(&space)), 0, 0, 0)
	if errno == 0 {
		_, _, errno = syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(path)),
			uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])))
	}
	return fmt.Errorf("execute %s: %w", program, errno)
}

// restrictFiles permits reading the system's programs and libraries, and the folder; nothing else.
// The rights that a newer kernel can restrict are restricted there: network and signals, too.
func restrictFiles(dir string) error {
	if _, err := ll.LandlockGetABIVersion(); err != nil {
		return fmt.Errorf("the kernel has no Landlock (Linux 5.13 or newer has it; lsm=landlock,… switches it on): %w", err)
	}
	err := landlock.V7.BestEffort().Restrict(
		landlock.RODirs("/usr", "/lib", "/lib32", "/lib64", "/bin").IgnoreIfMissing(),
		landlock.ROFiles("/etc/ld.so.cache").IgnoreIfMissing(),
		landlock.RWFiles("/dev/null"),
		landlock.PathAccess(ll.AccessFSReadFile|ll.AccessFSReadDir, dir),
	)
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

func dropRoot(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, err := range []error{syscall.Setgroups(nil), syscall.Setgid(Nobody), syscall.Setuid(Nobody)} {
		if err != nil {
			return fmt.Errorf("give up the rights of root: %w", err)
		}
	}
	if err := unix.Access(dir, unix.R_OK|unix.X_OK); err != nil {
		return fmt.Errorf("the user nobody cannot read the folder %s: %w", dir, err)
	}
	return nil
}

func dieWithParent() error {
	parent := os.Getppid()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("die with the parent: %w", err)
	}
	if os.Getppid() != parent {
		return fmt.Errorf("the parent has ended")
	}
	return nil
}

func limit(c Command) error {
	seconds := uint64(c.CPU.Seconds())
	for resource, value := range map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: 256, unix.RLIMIT_CPU: seconds,
	} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("resource limit %d: %w", resource, err)
		}
	}
	return nil
}

// The offsets of the kernel's struct seccomp_data, on little-endian machines.
const (
	numberAt = 0
	archAt   = 4
	argsAt   = 16
)

// forbidden lists the system calls that fail with EPERM on every architecture: network, other
// processes, namespaces, kernel interfaces, and changes of files that Landlock does not cover.
var forbidden = []uint32{
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT,
	unix.SYS_ACCEPT4, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG,

	unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO,
	unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_PIDFD_GETFD, unix.SYS_PTRACE,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
	unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM,
	unix.SYS_SCHED_SETATTR, unix.SYS_SETPGID, unix.SYS_SETSID,

	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR,

	// gdb starts iconv to learn the names of character sets. As it may not, it would wait for 15
	// seconds between its tries.
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,

	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
	unix.SYS_IO_URING_REGISTER, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_INIT_MODULE,
	unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON,
	unix.SYS_SWAPOFF, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_MEMFD_CREATE,

	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN,

	unix.SYS_TRUNCATE, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE, unix.SYS_FCHMOD, unix.SYS_FCHMODAT, sysFchmodat2,
	unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_LINKAT, unix.SYS_SYMLINKAT,
	unix.SYS_RENAMEAT2, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT, unix.SYS_MKNODAT,
}

const sysFchmodat2 = 452

// filter returns a seccomp program. It kills the process at a system call of another architecture's
// interface. It permits new threads, but no new processes.
func filter() ([]bpf.RawInstruction, error) {
	if auditArch == 0 {
		return nil, fmt.Errorf("mishap has no seccomp filter for %s", runtime.GOARCH)
	}
	const (
		refuse  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: numberAt, Size: 4},
		// The numbers of amd64's x32 interface; no other architecture has such numbers.
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 0x40000000, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		// A filter cannot see the flags of clone3. The C library then uses clone.
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE3, SkipTrue: 1},
		bpf.RetConstant{Val: unknown},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_CLONE, SkipTrue: 4},
		bpf.LoadAbsolute{Off: argsAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLONE_THREAD, SkipTrue: 1},
		bpf.RetConstant{Val: refuse},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
		// Resource limits: only reading one's own.
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_PRLIMIT64, SkipTrue: 4},
		bpf.LoadAbsolute{Off: argsAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		bpf.RetConstant{Val: refuse},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	}
	for _, call := range append(forbidden, forbiddenHere...) {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, bpf.RetConstant{Val: refuse})
	}
	program = append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})
	return bpf.Assemble(program)
}

func install(program []bpf.RawInstruction) error {
	filter := make([]unix.SockFilter, len(program))
	for i, in := range program {
		filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	fprog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // some 200
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&fprog)), 0, 0)
	if err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}

// withoutNamespaces is true once this machine has refused to make namespaces.
var withoutNamespaces atomic.Bool

// attributes returns how the child starts: in a process group of its own and, with namespaces, in an
// empty network, with its own System V IPC and host name. Seccomp forbids these things anyway; this is
// a second barrier. Without root it needs user namespaces, which some systems do not permit.
func attributes(namespaces bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if !namespaces {
		return a
	}
	a.Cloneflags = syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	return a
}
